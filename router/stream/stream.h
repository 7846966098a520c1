// HCS: sessions in which an agent streams chunks of text to clients (seed: HCS Streaming Protocol, draft v0.2).
//
//     a client's shard              the session's shard                  the producer's shard
//     entry: start ─── join ──────▶ starting: a producer is chosen ──▶   its queue
//                                   saying ◀────── init, chunk … ──────  entry
//     client: shed or queued ◀───── giving: a share of each chunk
//                    │ reads too slowly
//                    └── report ──▶ mood: pause, resume ───────────────▶ its queue
//
// A session lives on the shard that its name tells, so that each shard finds it without a table in common. All
// that is said in it goes there first. What was said stays there a while, for those who come later or come back.
#pragma once

#include "router/engine/message/message.h"
#include "router/engine/request/completion.h"
#include "router/engine/shard/shard.h"

struct home;

// MAIL_STREAM_…
void stream_mail(struct shard *shard, struct mail *mail);
// What this shard has posted to itself.
void stream_read_own(struct shard *shard);
static inline bool stream_has_own(const struct shard *shard) {
    return shard->streams.own != NULL;
}
// Once a turn, before what is queued is sent.
void stream_follow(struct shard *shard);
// A session's timer went off; the shard's, for those who read slowly.
void stream_expired(struct shard *shard, struct timer *timer);
void stream_look(struct shard *shard);

// Adds the sessions that live here, of many those that began last, to what a survey has found.
void stream_survey(const struct shard *shard, struct survey_sessions *found);

// A peer is a client of nothing any more.
void stream_leave(struct shard *shard, struct peer *peer);
// A connection with agents is gone: the sessions that it produced end.
void stream_producer_left(struct shard *shard, struct home *home);
// Marks the sessions that it has been asked for until now.
void stream_mark(struct home *home);
// A program that the hub keeps has ended, and its name stays: so do sessions whose starts are spared, which wait
// for the next one. How many ended.
uint32_t stream_producer_rests(struct shard *shard, struct home *home, const struct spared *spared);

// Memory is short: histories go.
void stream_relieve(struct shard *shard);
// The hub drains: no end waits any more for clients that have paused.
void stream_end_pauses(struct shard *shard);
// The hub ends: sessions that live end.
void stream_end_all(struct shard *shard);
// And all are forgotten.
void stream_forget_all(struct shard *shard);
// Whether no session of this shard's lives any more; whether all clients know; whether nothing of its own is under
// way.
bool stream_all_ended(const struct shard *shard);
bool stream_all_told(const struct shard *shard);
bool stream_all_home(const struct shard *shard);
