// Taps: hub/tap shows a connection what goes on, an entry a message, in hub/tapped.
//
//     hub/tap ──▶ each shard in turn has a share ──▶ answered
//     a message ends on its source's shard ──▶ the share's entries ──once a turn──▶ the tap's shard ──▶ hub/tapped
//     hub/untap, or the connection's end ──▶ each shard in turn gives its share up ──▶ the tap's shard gives it back
//
// No message waits for a tap: entries past its rate, past the bound of its queue, or without memory are missed, and
// counted.
#pragma once

#include "router/features/observe/observation.h"
#include "router/features/observe/observe_types.h"

void tap_ask(struct shard *shard, const struct message *message);
void tap_ask_end(struct shard *shard, const struct message *message);

// A tap on its way from shard to shard; entries for a tap of this shard's.
void tap_arrived(struct shard *shard, struct mail *mail);
void tap_entries_arrived(struct shard *shard, struct mail *mail);
// A tap of this shard's may have missed something.
void tap_expired(struct shard *shard, struct timer *timer);

// Whether somebody taps.
static inline bool tap_is_on(const struct shard *shard) {
    return observe_of(shard)->tap_count > 0;
}
// Tells all taps of a request that was taken in, or of any message that has ended. `message`: its body can be shown;
// or NULL.
void tap_note_begun(struct shard *shard, const struct observation *observation,
                    const struct message *message);
void tap_note(struct shard *shard, const struct observation *observation, const struct message *message);
// How many bytes of a body the taps want that the observation is for.
uint64_t tap_body_bytes(struct shard *shard, const struct observation *observation);
// Whether all taps have had what they may have in this second, whatever the request is and how it ends: then it needs no
// observation, and is missed.
bool tap_has_enough(struct shard *shard);
// A message could not be observed for want of memory.
void tap_note_missed(struct shard *shard);
// Sends the turn's entries on their way.
void tap_flush(struct shard *shard);
// A peer isn't open any more.
void tap_leave(struct shard *shard, const struct peer *peer);
// The hub's connections are about to close.
void tap_end_all(struct shard *shard);
// Whether the shard has a tap, or a share of one, or entries under way.
bool tap_holds(const struct shard *shard);
