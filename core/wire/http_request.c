#include "core/wire/http_request.h"

#include <assert.h>
#include <string.h>

#include "core/wire/field_line.h"
#include "core/wire/media_type.h"

struct field_name {
    const char *lower;
    uint8_t bytes;
};

static const struct field_name field_names[HTTP_FIELDS_COUNT] = {
#define X(name, text) [name] = {text, sizeof text - 1},
    HTTP_FIELDS(X)
#undef X
};

// A bit for each length that a name has.
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

static enum http_field name_of(const uint8_t *bytes, struct span name) {
    if (name.bytes >= 32 || !(name_lengths >> name.bytes & 1))
        return HTTP_FIELDS_COUNT;
    for (unsigned field = 0; field < HTTP_FIELDS_COUNT; field++)
        if (field_names[field].bytes == name.bytes &&
            field_is(bytes + name.at, name.bytes, field_names[field].lower, name.bytes))
            return field;
    return HTTP_FIELDS_COUNT;
}

static enum http_method method_of(const uint8_t *bytes, struct span name) {
    static const char *const names[HTTP_OTHER_METHOD] = {
        [HTTP_GET] = "GET", [HTTP_HEAD] = "HEAD", [HTTP_POST] = "POST", [HTTP_OPTIONS] = "OPTIONS"};
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
        out->given |= 1u << field;
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

void http_blot_out(uint8_t *head, const struct unit *unit, enum http_field field) {
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
