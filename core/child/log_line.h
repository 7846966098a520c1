// Makes lines of a log from a child's standard error. Control characters, and bytes that aren't UTF-8, are
// written as \xNN, so that no child can forge a line or speak to a terminal. A second's worth is bounded.
// Bytes past that are counted, and told when there is room again.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/log/log_event.h"

enum {
    LOG_LINE_BYTES = 1024,               // of the child's; a longer one is several
    LOG_TEXT_BYTES = 4 * LOG_LINE_BYTES, // escaped
    LOG_BYTES_A_SECOND = 64 << 10,
};

struct log_lines {
    uint8_t line[LOG_LINE_BYTES];
    uint32_t used;     // of it
    uint64_t second;   // in which `spent` was spent
    uint32_t spent;    // bytes
    uint64_t left_out; // bytes, since the last that was logged
};

// Takes each line, escaped, without its end.
typedef void log_sink(void *context, const char *text, size_t bytes);

// More has come, at this time. Blank lines are nothing.
void log_lines_add(struct log_lines *lines, const uint8_t *bytes, size_t count, uint64_t now_ms,
                   log_sink *sink, void *context);
// Nothing more will: what stands without an end is a line.
void log_lines_end(struct log_lines *lines, uint64_t now_ms, log_sink *sink, void *context);
