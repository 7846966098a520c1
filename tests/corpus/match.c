#include "tests/corpus/match.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// --- Placeholders

enum placeholder_kind { PLAIN, HEX, REPEAT, VARIABLE };

struct placeholder {
    enum placeholder_kind kind;
    const char *inside; // behind the `<`
    size_t bytes;       // up to the `>`
};

static bool is_name(const char *text, size_t bytes) {
    if (bytes && *text == '#')
        text++, bytes--;
    if (!bytes || bytes >= VARIABLE_NAME_MAX || !islower((unsigned char)*text))
        return false;
    for (size_t at = 0; at < bytes; at++)
        if (!islower((unsigned char)text[at]) && !isdigit((unsigned char)text[at]) && text[at] != '-')
            return false;
    return true;
}

// Returns whether it reads TEXT*COUNT.
static bool is_repeat(const char *text, size_t bytes) {
    const char *star = memrchr(text, '*', bytes);
    if (!star || star == text || star == text + bytes - 1)
        return false;
    for (const char *at = star + 1; at < text + bytes; at++)
        if (!isdigit((unsigned char)*at))
            return false;
    return true;
}

static struct placeholder placeholder_at(const char *at) {
    struct placeholder found = {.kind = PLAIN};
    const char *end = *at == '<' ? strchr(at, '>') : NULL;
    if (!end)
        return found;
    found.inside = at + 1;
    found.bytes = (size_t)(end - at) - 1;
    if (strncmp(found.inside, "0x", 2) == 0)
        found.kind = HEX;
    else if (is_repeat(found.inside, found.bytes))
        found.kind = REPEAT;
    else if (is_name(found.inside, found.bytes))
        found.kind = VARIABLE;
    return found;
}

static void add_hex(struct text *out, const struct placeholder *hex) {
    for (const char *at = hex->inside + 2; at < hex->inside + hex->bytes;) {
        char digits[3] = {at[0], at[1], '\0'};
        char byte = (char)strtoul(digits, NULL, 16);
        text_add(out, &byte, 1);
        at += 2;
        at += *at == ' ';
    }
}

static void add_repeat(struct text *out, const struct placeholder *repeat) {
    const char *star = memrchr(repeat->inside, '*', repeat->bytes);
    for (unsigned long count = strtoul(star + 1, NULL, 10); count; count--)
        text_add(out, repeat->inside, (size_t)(star - repeat->inside));
}

// --- Variables

// The name without its mark.
static struct bit name_of(const struct placeholder *variable) {
    bool marked = *variable->inside == '#';
    return (struct bit){(const uint8_t *)variable->inside + marked, variable->bytes - marked};
}

static const char *value_of(const struct variables *variables, struct bit name) {
    for (unsigned at = 0; at < variables->count; at++)
        if (bit_is(name, variables->items[at].name))
            return variables->items[at].value;
    return NULL;
}

// Keeps the value. A marked name wants a hub id: a whole number below 2^53.
static bool capture(struct variables *variables, const struct placeholder *variable, struct bit value) {
    struct bit name = name_of(variable);
    uint64_t number = bit_number(value);
    if (*variable->inside == '#' && (number >= UINT64_C(1) << 53 || value.bytes[0] == '0'))
        return false;
    if (bit_is(name, "any"))
        return true;
    if (variables->count == VARIABLES_MAX)
        return false;
    memcpy(variables->items[variables->count].name, name.bytes, name.count);
    variables->items[variables->count].name[name.count] = '\0';
    variables->items[variables->count++].value = strndup((const char *)value.bytes, value.count);
    return true;
}

void variables_forget(struct variables *variables) {
    for (unsigned at = 0; at < variables->count; at++)
        free(variables->items[at].value);
    variables->count = 0;
}

// --- Sending

