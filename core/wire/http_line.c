#include "core/wire/http_line.h"

#include <assert.h>
#include <string.h>

#include "core/wire/field.h"

enum { VERSION_BYTES = sizeof "HTTP/1.1" - 1, PORT_DIGITS_MAX = 5, PORT_MAX = 65535 };

// Bytes of a target: the bytes of a URI, and others that browsers leave unescaped in a query. A fragment
// never comes.
static const bool in_target[256] = {
    ['!'] = true,
    ['$' ... ';'] = true,
    ['='] = true,
    ['?' ... '~'] = true,
};

// Bytes of a registered name: unreserved and sub-delims.
static const bool in_name[256] = {
    ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['-'] = true, ['.'] = true,
    ['_'] = true,         ['~'] = true,         ['!'] = true,         ['$'] = true, ['&'] = true,
    ['\''] = true,        ['('] = true,         [')'] = true,         ['*'] = true, ['+'] = true,
    [','] = true,         [';'] = true,         ['='] = true,
};

static bool is_hex(uint8_t byte) {
    return field_is_digit(byte) || (field_lower(byte) >= 'a' && field_lower(byte) <= 'f');
}

// The offset behind an address in brackets, or `at` itself.
static uint32_t skip_address(const uint8_t *bytes, uint32_t at, uint32_t end) {
    uint32_t from = at++;
    assert(from < end && bytes[from] == '[');
    while (at < end && (is_hex(bytes[at]) || bytes[at] == ':' || bytes[at] == '.'))
        at++;
    return at < end && bytes[at] == ']' && at - from >= sizeof "::" ? at + 1 : from;
}

static uint32_t skip_host(const uint8_t *bytes, uint32_t at, uint32_t end) {
    if (at < end && bytes[at] == '[')
        return skip_address(bytes, at, end);
    for (; at < end; at++) {
        if (bytes[at] == '%' && end - at > 2 && is_hex(bytes[at + 1]) && is_hex(bytes[at + 2]))
            at += 2;
        else if (!in_name[bytes[at]])
            break;
    }
    return at;
}

bool http_authority_read(const uint8_t *bytes, struct span text, struct http_authority *out) {
    uint32_t end = text.at + text.bytes, at = skip_host(bytes, text.at, end);
    assert(at >= text.at && at <= end);
    *out = (struct http_authority){.host = {text.at, at - text.at}};
    if (at == text.at || at == end)
        return at != text.at;
    if (bytes[at++] != ':' || end - at > PORT_DIGITS_MAX)
        return false;
    for (; at < end; at++) {
        if (!field_is_digit(bytes[at]))
            return false;
        out->port = out->port * 10 + (uint32_t)(bytes[at] - '0');
    }
    return out->port <= PORT_MAX;
}

static void split_query(const uint8_t *bytes, struct span rest, struct http_line *out) {
    const uint8_t *mark = rest.bytes ? memchr(bytes + rest.at, '?', rest.bytes) : NULL;
    uint32_t path = mark ? (uint32_t)(mark - bytes) - rest.at : rest.bytes;
    assert(path <= rest.bytes);
    out->path = (struct span){rest.at, path};
    if (mark)
        out->query = (struct span){rest.at + path + 1, rest.bytes - path - 1};
}

// http://authority/path?query, of which the path may be missing: then it means the slash before the
// authority.
static bool read_uri(const uint8_t *bytes, struct http_line *out) {
    static const char scheme[] = "http://";
    struct span target = out->target;
    uint32_t at = target.at + sizeof scheme - 1, end = target.at + target.bytes;
    if (target.bytes < sizeof scheme ||
        !field_is(bytes + target.at, sizeof scheme - 1, scheme, sizeof scheme - 1))
        return false;
    uint32_t from = at;
    while (at < end && bytes[at] != '/' && bytes[at] != '?')
        at++;
    struct http_authority authority;
    out->authority = (struct span){from, at - from};
    if (!http_authority_read(bytes, out->authority, &authority))
        return false;
    split_query(bytes, (struct span){at, end - at}, out);
    if (out->path.bytes == 0)
        out->path = (struct span){from - 1, 1};
    return true;
}

static bool read_target(const uint8_t *bytes, struct http_line *out) {
    struct span target = out->target;
    assert(target.bytes > 0);
    if (bytes[target.at] == '/') {
        split_query(bytes, target, out);
        return true;
    }
    if (target.bytes == 1 && bytes[target.at] == '*') {
        out->path = target;
        return out->method.bytes == 7 && memcmp(bytes + out->method.at, "OPTIONS", 7) == 0;
    }
    return read_uri(bytes, out);
}

// HTTP/1.1 and what calls itself later, as RFC 9110 section 2.5 wants it; and HTTP/1.0.
static enum unit_fault read_version(const uint8_t *version, struct http_line *out) {
    if (memcmp(version, "HTTP/", 5) != 0 || !field_is_digit(version[5]) || version[6] != '.' ||
        !field_is_digit(version[7]))
        return UNIT_FAULT_REQUEST_LINE;
    out->is_1_0 = version[7] == '0';
    return version[5] == '1' ? UNIT_FAULT_NONE : UNIT_FAULT_HTTP_VERSION;
}

enum unit_fault http_line_read(const uint8_t *bytes, uint32_t at, uint32_t end, struct http_line *out,
                               uint32_t *fault_at) {
    assert(at <= end);
    uint32_t method_end = field_skip_name(bytes, at, end), from = method_end + 1, to = from;
    *out = (struct http_line){.method = {at, method_end - at}};
    *fault_at = method_end;
    if (method_end == at || method_end == end || bytes[method_end] != ' ')
        return UNIT_FAULT_REQUEST_LINE;
    while (to < end && in_target[bytes[to]])
        to++;
    *fault_at = to;
    if (to == from || to == end || bytes[to] != ' ')
        return UNIT_FAULT_REQUEST_LINE;
    out->target = (struct span){from, to - from};
    *fault_at = to + 1;
    if (end - to - 1 != VERSION_BYTES)
        return UNIT_FAULT_REQUEST_LINE;
    enum unit_fault fault = read_version(bytes + to + 1, out);
    if (fault != UNIT_FAULT_NONE)
        return fault;
    *fault_at = from;
    return read_target(bytes, out) ? UNIT_FAULT_NONE : UNIT_FAULT_TARGET;
}
