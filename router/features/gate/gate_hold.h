// Messages that are held until an approver decides, on their source's shard.
//
//     route ──wanted──▶ held ──approved──▶ released ──once the turn gets there──▶ route
//                         │
//                         └─ rejected, needs revision, time, cancel, source left, drain: it ends here
//
// A held request counts among the requests that its peer waits for, so a half-closed peer stays until the request has
// ended.
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

// Returns the decision as in governance/approval; static.
const char *decision_text(enum decision decision);

// Returns whether a message is never held: it goes to the journal, or it belongs to an earlier message.
static inline bool gate_hold_exempts(const struct message *message) {
    return message_is_logged(message) || message_method_is(message, "$/progress") ||
           message_method_is(message, "notifications/progress");
}
// Holds a request or notification. Returns NULL if the message was refused: at a bound, without a journal's line, or
// because the hub drains.
struct held_message *gate_hold_begin(struct shard *shard, const struct message *message);
// Returns the latest held request of a peer with this id, or NULL.
struct held_message *gate_hold_find(const struct peer *peer, const uint8_t *text, struct span id);
// Returns the held request of an exchange, also if it is approved and not routed yet; or NULL.
struct held_message *gate_hold_find_exchange(const struct peer *peer, const struct exchange *exchange);
// Ends a held message without an answer. Its source is gone, but not the connection: another hub's link.
void gate_hold_abandon(struct shard *shard, struct held_message *held);
// Answers a held request whose target's section was removed, with -32010. The request isn't held any more.
void gate_hold_target_removed(struct shard *shard, struct held_message *held, const char *target,
                              size_t bytes);
// Answers a held message with -32001, because the credential by which the message came is gone. Its peer is still open.
void gate_hold_revoke(struct shard *shard, struct held_message *held);
// Ends a held message that its source has cancelled. The source gets an answer, unless a cancel ends its requests
// without one, as MCP has it.
void gate_hold_cancel(struct shard *shard, struct held_message *held);
// The same, and the source gets an answer in any case.
void gate_hold_cancel_answered(struct shard *shard, struct held_message *held);
// Applies a decision. An approved message is released.
void gate_hold_decide(struct shard *shard, struct held_message *held, enum decision decision,
                      const struct ruling *ruling);
void gate_hold_timed_out(struct shard *shard, struct held_message *held);
// Ends held messages whose credential is gone, after users have changed, as if their source had left. An HTTP
// connection stays, so its requests get errors.
void gate_hold_review(struct shard *shard);
// Ends the held messages of a peer that has left.
void gate_hold_leave(struct shard *shard, struct peer *peer);
// Ends all held messages with errors, because the hub drains.
void gate_hold_drain(struct shard *shard);
// Makes a message from a held message, in `unit` and `frame`, which must stay as long as the message. The message's
// level counts as satisfied for any target and subscriber. The header fields stay.
void gate_hold_message(struct held_message *held, struct peer *peer, struct unit *unit, struct frame *frame,
                       struct message *message);
// Stops counting a held message as pending for its user. Called before a released message is routed, which counts
// again.
void gate_hold_answer(struct held_message *held);
// Ends a held message that has been routed.
void gate_hold_end(struct shard *shard, struct held_message *held);
