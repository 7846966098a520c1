#include "core/child/log_line.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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