// Appends what one placeholder, or a run of plain text, stands for and moves *at behind it; false at a
// variable without a value, which stays.
static bool add_next(struct text *out, const char **at, const struct variables *variables) {
    struct placeholder found = placeholder_at(*at);
    const char *value = found.kind == VARIABLE ? value_of(variables, name_of(&found)) : NULL;
    size_t run = 1 + strcspn(*at + 1, "<\\");
    if (found.kind == VARIABLE && !value)
        return false;
    if (found.kind == PLAIN)
        text_add(out, *at, run);
    else if (found.kind == HEX)
        add_hex(out, &found);
    else if (found.kind == REPEAT)
        add_repeat(out, &found);
    else
        text_put(out, value);
    *at += found.kind == PLAIN ? run : found.bytes + 2;
    return true;
}

static bool add_escape(struct text *out, const char **at) {
    static const char names[] = "rnt\\", bytes[] = "\r\n\t\\";
    const char *which = (*at)[0] == '\\' && (*at)[1] ? strchr(names, (*at)[1]) : NULL;
    if (!which)
        return false;
    text_add(out, bytes + (which - names), 1);
    *at += 2;
    return true;
}

bool match_bytes(struct text *out, const char *text, const struct variables *variables, bool raw) {
    for (const char *at = text; *at;)
        if (!(raw && add_escape(out, &at)) && !add_next(out, &at, variables))
            return false;
    return true;
}

// --- Byte for byte

static bool take_literal(struct bit *rest, const struct text *literal) {
    if (rest->count < literal->length || memcmp(rest->bytes, literal->bytes, literal->length) != 0)
        return false;
    rest->bytes += literal->length;
    rest->count -= literal->length;
    return true;
}

// The JSON value that comes next goes into the variable.
static bool take_value(struct bit *rest, const struct placeholder *variable, struct variables *variables) {
    size_t bytes = rest->count && !isspace(rest->bytes[0]) ? naive_value(*rest) : 0;
    if (!bytes || !capture(variables, variable, (struct bit){rest->bytes, bytes}))
        return false;
    rest->bytes += bytes;
    rest->count -= bytes;
    return true;
}

bool match_exactly(const char *pattern, struct bit bytes, struct variables *variables) {
    struct bit rest = bytes;
    for (const char *at = pattern; *at;) {
        struct text literal;
        text_init(&literal);
        bool plain = add_next(&literal, &at, variables);
        bool good = !plain || take_literal(&rest, &literal);
        text_deinit(&literal);
        if (!plain) {
            struct placeholder variable = placeholder_at(at);
            good = take_value(&rest, &variable, variables);
            at += variable.bytes + 2;
        }
        if (!good)
            return false;
    }
    return rest.count == 0;
}

// --- By members

// Variables without a value become strings "<name>", so that the pattern is JSON.
static void pattern_json(struct text *out, const char *pattern, const struct variables *variables) {
    for (const char *at = pattern; *at;) {
        if (add_next(out, &at, variables))
            continue;
        size_t bytes = placeholder_at(at).bytes + 2;
        text_put(out, "\"");
        text_add(out, at, bytes);
        text_put(out, "\"");
        at += bytes;
    }
}

static struct placeholder placeholder_of(struct bit pattern) {
    struct placeholder none = {.kind = PLAIN};
    if (pattern.count < 4 || memcmp(pattern.bytes, "\"<", 2) != 0 || pattern.bytes[pattern.count - 2] != '>')
        return none;
    return placeholder_at((const char *)pattern.bytes + 1);
}

static bool like(struct bit pattern, struct bit json, struct variables *variables);

static struct bit trimmed(struct bit json) {
    while (json.count && isspace(json.bytes[0]))
        json = (struct bit){json.bytes + 1, json.count - 1};
    while (json.count && isspace(json.bytes[json.count - 1]))
        json.count--;
    return json;
}

static bool like_member(const struct naive_item *wanted, struct bit json, struct variables *variables) {
    struct naive_item item;
    bool none = bit_is(wanted->value, "\"<none>\"");
    for (size_t at = 0; naive_next(json, &at, &item);)
        if (bit_equal(item.key, wanted->key))
            return !none && like(wanted->value, item.value, variables);
    return none;
}

