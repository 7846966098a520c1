// A line of the audit journal: one JSON object and a line feed.
//
//     {"time":"2026-11-21T13:21:58.123Z","kind":"audit","target":null,"entry":{...}}
//
// Nobody can forge a line or end one early. Texts of peers are written as strings with their escapes, or as
// raw JSON that was judged valid before. In such JSON a line break can only be white space, and becomes a
// space. A line that finds no memory fails as texts do.
#pragma once

#include <stdbool.h>

#include "core/base/text.h"

// Begins a line with its time, in milliseconds since 1970, and its kind, a plain word.
void journal_line_begin(struct text *line, uint64_t unix_ms, const char *kind);
// Adds a member; `name` is a plain word. A string of NULL is null.
void journal_line_string(struct text *line, const char *name, const char *string, size_t bytes);
void journal_line_number(struct text *line, const char *name, int64_t number);
// `json` is valid JSON.
void journal_line_json(struct text *line, const char *name, const void *json, size_t bytes);
// Begins a member; its value follows.
void journal_line_name(struct text *line, const char *name);
// Writes another time into a line that has begun.
void journal_line_stamp(struct text *line, uint64_t unix_ms);
void journal_line_end(struct text *line);
// Returns whether the line has begun and not ended. A line that has failed may be at any point.
static inline bool journal_line_is_open(const struct text *line) {
    return line->failed || (line->length > 0 && line->bytes[line->length - 1] != '\n');
}
