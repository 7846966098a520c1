// The part of authz.h about names in capabilities.
#include <assert.h>

#include "core/json/json.h"
#include "router/engine/request/refuse.h"
#include "router/rights/authz.h"

// Returns whether an agent of the user may offer this name. A name that is too long is treated as an unreadable one: it
// needs the right to any name.
static bool may_offer_name(const struct user *user, enum right_kind kind, const uint8_t *text,
                           struct span span) {
    char name[METHOD_BYTES_MAX];
    size_t bytes = json_string_decode(text, span, name, sizeof name);
    return (bytes == SIZE_MAX ? rights_offer_any(user, kind) : rights_offer(user, kind, name, bytes)).allowed;
}

// Returns whether an item of an object or array names nothing and contains no names.
static bool is_nothing(const uint8_t *text, const struct json_item *item, bool array) {
    assert(item->type != JSON_NONE);
    if (!array)
        return !name_list_truthy(text, item);
    return item->type != JSON_STRING && item->type != JSON_OBJECT && item->type != JSON_ARRAY;
}

// Returns whether an agent of the user may have this item in a list: a name, or a value that a reader of hub/agents may
// take for a name.
static bool may_offer_item(const struct user *user, enum right_kind kind, const uint8_t *text,
                           const struct json_item *item, bool array) {
    if (is_nothing(text, item, array))
        return true;
    if (array && item->type != JSON_STRING)
        return rights_offer_any(user, kind).allowed;
    return may_offer_name(user, kind, text, array ? item->value : item->key);
}

// Returns whether all names that a list holds may be offered.
static bool may_offer(const struct user *user, enum right_kind kind, const uint8_t *text, struct span list) {
    struct json_walk walk;
    bool array = text[list.at] == '[';
    assert(list.bytes > 0);
    json_walk_begin(&walk, text, list);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;)
        if (!may_offer_item(user, kind, text, &item, array))
            return false;
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

static bool is_list(const struct json_item *item) {
    return item->type == JSON_ARRAY || item->type == JSON_OBJECT;
}

static bool may_offer_members(const struct user *user, const uint8_t *text, struct span capabilities) {
    assert(text[capabilities.at] == '{');
    struct json_walk walk;
    json_walk_begin(&walk, text, capabilities);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;)
        if (!is_no_capability(text, item.key) && !may_offer_item(user, KIND_CAPABILITY, text, &item, false))
            return false;
    return true;
}

static bool may_offer_all(const struct user *user, const uint8_t *text, struct span capabilities) {
    static const struct {
        const char *member;
        enum right_kind kind;
    } lists[] = {{"methods", KIND_METHOD}, {"tools", KIND_TOOL}, {"tasks", KIND_CAPABILITY}};
    if (text[capabilities.at] == '[')
        return may_offer(user, KIND_CAPABILITY, text, capabilities);
    if (!may_offer_members(user, text, capabilities))
        return false;
    for (size_t index = 0; index < sizeof lists / sizeof *lists; index++) {
        struct json_item list = json_member(text, capabilities, lists[index].member);
        bool may = list.type == JSON_NONE || is_nothing(text, &list, false) ||
                   (is_list(&list) ? may_offer(user, lists[index].kind, text, list.value)
                                   : rights_offer_any(user, lists[index].kind).allowed);
        if (!may)
            return false;
    }
    return true;
}

static bool may_get(const struct user *user, const uint8_t *text, struct span name) {
    char pattern[METHOD_BYTES_MAX];
    assert(name.bytes >= 2);
    size_t bytes = json_string_decode(text, name, pattern, sizeof pattern);
    return bytes != SIZE_MAX && authz_may_receive(user, pattern, bytes);
}

