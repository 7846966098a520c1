#include "router/rights/authz.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "core/agents/topics.h"
#include "core/json/json.h"
#include "core/requests/checkpoint.h"
#include "router/engine/message/message_copy.h"
#include "router/engine/request/refuse.h"
#include "router/engine/shard/feature_call.h"

static struct account nobodys_account;
static const struct user no_user = {.place = USERS_NO_PLACE, .name = "", .account = &nobodys_account};

const struct user *authz_user(const struct shard *shard, const struct peer *peer) {
    if (__builtin_expect(!shard->settings->users, true))
        return NULL;
    const struct user *user = identity_user(peer);
    return user ? user : &no_user;
}

// --- Calls

static bool authz_refuse(struct shard *shard, const struct message *message, bool allowed, enum rule rule) {
    if (!allowed)
        refuse_right(shard, message, rule);
    return allowed;
}

static struct right_name name_of(const struct rules_field *field, size_t skipped) {
    bool is_there = field->text && field->bytes >= skipped;
    return (struct right_name){true, is_there ? field->text + skipped : NULL,
                               is_there ? field->bytes - skipped : 0};
}

static bool is_capability(const struct rules_field *target) {
    return target->text && target->bytes && target->text[0] == '@';
}

// Returns whether method and target decide alone.
static bool is_plain(const struct message *message) {
    return !(message->lookup.present & (1U << KEY_TOOL | 1U << KEY_APPROVER));
}

// Returns whether the user's rights deny or hold any tool, so that a tool counts in messages of every kind.
static bool restricts_tools(const struct user *user) {
    return !pattern_set_is_empty(&users_rights(user)->denied[RIGHT_CALL][KIND_TOOL]) ||
           !pattern_set_is_empty(&users_rights(user)->granted[RIGHT_HOLD][KIND_TOOL]);
}

// Adds the tool that a message names to the call, whatever the method is. Decodes the tool into `text`.
static void read_tool(const struct user *user, const struct message *message, struct right_call *call,
                      char text[METHOD_BYTES_MAX]) {
    const struct lookup *lookup = &message->lookup;
    if (call->names[KIND_TOOL].is_present || !restricts_tools(user) || !lookup_has(lookup, KEY_TOOL) ||
        lookup->type[KEY_TOOL] != JSON_STRING)
        return;
    size_t bytes = json_string_decode(message->body, lookup->value[KEY_TOOL], text, METHOD_BYTES_MAX);
    bool is_long = bytes == SIZE_MAX;
    call->names[KIND_TOOL] = (struct right_name){true, is_long ? NULL : text, is_long ? 0 : bytes};
}

// Fills in the names of the call. Returns false if the name that decides is no string: the message is refused for that
// later.
static bool read_call(const struct shard *shard, const struct rules_message *criteria,
                      struct right_call *call) {
    const struct rules_field *approver = &criteria->approver;
    const struct agent *named;
    call->by = KIND_METHOD;
    for (enum right_kind kind = 0; kind < KINDS_COUNT; kind++)
        call->names[kind].is_present = false; // the other fields aren't read then
    call->names[KIND_METHOD] = (struct right_name){true, criteria->method, criteria->method_bytes};
    if (criteria->tool.is_string)
        call->names[KIND_TOOL] = name_of(&criteria->tool, 0);
    if (criteria->target.is_present) {
        bool group = is_capability(&criteria->target);
        call->by = group ? KIND_CAPABILITY : KIND_AGENT;
        call->names[call->by] = name_of(&criteria->target, group);
        return criteria->target.is_string;
    }
    if (rules_is_tool_call(criteria)) {
        call->by = KIND_TOOL;
        return criteria->tool.is_string;
    }
    if (rules_is_approval(criteria) && approver->text &&
        (named = agents_find(&shard->agents, approver->text, approver->bytes)) && !named->absent &&
        !rules_pass_over(criteria, named)) {
        call->by = KIND_AGENT;
        call->names[KIND_AGENT] = name_of(approver, 0);
    }
    return true;
}

bool authz_in_reach(const void *user, const struct agent *agent) {
    assert(user && agent);
    return authz_reaches(user, agent);
}

// Restricts the rules to the named approver, if the user may call that agent alone. Otherwise agents that offer the
// method would be next when a pool has no free agent.
static void restrict_to_approver(const struct user *user, const struct right_call *call,
                                 struct rules_message *criteria) {
    struct right_call by_method = *call;
    assert(call->by == KIND_AGENT && !criteria->target.is_present);
    by_method.by = KIND_METHOD;
    by_method.names[KIND_AGENT].is_present = false;
    criteria->by_name_only = !rights_call(user, &by_method).allowed;
}

