// The routing rules as one function: where a message that names a method goes. A targetAgent that is present
// decides alone.
//
//   1. params.targetAgent names an agent → that agent, whatever the method is; unknown: agent not found
//   2. params.targetAgent is @NAME → one of the agents with that capability; none: agent not found
//   3. tool/integration → one of the agents that offer params.tool; none: tool integration error
//   4. governance/approval → the agent that params.approver names, if there is one; else rule 6
//   5. command/execute → one of the agents whose capabilities.commands lists params.command; none: rule 6
//   6. any other method → one of the agents whose capabilities.methods lists it; none: method not found
//
// "One of" means agents that support the governance level of the message and aren't on the source's own connection. The
// agent with the fewest pending requests is chosen, ties in turn. If all such agents support a lower level, the message
// is a violation.
#pragma once

#include "core/agents/agents.h"
#include "core/base/errors.h"

// A field of params, decoded.
struct rules_field {
    bool is_present;
    bool is_string;
    const char *text; // NULL: no string, or longer than any name
    size_t bytes;
};

struct rules_message {
    const char *method; // decoded; NULL: longer than any name
    size_t method_bytes;
    struct rules_field target;
    struct rules_field tool;       // read for tool/integration alone
    struct rules_field approver;   // read for governance/approval alone
    struct rules_field command;    // read for command/execute alone
    enum governance required;      // by the header block; GOVERNANCE_AUTONOMOUS requires nothing
    uint64_t source;               // connection
    bool is_remote;                // the source is at another hub
    groups_may_reach *may_reach;   // which members of groups the source may reach; NULL: all
    const void *may_reach_context; // the context of `may_reach`
    // If no agent here has the approver's name: the source may ask that name alone, or agents that offer the method
    // alone.
    bool by_name_only, by_method_only;
};

struct rules_verdict {
    enum error error;    // ERROR_NONE: to the agent
    struct agent *agent; // also with ERROR_GOVERNANCE_VIOLATION
    const char *field;   // with ERROR_INVALID_PARAMS: the field that isn't a string
    bool stands_in;      // no agent here has the named approver or command: the agent was found by the method
};

// Returns whether the source doesn't find this agent, as if the agent weren't registered.
static inline bool rules_pass_over(const struct rules_message *message, const struct agent *agent) {
    return message->is_remote && agent->local_only;
}
// Return whether the rule of the method reads params.tool, params.approver, or params.command.
bool rules_is_tool_call(const struct rules_message *message);
bool rules_is_approval(const struct rules_message *message);
bool rules_is_command(const struct rules_message *message);
// Returns whether the message is an event, which goes to all subscribers of params.event (core/agents/topics.h): the
// method `event` without a targetAgent. Then rules_route must not be called.
bool rules_is_event(const struct rules_message *message);

// Returns the agent for a message, or the error. `load` and `context` tell the pending requests of agents.
struct rules_verdict rules_route(struct agents *agents, const struct rules_message *message,
                                 groups_load *load, const void *context);
