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
// "One of" means agents that support the governance level of the message, and never one on the source's own
// connection. The agent that owes least is chosen, ties in turn. Where agents are there but support less,
// that is a violation.
#pragma once

#include "core/agents/agents.h"
#include "core/base/errors.h"

// A field of params, decoded.
struct rules_field {
    bool is_present;
    bool is_string;
    const char *text; // NULL when it is no string, or longer than any name can be
    size_t bytes;
};

struct rules_message {
    const char *method; // decoded; NULL: longer than any name can be, so nobody's
    size_t method_bytes;
    struct rules_field target;
    struct rules_field tool;     // read for tool/integration alone
    struct rules_field approver; // read for governance/approval alone
    struct rules_field command;  // read for command/execute alone
    enum governance required;    // by the header block; GOVERNANCE_AUTONOMOUS requires nothing
    uint64_t source;             // connection
    bool from_elsewhere;         // which is that to other hubs
    groups_reaches *reaches;     // of groups: who may be reached; NULL: all
    const void *reaching;        // its context
    // The approver is nobody's here: the source may ask that approver alone, or agents that offer the method
    // alone.
    bool by_name_only, by_method_only;
};

struct rules_verdict {
    enum error error;    // ERROR_NONE: to the agent
    struct agent *agent; // also with ERROR_GOVERNANCE_VIOLATION
    const char *field;   // with ERROR_INVALID_PARAMS: which isn't a string
    bool
        stands_in; // the approver, or command, that it names is nobody's here: whoever offers the method is next
};

// Whether an agent isn't for who asks, as if it weren't there.
static inline bool rules_pass_over(const struct rules_message *message, const struct agent *agent) {
    return message->from_elsewhere && agent->here_only;
}
// Whether `method` is the one whose rule reads params.tool, params.approver, or params.command.
bool rules_read_tool(const struct rules_message *message);
bool rules_read_approver(const struct rules_message *message);
bool rules_read_command(const struct rules_message *message);
// Whether it is an event, which goes to all who subscribed to params.event (core/agents/topics.h) and not to
// one agent: `event` without a targetAgent. rules_route isn't asked then.
bool rules_is_event(const struct rules_message *message);

struct rules_verdict rules_route(struct agents *agents, const struct rules_message *message,
                                 groups_load *load, const void *context);