// Returns whether a message without a target goes where its connection was attached when that was kept. The
// link is attached anew by each subject, and a message that goes on later goes where its connection was then.
static bool is_unchanged_target(const struct message *message) {
    if (lookup_has(&message->lookup, KEY_TARGET_AGENT))
        return true;
    if (message->approved || message->retry)
        return false;
    return !message->origin || !message_attachment(message);
}

// --- Agents with tools

// Returns whether a message goes to such an agent of this hub, by its name.
static bool is_for_server(const struct shard *shard, const struct rules_message *criteria) {
    const struct rules_field *target = &criteria->target;
    if (!target->is_present || !target->text || is_capability(target))
        return false;
    return feature_has_tools(shard, target->text, target->bytes);
}

// The name of a tool behind its server's. Bytes that a tool's name can't have at /mcp are _ there.
static size_t put_full_name(const char *name, size_t bytes, const char *tool, size_t tool_bytes, char *out) {
    for (size_t at = 0; at < bytes; at++)
        out[at] = isalnum((unsigned char)name[at]) || name[at] == '-' ? name[at] : '_';
    memcpy(out + bytes, "__", 2);
    memcpy(out + bytes + 2, tool, tool_bytes);
    return bytes + 2 + tool_bytes;
}

// A tool is named as it is, or behind its server's name. A denial of either counts, and of the server; else a right to
// call one of them is enough.
static bool may_call_tool(const struct user *user, struct right_call *call, const struct right_name *tool) {
    char full[AGENT_ID_BYTES_MAX + 2 + METHOD_BYTES_MAX];
    const struct right_name *server = &call->names[KIND_AGENT];
    struct right_name names[2] = {*tool, {.is_present = true}};
    bool allowed = false;
    if (tool->text && server->text)
        names[1] = (struct right_name){
            true, full, put_full_name(server->text, server->bytes, tool->text, tool->bytes, full)};
    for (size_t index = 0; index < 2; index++) {
        call->names[KIND_TOOL] = names[index];
        call->by = KIND_AGENT;
        struct verdict by_server = rights_call(user, call);
        call->by = KIND_TOOL;
        struct verdict by_tool = names[index].text ? rights_call(user, call) : by_server;
        if ((!by_server.allowed && by_server.line) || (!by_tool.allowed && by_tool.line))
            return false;
        allowed |= by_server.allowed || by_tool.allowed;
    }
    return allowed;
}

// Returns the tool that a tools/call names; text NULL: none, or too long.
static struct right_name read_mcp_tool(const struct message *message, char text[METHOD_BYTES_MAX]) {
    const struct lookup *lookup = &message->lookup;
    struct json_item name = {0};
    if (lookup_has(lookup, KEY_PARAMS) && lookup->type[KEY_PARAMS] == JSON_OBJECT)
        name = json_member(message->body, lookup->value[KEY_PARAMS], "name");
    size_t bytes = name.type == JSON_STRING
                       ? json_string_decode(message->body, name.value, text, METHOD_BYTES_MAX)
                       : SIZE_MAX;
    return (struct right_name){true, bytes == SIZE_MAX ? NULL : text, bytes == SIZE_MAX ? 0 : bytes};
}

// Returns whether a user with the right to single tools of a server may send this method to the server. tools/list is
// for peers whose lists the hub composes.
static bool is_of_opening(const struct message *message) {
    static const char *const methods[] = {"initialize", "notifications/initialized", "ping",
                                          "server/discover"};
    for (size_t index = 0; index < sizeof methods / sizeof *methods; index++)
        if (message_method_is(message, methods[index]))
            return true;
    return message->peer->transport->is_attached && message_method_is(message, "tools/list");
}

static bool may_call_server(const struct message *message, const struct user *user, struct right_call *call) {
    char text[METHOD_BYTES_MAX];
    const struct right_name *server = &call->names[KIND_AGENT];
    assert(call->by == KIND_AGENT && server->text);
    if (message_method_is(message, "tools/call")) {
        struct right_name tool = read_mcp_tool(message, text);
        return may_call_tool(user, call, &tool);
    }
    struct verdict verdict = rights_call(user, call);
    return verdict.allowed ||
           (!verdict.line && is_of_opening(message) && authz_calls_server(user, server->text, server->bytes));
}

