// Writes the log to standard error: one write a line, from any thread, and from any process that was forked after
// log_begin. A log that isn't read delays no thread: a line for which there is no room, or which the disk refuses, is
// dropped and counted.
//
//     log_write(LOG_CHILD_ENDED, LOG_FIELDS(log_text(name), log_number(status)),
//               "child %s: ended with %d", name, status);
#pragma once

#include <string.h>

#include "core/log/log_event.h"

// Shares the settings with processes that are forked from now on. Checks whether standard error is the journal of
// systemd: JOURNAL_STREAM names its device and inode. Must be called once, before the first thread. Without this call
// the log is text at level info.
void log_begin(void);
// Sets the format and the highest level that is written, for all processes that share the settings. May be called from
// any thread.
void log_set(enum log_format format, enum log_level level);
// Suppresses all lines of this process while `is_muted`. Must be called before there are threads.
void log_mute(bool is_muted);
// Returns whether a line of this event would be written. For callers whose fields are costly to make.
bool log_is_written(enum log_event event);

struct log_fields {
    const struct log_field *fields;
    uint32_t count;
};

#define LOG_NO_FIELDS ((struct log_fields){NULL, 0})
#define LOG_FIELDS(...)                                                                                      \
    ((struct log_fields){(const struct log_field[]){__VA_ARGS__},                                            \
                         sizeof((const struct log_field[]){__VA_ARGS__}) / sizeof(struct log_field)})

static inline struct log_field log_bytes(const void *bytes, size_t count) {
    return (struct log_field){.text = bytes, .bytes = count};
}
// Makes a field of a text. With NULL the field is left out.
static inline struct log_field log_text(const char *text) {
    return (struct log_field){.text = text, .bytes = text ? strlen(text) : 0};
}
static inline struct log_field log_number(int64_t number) {
    return (struct log_field){.number = number, .is_number = true};
}
// Makes the field of an unknown value, which is left out.
static inline struct log_field log_unknown(void) {
    return (struct log_field){.text = NULL};
}

// Writes a line, if its level is written and the event has lines left in this second. Hides texts with the form of a
// credential in the message and in the fields. The caller must leave out other secrets. Returns false if the event has
// no lines left: the line is counted, and on a shard shard_note_suppressed has the count reported.
bool log_write(enum log_event event, struct log_fields fields, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Writes at `out` the line that log_write would write, at most `capacity` bytes (at least 1024). Returns the number of
// bytes; 0: no line. For lines that are written together.
size_t log_compose(char *out, size_t capacity, enum log_event event, struct log_fields fields,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));
// Writes whole lines.
void log_write_lines(const char *lines, size_t bytes);
// Returns the number of lines since log_begin that weren't written, or not completely, by all processes that share the
// settings.
uint64_t log_lines_lost(void);
// Logs for each kind of event how many lines were suppressed.
void log_tell_suppressed(void);
