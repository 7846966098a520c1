// One walk over the members of `params`, of those methods alone that the table names. Each member whose key
// is a field of the method is judged; at the end a required field that didn't come is the fault.

#include "core/schema.h"

#include <string.h>

#include "core/json.h"

// --- What a field may hold.

enum kind { STRING, OBJECT, OBJECT_OR_ARRAY, NUMBER_OR_NULL, PRIORITY, DECISION, LEVEL, KINDS_COUNT };

#define TYPE(type) (1u << (type))

static const struct {
    unsigned types;
    const char *expected;
    const char *values[5]; // none: any
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

// --- The table: method, field, kind, whether it is required (HugAI v2 messages, 3.1 to 3.3 and 3.5 to 3.8).
// Optional fields that nothing is asked of are not in it. `capabilities` may be an array and `processId`
// null, which is what clients of the Language Server Protocol send.

#define FIELDS(X)                                                                                            \
    X("initialize", "processId", NUMBER_OR_NULL, true)                                                       \
    X("initialize", "agentId", STRING, true)                                                                 \
    X("initialize", "capabilities", OBJECT_OR_ARRAY, true)                                                   \
    X("initialize", "governanceLevel", LEVEL, true)                                                          \
    X("agent/register", "agentId", STRING, true)                                                             \
    X("agent/register", "capabilities", OBJECT_OR_ARRAY, true)                                               \
    X("agent/register", "governanceLevel", LEVEL, true)                                                      \
    X("agent/request", "sourceAgent", STRING, true)                                                          \
    X("agent/request", "targetAgent", STRING, true)                                                          \
    X("agent/request", "task", STRING, true)                                                                 \
    X("agent/request", "priority", PRIORITY, false)                                                          \
    X("event", "event", STRING, true)                                                                        \
    X("governance/approval", "checkpoint", STRING, true)                                                     \
    X("governance/approval", "artifact", OBJECT, true)                                                       \
    X("governance/approval", "approver", STRING, true)                                                       \
    X("governance/approval", "decision", DECISION, true)                                                     \
    X("tool/integration", "tool", STRING, true)                                                              \
    X("tool/integration", "action", STRING, true)                                                            \
    X("audit/log", "action", STRING, true)                                                                   \
    X("audit/log", "actor", STRING, true)                                                                    \
    X("audit/log", "timestamp", STRING, true)

static const struct field {
    const char *method;
    size_t method_bytes;
    const char *name;
    uint32_t name_bytes;
    const char *path;
    enum kind kind;
    bool required;
} fields[] = {
#define X(method, name, kind, required)                                                                      \
    {method, sizeof(method) - 1, name, sizeof(name) - 1, "params." name, kind, required},
    FIELDS(X)
#undef X
};

enum { FIELDS_COUNT = sizeof fields / sizeof *fields };

// A method's fields stand together in the table.
struct rule {
    const struct field *first;
    unsigned count;
};

static bool is_of(const struct field *field, const char *method, size_t bytes) {
    return field->method_bytes == bytes && memcmp(field->method, method, bytes) == 0;
}

static struct rule rule_of(const char *method, size_t bytes) {
    unsigned first = 0;
    while (first < FIELDS_COUNT && !is_of(&fields[first], method, bytes))
        first++;
    unsigned end = first;
    while (end < FIELDS_COUNT && is_of(&fields[end], method, bytes))
        end++;
    return (struct rule){fields + first, end - first};
}

// --- Judging.

static bool key_is(const uint8_t *body, struct span key, const struct field *field) {
    const uint8_t *inside = body + key.at + 1;
    uint32_t bytes = key.bytes - 2;
    if (bytes == field->name_bytes && memcmp(inside, field->name, bytes) == 0)
        return true;
    return bytes > field->name_bytes && memchr(inside, '\\', bytes) && json_string_is(body, key, field->name);
}

static bool fits(const uint8_t *body, enum json_type type, struct span value, enum kind kind) {
    if ((kinds[kind].types & TYPE(type)) == 0)
        return false;
    const char *const *allowed = kinds[kind].values;
    if (!*allowed)
        return true;
    while (*allowed && !json_string_is(body, value, *allowed))
        allowed++;
    return *allowed != NULL;
}

static struct schema_fault fault_of(const struct field *field) {
    return (struct schema_fault){field->path, kinds[field->kind].expected};
}

// The field of the rule that this key names, or the rule's count.
static unsigned field_at(const struct rule *rule, const uint8_t *body, struct span key) {
    unsigned index = 0;
    while (index < rule->count && !key_is(body, key, &rule->first[index]))
        index++;
    return index;
}

// A registration may name its level among its capabilities (HugAI v2 headers, the example of section 3).
static bool level_stands_inside(const uint8_t *body, const struct field *field, struct span capabilities) {
    if (field->kind != LEVEL || strcmp(field->method, "agent/register") != 0)
        return false;
    struct json_item level = json_member(body, capabilities, "governanceLevel");
    return fits(body, level.type, level.value, LEVEL);
}

static struct schema_fault check_params(const struct rule *rule, const uint8_t *body, struct span params) {
    uint32_t met = 0;
    struct span capabilities = {0};
    struct json_walk walk;
    json_walk_begin(&walk, body, params);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        unsigned index = field_at(rule, body, item.key);
        if (index == rule->count)
            continue;
        const struct field *field = &rule->first[index];
        if (!fits(body, item.type, item.value, field->kind))
            return fault_of(field);
        met |= 1u << index;
        if (field->kind == OBJECT_OR_ARRAY)
            capabilities = item.value;
    }
    for (unsigned index = 0; index < rule->count; index++) {
        const struct field *field = &rule->first[index];
        if (field->required && (met >> index & 1) == 0 && !level_stands_inside(body, field, capabilities))
            return fault_of(field);
    }
    return (struct schema_fault){0};
}

bool schema_version_served(const uint8_t *body, const struct lookup *lookup) {
    return lookup_has(lookup, KEY_JSONRPC) && json_string_is(body, lookup->value[KEY_JSONRPC], "2.0");
}

struct schema_fault schema_check(const uint8_t *body, const struct lookup *lookup, const char *method,
                                 size_t method_bytes) {
    if (!schema_version_served(body, lookup))
        return (struct schema_fault){"jsonrpc", "2.0"};
    struct rule rule = rule_of(method, method_bytes);
    if (rule.count == 0)
        return (struct schema_fault){0};
    if (!lookup_has(lookup, KEY_PARAMS) || lookup->type[KEY_PARAMS] != JSON_OBJECT)
        return (struct schema_fault){"params", "object"};
    return check_params(&rule, body, lookup->value[KEY_PARAMS]);
}
