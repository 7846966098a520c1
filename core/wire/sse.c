#include "core/wire/sse.h"

#include <assert.h>
#include <string.h>

enum unit_result sse_scan(struct unit *unit, uint8_t *bytes, size_t count, const struct unit_limits *limits) {
    (void)bytes;
    (void)limits;
    if (count == 0)
        return UNIT_OPEN;
    unit->length_known = true;
    unit->bytes = (uint32_t)count;
    return UNIT_WHOLE;
}

uint32_t sse_open_max(const struct unit_limits *limits) {
    (void)limits;
    return 1;
}

static size_t put(char *out, const void *text, size_t count) {
    memcpy(out, text, count);
    return count;
}

size_t sse_data_head(char *out, uint64_t body_bytes) {
    (void)body_bytes;
    return put(out, SSE_DATA, sizeof SSE_DATA - 1);
}

static size_t put_field(char *out, const char *name, const char *value, size_t count) {
    assert(!memchr(value, '\n', count) && !memchr(value, '\r', count));
    size_t bytes = put(out, name, strlen(name));
    bytes += put(out + bytes, value, count);
    return bytes + put(out + bytes, "\n", 1);
}

size_t sse_head(char out[SSE_HEAD_BYTES_MAX], const char *event, const char *id, size_t id_bytes) {
    size_t bytes = 0;
    assert(!event || strlen(event) <= SSE_EVENT_BYTES_MAX);
    assert(!id || id_bytes <= SSE_ID_BYTES_MAX);
    if (event)
        bytes += put_field(out, "event: ", event, strlen(event));
    if (id)
        bytes += put_field(out + bytes, "id: ", id, id_bytes);
    return bytes + sse_data_head(out + bytes, 0);
}
