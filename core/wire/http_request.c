#include "core/wire/http_request.h"

#include <assert.h>
#include <string.h>

#include "core/json/simdjson.h"
#include "core/wire/field.h"

struct field_name {
    const char *lower;
    uint8_t bytes;
};

static const struct field_name field_names[HTTP_FIELDS_COUNT] = {
#define X(name, text) [name] = {text, sizeof text - 1},
    HTTP_FIELDS(X)
#undef X
};

// One bit for each length that a name has.
static const uint32_t name_lengths = 0
#define X(name, text) | 1u << (sizeof text - 1)
    HTTP_FIELDS(X)
#undef X
    ;

bool http_span_is(const uint8_t *bytes, struct span span, const char *text) {
    return span.bytes == strlen(text) && memcmp(bytes + span.at, text, span.bytes) == 0;
}

bool http_span_is_caseless(const uint8_t *bytes, struct span span, const char *lower) {
    return field_is(bytes + span.at, span.bytes, lower, strlen(lower));
}

// Returns whether the `bytes` of a name equal `lower`, ignoring case.
static bool is_named(const uint8_t *name, const char *lower, size_t bytes) {
    return bytes >= 8 && bytes <= 24 ? field_name_is(name, lower, bytes)
                                     : field_is(name, bytes, lower, bytes);
}

static enum http_field name_of(const uint8_t *bytes, struct span name) {
    if (name.bytes >= 32 || !(name_lengths >> name.bytes & 1))
        return HTTP_FIELDS_COUNT;
    for (unsigned field = 0; field < HTTP_FIELDS_COUNT; field++)
        if (field_names[field].bytes == name.bytes &&
            is_named(bytes + name.at, field_names[field].lower, name.bytes))
            return field;
    return HTTP_FIELDS_COUNT;
}

static enum http_method method_of(const uint8_t *bytes, struct span name) {
    static const char *const names[HTTP_OTHER_METHOD] = {[HTTP_GET] = "GET",
                                                         [HTTP_HEAD] = "HEAD",
                                                         [HTTP_POST] = "POST",
                                                         [HTTP_DELETE] = "DELETE",
                                                         [HTTP_OPTIONS] = "OPTIONS"};
    unsigned method = 0;
    while (method < HTTP_OTHER_METHOD && !http_span_is(bytes, name, names[method]))
        method++;
    return method;
}

// Returns where the fields begin.
static uint32_t read_line(const uint8_t *head, uint32_t end, struct http_line *out) {
    uint32_t at = head[0] == '\r' ? 2 : 0, fault_at;
    uint32_t line_end = field_skip_value(head, at, end);
    enum unit_fault fault = http_line_read(head, at, line_end, out, &fault_at);
    assert(fault == UNIT_FAULT_NONE && line_end + 2 < end);
    (void)fault;
    return line_end + 2;
}

void http_read(const uint8_t *head, const struct unit *unit, struct http_request *out) {
    assert(unit->body_at > 0 && unit->fault == UNIT_FAULT_NONE && !unit->canonical);
    *out = (struct http_request){0};
    uint32_t at = read_line(head, unit->body_at, &out->line);
    out->method = method_of(head, out->line.method);
    out->is_1_0 = out->line.is_1_0;
    out->keep_alive = !out->is_1_0;
    for (struct field_line line; field_line_next(head, &at, unit->body_at, &line);) {
        enum http_field field = name_of(head, line.name);
        if (field == HTTP_FIELDS_COUNT)
            continue;
        if (http_has_field(out, field))
            out->repeated |= 1u << field;
        else
            out->fields[field] = line.value;
        out->present |= 1u << field;
        if (field == HTTP_CONNECTION && http_list_has(head, line.value, "close"))
            out->keep_alive = false;
    }
    bool good = http_authority_read(head, out->fields[HTTP_HOST], &out->authority);
    assert(good && !http_repeated(out, HTTP_HOST));
    (void)good;
}

bool http_list_has(const uint8_t *bytes, struct span list, const char *token) {
    const uint8_t *at = bytes + list.at, *end = at + list.bytes;
    size_t token_bytes = strlen(token);
    assert(token_bytes > 0);
    while (at < end) {
        const uint8_t *comma = memchr(at, ',', (size_t)(end - at));
        struct field_text item = field_text_trim((struct field_text){at, comma ? comma : end});
        if (field_is(item.start, (size_t)(item.end - item.start), token, token_bytes))
            return true;
        at = comma ? comma + 1 : end;
    }
    return false;
}

bool http_lists(const uint8_t *head, const struct unit *unit, enum http_field field, const char *token) {
    struct http_line request;
    uint32_t at = read_line(head, unit->body_at, &request);
    assert(field < HTTP_FIELDS_COUNT);
    for (struct field_line line; field_line_next(head, &at, unit->body_at, &line);)
        if (name_of(head, line.name) == field && http_list_has(head, line.value, token))
            return true;
    return false;
}

bool http_next_with(const uint8_t *head, const struct unit *unit, uint32_t *at, const char *prefix,
                    struct span *name, struct span *value) {
    struct http_line request;
    uint32_t bytes = (uint32_t)strlen(prefix);
    assert(bytes > 0 && *at <= unit->body_at);
    if (*at == 0)
        *at = read_line(head, unit->body_at, &request);
    for (struct field_line line; field_line_next(head, at, unit->body_at, &line);) {
        if (line.name.bytes < bytes || !field_is(head + line.name.at, bytes, prefix, bytes))
            continue;
        *name = line.name;
        *value = line.value;
        return true;
    }
    return false;
}

