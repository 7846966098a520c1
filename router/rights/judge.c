#include "router/rights/judge.h"

#include <assert.h>
#include <string.h>

#include "core/agents/topics.h"
#include "core/json/listing.h"
#include "core/requests/checkpoint.h"
#include "router/request/refuse.h"
#include "router/rights/recall.h"

static struct account nobodys_account;
static const struct user nobody = {.name = "", .account = &nobodys_account};

const struct user *judge_user(const struct shard *shard, const struct peer *peer) {
    if (__builtin_expect(!shard->settings->users, true))
        return NULL;
    const struct user *user = identity_user(peer);
    return user ? user : &nobody;
}

// --- Calls

static bool judge_refuse(struct shard *shard, const struct message *message, bool allowed, enum rule rule) {
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

// Whether any line says of tools what a message that goes elsewhere may not name, or what of it is held.
static bool minds_tools(const struct user *user) {
    return !pattern_set_is_empty(&user->denied[RIGHT_CALL][KIND_TOOL]) ||
           !pattern_set_is_empty(&user->given[RIGHT_HOLD][KIND_TOOL]);
}

// The tool that a message names, whatever its method is; decoded into `text`.
static void read_tool(const struct user *user, const struct message *message, struct right_call *call,
                      char text[METHOD_BYTES_MAX]) {
    const struct lookup *lookup = &message->lookup;
    if (call->names[KIND_TOOL].given || !minds_tools(user) || !lookup_has(lookup, KEY_TOOL) ||
        lookup->type[KEY_TOOL] != JSON_STRING)
        return;
    size_t bytes = json_string_decode(message->body, lookup->value[KEY_TOOL], text, METHOD_BYTES_MAX);
    bool is_long = bytes == SIZE_MAX;
    call->names[KIND_TOOL] = (struct right_name){true, is_long ? NULL : text, is_long ? 0 : bytes};
}

// Writes down what the message names. False: what decides is no string, which is refused for that.
static bool read_call(const struct shard *shard, const struct rules_message *asked, struct right_call *call) {
    const struct rules_field *approver = &asked->approver;
    call->by = KIND_METHOD;
    for (enum right_kind kind = 0; kind < KINDS_COUNT; kind++)
        call->names[kind].given = false; // and nothing more is read of it
    call->names[KIND_METHOD] = (struct right_name){true, asked->method, asked->method_bytes};
    if (asked->tool.is_string)
        call->names[KIND_TOOL] = name_of(&asked->tool, 0);
    if (asked->target.given) {
        bool group = is_capability(&asked->target);
        call->by = group ? KIND_CAPABILITY : KIND_AGENT;
        call->names[call->by] = name_of(&asked->target, group);
        return asked->target.is_string;
    }
    if (rules_read_tool(asked)) {
        call->by = KIND_TOOL;
        return asked->tool.is_string;
    }
    if (rules_read_approver(asked) && approver->text &&
        agents_find(&shard->agents, approver->text, approver->bytes)) {
        call->by = KIND_AGENT;
        call->names[KIND_AGENT] = name_of(approver, 0);
    }
    return true;
}

static bool is_in_reach(const void *user, const struct agent *agent) {
    return judge_reaches(user, agent);
}

// Whether nothing but its target and its method is judged.
static bool is_plain(const struct message *message) {
    return !lookup_has(&message->lookup, KEY_TOOL) && !lookup_has(&message->lookup, KEY_APPROVER);
}

// By all that it says, of which what is plain is remembered.
static bool may_send(struct shard *shard, const struct message *message, const struct user *user,
                     struct rules_message *asked) {
    struct identity *identity = identity_of(message->peer);
    struct right_call call;
    char tool[METHOD_BYTES_MAX];
    bool is_known = identity && is_plain(message);
    if (is_known && recall_call(identity, user, asked))
        return true;
    if (!read_call(shard, asked, &call))
        return true;
    read_tool(user, message, &call, tool);
    bool allowed = rights_call(user, &call).allowed;
    if (allowed && is_known)
        recall_keep_call(identity, user, asked);
    return allowed;
}

bool judge_call(struct shard *shard, const struct message *message, struct rules_message *asked) {
    const struct user *user = judge_user(shard, message->peer);
    if (!user)
        return true;
    if (!may_send(shard, message, user, asked)) {
        refuse_right(shard, message, RULE_CALL);
        return false;
    }
    if (!rights_reach_all(user)) {
        asked->reaches = is_in_reach;
        asked->reaching = user;
    }
    return true;
}

bool judge_holds(const struct shard *shard, const struct message *message,
                 const struct rules_message *asked) {
    const struct user *user = judge_user(shard, message->peer);
    struct right_call call;
    char event[EVENT_BYTES_MAX], tool[METHOD_BYTES_MAX];
    if (!user || !rights_hold_any(user))
        return false;
    (void)read_call(shard, asked, &call); // what is no string names nothing
    read_tool(user, message, &call, tool);
    if (message_method_is(message, "event") && lookup_has(&message->lookup, KEY_EVENT) &&
        message->lookup.type[KEY_EVENT] == JSON_STRING) {
        size_t bytes =
            json_string_decode(message->body, message->lookup.value[KEY_EVENT], event, sizeof event);
        bool is_long = bytes == SIZE_MAX;
        call.names[KIND_EVENT] = (struct right_name){true, is_long ? NULL : event, is_long ? 0 : bytes};
    }
    return rights_hold(user, &call) != 0;
}

// An instance of a child bears its name, and a number.
bool judge_holds_at(const struct shard *shard, const struct message *message, const struct agent *agent) {
    const struct user *user = judge_user(shard, message->peer);
    size_t bytes = agent->pool_bytes ? agent->pool_bytes : agent->id_bytes;
    return user && rights_hold_any(user) && rights_hold_agent(user, agent->id, bytes) != 0;
}

bool judge_speaks(struct shard *shard, const struct message *message) {
    const struct user *user = judge_user(shard, message->peer);
    return !user || judge_refuse(shard, message, user != &nobody, RULE_CALL);
}

bool judge_log(struct shard *shard, const struct message *message) {
    static const char method[] = "audit/log";
    if (__builtin_expect(!message_method_is(message, method), true))
        return true;
    const struct user *user = judge_user(shard, message->peer);
    struct right_call call = {.by = KIND_METHOD};
    call.names[KIND_METHOD] = (struct right_name){true, method, sizeof method - 1};
    return !user || judge_refuse(shard, message, rights_call(user, &call).allowed, RULE_CALL);
}

bool judge_attachment(struct shard *shard, const struct message *message, const char *agent, size_t bytes) {
    const struct user *user = judge_user(shard, message->peer);
    struct right_call call = {.by = KIND_AGENT};
    assert(agent && bytes > 0);
    call.names[KIND_AGENT] = (struct right_name){true, agent, bytes};
    if (!user || rights_call(user, &call).allowed)
        return true;
    refuse_right(shard, message, RULE_CALL);
    return false;
}

// An instance of a child bears its name, and a number.
bool judge_reaches(const struct user *user, const struct agent *agent) {
    size_t bytes = agent->pool_bytes ? agent->pool_bytes : agent->id_bytes;
    return !user || rights_reach(user, agent->id, bytes).allowed;
}

// --- Events

bool judge_publish(struct shard *shard, const struct message *message, const char *name, size_t bytes) {
    const struct user *user = judge_user(shard, message->peer);
    assert(bytes > 0);
    return !user || judge_refuse(shard, message, rights_publish(user, name, bytes).allowed, RULE_PUBLISH);
}

bool judge_hears(const struct user *user, const char *pattern, size_t bytes) {
    static const char gate[] = CHECKPOINT_EVENT;
    assert(user && pattern);
    bool is_gate = bytes == sizeof gate - 1 && memcmp(pattern, gate, bytes) == 0;
    return (is_gate && rights_admin(user).allowed) || rights_subscribe(user, pattern, bytes).allowed;
}

bool judge_subscribe(struct shard *shard, const struct message *message, const char *pattern, size_t bytes) {
    const struct user *user = judge_user(shard, message->peer);
    assert(bytes > 0);
    return !user || judge_refuse(shard, message, judge_hears(user, pattern, bytes), RULE_SUBSCRIBE);
}

// --- Registering

// Whether all names that a list holds may be offered.
static bool may_offer(const struct user *user, enum right_kind kind, const uint8_t *text, struct span list) {
    struct listing listing;
    char name[METHOD_BYTES_MAX];
    listing_begin(&listing, text, list);
    assert(list.bytes > 0);
    for (struct span span; listing_next(&listing, &span);) {
        size_t bytes = json_string_decode(text, span, name, sizeof name);
        bool is_long = bytes == SIZE_MAX; // no group comes of it, but it might look as if
        if (!rights_offer(user, kind, is_long ? NULL : name, is_long ? 0 : bytes).allowed)
            return false;
    }
    return true;
}

// Members of an object that say something else than that their name is offered.
static bool is_no_capability(const uint8_t *text, struct span key) {
    static const char *const members[] = {"methods",  "tools",           "tasks",         "events",
                                          "commands", "governanceLevel", "toolbarButtons"};
    for (size_t index = 0; index < sizeof members / sizeof *members; index++)
        if (json_string_is(text, key, members[index]))
            return true;
    return false;
}

static bool may_offer_members(const struct user *user, const uint8_t *text, struct span capabilities) {
    struct listing listing;
    char name[METHOD_BYTES_MAX];
    listing_begin(&listing, text, capabilities);
    for (struct span key; listing_next(&listing, &key);) {
        if (!listing.array && is_no_capability(text, key))
            continue;
        size_t bytes = json_string_decode(text, key, name, sizeof name);
        bool is_long = bytes == SIZE_MAX;
        if (!rights_offer(user, KIND_CAPABILITY, is_long ? NULL : name, is_long ? 0 : bytes).allowed)
            return false;
    }
    return true;
}

static bool may_offer_all(const struct user *user, const uint8_t *text, struct span capabilities) {
    static const struct {
        const char *member;
        enum right_kind kind;
    } lists[] = {{"methods", KIND_METHOD}, {"tools", KIND_TOOL}, {"tasks", KIND_CAPABILITY}};
    if (!may_offer_members(user, text, capabilities))
        return false;
    for (size_t index = 0; index < sizeof lists / sizeof *lists; index++) {
        struct json_item list = json_member(text, capabilities, lists[index].member);
        bool is_list = list.type == JSON_ARRAY || list.type == JSON_OBJECT;
        if (is_list && !may_offer(user, lists[index].kind, text, list.value))
            return false;
    }
    return true;
}

static bool may_get(const struct user *user, const uint8_t *text, struct span name) {
    char pattern[METHOD_BYTES_MAX];
    assert(name.bytes >= 2);
    size_t bytes = json_string_decode(text, name, pattern, sizeof pattern);
    return bytes != SIZE_MAX && judge_hears(user, pattern, bytes);
}

// Its events, and the notifications that it names by objects.
static bool may_get_all(const struct user *user, const uint8_t *text, struct span capabilities) {
    struct json_item events = json_member(text, capabilities, "events");
    struct listing listing;
    struct json_walk walk;
    if (events.type != JSON_ARRAY && events.type != JSON_OBJECT)
        return true;
    listing_begin(&listing, text, events.value);
    for (struct span name; listing_next(&listing, &name);)
        if (!may_get(user, text, name))
            return false;
    if (events.type != JSON_ARRAY)
        return true;
    json_walk_begin(&walk, text, events.value);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        struct json_item name = {0};
        if (item.type == JSON_OBJECT)
            name = json_member(text, item.value, "name");
        if (name.type == JSON_STRING && !may_get(user, text, name.value))
            return false;
    }
    return true;
}

