// The fields that say how a body is to be treated (HugAI v2 headers), read alike on every wire that has header
// fields. A value that can't be read is kept as bad: it is no fault of the envelope. Inline, since most blocks
// have some.
#pragma once

#include <assert.h>

#include "core/wire/field.h"
#include "core/wire/unit.h"

enum { DECIMAL_DIGITS_MAX = 10, TIMEOUT_MS_MAX = 3600 * 1000 };

// Reads 1 to 10 digits and nothing else; ten of them fit 64 bits with room to spare.
static inline bool directives_read_decimal(struct field_text text, uint64_t *value) {
    assert(text.start <= text.end);
    if (text.start == text.end || text.end - text.start > DECIMAL_DIGITS_MAX)
        return false;
    *value = 0;
    for (; text.start < text.end; text.start++) {
        if (!field_is_digit(*text.start))
            return false;
        *value = *value * 10 + (*text.start - '0');
    }
    return true;
}

// Reads a value of a field, without the white space around it.
static inline void directives_read_version(struct directives *directives, struct field_text value) {
    bool major_2 = value.start < value.end && value.start[0] == '2' &&
                   (value.end - value.start == 1 || value.start[1] == '.');
    directives->version = major_2 ? VERSION_SERVED : VERSION_OTHER;
}

static inline void directives_read_governance(struct directives *directives, struct field_text value) {
    assert(value.start <= value.end);
    enum governance level = governance_parse((const char *)value.start, (size_t)(value.end - value.start));
    directives->governance_given = true;
    directives->governance_bad = level == GOVERNANCE_COUNT;
    if (!directives->governance_bad)
        directives->governance = level;
}

// False where the value is no time that a request may have.
static inline bool directives_read_time(struct field_text value, uint32_t *out) {
    uint64_t ms;
    if (!directives_read_decimal(value, &ms) || ms == 0 || ms > TIMEOUT_MS_MAX)
        return false;
    *out = (uint32_t)ms;
    return true;
}

static inline void directives_read_timeout(struct directives *directives, struct field_text value) {
    directives->timeout_given = true;
    directives->timeout_bad = !directives_read_time(value, &directives->timeout_ms);
}

static inline void directives_read_idle(struct directives *directives, struct field_text value) {
    directives->idle_given = true;
    directives->idle_bad = !directives_read_time(value, &directives->idle_ms);
}
