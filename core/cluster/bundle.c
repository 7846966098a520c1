#include "core/cluster/bundle.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

enum { BYTES_AT = 8, SAID_AT = 12, BETWEEN_BYTES = 2 };
// What else is said: the time, and in the bits above it the rest.
enum { TIME_BITS = 24, LEVEL_BITS = 2, TIME_MS_MAX = 3600 * 1000 };

static_assert(TIME_MS_MAX < 1 << TIME_BITS && GOVERNANCE_COUNT == 1 << LEVEL_BITS, "each has its bits");

static void put_32(char *out, uint32_t number) {
    uint32_t word = htole32(number);
    memcpy(out, &word, sizeof word);
}

static uint32_t read_32(const uint8_t *bytes) {
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return le32toh(word);
}

static uint64_t read_64(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return le64toh(word);
}

void bundle_write_number(char out[BUNDLE_NUMBER_BYTES], uint64_t number) {
    uint64_t word = htole64(number);
    memcpy(out, &word, sizeof word);
}

void bundle_write_head(char out[BUNDLE_HEAD_BYTES], const struct bundled *bundled, uint32_t bytes) {
    uint32_t time_ms = bundled->time_ms <= TIME_MS_MAX ? bundled->time_ms : 0;
    assert(bundled->number && bytes > 0);
    bundle_write_number(out, bundled->number);
    put_32(out + BYTES_AT, bytes);
    put_32(out + SAID_AT, time_ms | (uint32_t)bundled->level << TIME_BITS |
                              (uint32_t)bundled->is_vouched << (TIME_BITS + LEVEL_BITS));
}

// What is said of a time that no request has is nothing.
static void read_said(uint32_t said, struct bundled *out) {
    uint32_t time_ms = said & ((1u << TIME_BITS) - 1);
    out->time_ms = time_ms <= TIME_MS_MAX ? time_ms : 0;
    out->level = (enum governance)(said >> TIME_BITS & (GOVERNANCE_COUNT - 1));
    out->is_vouched = said >> (TIME_BITS + LEVEL_BITS) & 1;
}

bool bundle_next(const uint8_t *bytes, struct span *rest, struct bundled *bundled, struct span *body) {
    const uint8_t *head = bytes + rest->at;
    if (rest->bytes <= BUNDLE_HEAD_BYTES)
        return false;
    uint32_t count = read_32(head + BYTES_AT), left = rest->bytes - BUNDLE_HEAD_BYTES;
    if (count == 0 || count > left)
        return false;
    uint32_t end = rest->at + BUNDLE_HEAD_BYTES + count;
    bool is_last = count == left;
    if (!is_last && (left - count < BETWEEN_BYTES || bytes[end] != '\r' || bytes[end + 1] != '\n'))
        return false;
    uint32_t next = is_last ? end : end + BETWEEN_BYTES;
    bundled->number = read_64(head);
    read_said(read_32(head + SAID_AT), bundled);
    *body = (struct span){rest->at + BUNDLE_HEAD_BYTES, count};
    *rest = (struct span){next, rest->at + rest->bytes - next};
    return true;
}

bool bundle_next_number(const uint8_t *bytes, struct span *rest, uint64_t *number) {
    assert(rest->at + rest->bytes >= rest->at);
    if (rest->bytes < BUNDLE_NUMBER_BYTES)
        return false;
    *number = read_64(bytes + rest->at);
    *rest = (struct span){rest->at + BUNDLE_NUMBER_BYTES, rest->bytes - BUNDLE_NUMBER_BYTES};
    return true;
}
