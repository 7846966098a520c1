#include "core/wire/http_query.h"

#include <assert.h>
#include <string.h>

#include "core/json/simdjson.h"
#include "core/wire/field.h"

// The text that is still to be decoded, and where it goes.
struct decoding {
    const uint8_t *from, *from_end;
    char *to, *to_end;
};

static int http_query_hex(uint8_t byte) {
    uint8_t lower = field_lower(byte);
    return field_is_digit(byte) ? byte - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// The next byte that is meant, or -1.
static int decode_byte(struct decoding *text) {
    assert(text->from < text->from_end);
    uint8_t byte = *text->from++;
    if (byte == '+')
        return ' ';
    if (byte != '%')
        return byte ? byte : -1;
    if (text->from_end - text->from < 2)
        return -1;
    int high = http_query_hex(text->from[0]), low = http_query_hex(text->from[1]);
    text->from += 2;
    return high < 0 || low < 0 || high + low == 0 ? -1 : high * 16 + low;
}

static enum http_parameter_step decode(struct decoding *text) {
    const char *begin = text->to;
    while (text->from < text->from_end) {
        int byte = decode_byte(text);
        if (byte < 0)
            return HTTP_PARAMETER_BAD;
        if (text->to == text->to_end)
            return HTTP_PARAMETER_TOO_LONG;
        *text->to++ = (char)byte;
    }
    assert(text->to <= text->to_end);
    bool good = simdjson_utf8((const uint8_t *)begin, (size_t)(text->to - begin));
    return good ? HTTP_PARAMETER : HTTP_PARAMETER_BAD;
}

static enum http_parameter_step decode_parameter(const uint8_t *from, const uint8_t *end, char *out,
                                                 uint32_t capacity, struct http_parameter *parameter) {
    const uint8_t *equals = memchr(from, '=', (size_t)(end - from));
    struct decoding text = {from, equals ? equals : end, out, out + capacity};
    enum http_parameter_step step = decode(&text);
    if (step != HTTP_PARAMETER)
        return step;
    *parameter =
        (struct http_parameter){.name = out, .name_bytes = (uint32_t)(text.to - out), .value = text.to};
    text.from = equals ? equals + 1 : end;
    text.from_end = end;
    step = decode(&text);
    parameter->value_bytes = (uint32_t)(text.to - parameter->value);
    return step;
}

enum http_parameter_step http_parameter_next(const uint8_t *bytes, struct span query, uint32_t *at, char *out,
                                             uint32_t capacity, struct http_parameter *parameter) {
    const uint8_t *begin = bytes + query.at, *end = begin + query.bytes, *from = begin + *at;
    assert(from <= end);
    while (from < end && *from == '&')
        from++;
    if (from == end) {
        *at = query.bytes;
        return HTTP_PARAMETERS_END;
    }
    const uint8_t *stop = memchr(from, '&', (size_t)(end - from));
    stop = stop ? stop : end;
    *at = (uint32_t)(stop - begin);
    return decode_parameter(from, stop, out, capacity, parameter);
}
