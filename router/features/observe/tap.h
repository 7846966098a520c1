// Taps: hub/tap shows a connection what goes on, an entry a message, in hub/tapped.
//
//     hub/tap ──▶ each shard in turn has a share ──▶ answered
//     a message ends on its source's shard ──▶ the share's entries ──once a turn──▶ the tap's shard ──▶ hub/tapped
//     hub/untap, or the connection's end ──▶ each shard in turn gives its share up ──▶ hub/untap is answered, behind
//                                                                                    the entries of all shards
//
// No message waits for a tap: entries past its rate, past the bound of its queue, or without memory are missed, and
// counted.
#pragma once

#include "router/features/observe/observation.h"
#include "router/features/observe/observe_types.h"

// Answer hub/tap and hub/untap, or refuse the message.
void tap_ask(struct shard *shard, const struct message *message);
void tap_ask_end(struct shard *shard, const struct message *message);

// Take a tap that goes from shard to shard, and entries for a tap of this shard.
void tap_arrived(struct shard *shard, struct mail *mail);
void tap_entries_arrived(struct shard *shard, struct mail *mail);
// Tells a tap of this shard how many entries it has missed. Called when its timer goes off.
void tap_expired(struct shard *shard, struct timer *timer);

// Returns whether the shard has a share of a tap.
static inline bool tap_is_on(const struct shard *shard) {
    return observe_of(shard)->tap_count > 0;
}
// Tell all taps of a request that was taken in, or of a message that has ended. `message` is the message if its body
// may be shown; else NULL.
void tap_note_begun(struct shard *shard, const struct observation *observation,
                    const struct message *message);
void tap_note(struct shard *shard, const struct observation *observation, const struct message *message);
// Returns the most bytes of the body that a tap wants which shows this observation.
uint64_t tap_body_bytes(struct shard *shard, const struct observation *observation);
// Returns whether no tap may show another entry in this second. Counts the request as missed then; it needs no
// observation.
bool tap_has_enough(struct shard *shard);
// Counts a message that could not be observed without memory as missed.
void tap_note_missed(struct shard *shard);
// Sends the entries of this turn to the shards of their taps.
void tap_flush(struct shard *shard);
// Ends the taps of a peer that isn't open any more.
void tap_leave(struct shard *shard, const struct peer *peer);
// Ends all taps of this shard, before the hub closes its connections.
void tap_end_all(struct shard *shard);
// Returns whether the shard has a tap, a share of a tap, or entries on their way.
bool tap_holds(const struct shard *shard);
