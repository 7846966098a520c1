// Whether a user may call an agent that is known by what another hub says of it: the part of authz.h that reads that.
#include <assert.h>

#include "core/json/name_list.h"
#include "router/rights/authz.h"

static bool may_call(const struct user *user, enum right_kind kind, const char *name, size_t bytes) {
    struct right_call call = {.by = kind};
    assert(kind < KIND_EVENT);
    call.names[kind] = (struct right_name){true, name, bytes};
    return rights_call(user, &call).allowed;
}

static bool may_call_listed(const struct user *user, enum right_kind kind, const uint8_t *text,
                            struct span list) {
    struct name_list listing;
    char name[METHOD_BYTES_MAX];
    assert(kind < KIND_EVENT && list.bytes > 0);
    name_list_begin(&listing, text, list);
    for (struct span span; name_list_next(&listing, &span);) {
        size_t bytes = json_string_decode(text, span, name, sizeof name);
        if (bytes != SIZE_MAX && bytes > 0 && may_call(user, kind, name, bytes))
            return true;
    }
    return false;
}

// An agent with a command is reached by the method that runs commands.
static bool may_command(const struct user *user, const uint8_t *text, struct span capabilities) {
    static const char *const members[] = {"commands", "toolbarButtons"};
    static const char method[] = "command/execute";
    bool any = false;
    for (size_t index = 0; index < sizeof members / sizeof *members; index++) {
        struct json_item list = json_member(text, capabilities, members[index]);
        any |= list.type == JSON_ARRAY || list.type == JSON_OBJECT;
    }
    return any && may_call(user, KIND_METHOD, method, sizeof method - 1);
}

// Notifications that it names by objects.
static bool may_notify(const struct user *user, const uint8_t *text, struct span capabilities) {
    struct json_item events = json_member(text, capabilities, "events");
    struct json_walk walk;
    char name[METHOD_BYTES_MAX];
    if (events.type != JSON_ARRAY)
        return false;
    json_walk_begin(&walk, text, events.value);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        struct json_item named = {0};
        if (item.type == JSON_OBJECT)
            named = json_member(text, item.value, "name");
        size_t bytes =
            named.type == JSON_STRING ? json_string_decode(text, named.value, name, sizeof name) : SIZE_MAX;
        if (bytes != SIZE_MAX && bytes > 0 && may_call(user, KIND_METHOD, name, bytes))
            return true;
    }
    return false;
}

// As groups are made of capabilities (core/agents/groups.c).
static bool may_call_any(const struct user *user, const uint8_t *text, struct span capabilities) {
    static const struct {
        const char *member;
        enum right_kind kind;
    } lists[] = {{"methods", KIND_METHOD}, {"tools", KIND_TOOL}, {"tasks", KIND_CAPABILITY}};
    if (may_call_listed(user, KIND_CAPABILITY, text, capabilities))
        return true;
    for (size_t index = 0; index < sizeof lists / sizeof *lists; index++) {
        struct json_item list = json_member(text, capabilities, lists[index].member);
        bool is_list =
            list.type == JSON_ARRAY || (list.type == JSON_OBJECT && lists[index].kind != KIND_CAPABILITY);
        if (is_list && may_call_listed(user, lists[index].kind, text, list.value))
            return true;
    }
    return may_command(user, text, capabilities) || may_notify(user, text, capabilities);
}

bool authz_sees_described(const struct user *user, const char *agent, size_t bytes, const uint8_t *text,
                          struct span capabilities) {
    assert(agent && bytes > 0);
    if (!user || users_rights(user)->admin || may_call(user, KIND_AGENT, agent, bytes))
        return true;
    return capabilities.bytes > 0 && rights_reach(user, agent, bytes).allowed &&
           may_call_any(user, text, capabilities);
}

bool authz_sees_entry(const struct user *user, const uint8_t *text, struct span agent) {
    struct json_item id = json_member(text, agent, "agentId"),
                     capabilities = json_member(text, agent, "capabilities");
    char name[AGENT_ID_BYTES_MAX];
    assert(agent.bytes > 0);
    if (!user || users_rights(user)->admin)
        return true;
    size_t bytes = id.type == JSON_STRING ? json_string_decode(text, id.value, name, sizeof name) : SIZE_MAX;
    if (bytes == SIZE_MAX || bytes == 0)
        return false;
    bool found = capabilities.type == JSON_OBJECT || capabilities.type == JSON_ARRAY;
    return authz_sees_described(user, name, bytes, text, found ? capabilities.value : (struct span){0});
}
