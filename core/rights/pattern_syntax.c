#include "core/rights/pattern_syntax.h"

#include <assert.h>
#include <string.h>

#include "core/agents/agent.h"
#include "core/base/limits.h"

static const char *const begins[KINDS_COUNT] = {
    [KIND_AGENT] = "",         [KIND_CAPABILITY] = "@", [KIND_TOOL] = "tool:",
    [KIND_METHOD] = "method:", [KIND_EVENT] = "event:",
};

#define BIT(kind) (1u << (kind))
#define CALLED    (BIT(KIND_CAPABILITY) | BIT(KIND_TOOL) | BIT(KIND_METHOD))

static const struct {
    unsigned kinds; // the kinds that the list may have, one bit each
    const char *expected;
} lists[RIGHTS_COUNT] = {
    [RIGHT_REGISTER] = {BIT(KIND_AGENT), "agentIds, or a beginning of them and *"},
    [RIGHT_OFFER] = {CALLED, "@CAPABILITY, tool:TOOL or method:METHOD, or a beginning and *"},
    [RIGHT_CALL] = {CALLED | BIT(KIND_AGENT),
                    "an agentId, @CAPABILITY, tool:TOOL or method:METHOD, or a beginning and *"},
    [RIGHT_PUBLISH] = {BIT(KIND_EVENT), "names of events, or a beginning of them and *"},
    [RIGHT_SUBSCRIBE] = {BIT(KIND_EVENT), "names of events, or a beginning of them and *"},
    [RIGHT_HOLD] = {CALLED | BIT(KIND_AGENT) | BIT(KIND_EVENT),
                    "an agentId, @CAPABILITY, tool:TOOL, method:METHOD or event:EVENT, or a beginning and *"},
};

const char *pattern_syntax_begin(enum right right, enum right_kind kind) {
    assert(right < RIGHTS_COUNT && kind < KINDS_COUNT);
    return lists[right].kinds == BIT(KIND_EVENT) ? "" : begins[kind];
}

enum right_kind pattern_syntax_kind(enum right right, const char **text, size_t *bytes) {
    assert(right < RIGHTS_COUNT);
    if (lists[right].kinds == BIT(KIND_EVENT))
        return KIND_EVENT;
    for (enum right_kind kind = KIND_CAPABILITY; kind < KINDS_COUNT; kind++) {
        size_t begin = strlen(begins[kind]);
        bool known = kind != KIND_EVENT || lists[right].kinds & BIT(KIND_EVENT);
        if (known && *bytes >= begin && memcmp(*text, begins[kind], begin) == 0) {
            *text += begin;
            *bytes -= begin;
            return kind;
        }
    }
    return KIND_AGENT;
}

static bool has_control(const char *text, size_t bytes) {
    assert(text);
    for (size_t at = 0; at < bytes; at++)
        if ((unsigned char)text[at] < ' ' || text[at] == 127)
            return true;
    return false;
}

// Returns whether the pattern is a valid agentId, or the beginning of one.
static bool is_agent(const struct pattern *pattern) {
    char id[PATTERN_BYTES_MAX + 1];
    assert(pattern->bytes < sizeof id);
    memcpy(id, pattern->text, pattern->bytes);
    id[pattern->bytes] = 'x';
    return agent_id_valid(id, pattern->bytes + pattern->prefix);
}

const char *pattern_syntax_pattern(enum right right, const char *text, size_t bytes, enum right_kind *kind,
                                   struct pattern *pattern) {
    static_assert((int)PATTERN_BYTES_MAX == AGENT_ID_BYTES_MAX && (int)PATTERN_BYTES_MAX == EVENT_BYTES_MAX &&
                      (int)PATTERN_BYTES_MAX == METHOD_BYTES_MAX,
                  "a pattern is as long as a name");
    enum right_kind of = pattern_syntax_kind(right, &text, &bytes);
    bool prefix = bytes > 0 && text[bytes - 1] == '*';
    struct pattern read = {.text = text, .bytes = (uint32_t)(bytes - prefix), .prefix = prefix};
    bool good = lists[right].kinds & BIT(of) && bytes > 0 && bytes <= PATTERN_BYTES_MAX &&
                !memchr(text, '*', read.bytes) && !has_control(text, bytes);
    if (!good || (of == KIND_AGENT && !is_agent(&read)))
        return lists[right].expected;
    *kind = of;
    *pattern = read;
    return NULL;
}

bool pattern_syntax_is_name(const char *text, size_t bytes) {
    for (size_t at = 0; at < bytes; at++) {
        char byte = text[at];
        bool letter = ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') || (byte >= '0' && byte <= '9');
        if (!letter && !(byte && strchr("-_.:/@+", byte)))
            return false;
    }
    return bytes > 0 && bytes <= USER_NAME_BYTES_MAX;
}