bool authz_calls_tool(const struct user *user, const char *name, size_t bytes, const char *tool,
                      size_t tool_bytes) {
    static const char method[] = "tools/call";
    struct right_call call = {.by = KIND_AGENT};
    call.names[KIND_AGENT] = (struct right_name){true, name, bytes};
    call.names[KIND_METHOD] = (struct right_name){true, method, sizeof method - 1};
    struct right_name called = {true, tool_bytes < METHOD_BYTES_MAX ? tool : NULL,
                                tool_bytes < METHOD_BYTES_MAX ? tool_bytes : 0};
    return may_call_tool(user, &call, &called);
}

// Checks the right by all names in the message. Keeps an allowed plain call in the cache.
static __attribute__((noinline)) bool may_call_described(struct shard *shard, const struct message *message,
                                                         const struct user *user,
                                                         struct rules_message *criteria) {
    struct identity *identity = identity_of(message->peer);
    struct right_call call;
    char tool[METHOD_BYTES_MAX];
    bool is_known = identity && is_plain(message) && is_unchanged_target(message);
    if (!read_call(shard, criteria, &call))
        return true;
    read_tool(user, message, &call, tool);
    if (__builtin_expect(is_for_server(shard, criteria), false))
        return may_call_server(message, user, &call);
    bool allowed = rights_call(user, &call).allowed;
    if (allowed && call.by == KIND_AGENT && !criteria->target.is_present)
        restrict_to_approver(user, &call, criteria);
    if (allowed && is_known)
        authz_cache_keep_call(&shard->quota, identity, user, message, criteria);
    return allowed;
}

static bool may_send(struct shard *shard, const struct message *message, const struct user *user,
                     struct rules_message *criteria) {
    struct identity *identity = identity_of(message->peer);
    return (identity && is_unchanged_target(message) && authz_cache_call(identity, message)) ||
           may_call_described(shard, message, user, criteria);
}

// Returns whether the message names an approver that may be at another hub.
static bool names_remote_agent(const struct shard *shard, const struct message *message,
                               const struct rules_message *criteria) {
    const struct rules_field *approver = &criteria->approver;
    bool skips_first = message->retry && message->retry->first_over;
    return hub_has_cluster(shard->hub) && !message->origin && !skips_first && !criteria->target.is_present &&
           rules_is_approval(criteria) && approver->text &&
           !agents_find(&shard->agents, approver->text, approver->bytes);
}

// Returns whether the user may ask the approver, or agents that offer the method. If only one of both is allowed,
// criteria says so.
static bool may_seek(struct shard *shard, const struct message *message, const struct user *user,
                     struct rules_message *criteria) {
    struct right_call call;
    bool by_method = may_send(shard, message, user, criteria);
    read_call(shard, criteria, &call);
    call.by = KIND_AGENT;
    call.names[KIND_AGENT] = name_of(&criteria->approver, 0);
    bool by_name = rights_call(user, &call).allowed;
    criteria->by_name_only = by_name && !by_method;
    criteria->by_method_only = by_method && !by_name;
    return by_name || by_method;
}

bool authz_call(struct shard *shard, const struct message *message, struct rules_message *criteria) {
    const struct user *user = authz_user(shard, message->peer);
    if (!user)
        return true;
    if (names_remote_agent(shard, message, criteria) ? !may_seek(shard, message, user, criteria)
                                                     : !may_send(shard, message, user, criteria)) {
        refuse_right(shard, message, RULE_CALL);
        return false;
    }
    if (!rights_reach_all(user) && !criteria->may_reach) {
        criteria->may_reach = authz_in_reach;
        criteria->may_reach_context = user;
    }
    return true;
}

// The same of the tool that a tools/call names, by either name.
static bool holds_tool(const struct shard *shard, const struct message *message, const struct user *user,
                       const struct rules_message *criteria, struct right_call *call) {
    char text[METHOD_BYTES_MAX], full[AGENT_ID_BYTES_MAX + 2 + METHOD_BYTES_MAX];
    if (!message_method_is(message, "tools/call") || !is_for_server(shard, criteria))
        return false;
    struct right_name tool = read_mcp_tool(message, text);
    call->names[KIND_TOOL] = tool;
    if (rights_hold(user, call) || !tool.text)
        return rights_hold(user, call) != 0;
    size_t bytes = put_full_name(criteria->target.text, criteria->target.bytes, tool.text, tool.bytes, full);
    call->names[KIND_TOOL] = (struct right_name){true, full, bytes};
    return rights_hold(user, call) != 0;
}

