// The lines of a header block that a scanner has judged, one after the other.
#pragma once

#include <assert.h>

#include "core/json/json.h"
#include "core/wire/field.h"

// Spans of the bytes that the block lies in.
struct field_line {
    struct span line; // with its CR LF
    struct span name;
    struct span value; // without the white space around it
};

// The line at *at, behind which *at then is; false at the blank line.
static inline bool field_line_next(const uint8_t *bytes, uint32_t *at, uint32_t end, struct field_line *out) {
    uint32_t from = *at;
    assert(from + 2 <= end);
    if (bytes[from] == '\r')
        return false;
    uint32_t colon = field_skip_name(bytes, from, end), stop = field_skip_value(bytes, colon + 1, end);
    assert(bytes[colon] == ':' && stop + 2 < end && bytes[stop] == '\r');
    struct field_text value = field_text_trim((struct field_text){bytes + colon + 1, bytes + stop});
    out->line = (struct span){from, stop + 2 - from};
    out->name = (struct span){from, colon - from};
    out->value = (struct span){(uint32_t)(value.start - bytes), (uint32_t)(value.end - value.start)};
    *at = stop + 2;
    return true;
}
