// Writes the log to standard error: one write a line, from any thread, and from any process that was forked behind
// log_begin. A log that isn't read holds up nobody: a line that finds no room in it, or that the disk doesn't take, is left out
// and counted.
//
//     log_write(LOG_CHILD_ENDED, LOG_FIELDS(log_text(name), log_number(status)), "child %s: ended with %d", name, status);
#pragma once

#include <string.h>

#include "core/log/log_event.h"

// Shares the settings with processes that are forked from now on, and finds out whether standard error is the journal of
// systemd: JOURNAL_STREAM names its device and inode. To be called once, before the first thread; without it the log is
// text at the level info.
void log_begin(void);
// Sets the format and the highest level that is written, from any thread, for all processes that share them.
void log_set(enum log_format format, enum log_level level);
// While it is muted, no line of this process is written. Before there are threads.
void log_mute(bool is_muted);
// Whether a line of this event would be written: to be asked where the fields cost something.
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
// NULL: the field is left out.
static inline struct log_field log_text(const char *text) {
    return (struct log_field){.text = text, .bytes = text ? strlen(text) : 0};
}
static inline struct log_field log_number(int64_t number) {
    return (struct log_field){.number = number, .is_number = true};
}
// What isn't known.
static inline struct log_field log_unknown(void) {
    return (struct log_field){.text = NULL};
}

// Writes a line, if its level is one that is written, and if its event has not had its lines of this second. What is a
// credential by its form is hidden in the message and in the fields; what the caller knows to be secret must not be there.
// False: the event has had its lines, and is counted; on a shard shard_note_suppressed has the number told.
bool log_write(enum log_event event, struct log_fields fields, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Writes at `out` what log_write would write, up to `capacity` bytes (at least 1024), and returns how many: for lines that go out
// together. 0: none.
size_t log_compose(char *out, size_t capacity, enum log_event event, struct log_fields fields,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));
// Writes whole lines.
void log_write_lines(const char *lines, size_t bytes);
// The number of lines that weren't written, or not to their end, since log_begin, in all processes that share the settings.
uint64_t log_lines_lost(void);
// Tells of each kind of event how many had no line.
void log_tell_suppressed(void);