static bool like_object(struct bit pattern, struct bit json, struct variables *variables) {
    struct naive_item wanted;
    if (!json.count || json.bytes[0] != '{')
        return false;
    for (size_t at = 0; naive_next(pattern, &at, &wanted);)
        if (!like_member(&wanted, json, variables))
            return false;
    return true;
}

static bool like_array(struct bit pattern, struct bit json, struct variables *variables) {
    struct naive_item wanted, item;
    size_t at = 0, json_at = 0;
    if (!json.count || json.bytes[0] != '[')
        return false;
    while (naive_next(pattern, &at, &wanted))
        if (!naive_next(json, &json_at, &item) || !like(wanted.value, item.value, variables))
            return false;
    return !naive_next(json, &json_at, &item);
}

static bool like(struct bit pattern, struct bit json, struct variables *variables) {
    struct placeholder variable = placeholder_of(pattern);
    if (variable.kind == VARIABLE)
        return capture(variables, &variable, json);
    if (pattern.count && pattern.bytes[0] == '{')
        return like_object(pattern, json, variables);
    if (pattern.count && pattern.bytes[0] == '[')
        return like_array(pattern, json, variables);
    return bit_equal(pattern, json);
}

// The names of section 7 of the protocol, which a message begins with.
static const struct {
    const char *code, *name;
} errors[] = {
    {"-32700", "parse"},
    {"-32600", "invalid request"},
    {"-32601", "method not found"},
    {"-32602", "invalid params"},
    {"-32603", "internal"},
    {"-32000", "governance required"},
    {"-32001", "capability not allowed"},
    {"-32002", "tool integration error"},
    {"-32003", "audit log failure"},
    {"-32010", "agent not found"},
    {"-32011", "governance violation"},
    {"-32012", "human approval required"},
    {"-32050", "target disconnected"},
    {"-32051", "timed out"},
    {"-32052", "overloaded"},
    {"-32053", "agentId taken"},
    {"-32054", "not initialized"},
    {"-32055", "frame too large"},
    {"-32056", "protocol version not supported"},
    {"-32800", "cancelled"},
};

// An answer of the hub's own: what every one of them has.
static bool well_formed(struct bit message) {
    struct bit code = naive_find(message, "error.code"), text = naive_find(message, "error.message");
    if (naive_find(message, "type").bytes && !naive_find(message, "jsonrpc").bytes)
        return true; // a frame of HCS
    if (!bit_is(naive_find(message, "jsonrpc"), "\"2.0\""))
        return false;
    if (!code.bytes)
        return true;
    for (size_t at = 0; at < sizeof errors / sizeof *errors; at++)
        if (bit_is(code, errors[at].code))
            return text.count > strlen(errors[at].name) &&
                   memcmp(text.bytes + 1, errors[at].name, strlen(errors[at].name)) == 0 &&
                   naive_find(message, "error.data").bytes &&
                   naive_find(message, "error.data").bytes[0] == '{';
    return false;
}

bool match_hub_says(struct bit body) {
    struct naive_item item;
    struct bit json = trimmed(body);
    if (!naive_valid(body))
        return false;
    if (!json.count || json.bytes[0] != '[')
        return well_formed(json);
    for (size_t at = 0; naive_next(json, &at, &item);)
        if (!well_formed(item.value))
            return false;
    return true;
}

bool match_like(const char *pattern, struct bit body, struct variables *variables) {
    struct text text;
    text_init(&text);
    pattern_json(&text, pattern, variables);
    text_add(&text, "", 1); // what looks for a `>` stops here
    struct bit json = {(const uint8_t *)text.bytes, text.length - 1};
    bool good = naive_valid(json) && naive_valid(body) && like(trimmed(json), trimmed(body), variables);
    text_deinit(&text);
    return good;
}
