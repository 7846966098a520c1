#include "core/wire/field.h"

#include <assert.h>
#include <string.h>

const bool field_token[256] = {
    ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['!'] = true,  ['#'] = true,
    ['$'] = true,         ['%'] = true,         ['&'] = true,         ['\''] = true, ['*'] = true,
    ['+'] = true,         ['-'] = true,         ['.'] = true,         ['^'] = true,  ['_'] = true,
    ['`'] = true,         ['|'] = true,         ['~'] = true,
};

// --- Media types

// Finds the charset of a media type in one pass. The text before the first semicolon doesn't matter; parameters follow.
// White space around "=" is allowed, since lax readers allow it. A quoted string without an end is refused, because
// such a reader could find a charset in the string.

static uint8_t media_type_lower(uint8_t byte) {
    return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
}

// Takes the next byte of a quoted string, without the backslash of a quoted pair (RFC 9110 section 5.6.4).
static uint8_t take_quoted(struct field_text *text) {
    assert(text->start < text->end);
    if (*text->start == '\\' && text->start + 1 < text->end)
        text->start++;
    return *text->start++;
}

// Returns the end of the parameter value at the start of `rest`: the next semicolon outside a quoted string, or the end
// of `rest`. Returns NULL for a quoted string without an end.
static const uint8_t *parameter_end(struct field_text rest) {
    assert(rest.start <= rest.end);
    while (rest.start < rest.end && field_text_is_blank(*rest.start))
        rest.start++;
    if (rest.start < rest.end && *rest.start == '"') {
        rest.start++;
        while (rest.start < rest.end && *rest.start != '"')
            take_quoted(&rest);
        if (rest.start == rest.end)
            return NULL;
    }
    while (rest.start < rest.end && *rest.start != ';')
        rest.start++;
    return rest.start;
}

static bool names_charset(struct field_text name) {
    assert(name.start <= name.end);
    static const char charset[] = "charset";
    size_t bytes = sizeof charset - 1;
    if ((size_t)(name.end - name.start) != bytes)
        return false;
    for (size_t at = 0; at < bytes; at++)
        if (media_type_lower(name.start[at]) != charset[at])
            return false;
    return true;
}

static bool names_utf8(struct field_text value) {
    assert(value.start <= value.end);
    uint8_t name[8]; // longer than either name, so a name that is cut off here equals neither
    size_t bytes = 0;
    bool quoted = value.end - value.start >= 2 && *value.start == '"' && value.end[-1] == '"';
    if (quoted) {
        value.start++;
        value.end--;
    }
    while (value.start < value.end && bytes < sizeof name)
        name[bytes++] = media_type_lower(quoted ? take_quoted(&value) : *value.start++);
    return (bytes == 5 && memcmp(name, "utf-8", 5) == 0) || (bytes == 4 && memcmp(name, "utf8", 4) == 0);
}

bool media_type_is_utf8(const uint8_t *value, size_t bytes) {
    assert(value || bytes == 0);
    const uint8_t *end = value + bytes;
    const uint8_t *at = bytes ? memchr(value, ';', bytes) : NULL;
    while (at && at < end) {
        const uint8_t *name = ++at;
        while (at < end && *at != '=' && *at != ';')
            at++;
        bool charset = names_charset(field_text_trim((struct field_text){name, at}));
        const uint8_t *text = at < end && *at == '=' ? at + 1 : at;
        at = parameter_end((struct field_text){text, end});
        assert(!at || (at >= text && at <= end));
        if (!at || (charset && !names_utf8(field_text_trim((struct field_text){text, at}))))
            return false;
    }
    return true;
}
