// The places in HCS sessions that Last-Event-ID names, and the names of sessions.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SESSION_ID_BYTES_MAX = 128, LAST_EVENT_ID_BYTES_MAX = 160 };

// Whether it is 1 to 128 ASCII letters, digits, `-`, `_`, `.`, `:` and `~`.
bool session_id_valid(const char *text, size_t bytes);

enum session_place {
    PLACE_BAD,    // no such thing
    PLACE_BEGIN,  // before the first chunk
    PLACE_BEHIND, // behind the chunk that has this seq
    PLACE_END,    // behind the frame that ended the session
};
// Reads SESSION:SEQ, where SEQ is a whole number below 2^53, `-` or `end`; of the text the first *id_bytes are
// the session's name. *seq is set for PLACE_BEHIND alone.
enum session_place last_event_id_read(const char *text, size_t bytes, size_t *id_bytes, uint64_t *seq);

// Writes the place in a session, without a terminating zero, and returns its bytes. `seq` counts for PLACE_BEHIND alone.
size_t last_event_id_write(char out[LAST_EVENT_ID_BYTES_MAX], const char *id, size_t id_bytes,
                           enum session_place place, uint64_t seq);