bool judge_registration(const struct user *user, const char *agent, size_t bytes, const uint8_t *text,
                        struct span capabilities, enum governance level, enum rule *rule) {
    assert(user && level < GOVERNANCE_COUNT);
    *rule = RULE_REGISTER;
    if (!rights_register(user, agent, bytes).allowed)
        return false;
    *rule = RULE_OFFER;
    if (capabilities.bytes && !may_offer_all(user, text, capabilities))
        return false;
    *rule = RULE_SUBSCRIBE;
    if (capabilities.bytes && !may_get_all(user, text, capabilities))
        return false;
    *rule = RULE_LEVEL;
    return rights_level(user, level).allowed;
}

bool judge_register(struct shard *shard, const struct message *message, const char *agent, size_t bytes,
                    struct span capabilities, enum governance level) {
    const struct user *user = judge_user(shard, message->peer);
    enum rule rule;
    assert(bytes > 0);
    if (!user || judge_registration(user, agent, bytes, message->body, capabilities, level, &rule))
        return true;
    refuse_right(shard, message, rule);
    return false;
}

bool judge_level(struct shard *shard, const struct message *message, enum governance level) {
    const struct user *user = judge_user(shard, message->peer);
    return !user || judge_refuse(shard, message, rights_level(user, level).allowed, RULE_LEVEL);
}

