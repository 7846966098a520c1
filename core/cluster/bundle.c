#include "core/cluster/bundle.h"

#include <assert.h>
#include <string.h>

#include "core/cluster/mark.h"

enum { NUMBER_DIGITS = 16, BYTES_DIGITS = BUNDLE_HEAD_BYTES - NUMBER_DIGITS, BETWEEN_BYTES = 2 };

void bundle_write_head(char out[BUNDLE_HEAD_BYTES], uint64_t number, uint32_t bytes) {
    char digits[NUMBER_DIGITS];
    assert(number && bytes > 0);
    mark_all_digits(out, number);
    mark_all_digits(digits, bytes);
    memcpy(out + NUMBER_DIGITS, digits + NUMBER_DIGITS - BYTES_DIGITS, BYTES_DIGITS);
}

bool bundle_next(const uint8_t *bytes, struct span *rest, uint64_t *number, struct span *body) {
    uint64_t count;
    if (rest->bytes <= BUNDLE_HEAD_BYTES ||
        !mark_read_digits(bytes, (struct span){rest->at, NUMBER_DIGITS}, number) ||
        !mark_read_digits(bytes, (struct span){rest->at + NUMBER_DIGITS, BYTES_DIGITS}, &count))
        return false;
    uint32_t left = rest->bytes - BUNDLE_HEAD_BYTES, end = rest->at + BUNDLE_HEAD_BYTES + (uint32_t)count;
    if (count == 0 || count > left)
        return false;
    bool is_last = count == left;
    if (!is_last && (left - count < BETWEEN_BYTES || bytes[end] != '\r' || bytes[end + 1] != '\n'))
        return false;
    uint32_t next = is_last ? end : end + BETWEEN_BYTES;
    *body = (struct span){rest->at + BUNDLE_HEAD_BYTES, (uint32_t)count};
    *rest = (struct span){next, rest->at + rest->bytes - next};
    return true;
}
