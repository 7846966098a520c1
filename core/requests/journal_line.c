#include "core/requests/journal_line.h"

#include <assert.h>

#include "core/base/text.h"

static const char before_time[] = "{\"time\":\"";

void journal_line_begin(struct text *line, uint64_t unix_ms, const char *kind) {
    char time[TIMESTAMP_BYTES];
    assert(line->length == 0 && kind[0]);
    timestamp_write(time, unix_ms);
    text_put(line, before_time);
    text_add(line, time, sizeof time);
    text_put(line, "\",\"kind\":\"");
    text_put(line, kind);
    text_put(line, "\"");
}

void journal_line_stamp(struct text *line, uint64_t unix_ms) {
    assert(journal_line_is_open(line));
    if (!line->failed)
        timestamp_write(line->bytes + sizeof before_time - 1, unix_ms);
}

void journal_line_name(struct text *line, const char *name) {
    assert(journal_line_is_open(line) && name[0]);
    text_put(line, ",\"");
    text_put(line, name);
    text_put(line, "\":");
}

void journal_line_string(struct text *line, const char *name, const char *string, size_t bytes) {
    journal_line_name(line, name);
    if (string)
        text_string(line, string, bytes);
    else
        text_put(line, "null");
}

void journal_line_number(struct text *line, const char *name, int64_t number) {
    journal_line_name(line, name);
    text_number(line, number);
}

static inline char blank(char byte) {
    return byte == '\r' || byte == '\n' ? ' ' : byte;
}

// Replaces line breaks by blanks. Works in blocks of constant length, which the compiler vectorises: an entry may have
// 1 MB, and others wait meanwhile.
static void blank_breaks(char *bytes, size_t count) {
    enum { BLOCK = 32 };
    for (; count >= BLOCK; bytes += BLOCK, count -= BLOCK)
        for (size_t at = 0; at < BLOCK; at++)
            bytes[at] = blank(bytes[at]);
    for (size_t at = 0; at < count; at++)
        bytes[at] = blank(bytes[at]);
}

void journal_line_json(struct text *line, const char *name, const void *json, size_t bytes) {
    assert(bytes > 0); // there must be JSON
    journal_line_name(line, name);
    size_t from = line->length;
    text_add(line, json, bytes);
    if (!line->failed)
        blank_breaks(line->bytes + from, line->length - from);
}

void journal_line_end(struct text *line) {
    assert(journal_line_is_open(line));
    text_put(line, "}\n");
}
