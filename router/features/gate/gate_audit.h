// Lines of the audit journal about held messages: a line of kind "gate" for each step, with its "step" and
// "checkpoint", and a line of kind "approval" for each decision, also one that comes too late.
//
//     step         besides source and target
//     held         "method", "governanceLevel", "bytes", "until"
//     approved     "approver", "feedback"; likewise rejected and needs_revision, with "code"
//     timed out    "code"; likewise cancelled, drained and target removed
//     source left  "code" where its credential is gone, and it is still there
#pragma once

#include "core/base/errors.h"
#include "router/audit/audit.h"
#include "router/features/gate/gate.h"
#include "router/rights/authz.h"

// The approver, as the journal and the source are told.
struct ruling {
    const char *approver;
    size_t approver_bytes;
    const char *feedback; // NULL: none was given
    size_t feedback_bytes;
};

// A message is about to be held. False where the journal has no room for that: then it must not be.
bool gate_audit_held(struct shard *shard, const struct held_message *held);
// Notes a step of a held message; `ruling` is NULL where nobody decided, `error` ERROR_NONE where nothing is
// answered.
void gate_audit_step(struct shard *shard, const struct held_message *held, const char *step,
                     const struct ruling *ruling, enum error error);

// A decision. The outcome is "applied", "not applied" or, with an error, "refused".
struct gate_audit_entry {
    const char *target; // of what was held; NULL: it has none, or nothing was held
    size_t target_bytes;
    const char *checkpoint;
    size_t checkpoint_bytes;
    const char *decision;
    const struct ruling *ruling;
    const char *outcome;
    enum error error;
};
// Somebody has decided.
void gate_audit_decision(struct shard *shard, struct approver decider, const struct gate_audit_entry *record);
