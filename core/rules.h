// Where a message that names a method goes: the routing rules as one function.
//
//   1. params.targetAgent names an agent → that agent, whatever the method is; unknown: agent not found
//   2. no targetAgent: one of the agents whose capabilities.methods lists the method, the one that owes least
//   3. else: method not found
//
// In either case an agent whose governance level is below what the message requires doesn't get it.
#pragma once

#include "core/agents.h"
#include "core/errors.h"

struct rules_message {
    const char *method; // decoded
    size_t method_bytes;
    bool target_given;
    const char *target; // decoded; NULL when given but no string, or longer than an agentId can be
    size_t target_bytes;
    bool target_is_string;
    enum governance required; // by the header block; GOVERNANCE_AUTONOMOUS requires nothing
    uint64_t source;          // connection
};

struct rules_verdict {
    enum error error;    // ERROR_NONE: to the agent
    struct agent *agent; // also with ERROR_GOVERNANCE_VIOLATION
};

struct rules_verdict rules_route(struct agents *agents, const struct rules_message *message,
                                 groups_load *load, const void *context);
