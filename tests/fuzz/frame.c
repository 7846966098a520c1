// Fuzzes the frame scanner. The input's first three bytes choose the limits and how the rest is cut. The rest
// must scan alike whole and cut, and a second, naive reader of the same rules must accept and refuse the same
// blocks. Every piece is handed over in memory of just its size, so the address sanitizer sees each read past
// it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds)
        abort();
}

static enum unit_result scan_copy(struct unit *scan, const uint8_t *text, size_t bytes,
                                  const struct unit_limits *limits) {
    uint8_t *copy = malloc(bytes ? bytes : 1);
    require(copy != NULL);
    memcpy(copy, text, bytes);
    enum unit_result result = frame_scan(scan, copy, bytes, limits);
    free(copy);
    return result;
}

static enum unit_result scan_cut(struct unit *scan, const uint8_t *text, size_t bytes,
                                 const struct unit_limits *limits, uint32_t seed) {
    enum unit_result result = UNIT_OPEN;
    unit_begin(scan);
    for (size_t come = 0;;) {
        result = scan_copy(scan, text, come, limits);
        if (come == bytes)
            return result;
        seed = seed * 1664525u + 1013904223u;
        size_t step = seed >> 16 & 1 ? 1 : seed >> 20 & 63;
        come += step < bytes - come ? step : bytes - come;
    }
}

static void require_same(const struct unit *left, const struct unit *right) {
    require(left->fault == right->fault && left->fault_at == right->fault_at);
    require(left->body_at == right->body_at && left->body_bytes == right->body_bytes);
    require(left->length_line_at == right->length_line_at);
    require(left->length_line_bytes == right->length_line_bytes);
    require(left->canonical == right->canonical && left->directives.version == right->directives.version);
    require(left->directives.has_governance == right->directives.has_governance);
    require(left->directives.governance_bad == right->directives.governance_bad &&
            left->directives.governance == right->directives.governance);
    require(left->directives.has_timeout == right->directives.has_timeout &&
            left->directives.timeout_bad == right->directives.timeout_bad);
    require(left->directives.timeout_ms == right->directives.timeout_ms);
}

// The naive reader's view of a block: nothing here is shared with the scanner.
struct naive {
    bool good;
    size_t header_bytes;
    unsigned long long length, timeout;
    int lengths, types, versions, levels, timeouts;
    char type[600], version[600], level[600];
    size_t length_line_at;
};

static char *trimmed(char *value) {
    value += strspn(value, " \t");
    for (size_t bytes = strlen(value); bytes > 0 && strchr(" \t", value[bytes - 1]); bytes--)
        value[bytes - 1] = '\0';
    return value;
}

// 1 to 10 digits, or `otherwise`.
static unsigned long long number(const char *text, unsigned long long otherwise) {
    size_t digits = strspn(text, "0123456789");
    return digits >= 1 && digits <= 10 && text[digits] == '\0' ? strtoull(text, NULL, 10) : otherwise;
}

