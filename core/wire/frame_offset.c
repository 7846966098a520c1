#include "core/wire/frame_offset.h"

#include <assert.h>
#include <stddef.h>

#include "core/base/text.h"

char *frame_offsets_write(char *out, const struct frame_offsets *offsets) {
    assert(offsets->is_known && offsets->cut_count <= FRAME_CUTS_MAX);
    out += text_digits(out, offsets->body_at);
    for (uint32_t at = 0; at < offsets->cut_count; at++) {
        *out++ = ',';
        out += text_digits(out, offsets->cuts[at].at);
        *out++ = ':';
        out += text_digits(out, offsets->cuts[at].original);
    }
    return out;
}

// Returns the number at *at, or 0 if there is none. Moves *at behind the number and the byte after that number.
static uint64_t take_number(const uint8_t **at, const uint8_t *end) {
    const uint8_t *begin = *at;
    uint64_t number;
    while (*at < end && (uint8_t)(**at - '0') < 10)
        ++*at;
    bool good = text_read_digits(begin, (size_t)(*at - begin), UINT32_MAX, &number);
    *at += *at < end;
    return good ? number : 0;
}

uint64_t frame_offset_original(const uint8_t *text, uint32_t bytes, uint64_t offset) {
    const uint8_t *at = text, *end = text + bytes;
    uint64_t body_at = take_number(&at, end), original = offset;
    while (at < end) {
        uint64_t cut = take_number(&at, end), there = take_number(&at, end);
        original = offset >= cut ? there + (offset - cut) : original;
    }
    return body_at + original;
}
