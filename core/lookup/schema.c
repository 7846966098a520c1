// Finds guarded fields in the lookup, and other fields among the members that the lookup recorded or, if there were too
// many, in a walk over params. At the end, a required field that wasn't found is the fault.

#include "core/lookup/schema.h"

#include <assert.h>
#include <string.h>

#include "core/json/json.h"

// --- Kinds of values of a field

enum kind { STRING, OBJECT, OBJECT_OR_ARRAY, NUMBER_OR_NULL, PRIORITY, DECISION, LEVEL, KINDS_COUNT };

#define TYPE(type) (1u << (type))

static const struct {
    unsigned types;
    const char *expected;
    const char *values[5]; // the allowed values; none: any value
} kinds[KINDS_COUNT] = {
    [STRING] = {TYPE(JSON_STRING), "string", {NULL}},
    [OBJECT] = {TYPE(JSON_OBJECT), "object", {NULL}},
    [OBJECT_OR_ARRAY] = {TYPE(JSON_OBJECT) | TYPE(JSON_ARRAY), "object or array", {NULL}},
    [NUMBER_OR_NULL] = {TYPE(JSON_NUMBER) | TYPE(JSON_NULL), "number or null", {NULL}},
    [PRIORITY] = {TYPE(JSON_STRING), "low, medium, high or critical", {"low", "medium", "high", "critical"}},
    [DECISION] = {TYPE(JSON_STRING),
                  "approved, rejected or needs_revision",
                  {"approved", "rejected", "needs_revision"}},
    [LEVEL] = {TYPE(JSON_STRING),
               "autonomous, supervised, human-in-the-loop or manual",
               {"autonomous", "supervised", "human-in-the-loop", "manual"}},
};

// --- The table: method, field, kind, whether the field is required (HugAI v2 messages, 3.1 to 3.3 and 3.5 to 3.8; the
// last row is the hub's own). Optional fields without requirements are not in the table. `capabilities` may be an array
// and `processId` may be null, as clients of the Language Server Protocol send them.

// The last column is the key of a field that the lookup has found already.
#define FIELDS(X)                                                                                            \
    X("initialize", "processId", NUMBER_OR_NULL, true, UNGUARDED)                                            \
    X("initialize", "agentId", STRING, true, KEY_AGENT_ID)                                                   \
    X("initialize", "capabilities", OBJECT_OR_ARRAY, true, UNGUARDED)                                        \
    X("initialize", "governanceLevel", LEVEL, true, UNGUARDED)                                               \
    X("agent/register", "agentId", STRING, true, KEY_AGENT_ID)                                               \
    X("agent/register", "capabilities", OBJECT_OR_ARRAY, true, UNGUARDED)                                    \
    X("agent/register", "governanceLevel", LEVEL, true, UNGUARDED)                                           \
    X("agent/request", "sourceAgent", STRING, true, KEY_SOURCE_AGENT)                                        \
    X("agent/request", "targetAgent", STRING, true, KEY_TARGET_AGENT)                                        \
    X("agent/request", "task", STRING, true, UNGUARDED)                                                      \
    X("agent/request", "priority", PRIORITY, false, KEY_PRIORITY)                                            \
    X("event", "event", STRING, true, KEY_EVENT)                                                             \
    X("governance/approval", "checkpoint", STRING, true, KEY_CHECKPOINT)                                     \
    X("governance/approval", "artifact", OBJECT, true, UNGUARDED)                                            \
    X("governance/approval", "approver", STRING, true, KEY_APPROVER)                                         \
    X("governance/approval", "decision", DECISION, true, KEY_DECISION)                                       \
    X("tool/integration", "tool", STRING, true, KEY_TOOL)                                                    \
    X("tool/integration", "action", STRING, true, UNGUARDED)                                                 \
    X("audit/log", "action", STRING, true, UNGUARDED)                                                        \
    X("audit/log", "actor", STRING, true, UNGUARDED)                                                         \
    X("audit/log", "timestamp", STRING, true, UNGUARDED)                                                     \
    X("hub/attach", "agent", STRING, true, UNGUARDED)

