#include "core/agents/rules.h"

#include <assert.h>
#include <string.h>

// The input of one routing decision.
struct rules_query {
    struct agents *agents;
    const struct rules_message *message;
    groups_load *load;
    const void *context;
};

static struct agent *choose(const struct rules_query *query, enum group_kind kind, const char *name,
                            size_t bytes) {
    const struct rules_message *message = query->message;
    struct wanted_member wanted = {message->source, message->required, message->is_remote, message->may_reach,
                                   message->may_reach_context};
    return groups_choose(&query->agents->groups, kind, name, bytes, &wanted, query->load, query->context);
}

// Writes a verdict field by field in its final place. A copied verdict would be read in larger pieces than it was
// written in, and the processor would stall.
static inline void give(struct rules_verdict *verdict, struct agent *agent, enum error none) {
    assert(none != ERROR_NONE && !verdict->agent);
    verdict->error = agent ? ERROR_NONE : none;
    verdict->agent = agent;
}

static inline void not_a_string(struct rules_verdict *verdict, const char *field) {
    verdict->error = ERROR_INVALID_PARAMS;
    verdict->field = field;
}

static bool method_is(const struct rules_message *message, const char *method) {
    assert(message->method || message->method_bytes == 0);
    return message->method_bytes == strlen(method) && memcmp(message->method, method, strlen(method)) == 0;
}

bool rules_is_tool_call(const struct rules_message *message) {
    return method_is(message, "tool/integration");
}

bool rules_is_approval(const struct rules_message *message) {
    return method_is(message, "governance/approval");
}

bool rules_is_command(const struct rules_message *message) {
    return method_is(message, "command/execute");
}

bool rules_is_event(const struct rules_message *message) {
    return !message->target.is_present && method_is(message, "event");
}

// Returns the agent or pool with this name, or NULL. A pool's member has no name of its own for senders: the pool has.
static struct agent *named(const struct rules_query *query, const struct rules_field *name) {
    struct agent *agent = agents_find_again(query->agents, name->text, name->bytes);
    if (agent && rules_pass_over(query->message, agent))
        return NULL;
    if (!agent || !agent->pool_bytes)
        return agent && agent->absent ? NULL : agent;
    return agent->pool_bytes == name->bytes ? choose(query, GROUP_POOL, name->text, name->bytes) : NULL;
}

static inline void by_target(const struct rules_query *query, struct rules_verdict *verdict) {
    const struct rules_field *target = &query->message->target;
    assert(target->is_present && (target->is_string || !target->text));
    struct agent *agent = NULL;
    if (!target->is_string) {
        not_a_string(verdict, "params.targetAgent");
        return;
    }
    if (target->bytes && target->text && target->text[0] == '@')
        agent = choose(query, GROUP_CAPABILITY, target->text + 1, target->bytes - 1);
    else if (target->text)
        agent = named(query, target);
    bool is_there = agent && (!agent->absent || target->text[0] == '@');
    give(verdict, is_there ? agent : NULL, ERROR_AGENT_NOT_FOUND);
}

static void by_tool(const struct rules_query *query, struct rules_verdict *verdict) {
    const struct rules_field *tool = &query->message->tool;
    assert(tool->is_string || !tool->text);
    if (!tool->is_string)
        not_a_string(verdict, "params.tool");
    else
        give(verdict, tool->text ? choose(query, GROUP_TOOL, tool->text, tool->bytes) : NULL, ERROR_TOOL);
}

static void by_method(const struct rules_query *query, struct rules_verdict *verdict) {
    const struct rules_message *message = query->message;
    const struct rules_field *approver = &message->approver, *command = &message->command;
    bool by_approver = rules_is_approval(message) && approver->text;
    bool by_command = rules_is_command(message) && command->text;
    struct agent *agent = NULL;
    if (by_approver)
        agent = named(query, approver);
    if (by_command)
        agent = choose(query, GROUP_COMMAND, command->text, command->bytes);
    verdict->stands_in = (by_approver || by_command) && !agent;
    if (!agent && message->method && !message->by_name_only)
        agent = choose(query, GROUP_METHOD, message->method, message->method_bytes);
    give(verdict, agent, ERROR_METHOD_NOT_FOUND);
}

struct rules_verdict rules_route(struct agents *agents, const struct rules_message *message,
                                 groups_load *load, const void *context) {
    assert(!rules_is_event(message) && message->required < GOVERNANCE_COUNT);
    struct rules_query query = {agents, message, load, context};
    struct rules_verdict verdict = {0};
    if (message->target.is_present)
        by_target(&query, &verdict);
    else if (rules_is_tool_call(message))
        by_tool(&query, &verdict);
    else
        by_method(&query, &verdict);
    if (verdict.agent && message->required > verdict.agent->governance)
        verdict.error = ERROR_GOVERNANCE_VIOLATION;
    assert(verdict.error != ERROR_NONE || verdict.agent);
    return verdict;
}
