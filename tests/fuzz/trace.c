// Fuzzes the context of traces. The input is header fields up to its first zero byte, then the value of params._meta.
// The context that is found must be the one that a naive reader finds. Where another parent is written into the
// message, both places of the context bear the new parent, and nothing else changes. The former parent can be put back.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/limits.h"
#include "core/lookup/lookup.h"
#include "core/requests/trace_context.h"
#include "core/wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_BYTES = 2048, CONTEXT_BYTES = 55, PARENT_AT = 36, BLOCK_BYTES_MAX = 4096 };

static void require(bool holds) {
    if (!holds)
        abort();
}

// What one place says: how many values it has, and the last one.
struct said {
    unsigned count;
    bool valid;
    char value[CONTEXT_BYTES];
};

struct both {
    struct said member, field;
};

static bool naive_valid(const char *text, size_t bytes) {
    static const char form[] = "xx-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";
    unsigned trace = 0, parent = 0;
    for (size_t at = 0; at < CONTEXT_BYTES; at++) {
        if (at >= bytes || (form[at] == '-') != (text[at] == '-') ||
            (form[at] == 'x' && !strchr("0123456789abcdef", text[at])) || !text[at])
            return false;
        trace += at > 2 && at < 35 && text[at] != '0';
        parent += at > 35 && at < 52 && text[at] != '0';
    }
    if (!trace || !parent || (text[0] == 'f' && text[1] == 'f'))
        return false;
    bool is_known = text[0] == '0' && text[1] == '0';
    return bytes == CONTEXT_BYTES || (!is_known && text[CONTEXT_BYTES] == '-');
}

static void hear(struct said *said, const char *value, size_t bytes) {
    said->count++;
    said->valid = naive_valid(value, bytes);
    if (said->valid)
        memcpy(said->value, value, CONTEXT_BYTES);
}

static struct said read_member(const uint8_t *body, struct span meta) {
    struct said said = {0};
    struct json_walk walk;
    char value[TEXT_BYTES];
    json_walk_begin(&walk, body, meta);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        if (!json_string_is(body, item.key, "traceparent"))
            continue;
        size_t bytes =
            item.type == JSON_STRING ? json_string_decode(body, item.value, value, sizeof value) : 0;
        require(bytes != SIZE_MAX);
        hear(&said, value, bytes);
    }
    return said;
}

static struct said read_fields(const uint8_t *block, size_t bytes) {
    struct said said = {0};
    char text[BLOCK_BYTES_MAX + 1];
    memcpy(text, block, bytes);
    text[bytes] = 0;
    for (char *line = text, *end; (end = strstr(line, "\r\n")); line = end + 2) {
        *end = 0;
        if (strncasecmp(line, "traceparent:", 12) != 0)
            continue;
        char *value = line + 12 + strspn(line + 12, " \t");
        size_t count = strlen(value);
        while (count > 0 && (value[count - 1] == ' ' || value[count - 1] == '\t'))
            count--;
        hear(&said, value, count);
    }
    return said;
}

static bool is_good(const struct said *said) {
    return said->count == 1 && said->valid;
}

static bool is_of(const struct said *said, const struct trace_context *context) {
    return is_good(said) && memcmp(said->value + 3, context->trace, TRACE_ID_DIGITS) == 0 &&
           memcmp(said->value + PARENT_AT, context->parent, TRACE_PARENT_DIGITS) == 0;
}

static void check_written(const struct said *before, const struct said *after, bool is_written,
                          const char *parent) {
    struct said wanted = *before;
    if (is_written)
        memcpy(wanted.value + PARENT_AT, parent, TRACE_PARENT_DIGITS);
    require(after->count == wanted.count && after->valid == wanted.valid);
    require(!wanted.valid || memcmp(after->value, wanted.value, CONTEXT_BYTES) == 0);
}

