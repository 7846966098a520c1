// A line of the audit journal: one JSON object and a line feed.
//
//     {"time":"2026-11-21T13:21:58.123Z","kind":"audit","target":null,"entry":{...}}
//
// A peer can't forge a line or end one early. Texts of peers are written as strings with escapes, or as JSON that was
// validated before. In such JSON a line break can only be white space, and becomes a space. Without memory a line fails
// as struct text does.
#pragma once

#include <stdbool.h>

#include "core/base/text.h"

// Begins a line with its time, in milliseconds since 1970, and its kind, a plain word.
void journal_line_begin(struct text *line, uint64_t unix_ms, const char *kind);
// Adds a member; `name` is a plain word. `string` NULL is written as null.
void journal_line_string(struct text *line, const char *name, const char *string, size_t bytes);
void journal_line_number(struct text *line, const char *name, int64_t number);
// Adds a member whose value is valid JSON.
void journal_line_json(struct text *line, const char *name, const void *json, size_t bytes);
// Begins a member, whose value the caller writes.
void journal_line_name(struct text *line, const char *name);
// Replaces the time of a line.
void journal_line_stamp(struct text *line, uint64_t unix_ms);
void journal_line_end(struct text *line);
// Returns whether the line has begun and not ended. A line that has failed may be at any point.
static inline bool journal_line_is_open(const struct text *line) {
    return line->failed || (line->length > 0 && line->bytes[line->length - 1] != '\n');
}
