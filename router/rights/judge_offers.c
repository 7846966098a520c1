// What a user's agents may name in their capabilities: the part of judge.h that reads them.
#include <assert.h>

#include "core/json/listing.h"
#include "router/request/refuse.h"
#include "router/rights/judge.h"

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
