// The log: the table of all events, and the line of an event in each format.
//
// To add an event:
//   1. Add a row to the enumeration below, and a row of its name, level and fields to log_event.c.
//   2. Add a row to the table of router/docs/operate.md.
//   3. Call log_write (io/log.h) with the fields of the row, in its order.
// Programs that read the log rely on names and fields: a row may get one more field, and must lose none.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG, LOG_LEVELS_COUNT };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_LOGFMT, LOG_FORMAT_JSON, LOG_FORMATS_COUNT };

enum {
    LOG_EVENT_BYTES = 8 << 10, // most bytes of a line, with its end
    LOG_FIELDS_MAX = 8,        // most fields of an event
};

enum log_event {
    // The hub.
    LOG_LISTENING,
    LOG_READY,
    LOG_RELOADING,
    LOG_RELOADED,
    LOG_RELOAD_FAILED,
    LOG_DRAINING,
    LOG_STOPPED,
    LOG_FAILED, // the event `stopped` at level error
    LOG_CONFIG_FAULT,
    LOG_CONFIG_WARNING, // the event `config_fault` at level warning: the hub runs nevertheless
    LOG_IO_FALLBACK,
    LOG_WALL_MISSING,
    LOG_JOURNAL_FAILED,
    LOG_JOURNAL_RESTORED,
    LOG_DESCRIPTORS_EXHAUSTED,
    LOG_CONNECTIONS_EXHAUSTED,
    LOG_NOTICE, // a message without an event of its own
    // Children.
    LOG_CHILD_STARTED,
    LOG_CHILD_ENDED,
    LOG_CHILD_DOWN,  // the child is not started again
    LOG_CHILD_FAULT, // a child breaks a rule, or lacks something that it needs
    LOG_CHILD_SAID,
    // Other hubs.
    LOG_LINK_UP,
    LOG_LINK_DOWN,
    LOG_LINK_FAULT, // an error from a server, or something that the server lacks
    LOG_MEMBER,     // another hub comes, goes, or isn't served
    LOG_NAME_CONFLICT,
    // Peers and messages.
    LOG_CREDENTIAL_REFUSED,
    LOG_SLOW_REQUEST,
    LOG_COLLECTOR_FAULT, // the collector takes no spans
    LOG_SPANS_DROPPED,
    LOG_TAP_STARTED,
    LOG_TAP_ENDED,
    LOG_CONNECTION_OPENED,
    LOG_CONNECTION_CLOSED,
    LOG_EVENTS_COUNT
};

// A row of the table.
struct log_kind {
    const char *name;
    enum log_level level;
    uint32_t per_second;                    // most lines a second; 0: no limit
    bool is_bare;                           // the format `text` puts no "patchbayd: " before the message
    bool is_silent;                         // the format `text` has no line for the event
    const char *fields[LOG_FIELDS_MAX + 1]; // names of the fields, ended by NULL
};

const struct log_kind *log_kind_of(enum log_event event);

// The value of a field: a text or a number. A field with neither is left out of the line.
struct log_field {
    const char *text;
    size_t bytes;
    int64_t number;
    bool is_number;
};

struct log_record {
    enum log_event event;
    uint64_t unix_ms;
    const struct log_field *fields; // as many as the event's row has, in its order
    uint32_t field_count;
    uint64_t suppressed; // events of this kind without a line since the last line; 0: no field
    const char *message; // the message in words
    size_t message_bytes;
};

// Writes the line of a record with its line feed to `out`; `capacity` is 1024 to LOG_EVENT_BYTES. A text that doesn't
// fit is cut at the end of a character, and ends in `...`. `is_journal`: the line begins with its level in the form of
// systemd's journal. Returns the number of bytes; 0: this format has no line for the event.
size_t log_event_format(const struct log_record *record, enum log_format format, bool is_journal, char *out,
                        size_t capacity);

// --- Escapes
//
// Escapes text from outside for a log. Control characters, hidden characters and bytes that aren't UTF-8 are written as
// \xNN, so that nobody can forge a line or send commands to a terminal.

// Returns whether a character can't be seen or changes the order in which a line is shown: marks of direction,
// separators of lines, characters without width, tags. Control characters don't count, nor do variation selectors
// (U+FE00 to U+FE0F).
bool log_is_hidden(uint32_t point);
// Returns the number of bytes of the character at `bytes`, of which `count` (at least 1) may be read. 0: the first byte
// must be escaped.
size_t log_printable(const uint8_t *bytes, size_t count);
// Escapes `count` bytes to `out`, which must have room for four times as many. Returns the number of bytes written.
size_t log_escape(const uint8_t *bytes, size_t count, char *out);
