// Makes lines of a log from a child's standard error. Control characters, and bytes that aren't UTF-8, are written as
// \xNN, so that no child can forge a line or control a terminal. The bytes logged in a second are bounded. Bytes beyond
// that are counted, and the count is logged when there is room again.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/log/log_event.h"

enum {
    LOG_LINE_BYTES = 1024,               // of the child's line; a longer line is split
    LOG_TEXT_BYTES = 4 * LOG_LINE_BYTES, // of an escaped line
    LOG_BYTES_A_SECOND = 64 << 10,
};

struct log_lines {
    uint8_t line[LOG_LINE_BYTES];
    uint32_t used;     // bytes in `line`
    uint64_t second;   // the second that `spent` is for
    uint32_t spent;    // bytes logged in that second
    uint64_t left_out; // bytes dropped since the last logged line
};

// Receives each line, escaped, without its line end.
typedef void log_sink(void *context, const char *text, size_t bytes);

// Adds bytes that came at now_ms. Drops blank lines.
void log_lines_add(struct log_lines *lines, const uint8_t *bytes, size_t count, uint64_t now_ms,
                   log_sink *sink, void *context);
// Ends the log: the last bytes become a line without a line end.
void log_lines_end(struct log_lines *lines, uint64_t now_ms, log_sink *sink, void *context);
