// Names that a user's agents may have in their capabilities: the part of authz.h that reads them.
#include <assert.h>

#include "core/json/name_list.h"
#include "router/engine/request/refuse.h"
#include "router/rights/authz.h"

// A name that is longer than any can be is in no group, but it might look as if: as what isn't readable.
static bool may_offer_name(const struct user *user, enum right_kind kind, const uint8_t *text,
                           struct span span) {
    char name[METHOD_BYTES_MAX];
    size_t bytes = json_string_decode(text, span, name, sizeof name);
    return (bytes == SIZE_MAX ? rights_offer_any(user, kind) : rights_offer(user, kind, name, bytes)).allowed;
}

// Whether it names nothing, as a member of an object or in an array: no name, and nothing in which one could stand.
static bool is_nothing(const uint8_t *text, const struct json_item *item, bool array) {
    assert(item->type != JSON_NONE);
    if (!array)
        return !name_list_truthy(text, item);
    return item->type != JSON_STRING && item->type != JSON_OBJECT && item->type != JSON_ARRAY;
}

// An item of a list: a name, or something else that others may read as one, as they find it in hub/agents.
static bool may_offer_item(const struct user *user, enum right_kind kind, const uint8_t *text,
                           const struct json_item *item, bool array) {
    if (is_nothing(text, item, array))
        return true;
    if (array && item->type != JSON_STRING)
        return rights_offer_any(user, kind).allowed;
    return may_offer_name(user, kind, text, array ? item->value : item->key);
}

// Whether all names that a list holds may be offered.
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
    return bytes != SIZE_MAX && authz_hears(user, pattern, bytes);
}

// Judges its events, and the notifications that it names by objects.
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

struct sieve {
    const struct user *user;
    const uint8_t *text;
    struct text *out;
    struct piece instead; // lists for those of which nothing stays, as capabilities
    uint32_t rules;       // those by which something was left out
};

enum { SIEVE_LISTS = 4 };

static const struct {
    const char *member;
    enum right_kind kind;
} sieve_lists[SIEVE_LISTS] = {
    {"methods", KIND_METHOD}, {"tools", KIND_TOOL}, {"tasks", KIND_CAPABILITY}, {"events", KIND_EVENT}};

static bool sieve_note(struct sieve *sieve, bool passes, enum rule rule) {
    assert(rule == RULE_OFFER || rule == RULE_SUBSCRIBE);
    if (!passes)
        sieve->rules |= UINT32_C(1) << rule;
    return passes;
}

static bool sieve_passes(struct sieve *sieve, struct span name, enum right_kind kind) {
    return kind == KIND_EVENT
               ? sieve_note(sieve, may_get(sieve->user, sieve->text, name), RULE_SUBSCRIBE)
               : sieve_note(sieve, may_offer_name(sieve->user, kind, sieve->text, name), RULE_OFFER);
}

// Whether what isn't readable as names stays.
static bool sieve_passes_unread(struct sieve *sieve, enum right_kind kind) {
    return kind == KIND_EVENT || sieve_note(sieve, rights_offer_any(sieve->user, kind).allowed, RULE_OFFER);
}

// Whether an item of a list stays: what names nothing does.
static bool sieve_keeps(struct sieve *sieve, const struct json_item *item, bool object,
                        enum right_kind kind) {
    struct json_item named = {0};
    assert(kind < KINDS_COUNT);
    if (is_nothing(sieve->text, item, !object))
        return true;
    if (object || item->type == JSON_STRING)
        return sieve_passes(sieve, object ? item->key : item->value, kind);
    if (kind == KIND_EVENT && item->type == JSON_OBJECT)
        named = json_member(sieve->text, item->value, "name");
    return named.type == JSON_STRING ? sieve_passes(sieve, named.value, kind)
                                     : sieve_passes_unread(sieve, kind);
}

// Puts one that stays behind the others.
static void sieve_put(struct sieve *sieve, const struct json_item *item, bool object, bool first) {
    text_put(sieve->out, first ? "" : ",");
    if (object) {
        text_add(sieve->out, sieve->text + item->key.at, item->key.bytes);
        text_put(sieve->out, ":");
    }
    text_add(sieve->out, sieve->text + item->value.at, item->value.bytes);
}

// A list of which nothing stays, though something was in it, is what others have listed.
static void sieve_replace(struct sieve *sieve, const char *member, size_t length) {
    struct span all = {0, (uint32_t)sieve->instead.count};
    struct json_item list = {0};
    if (all.bytes)
        list = json_member(sieve->instead.bytes, all, member);
    if (list.type == JSON_NONE || sieve->out->failed)
        return;
    assert(sieve->out->length > length);
    sieve->out->length = length;
    text_add(sieve->out, (const uint8_t *)sieve->instead.bytes + list.value.at, list.value.bytes);
}

static void sieve_list(struct sieve *sieve, struct span list, const char *member, enum right_kind kind) {
    struct json_walk walk;
    bool object = sieve->text[list.at] == '{', first = true, any = false;
    size_t length = sieve->out->length;
    json_walk_begin(&walk, sieve->text, list);
    text_put(sieve->out, object ? "{" : "[");
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM; any = true)
        if (sieve_keeps(sieve, &item, object, kind)) {
            sieve_put(sieve, &item, object, first);
            first = false;
        }
    text_put(sieve->out, object ? "}" : "]");
    if (any && first && member)
        sieve_replace(sieve, member, length);
}

// Which list a member is; SIEVE_LISTS: none.
static size_t sieve_list_at(const struct sieve *sieve, const struct json_item *item) {
    size_t at = 0;
    while (at < SIEVE_LISTS && !json_string_is(sieve->text, item->key, sieve_lists[at].member))
        at++;
    assert(at <= SIEVE_LISTS);
    return at;
}

static bool sieve_keeps_member(struct sieve *sieve, const struct json_item *item, size_t list) {
    assert(list <= SIEVE_LISTS);
    if (list < SIEVE_LISTS)
        return is_list(item) || is_nothing(sieve->text, item, false) ||
               sieve_passes_unread(sieve, sieve_lists[list].kind);
    return is_no_capability(sieve->text, item->key) || sieve_keeps(sieve, item, true, KIND_CAPABILITY);
}

static void sieve_members(struct sieve *sieve, struct span capabilities) {
    struct json_walk walk;
    bool first = true;
    json_walk_begin(&walk, sieve->text, capabilities);
    text_put(sieve->out, "{");
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        size_t at = sieve_list_at(sieve, &item);
        if (!sieve_keeps_member(sieve, &item, at))
            continue;
        bool sifted = at < SIEVE_LISTS && is_list(&item);
        struct json_item name = {.key = item.key};
        sieve_put(sieve, sifted ? &name : &item, true, first);
        if (sifted)
            sieve_list(sieve, item.value, sieve_lists[at].member, sieve_lists[at].kind);
        first = false;
    }
    text_put(sieve->out, "}");
}

uint32_t authz_sift(const struct user *user, const uint8_t *text, struct span capabilities,
                    struct piece instead, struct text *out) {
    struct sieve sieve = {user, text, out, instead, 0};
    assert(user && capabilities.bytes >= 2);
    if (text[capabilities.at] == '{')
        sieve_members(&sieve, capabilities);
    else
        sieve_list(&sieve, capabilities, NULL, KIND_CAPABILITY);
    return sieve.rules;
}
