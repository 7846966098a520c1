#include "core/hcs/last_event_id.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"

static bool is_allowed(uint8_t byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           (byte && strchr("-_.:~", byte));
}

bool session_id_valid(const char *text, size_t bytes) {
    assert(text || bytes == 0);
    if (bytes == 0 || bytes > SESSION_ID_BYTES_MAX)
        return false;
    for (size_t at = 0; at < bytes; at++)
        if (!is_allowed((uint8_t)text[at]))
            return false;
    return true;
}

static bool number_read(const char *text, size_t bytes, uint64_t *out) {
    enum { DIGITS_MAX = 16 };
    if (bytes == 0 || bytes > DIGITS_MAX)
        return false;
    *out = 0;
    for (size_t at = 0; at < bytes; at++) {
        if (text[at] < '0' || text[at] > '9')
            return false;
        *out = *out * 10 + (uint64_t)(text[at] - '0');
    }
    return *out >> 53 == 0;
}

enum session_place last_event_id_read(const char *text, size_t bytes, size_t *id_bytes, uint64_t *seq) {
    size_t colon = bytes;
    while (colon > 0 && text[colon - 1] != ':')
        colon--;
    if (colon == 0 || !session_id_valid(text, colon - 1))
        return PLACE_BAD;
    *id_bytes = colon - 1;
    assert(*id_bytes > 0 && *id_bytes <= SESSION_ID_BYTES_MAX);
    const char *place = text + colon;
    size_t place_bytes = bytes - colon;
    if (place_bytes == 1 && *place == '-')
        return PLACE_BEGIN;
    if (place_bytes == 3 && memcmp(place, "end", 3) == 0)
        return PLACE_END;
    return number_read(place, place_bytes, seq) ? PLACE_BEHIND : PLACE_BAD;
}

size_t last_event_id_write(char out[LAST_EVENT_ID_BYTES_MAX], const char *id, size_t id_bytes,
                           enum session_place place, uint64_t seq) {
    assert(place != PLACE_BAD && id_bytes > 0 && id_bytes <= SESSION_ID_BYTES_MAX);
    memcpy(out, id, id_bytes);
    char *at = out + id_bytes;
    *at++ = ':';
    if (place == PLACE_BEHIND)
        return (size_t)(at + text_digits(at, seq) - out);
    size_t bytes = place == PLACE_END ? 3 : 1;
    memcpy(at, place == PLACE_END ? "end" : "-", bytes);
    return id_bytes + 1 + bytes;
}
