// Messages that are held until somebody approves them, on their source's shard.
//
//     route ──wanted──▶ held ──approved──▶ released ──once the turn gets there──▶ route
//                         │
//                         └─ rejected, needs revision, time, cancel, source left, drain: it ends here
//
// A held request counts in what its peer waits for, so that one that has half-closed stays until its end.
#pragma once

#include "core/base/errors.h"
#include "router/engine/message/message.h"
#include "router/features/gate/gate.h"
#include "router/features/gate/gate_audit.h"

// Kinds of the gate's own mail and timers (FEATURE_KIND).
enum { GATE_MAIL_QUERY };
enum { GATE_TIMER_HELD };

// Counters (gate_release.c has their rows).
enum gate_counter {
    GATE_COUNT_HELD,
    GATE_COUNT_APPROVED,
    GATE_COUNT_REJECTED,
    GATE_COUNT_REVISED,
    GATE_COUNT_TIMED_OUT,
    GATE_COUNT_CANCELLED,
    GATE_COUNT_SOURCE_LEFT,
    GATE_COUNT_DRAINED,
    GATE_COUNT_TARGET_REMOVED,
    GATE_COUNTERS
};

enum decision { DECISION_APPROVED, DECISION_REJECTED, DECISION_NEEDS_REVISION, DECISIONS_COUNT };

// Returns the decision as governance/approval spells it: static text.
const char *decision_text(enum decision decision);

// Returns whether a message is never held: the hub writes it, or it belongs to an earlier message.
static inline bool gate_hold_exempts(const struct message *message) {
    return message_is_logged(message) || message_method_is(message, "$/progress") ||
           message_method_is(message, "notifications/progress");
}
// Holds a request or notification. The result is NULL when it was refused instead: at a bound, or because the hub drains.
struct held_message *gate_hold_begin(struct shard *shard, const struct message *message);
// The latest held request of a peer with this id; or NULL.
struct held_message *gate_hold_find(const struct peer *peer, const uint8_t *text, struct span id);
// The held request of an exchange, also one that is approved and not yet routed; or NULL.
struct held_message *gate_hold_find_exchange(const struct peer *peer, const struct exchange *exchange);
// Drops a held message whose source is gone, though not its connection.
void gate_hold_abandon(struct shard *shard, struct held_message *held);
// Answers a held request whose target's section was removed, with -32010. The request isn't held any more.
void gate_hold_target_removed(struct shard *shard, struct held_message *held, const char *target,
                              size_t bytes);
// Ends a held message that its source has cancelled.
void gate_hold_cancel(struct shard *shard, struct held_message *held);
// Applies a decision. An approved message is released.
void gate_hold_decide(struct shard *shard, struct held_message *held, enum decision decision,
                      const struct ruling *ruling);
void gate_hold_timed_out(struct shard *shard, struct held_message *held);
// Users have changed: what came by a credential that is gone goes, as if its source had left. (Of HTTP the connection stays, and so
// whoever waits there is told.)
void gate_hold_review(struct shard *shard);
// A peer has left: what it sent goes.
void gate_hold_leave(struct shard *shard, struct peer *peer);
// The hub drains: nothing is held any more.
void gate_hold_drain(struct shard *shard);
// Makes a message of a held one, with a unit and a frame that stay as long. The message's level counts as satisfied for any
// target and subscriber. The header fields stay.
void gate_hold_message(struct held_message *held, struct peer *peer, struct unit *unit, struct frame *frame,
                       struct message *message);
// A released message is about to be routed, and counts among its user's pending ones by that.
void gate_hold_answer(struct held_message *held);
// Ends a held message that has been routed.
void gate_hold_end(struct shard *shard, struct held_message *held);
