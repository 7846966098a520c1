#include "core/rules.h"

static struct rules_verdict refuse(enum error error) {
    return (struct rules_verdict){.error = error};
}

struct rules_verdict rules_route(struct agents *agents, const struct rules_message *message,
                                 groups_load *load, const void *context) {
    struct agent *agent = NULL;
    if (message->target_given) {
        if (!message->target_is_string)
            return refuse(ERROR_INVALID_PARAMS);
        if (message->target)
            agent = agents_find(agents, message->target, message->target_bytes);
        if (!agent)
            return refuse(ERROR_AGENT_NOT_FOUND);
    } else {
        agent = groups_choose(&agents->groups, GROUP_METHOD, message->method, message->method_bytes,
                              message->source, load, context);
        if (!agent)
            return refuse(ERROR_METHOD_NOT_FOUND);
    }
    bool violates = message->required > agent->governance;
    return (struct rules_verdict){.error = violates ? ERROR_GOVERNANCE_VIOLATION : ERROR_NONE,
                                  .agent = agent};
}