void http_erase(uint8_t *head, const struct unit *unit, enum http_field field) {
    struct http_line request;
    uint32_t at = read_line(head, unit->body_at, &request);
    assert(field < HTTP_FIELDS_COUNT);
    for (struct field_line line; field_line_next(head, &at, unit->body_at, &line);)
        if (name_of(head, line.name) == field)
            memset(head + line.value.at, '*', line.value.bytes);
}

bool http_media_type_is(const uint8_t *bytes, struct span value, const char *type) {
    const uint8_t *start = bytes + value.at, *end = start + value.bytes;
    const uint8_t *semicolon = value.bytes ? memchr(start, ';', value.bytes) : NULL;
    struct field_text name = field_text_trim((struct field_text){start, semicolon ? semicolon : end});
    return field_is(name.start, (size_t)(name.end - name.start), type, strlen(type)) &&
           media_type_is_utf8(start, value.bytes);
}

// --- The request line

enum { VERSION_BYTES = sizeof "HTTP/1.1" - 1, PORT_DIGITS_MAX = 5, PORT_MAX = 65535 };

// The bytes that a target may have: those of a URI, and others that browsers leave unescaped in a query. Clients never
// send a fragment.
static const bool in_target[256] = {
    ['!'] = true,
    ['$' ... ';'] = true,
    ['='] = true,
    ['?' ... '~'] = true,
};

// The bytes that a registered name may have: unreserved and sub-delims.
static const bool in_name[256] = {
    ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['-'] = true, ['.'] = true,
    ['_'] = true,         ['~'] = true,         ['!'] = true,         ['$'] = true, ['&'] = true,
    ['\''] = true,        ['('] = true,         [')'] = true,         ['*'] = true, ['+'] = true,
    [','] = true,         [';'] = true,         ['='] = true,
};

static bool is_hex(uint8_t byte) {
    return field_is_digit(byte) || (field_lower(byte) >= 'a' && field_lower(byte) <= 'f');
}

// Returns the offset behind an address in brackets, or `at` if there is none.
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

// Reads http://authority/path?query. If the path is missing, the path is the slash before the authority.
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

// Reads the version. HTTP/1.0, HTTP/1.1 and any later 1.x are served, as RFC 9110 section 2.5 says.
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

// --- Queries

// The text that must still be decoded, and the place for the result.
struct decoding {
    const uint8_t *from, *from_end;
    char *to, *to_end;
};

static int http_query_hex(uint8_t byte) {
    uint8_t lower = field_lower(byte);
    return field_is_digit(byte) ? byte - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Returns the next decoded byte, or -1 if it can't be decoded.
static int decode_byte(struct decoding *text) {
    assert(text->from < text->from_end);
    uint8_t byte = *text->from++;
    if (byte == '+')
        return ' ';
    if (byte != '%')
        return byte ? byte : -1;
    if (text->from_end - text->from < 2)
        return -1;
    int high = http_query_hex(text->from[0]), low = http_query_hex(text->from[1]);
    text->from += 2;
    return high < 0 || low < 0 || high + low == 0 ? -1 : high * 16 + low;
}

static enum http_parameter_step decode(struct decoding *text) {
    const char *begin = text->to;
    while (text->from < text->from_end) {
        int byte = decode_byte(text);
        if (byte < 0)
            return HTTP_PARAMETER_BAD;
        if (text->to == text->to_end)
            return HTTP_PARAMETER_TOO_LONG;
        *text->to++ = (char)byte;
    }
    assert(text->to <= text->to_end);
    bool good = simdjson_utf8((const uint8_t *)begin, (size_t)(text->to - begin));
    return good ? HTTP_PARAMETER : HTTP_PARAMETER_BAD;
}

static enum http_parameter_step decode_parameter(const uint8_t *from, const uint8_t *end, char *out,
                                                 uint32_t capacity, struct http_parameter *parameter) {
    const uint8_t *equals = memchr(from, '=', (size_t)(end - from));
    struct decoding text = {from, equals ? equals : end, out, out + capacity};
    enum http_parameter_step step = decode(&text);
    if (step != HTTP_PARAMETER)
        return step;
    *parameter =
        (struct http_parameter){.name = out, .name_bytes = (uint32_t)(text.to - out), .value = text.to};
    text.from = equals ? equals + 1 : end;
    text.from_end = end;
    step = decode(&text);
    parameter->value_bytes = (uint32_t)(text.to - parameter->value);
    return step;
}

enum http_parameter_step http_parameter_next(const uint8_t *bytes, struct span query, uint32_t *at, char *out,
                                             uint32_t capacity, struct http_parameter *parameter) {
    const uint8_t *begin = bytes + query.at, *end = begin + query.bytes, *from = begin + *at;
    assert(from <= end);
    while (from < end && *from == '&')
        from++;
    if (from == end) {
        *at = query.bytes;
        return HTTP_PARAMETERS_END;
    }
    const uint8_t *stop = memchr(from, '&', (size_t)(end - from));
    stop = stop ? stop : end;
    *at = (uint32_t)(stop - begin);
    return decode_parameter(from, stop, out, capacity, parameter);
}