// The body and the block are the fuzzer's own, and are as before at the end.
static void replace(uint8_t *body, size_t bytes, struct span meta, uint8_t *block, uint32_t block_bytes,
                    const struct both *said, const struct trace_context *context) {
    static const char parent[] = "0123456789abcdef";
    uint8_t old_body[2 * TEXT_BYTES], old_block[BLOCK_BYTES_MAX];
    memcpy(old_body, body, bytes);
    memcpy(old_block, block, block_bytes);
    struct trace_places places = trace_context_places(body, meta, block, block_bytes, context);
    require(!places.in_body == !is_of(&said->member, context));
    require(!places.in_block == !is_of(&said->field, context));
    if (places.in_body)
        trace_context_write_parent(body + places.in_body, parent);
    if (places.in_block)
        trace_context_write_parent(block + places.in_block, parent);
    struct said member = read_member(body, meta), field = read_fields(block, block_bytes);
    check_written(&said->member, &member, places.in_body, parent);
    check_written(&said->field, &field, places.in_block, parent);
    if (places.in_body)
        trace_context_write_parent(body + places.in_body, context->parent);
    if (places.in_block)
        trace_context_write_parent(block + places.in_block, context->parent);
    require(memcmp(body, old_body, bytes) == 0 && memcmp(block, old_block, block_bytes) == 0);
}

static void judge(uint8_t *body, size_t bytes, struct span meta, uint8_t *block, uint32_t block_bytes) {
    struct both said = {.field = read_fields(block, block_bytes)};
    struct trace_context context;
    if (meta.bytes)
        said.member = read_member(body, meta);
    const struct said *first = said.member.count ? &said.member : &said.field;
    bool found = trace_context_find(body, meta, block, block_bytes, &context);
    require(found == is_good(first));
    if (!found)
        return;
    require(is_of(first, &context));
    require(context.sampled == (strchr("13579bdf", first->value[CONTEXT_BYTES - 1]) != NULL));
    replace(body, bytes, meta, block, block_bytes, &said, &context);
}

// The header block of a frame that the hub would take; 0 bytes: it wouldn't.
static uint32_t make_block(const uint8_t *fields, size_t bytes, size_t body_bytes, uint8_t *out) {
    static const struct unit_limits limits = {BLOCK_BYTES_MAX, 2 * TEXT_BYTES};
    struct unit unit;
    size_t count = (size_t)sprintf((char *)out, "Content-Length: %zu\r\n", body_bytes);
    for (size_t at = 0; at < bytes; at++) {
        if (fields[at] == '\n' && (at == 0 || fields[at - 1] != '\r'))
            out[count++] = '\r';
        out[count++] = fields[at];
    }
    memcpy(out + count, "\r\n\r\n", 4);
    count += bytes > 0 && fields[bytes - 1] != '\n' ? 4 : 2;
    unit_begin(&unit);
    (void)frame_scan(&unit, out, count, &limits);
    return unit.fault || unit.body_at != count ? 0 : unit.body_at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"_meta\":";
    uint8_t block[BLOCK_BYTES_MAX];
    struct lookup lookup;
    const uint8_t *zero = size > 0 && size < TEXT_BYTES / 2 ? memchr(data, 0, size) : NULL;
    if (!zero)
        return 0;
    size_t fields = (size_t)(zero - data), meta = size - fields - 1, bytes = sizeof head - 1 + meta + 2;
    uint8_t *body = malloc(bytes + BUFFER_SLACK_BYTES);
    require(body != NULL);
    memcpy(body, head, sizeof head - 1);
    memcpy(body + sizeof head - 1, zero + 1, meta);
    memcpy(body + bytes - 2, "}}", 2);
    memset(body + bytes, 0, BUFFER_SLACK_BYTES);
    lookup_body(&lookup, body, (uint32_t)bytes, 256);
    uint32_t block_bytes = make_block(data, fields, bytes, block);
    bool has_meta = lookup_has(&lookup, KEY_META) && lookup.type[KEY_META] == JSON_OBJECT;
    if (lookup.verdict == LOOKUP_GOOD && block_bytes)
        judge(body, bytes, has_meta ? lookup.value[KEY_META] : (struct span){0}, block, block_bytes);
    free(body);
    return 0;
}