// One line without its CR LF, as a string.
static bool naive_line(struct naive *naive, char *line, size_t at) {
    size_t name =
        strspn(line, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (name == 0 || line[name] != ':')
        return false;
    line[name] = '\0';
    for (const char *byte = line + name + 1; *byte; byte++)
        if (((unsigned char)*byte < ' ' && *byte != '\t') || *byte == '\x7f')
            return false;
    char *value = trimmed(line + name + 1);
    if (strcasecmp(line, "content-length") == 0) {
        naive->length = number(value, 0);
        naive->length_line_at = at;
        return ++naive->lengths == 1;
    }
    if (strcasecmp(line, "custom-timeout-ms") == 0) {
        naive->timeout = number(value, 0);
        return ++naive->timeouts == 1;
    }
    if (strcasecmp(line, "content-type") == 0)
        return strcpy(naive->type, value) && ++naive->types == 1;
    if (strcasecmp(line, "hugai-version") == 0)
        return strcpy(naive->version, value) && ++naive->versions == 1;
    if (strcasecmp(line, "governance-level") == 0)
        return strcpy(naive->level, value) && ++naive->levels == 1;
    return true;
}

static void naive_read(struct naive *naive, const uint8_t *text, size_t bytes,
                       const struct unit_limits *limits) {
    size_t end = bytes < limits->header_bytes_max ? bytes : limits->header_bytes_max;
    for (size_t at = 0;;) {
        const uint8_t *stop = memmem(text + at, end - at, "\r\n", 2);
        if (!stop)
            return;
        size_t line_bytes = (size_t)(stop - text) - at;
        if (line_bytes == 0) {
            naive->header_bytes = at + 2;
            naive->good = naive->lengths == 1 && naive->length > 0 && naive->length <= limits->body_bytes_max;
            return;
        }
        char line[600];
        if (line_bytes >= sizeof line || memchr(text + at, '\0', line_bytes))
            return;
        memcpy(line, text + at, line_bytes);
        line[line_bytes] = '\0';
        if (!naive_line(naive, line, at))
            return;
        at += line_bytes + 2;
    }
}

// Judges a Content-Type without quotes; one with quotes is the scanner's alone to judge.
static bool naive_charset_good(const struct naive *naive) {
    char type[600];
    strcpy(type, naive->type);
    char *rest = strchr(type, ';');
    while (rest) {
        char *piece = rest + 1;
        if ((rest = strchr(piece, ';')))
            *rest = '\0';
        char *equals = strchr(piece, '=');
        if (equals)
            *equals = '\0';
        if (strcasecmp(trimmed(piece), "charset") != 0)
            continue;
        const char *value = equals ? trimmed(equals + 1) : "";
        if (strcasecmp(value, "utf-8") != 0 && strcasecmp(value, "utf8") != 0)
            return false;
    }
    return true;
}

static void require_flags(const struct unit *scan, const struct naive *naive) {
    static const char *const levels[] = {"autonomous", "supervised", "human-in-the-loop", "manual"};
    bool major_2 = strcmp(naive->version, "2") == 0 || strncmp(naive->version, "2.", 2) == 0;
    enum unit_version version = !naive->versions ? VERSION_ABSENT : major_2 ? VERSION_SERVED : VERSION_OTHER;
    require(scan->directives.version == version);
    require(scan->directives.has_timeout == (naive->timeouts == 1) &&
            scan->directives.has_governance == (naive->levels == 1));
    bool timeout_good = naive->timeout >= 1 && naive->timeout <= 3600000;
    require(!scan->directives.has_timeout || scan->directives.timeout_bad == !timeout_good);
    require(!timeout_good || scan->directives.timeout_ms == naive->timeout);
    bool known = false;
    for (unsigned level = 0; level < 4; level++)
        if (strcmp(naive->level, levels[level]) == 0)
            known = scan->directives.governance == level;
    require(!scan->directives.has_governance || scan->directives.governance_bad == !known);
}

static void require_as_naive(const struct unit *scan, const uint8_t *text, size_t bytes,
                             const struct unit_limits *limits) {
    struct naive naive = {0};
    naive_read(&naive, text, bytes, limits);
    bool judged = !strchr(naive.type, '"');
    if (judged && naive.good)
        naive.good = naive_charset_good(&naive);
    if (judged || scan->body_at)
        require(naive.good == (scan->body_at != 0));
    if (!scan->body_at)
        return;
    require(scan->body_at == naive.header_bytes && scan->body_bytes == naive.length);
    require(scan->length_line_at == naive.length_line_at);
    char line[40];
    int canonical = snprintf(line, sizeof line, "Content-Length: %llu\r\n", naive.length);
    require(scan->canonical == (memcmp(text, line, (size_t)canonical) == 0));
    require_flags(scan, &naive);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint32_t header_limits[] = {24, 64, 200, 512},
                          body_limits[] = {16, 1000, 1 << 24, UINT32_MAX - 512};
    if (size < 3)
        return 0;
    struct unit_limits limits = {.header_bytes_max = header_limits[data[0] & 3],
                                 .body_bytes_max = body_limits[data[0] >> 2 & 3]};
    uint32_t seed = (uint32_t)data[1] << 8 | data[2];
    const uint8_t *text = data + 3;
    size_t bytes = size - 3;
    struct unit whole, cut;
    unit_begin(&whole);
    enum unit_result result = scan_copy(&whole, text, bytes, &limits);
    require(scan_cut(&cut, text, bytes, &limits, seed) == result);
    require_same(&whole, &cut);
    require((result == UNIT_BAD) == (whole.fault != UNIT_FAULT_NONE));
    require(result != UNIT_BAD || (whole.fault_at <= bytes && whole.fault_at <= limits.header_bytes_max));
    bool block_open = result == UNIT_OPEN;
    require(whole.length_known == (whole.body_at != 0) &&
            block_open == (!whole.length_known && result != UNIT_BAD));
    require(!block_open || bytes < limits.header_bytes_max);
    require(whole.fault != UNIT_FAULT_HEADER_TOO_LARGE || whole.fault_at == limits.header_bytes_max);
    bool all_come = whole.body_at && bytes - whole.body_at >= whole.body_bytes;
    require((result == UNIT_WHOLE) == all_come);
    require_as_naive(&whole, text, bytes, &limits);
    return 0;
}