bool judge_admin(struct shard *shard, const struct message *message) {
    const struct user *user = judge_user(shard, message->peer);
    return !user || judge_refuse(shard, message, rights_admin(user).allowed, RULE_ADMIN);
}

// --- Seeing

static bool may_call(const struct user *user, enum right_kind kind, const char *name, size_t bytes) {
    struct right_call call = {.by = kind};
    assert(kind < KIND_EVENT);
    call.names[kind] = (struct right_name){true, name, bytes};
    return rights_call(user, &call).allowed;
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

bool judge_sees(const struct user *user, const struct agent *agent) {
    size_t bytes = agent->pool_bytes ? agent->pool_bytes : agent->id_bytes;
    if (!user || user->admin || may_call(user, KIND_AGENT, agent->id, bytes))
        return true;
    if (!judge_reaches(user, agent))
        return false;
    for (size_t index = 0; index < agent->membership_count; index++)
        if (may_call_by(user, &agent->memberships[index]))
            return true;
    return false;
}

// --- Streams

static const char producers[] = "hcs";

bool judge_stream(const struct user *user, const char *target, size_t bytes) {
    if (!user)
        return true;
    if (!bytes)
        return may_call(user, KIND_CAPABILITY, producers, sizeof producers - 1);
    bool group = target[0] == '@';
    return may_call(user, group ? KIND_CAPABILITY : KIND_AGENT, target + group, bytes - group);
}

bool judge_joins(const struct user *user, const char *agent, size_t bytes, const char *target,
                 size_t target_bytes) {
    assert(bytes > 0);
    if (!user || may_call(user, KIND_AGENT, agent, bytes))
        return true;
    return rights_reach(user, agent, bytes).allowed && judge_stream(user, target, target_bytes);
}
