#include "core/child/log_line.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// How many bytes the character that begins here has; 0: it is none of UTF-8, or a control character.
static size_t printable(const uint8_t *bytes, size_t count) {
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
        size_t length = printable(bytes + at, count - at);
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

static void tell_left_out(struct log_lines *lines, log_sink *sink, void *context) {
    char text[64];
    int bytes =
        snprintf(text, sizeof text, "(%llu bytes more weren't logged)", (unsigned long long)lines->left_out);
    lines->left_out = 0;
    assert(bytes > 0 && (size_t)bytes < sizeof text);
    sink(context, text, (size_t)bytes);
}

static void put(struct log_lines *lines, uint64_t now_ms, log_sink *sink, void *context) {
    char text[LOG_TEXT_BYTES];
    uint32_t used = lines->used;
    assert(used <= LOG_LINE_BYTES);
    lines->used = 0;
    while (used > 0 && lines->line[used - 1] == '\r')
        used--;
    if (used == 0)
        return;
    if (lines->second != now_ms / 1000) {
        lines->second = now_ms / 1000;
        lines->spent = 0;
    }
    if (lines->spent + used > LOG_BYTES_A_SECOND) {
        lines->left_out += used;
        return;
    }
    if (lines->left_out)
        tell_left_out(lines, sink, context);
    lines->spent += used;
    sink(context, text, log_escape(lines->line, used, text));
}

void log_lines_add(struct log_lines *lines, const uint8_t *bytes, size_t count, uint64_t now_ms,
                   log_sink *sink, void *context) {
    while (count > 0) {
        const uint8_t *end = memchr(bytes, '\n', count);
        size_t part = end ? (size_t)(end - bytes) : count, room = LOG_LINE_BYTES - lines->used;
        size_t taken = part < room ? part : room;
        memcpy(lines->line + lines->used, bytes, taken);
        lines->used += (uint32_t)taken;
        bool whole = end && taken == part;
        if (whole || lines->used == LOG_LINE_BYTES)
            put(lines, now_ms, sink, context);
        bytes += taken + whole;
        count -= taken + whole;
    }
}

void log_lines_end(struct log_lines *lines, uint64_t now_ms, log_sink *sink, void *context) {
    put(lines, now_ms, sink, context);
    if (lines->left_out)
        tell_left_out(lines, sink, context);
}