enum { UNGUARDED = LOOKUP_KEYS_COUNT };

static const struct field {
    const char *method;
    size_t method_bytes;
    const char *name;
    uint32_t name_bytes;
    const char *path;
    enum kind kind;
    bool required;
    unsigned key; // enum lookup_key or UNGUARDED
} fields[] = {
#define X(method, name, kind, required, key)                                                                 \
    {method, sizeof(method) - 1, name, sizeof(name) - 1, "params." name, kind, required, key},
    FIELDS(X)
#undef X
};

enum { FIELDS_COUNT = sizeof fields / sizeof *fields };

// The fields of a method, which are adjacent in the table.
struct rule {
    const struct field *first;
    unsigned count;
};

static bool is_of(const struct field *field, const char *method, size_t bytes) {
    assert(method || bytes == 0);
    return field->method_bytes == bytes && memcmp(field->method, method, bytes) == 0;
}

static struct rule rule_of(const char *method, size_t bytes) {
    unsigned first = 0;
    while (first < FIELDS_COUNT && !is_of(&fields[first], method, bytes))
        first++;
    unsigned end = first;
    while (end < FIELDS_COUNT && is_of(&fields[end], method, bytes))
        end++;
    assert(end - first <= 32); // the bits of validator.met
    return (struct rule){fields + first, end - first};
}

// --- Judging

struct validator {
    const struct rule *rule;
    const uint8_t *body;
    uint32_t met;             // bit i: the message has the rule's field i, and the field is good
    struct span capabilities; // the capabilities of the message; bytes 0: none
    const struct field *fault;
};

static bool fits(const uint8_t *body, enum json_type type, struct span value, enum kind kind) {
    assert(kind < KINDS_COUNT && type <= JSON_NULL);
    if ((kinds[kind].types & TYPE(type)) == 0)
        return false;
    const char *const *allowed = kinds[kind].values;
    if (!*allowed)
        return true;
    while (*allowed && !json_string_is(body, value, *allowed))
        allowed++;
    return *allowed != NULL;
}

static void schema_meet(struct validator *validator, unsigned index, enum json_type type, struct span value) {
    assert(index < validator->rule->count);
    const struct field *field = &validator->rule->first[index];
    if (!fits(validator->body, type, value, field->kind)) {
        validator->fault = validator->fault ? validator->fault : field;
        return;
    }
    validator->met |= 1u << index;
    if (field->kind == OBJECT_OR_ARRAY)
        validator->capabilities = value;
}

static bool key_is(const uint8_t *body, struct span key, const struct field *field) {
    assert(key.bytes >= 2);
    const uint8_t *inside = body + key.at + 1;
    uint32_t bytes = key.bytes - 2;
    if (bytes == field->name_bytes)
        return memcmp(inside, field->name, bytes) == 0;
    return bytes > field->name_bytes && memchr(inside, '\\', bytes) && json_string_is(body, key, field->name);
}

static void check_other(struct validator *validator, const struct json_item *item) {
    assert(item->type != JSON_NONE && item->value.bytes > 0);
    for (unsigned index = 0; index < validator->rule->count; index++)
        if (validator->rule->first[index].key == UNGUARDED &&
            key_is(validator->body, item->key, &validator->rule->first[index]))
            schema_meet(validator, index, item->type, item->value);
}

// Checks members that the lookup hasn't recorded.
static void check_walked(struct validator *validator, struct span params) {
    assert(params.bytes >= 2);
    struct json_walk walk;
    json_walk_begin(&walk, validator->body, params);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;)
        check_other(validator, &item);
}

static void check_params(struct validator *validator, const struct lookup *lookup) {
    assert(lookup->type[KEY_PARAMS] == JSON_OBJECT);
    for (unsigned index = 0; index < validator->rule->count; index++) {
        unsigned key = validator->rule->first[index].key;
        if (key != UNGUARDED && lookup_has(lookup, (enum lookup_key)key))
            schema_meet(validator, index, (enum json_type)lookup->type[key], lookup->value[key]);
    }
    if (lookup->others > LOOKUP_OTHERS_MAX)
        check_walked(validator, lookup->value[KEY_PARAMS]);
    else
        for (uint32_t index = 0; index < lookup->others; index++)
            check_other(validator, &lookup->other[index]);
}