bool authz_requires_approval(const struct shard *shard, const struct message *message,
                             const struct rules_message *criteria) {
    const struct user *user = authz_user(shard, message->peer);
    struct right_call call;
    char event[EVENT_BYTES_MAX], tool[METHOD_BYTES_MAX];
    if (!user || !rights_hold_any(user))
        return false;
    (void)read_call(shard, criteria, &call); // a value that is no string names nothing
    read_tool(user, message, &call, tool);
    if (message_method_is(message, "event") && lookup_has(&message->lookup, KEY_EVENT) &&
        message->lookup.type[KEY_EVENT] == JSON_STRING) {
        size_t bytes =
            json_string_decode(message->body, message->lookup.value[KEY_EVENT], event, sizeof event);
        bool is_long = bytes == SIZE_MAX;
        call.names[KIND_EVENT] = (struct right_name){true, is_long ? NULL : event, is_long ? 0 : bytes};
    }
    return rights_hold(user, &call) != 0 || holds_tool(shard, message, user, criteria, &call);
}

// An instance of a child bears its name, and a number.
bool authz_requires_approval_at(const struct shard *shard, const struct message *message,
                                const struct agent *agent) {
    const struct user *user = authz_user(shard, message->peer);
    size_t bytes = agent->pool_bytes ? agent->pool_bytes : agent->id_bytes;
    return user && rights_hold_any(user) && rights_hold_agent(user, agent->id, bytes) != 0;
}

bool authz_may_use_source(struct shard *shard, const struct message *message) {
    const struct user *user = authz_user(shard, message->peer);
    return !user || authz_refuse(shard, message, user != &no_user, RULE_CALL);
}

bool authz_may_list(struct shard *shard, const struct message *message) {
    const struct user *user = authz_user(shard, message->peer);
    struct right_call call = {.by = KIND_METHOD};
    char tool[METHOD_BYTES_MAX];
    assert(message_is_request(message));
    if (!user)
        return true;
    call.names[KIND_METHOD] =
        (struct right_name){true, message->method_long ? NULL : message->method, message->method_bytes};
    read_tool(user, message, &call, tool);
    return authz_refuse(shard, message, rights_call(user, &call).allowed, RULE_CALL);
}

bool authz_log(struct shard *shard, const struct message *message) {
    static const char method[] = "audit/log";
    if (__builtin_expect(!message_method_is(message, method), true))
        return true;
    const struct user *user = authz_user(shard, message->peer);
    struct right_call call = {.by = KIND_METHOD};
    call.names[KIND_METHOD] = (struct right_name){true, method, sizeof method - 1};
    return !user || authz_refuse(shard, message, rights_call(user, &call).allowed, RULE_CALL);
}

bool authz_attachment(struct shard *shard, const struct message *message, const char *agent, size_t bytes) {
    const struct user *user = authz_user(shard, message->peer);
    struct right_call call = {.by = KIND_AGENT};
    assert(agent && bytes > 0);
    call.names[KIND_AGENT] = (struct right_name){true, agent, bytes};
    if (!user || rights_call(user, &call).allowed)
        return true;
    refuse_right(shard, message, RULE_CALL);
    return false;
}

// An instance of a child bears its name, and a number.
bool authz_reaches(const struct user *user, const struct agent *agent) {
    size_t bytes = agent->pool_bytes ? agent->pool_bytes : agent->id_bytes;
    return !user || rights_reach(user, agent->id, bytes).allowed;
}

// --- Events

bool authz_publish(struct shard *shard, const struct message *message, const char *name, size_t bytes) {
    const struct user *user = authz_user(shard, message->peer);
    assert(bytes > 0);
    return !user || authz_refuse(shard, message, rights_publish(user, name, bytes).allowed, RULE_PUBLISH);
}

bool authz_may_receive(const struct user *user, const char *pattern, size_t bytes) {
    assert(user && pattern);
    return rights_subscribe(user, pattern, bytes).allowed;
}

bool authz_subscribe(struct shard *shard, const struct message *message, const char *pattern, size_t bytes) {
    const struct user *user = authz_user(shard, message->peer);
    assert(bytes > 0);
    return !user || authz_refuse(shard, message, authz_may_receive(user, pattern, bytes), RULE_SUBSCRIBE);
}

// --- Levels and rights of admins

bool authz_level(struct shard *shard, const struct message *message, enum governance level) {
    const struct user *user = authz_user(shard, message->peer);
    return !user || authz_refuse(shard, message, rights_level(user, level).allowed, RULE_LEVEL);
}

bool authz_admin(struct shard *shard, const struct message *message) {
    const struct user *user = authz_user(shard, message->peer);
    return !user || authz_refuse(shard, message, rights_admin(user).allowed, RULE_ADMIN);
}

// --- Seeing

