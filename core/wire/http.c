#include "core/wire/http.h"

#include <assert.h>

#include "core/base/limits.h"
#include "core/wire/http_chunks.h"
#include "core/wire/http_head.h"

enum unit_result http_scan(struct unit *unit, uint8_t *bytes, size_t count,
                           const struct unit_limits *limits) {
    uint32_t end = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    bool in_head = unit->state < HTTP_CHUNKS;
    if (in_head)
        http_head_scan(unit, bytes, end, limits);
    if (unit->state >= HTTP_CHUNKS && unit->state < HTTP_SIZED)
        http_chunks_scan(unit, bytes, end, limits);
    if (unit->state == HTTP_REFUSED)
        return UNIT_BAD;
    if (in_head && unit->body_at == count && http_head_waits(unit))
        return UNIT_ASIDE;
    if (!unit->sized)
        return UNIT_OPEN;
    return count < unit->bytes ? UNIT_PARTIAL : UNIT_WHOLE;
}

// An empty line, the request line, the fields and the body; and all that arrives at once behind it may be dead.
uint32_t http_open_max(const struct unit_limits *limits) {
    uint32_t besides = 2 + HTTP_LINE_BYTES_MAX + 2 + limits->header_bytes_max + RECEIVE_BUFFER_BYTES;
    assert(limits->body_bytes_max <= UINT32_MAX - besides);
    return besides + limits->body_bytes_max;
}

unsigned http_status_of(enum unit_fault fault) {
    assert(fault > UNIT_FAULT_NONE && fault < UNIT_FAULTS_COUNT);
    switch (fault) {
    case UNIT_FAULT_LATE:
        return 408;
    case UNIT_FAULT_BODY_TOO_LARGE:
        return 413;
    case UNIT_FAULT_REQUEST_LINE_TOO_LONG:
        return 414;
    case UNIT_FAULT_EXPECT:
        return 417;
    case UNIT_FAULT_HEADER_TOO_LARGE:
        return 431;
    case UNIT_FAULT_HTTP_VERSION:
        return 505;
    default:
        return 400;
    }
}
