#include "core/log/log_escape.h"

#include <assert.h>
#include <string.h>

size_t log_printable(const uint8_t *bytes, size_t count) {
    uint8_t first = bytes[0];
    assert(count > 0);
    if (first < 0x80)
        return first >= 0x20 && first != 0x7f;
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    uint32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0xa0; // to 0x9f: more control characters
    uint32_t point = first & (0x7fu >> length);
    if (first < 0xc2 || first > 0xf4 || length > count)
        return 0;
    for (size_t at = 1; at < length; at++) {
        if ((bytes[at] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (bytes[at] & 0x3f);
    }
    return point < least || point > 0x10ffff || (point >= 0xd800 && point < 0xe000) ? 0 : length;
}

size_t log_escape(const uint8_t *bytes, size_t count, char *out) {
    static const char digits[] = "0123456789abcdef";
    size_t used = 0;
    for (size_t at = 0; at < count;) {
        size_t length = log_printable(bytes + at, count - at);
        if (length > 0) {
            memcpy(out + used, bytes + at, length);
            used += length;
            at += length;
            continue;
        }
        out[used++] = '\\';
        out[used++] = 'x';
        out[used++] = digits[bytes[at] >> 4];
        out[used++] = digits[bytes[at] & 15];
        at++;
    }
    assert(used <= 4 * count);
    return used;
}