static bool may_call(const struct user *user, enum right_kind kind, const char *name, size_t bytes) {
    struct right_call call = {.by = kind};
    assert(kind < KIND_EVENT);
    call.names[kind] = (struct right_name){true, name, bytes};
    return rights_call(user, &call).allowed;
}

bool authz_calls_server(const struct user *user, const char *name, size_t bytes) {
    const struct pattern_set *tools = &users_rights(user)->granted[RIGHT_CALL][KIND_TOOL];
    if (may_call(user, KIND_AGENT, name, bytes))
        return true;
    return !pattern_set_is_empty(tools) && rights_reach(user, name, bytes).allowed;
}

static bool may_call_by(const struct user *user, const struct membership *membership) {
    static const char command[] = "command/execute";
    enum group_kind kind;
    size_t bytes;
    const char *name = membership_name(membership, &kind, &bytes);
    switch (kind) {
    case GROUP_METHOD:
    case GROUP_NOTICE:
        return may_call(user, KIND_METHOD, name, bytes);
    case GROUP_CAPABILITY:
        return may_call(user, KIND_CAPABILITY, name, bytes);
    case GROUP_TOOL:
        return may_call(user, KIND_TOOL, name, bytes);
    case GROUP_COMMAND:
        return may_call(user, KIND_METHOD, command, sizeof command - 1);
    case GROUP_POOL:
    case GROUP_KINDS:
        break;
    }
    return false;
}

bool authz_sees(const struct user *user, const struct agent *agent) {
    size_t bytes = agent->pool_bytes ? agent->pool_bytes : agent->id_bytes;
    if (!user || users_rights(user)->admin || may_call(user, KIND_AGENT, agent->id, bytes))
        return true;
    if (!authz_reaches(user, agent))
        return false;
    for (size_t index = 0; index < agent->membership_count; index++)
        if (may_call_by(user, &agent->memberships[index]))
            return true;
    return false;
}

// --- Streams

static const char producers[] = "hcs";

bool authz_stream(const struct user *user, const char *target, size_t bytes) {
    if (!user)
        return true;
    if (!bytes)
        return may_call(user, KIND_CAPABILITY, producers, sizeof producers - 1);
    bool group = target[0] == '@';
    return may_call(user, group ? KIND_CAPABILITY : KIND_AGENT, target + group, bytes - group);
}

bool authz_joins(const struct user *user, const char *agent, size_t bytes, const char *target,
                 size_t target_bytes) {
    assert(bytes > 0);
    if (!user || may_call(user, KIND_AGENT, agent, bytes))
        return true;
    return rights_reach(user, agent, bytes).allowed && authz_stream(user, target, target_bytes);
}

bool authz_stream_requires_approval(const struct user *user, const char *agent, size_t bytes,
                                    const char *target, size_t target_bytes) {
    if (!user || !rights_hold_any(user))
        return false;
    assert(bytes > 0 && (target || target_bytes == 0));
    bool group = target_bytes && target[0] == '@';
    struct right_call call = {.by = group ? KIND_CAPABILITY : KIND_AGENT};
    call.names[call.by] = (struct right_name){target_bytes > 0, target + group, target_bytes - group};
    return rights_hold_agent(user, agent, bytes) != 0 || (target_bytes && rights_hold(user, &call) != 0);
}

// --- Who approves

struct approver authz_approver(const struct peer *peer) {
    return (struct approver){peer->connection_id, identity_user(peer)};
}

bool authz_is_same_approver(struct approver one, struct approver other) {
    assert(one.connection && other.connection);
    bool users = one.user || other.user;
    return users ? identity_same(one.user, other.user) : one.connection == other.connection;
}

bool authz_may_decide(const struct shard *shard, const struct peer *peer) {
    assert(connection_shard(peer->connection_id) == shard->index);
    const struct user *user = authz_user(shard, peer);
    return !user || rights_admin(user).allowed;
}

// --- Agents of other hubs

// Whether a user may call an agent that is known by what another hub says of it: the part of authz.h that reads that.

static bool may_call_remote(const struct user *user, enum right_kind kind, const char *name, size_t bytes) {
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
        if (bytes != SIZE_MAX && bytes > 0 && may_call_remote(user, kind, name, bytes))
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
    return any && may_call_remote(user, KIND_METHOD, method, sizeof method - 1);
}

// Returns whether the user may send a notification that the agent names by an object in capabilities.events.
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
        if (bytes != SIZE_MAX && bytes > 0 && may_call_remote(user, KIND_METHOD, name, bytes))
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
    if (!user || users_rights(user)->admin || may_call_remote(user, KIND_AGENT, agent, bytes))
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