// Returns whether the level is among the capabilities, as a registration may have it (HugAI v2 headers, the example of
// section 3).
static bool level_stands_inside(const struct validator *validator, const struct field *field) {
    assert(field->required);
    if (field->kind != LEVEL || strcmp(field->method, "agent/register") != 0)
        return false;
    struct json_item level = json_member(validator->body, validator->capabilities, "governanceLevel");
    return fits(validator->body, level.type, level.value, LEVEL);
}

static const struct field *find_missing(const struct validator *validator) {
    assert(!validator->fault);
    for (unsigned index = 0; index < validator->rule->count; index++) {
        const struct field *field = &validator->rule->first[index];
        if (field->required && (validator->met >> index & 1) == 0 && !level_stands_inside(validator, field))
            return field;
    }
    return NULL;
}

bool schema_version_served(const uint8_t *body, const struct lookup *lookup) {
    assert(lookup->verdict == LOOKUP_GOOD);
    struct span version = lookup->value[KEY_JSONRPC];
    if (!lookup_has(lookup, KEY_JSONRPC))
        return false;
    return (version.bytes == 5 && memcmp(body + version.at, "\"2.0\"", 5) == 0) ||
           json_string_is(body, version, "2.0");
}

// Returns whether the item is an integer in any spelling, such as 1.0 and 10e-1.
static bool is_integer(const uint8_t *body, const struct json_item *item) {
    enum { CODE_BYTES_MAX = 64 };
    char decoded[CODE_BYTES_MAX];
    if (item->type != JSON_NUMBER)
        return false;
    size_t bytes = json_number_decode(body, item->value, decoded, sizeof decoded);
    return bytes != SIZE_MAX && !memmem(decoded, bytes, "e-", 2);
}

static bool error_fits(const uint8_t *body, struct span error) {
    assert(body[error.at] == '{');
    bool has_code = false, has_message = false, fits = true;
    struct json_walk walk;
    json_walk_begin(&walk, body, error);
    for (struct json_item item; fits && json_next(&walk, &item) == JSON_ITEM;) {
        bool code = json_string_is(body, item.key, "code"),
             message = json_string_is(body, item.key, "message");
        has_code |= code;
        has_message |= message;
        fits = (!code || is_integer(body, &item)) && (!message || item.type == JSON_STRING);
    }
    return fits && has_code && has_message;
}

bool schema_outcome_fits(const uint8_t *body, const struct lookup *lookup) {
    assert(lookup->verdict == LOOKUP_GOOD && lookup->kind == BODY_RESPONSE);
    bool has_error = lookup_has(lookup, KEY_ERROR);
    if (lookup_has(lookup, KEY_RESULT) == has_error)
        return false;
    return !has_error ||
           (lookup->type[KEY_ERROR] == JSON_OBJECT && error_fits(body, lookup->value[KEY_ERROR]));
}

struct schema_fault schema_check(const uint8_t *body, const struct lookup *lookup, const char *method,
                                 size_t method_bytes) {
    assert(lookup->kind == BODY_REQUEST || lookup->kind == BODY_NOTIFICATION);
    if (!schema_version_served(body, lookup))
        return (struct schema_fault){"jsonrpc", "2.0"};
    struct rule rule = rule_of(method, method_bytes);
    if (rule.count == 0)
        return (struct schema_fault){0};
    if (!lookup_has(lookup, KEY_PARAMS) || lookup->type[KEY_PARAMS] != JSON_OBJECT)
        return (struct schema_fault){"params", "object"};
    struct validator validator = {.rule = &rule, .body = body};
    check_params(&validator, lookup);
    const struct field *fault = validator.fault ? validator.fault : find_missing(&validator);
    return fault ? (struct schema_fault){fault->path, kinds[fault->kind].expected} : (struct schema_fault){0};
}
