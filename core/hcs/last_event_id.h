// Reads and writes the places in HCS sessions that Last-Event-ID names, and the names of sessions.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SESSION_ID_BYTES_MAX = 128, LAST_EVENT_ID_BYTES_MAX = 160 };

// Returns whether the text is 1 to 128 ASCII letters, digits, `-`, `_`, `.`, `:` and `~`.
bool session_id_valid(const char *text, size_t bytes);

enum session_place {
    PLACE_BAD,    // the text is no place
    PLACE_BEGIN,  // before the first chunk
    PLACE_BEHIND, // after the chunk with this seq
    PLACE_END,    // after the frame that ended the session
};
// Reads SESSION:SEQ, where SEQ is a whole number below 2^53, `-` or `end`. The first *id_bytes of the text are the
// session's name. *seq is set for PLACE_BEHIND only.
enum session_place last_event_id_read(const char *text, size_t bytes, size_t *id_bytes, uint64_t *seq);

// Writes a place in a session without a terminating zero. Returns the number of bytes. `seq` is used for PLACE_BEHIND
// only.
size_t last_event_id_write(char out[LAST_EVENT_ID_BYTES_MAX], const char *id, size_t id_bytes,
                           enum session_place place, uint64_t seq);