// Returns whether an agent of the user may get all its events, and the notifications that it names by objects.
static bool may_get_all(const struct user *user, const uint8_t *text, struct span capabilities) {
    struct json_item events = json_member(text, capabilities, "events");
    struct name_list listing;
    struct json_walk walk;
    if (events.type != JSON_ARRAY && events.type != JSON_OBJECT)
        return true;
    name_list_begin(&listing, text, events.value);
    for (struct span name; name_list_next(&listing, &name);)
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

bool authz_registration(const struct user *user, const char *agent, size_t bytes, const uint8_t *text,
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

bool authz_register(struct shard *shard, const struct message *message, const char *agent, size_t bytes,
                    struct span capabilities, enum governance level) {
    const struct user *user = authz_user(shard, message->peer);
    enum rule rule;
    assert(bytes > 0);
    if (!user || authz_registration(user, agent, bytes, message->body, capabilities, level, &rule))
        return true;
    refuse_right(shard, message, rule);
    return false;
}

// --- The allowed part

struct filter {
    const struct user *user;
    const uint8_t *text;
    struct text *out;
    struct piece replacement; // capabilities with the lists that replace lists without any entry left
    uint32_t rules;           // the rules by which entries were left out, as bits
};

enum { FILTER_LISTS = 4 };

static const struct {
    const char *member;
    enum right_kind kind;
} filter_lists[FILTER_LISTS] = {
    {"methods", KIND_METHOD}, {"tools", KIND_TOOL}, {"tasks", KIND_CAPABILITY}, {"events", KIND_EVENT}};

static bool filter_note(struct filter *filter, bool passes, enum rule rule) {
    assert(rule == RULE_OFFER || rule == RULE_SUBSCRIBE);
    if (!passes)
        filter->rules |= UINT32_C(1) << rule;
    return passes;
}

static bool filter_passes(struct filter *filter, struct span name, enum right_kind kind) {
    return kind == KIND_EVENT
               ? filter_note(filter, may_get(filter->user, filter->text, name), RULE_SUBSCRIBE)
               : filter_note(filter, may_offer_name(filter->user, kind, filter->text, name), RULE_OFFER);
}

// Returns whether a value that isn't readable as names stays.
static bool filter_passes_unread(struct filter *filter, enum right_kind kind) {
    return kind == KIND_EVENT ||
           filter_note(filter, rights_offer_any(filter->user, kind).allowed, RULE_OFFER);
}

// Returns whether an item of a list stays. An item that names nothing stays.
static bool filter_keeps(struct filter *filter, const struct json_item *item, bool object,
                         enum right_kind kind) {
    struct json_item named = {0};
    assert(kind < KINDS_COUNT);
    if (is_nothing(filter->text, item, !object))
        return true;
    if (object || item->type == JSON_STRING)
        return filter_passes(filter, object ? item->key : item->value, kind);
    if (kind == KIND_EVENT && item->type == JSON_OBJECT)
        named = json_member(filter->text, item->value, "name");
    return named.type == JSON_STRING ? filter_passes(filter, named.value, kind)
                                     : filter_passes_unread(filter, kind);
}

// Puts one that stays behind the others.
static void filter_put(struct filter *filter, const struct json_item *item, bool object, bool first) {
    text_put(filter->out, first ? "" : ",");
    if (object) {
        text_add(filter->out, filter->text + item->key.at, item->key.bytes);
        text_put(filter->out, ":");
    }
    text_add(filter->out, filter->text + item->value.at, item->value.bytes);
}

// A list of which nothing stays, though something was in it, is what others have listed.
static void filter_replace(struct filter *filter, const char *member, size_t length) {
    struct span all = {0, (uint32_t)filter->replacement.count};
    struct json_item list = {0};
    if (all.bytes)
        list = json_member(filter->replacement.bytes, all, member);
    if (list.type == JSON_NONE || filter->out->failed)
        return;
    assert(filter->out->length > length);
    filter->out->length = length;
    text_add(filter->out, (const uint8_t *)filter->replacement.bytes + list.value.at, list.value.bytes);
}

static void filter_list(struct filter *filter, struct span list, const char *member, enum right_kind kind) {
    struct json_walk walk;
    bool object = filter->text[list.at] == '{', first = true, any = false;
    size_t length = filter->out->length;
    json_walk_begin(&walk, filter->text, list);
    text_put(filter->out, object ? "{" : "[");
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM; any = true)
        if (filter_keeps(filter, &item, object, kind)) {
            filter_put(filter, &item, object, first);
            first = false;
        }
    text_put(filter->out, object ? "}" : "]");
    if (any && first && member)
        filter_replace(filter, member, length);
}

// Which list a member is; FILTER_LISTS: none.
static size_t filter_list_at(const struct filter *filter, const struct json_item *item) {
    size_t at = 0;
    while (at < FILTER_LISTS && !json_string_is(filter->text, item->key, filter_lists[at].member))
        at++;
    assert(at <= FILTER_LISTS);
    return at;
}

static bool filter_keeps_member(struct filter *filter, const struct json_item *item, size_t list) {
    assert(list <= FILTER_LISTS);
    if (list < FILTER_LISTS)
        return is_list(item) || is_nothing(filter->text, item, false) ||
               filter_passes_unread(filter, filter_lists[list].kind);
    return is_no_capability(filter->text, item->key) || filter_keeps(filter, item, true, KIND_CAPABILITY);
}

static void filter_members(struct filter *filter, struct span capabilities) {
    struct json_walk walk;
    bool first = true;
    json_walk_begin(&walk, filter->text, capabilities);
    text_put(filter->out, "{");
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        size_t at = filter_list_at(filter, &item);
        if (!filter_keeps_member(filter, &item, at))
            continue;
        bool is_filtered = at < FILTER_LISTS && is_list(&item);
        struct json_item name = {.key = item.key};
        filter_put(filter, is_filtered ? &name : &item, true, first);
        if (is_filtered)
            filter_list(filter, item.value, filter_lists[at].member, filter_lists[at].kind);
        first = false;
    }
    text_put(filter->out, "}");
}

uint32_t authz_filter(const struct user *user, const uint8_t *text, struct span capabilities,
                      struct piece replacement, struct text *out) {
    struct filter filter = {user, text, out, replacement, 0};
    assert(user && capabilities.bytes >= 2);
    if (text[capabilities.at] == '{')
        filter_members(&filter, capabilities);
    else
        filter_list(&filter, capabilities, NULL, KIND_CAPABILITY);
    return filter.rules;
}
