// HCS: sessions in which an agent streams chunks of text to clients (seed: HCS Streaming Protocol, draft v0.2).
//
//     a client's shard              the session's shard                  the producer's shard
//     entry: start ─── join ──────▶ starting: a producer is chosen ──▶   its queue
//                                   saying ◀────── init, chunk … ──────  entry
//     client: shed or queued ◀───── giving: a share of each chunk
//                    │ reads too slowly
//                    └── report ──▶ mood: pause, resume ───────────────▶ its queue
//
// A session lives on the shard that its name tells, so that each shard finds it without a table in common. All frames
// of the session go there first, and stay there a while, for clients that come later or come back.
#pragma once

#include "router/engine/message/message.h"
#include "router/engine/request/completion.h"
#include "router/engine/shard/shard.h"

struct home;

// MAIL_STREAM_…
void hcs_take_mail(struct shard *shard, struct mail *mail);
// Reads mail that this shard has posted to itself.
void hcs_read_own(struct shard *shard);
static inline bool hcs_has_own(const struct shard *shard) {
    return shard->streams.own != NULL;
}
// Once a turn, before what is queued is sent.
void hcs_turn(struct shard *shard);
// A session's timer went off; the shard's, for those who read slowly.
void hcs_expired(struct shard *shard, struct timer *timer);
void hcs_look(struct shard *shard);

// Adds the sessions that live here, of many those that began last, to what a survey has found.
void hcs_survey(const struct shard *shard, struct survey_sessions *found);

// A peer is a client of nothing any more.
void hcs_leave(struct shard *shard, struct peer *peer);
// A connection with agents is gone: the sessions that it produced end.
void hcs_producer_left(struct shard *shard, struct home *home);
// Marks the sessions that it has been asked for until now.
void hcs_mark(struct home *home);
// A program that the hub keeps has ended, and its name stays: so do sessions whose starts are spared, which wait
// for the next one. How many ended.
uint32_t hcs_producer_rests(struct shard *shard, struct home *home, const struct spared *spared);

// Memory is short: what is held for clients that have paused goes, or else histories do. True: the first did, and others
// needn't suffer yet.
bool hcs_relieve(struct shard *shard);
// The hub drains: no end waits any more for clients that have paused.
void hcs_end_pauses(struct shard *shard);
// The hub ends: sessions that live end.
void hcs_end_all(struct shard *shard);
// And all are forgotten.
void hcs_forget_all(struct shard *shard);
// Whether no session of this shard's lives any more; whether all clients know; whether nothing of its own is under
// way.
bool hcs_all_ended(const struct shard *shard);
bool hcs_all_notified(const struct shard *shard);
bool hcs_all_returned(const struct shard *shard);
