// Lines of the audit journal about held messages: a line of kind "gate" for each step, with its "step" and
// "checkpoint", and a line of kind "approval" for each decision, also for a decision that comes too late.
//
//     step         members besides "source" and "target"
//     held         "method", "governanceLevel", "bytes", "until"
//     approved     "approver", "feedback"; rejected and needs_revision have "code", too
//     timed out    "code"; so have cancelled, drained and target removed
//     source left  "code" if the credential is gone, and the source is still there
#pragma once

#include "core/base/errors.h"
#include "router/audit/audit.h"
#include "router/features/gate/gate.h"
#include "router/rights/authz.h"

// The approver's decision, as the journal and the source get it.
struct ruling {
    const char *approver;
    size_t approver_bytes;
    const char *feedback; // NULL: there is no feedback
    size_t feedback_bytes;
};

// Records that a message will be held. Returns false if the journal has no room or can't be written: then the message
// must not be held.
bool gate_audit_held(struct shard *shard, const struct held_message *held);
// Records a step of a held message. `ruling` is NULL if no approver decided. `error` is the answer's error, or
// ERROR_NONE without such an answer.
void gate_audit_step(struct shard *shard, const struct held_message *held, const char *step,
                     const struct ruling *ruling, enum error error);

// A decision for the journal. The outcome is "applied", "not applied" or, with an error, "refused".
struct gate_audit_entry {
    const char *target; // the target of the held message; NULL: the message has none, or no message was held
    size_t target_bytes;
    const char *checkpoint;
    size_t checkpoint_bytes;
    const char *decision;
    const struct ruling *ruling;
    const char *outcome;
    enum error error;
};
// Records a decision.
void gate_audit_decision(struct shard *shard, struct approver decider, const struct gate_audit_entry *record);
