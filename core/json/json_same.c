// Whether two scalars mean the same.
#include <assert.h>
#include <string.h>

#include "core/json/json.h"

enum { NUMBER_BYTES_MAX = 512 }; // more than an id may have

static bool numbers_same(const uint8_t *text, struct span value, const uint8_t *other_text,
                         struct span other) {
    uint64_t whole, other_whole;
    char decoded[NUMBER_BYTES_MAX], other_decoded[NUMBER_BYTES_MAX];
    bool is_whole = json_number_whole(text, value, &whole);
    if (is_whole != json_number_whole(other_text, other, &other_whole))
        return false;
    if (is_whole)
        return whole == other_whole;
    size_t bytes = json_number_decode(text, value, decoded, sizeof decoded);
    return bytes != SIZE_MAX &&
           bytes == json_number_decode(other_text, other, other_decoded, sizeof other_decoded) &&
           memcmp(decoded, other_decoded, bytes) == 0;
}

bool json_same(const uint8_t *text, struct span value, const uint8_t *other_text, struct span other) {
    assert(value.bytes > 0 && other.bytes > 0);
    if (value.bytes == other.bytes && memcmp(text + value.at, other_text + other.at, value.bytes) == 0)
        return true;
    bool string = json_string_quoted(text, value), other_string = json_string_quoted(other_text, other);
    if (string || other_string)
        return string && other_string && json_strings_same(text, value, other_text, other);
    return numbers_same(text, value, other_text, other);
}
