// The parameters of a query, as forms and URLSearchParams write them: name=value by ampersand, bytes as %XX,
// a space also as +.
#pragma once

#include "core/json/json.h"

enum http_parameter_step {
    HTTP_PARAMETER,          // it is there
    HTTP_PARAMETER_BAD,      // what stands there can't be read: %XX that is none, no UTF-8, or a zero byte
    HTTP_PARAMETER_TOO_LONG, // its name and value together are over the capacity
    HTTP_PARAMETERS_END
};

struct http_parameter {
    const char *name; // in the caller's memory; no terminating zero
    uint32_t name_bytes;
    const char *value; // 0 bytes also where there is no "="
    uint32_t value_bytes;
};

// Decodes the parameter at *at (0: the first one) into `out`; *at is then behind it, whatever it was. Nothing
// between two ampersands is no parameter. A query's own length is always capacity enough.
enum http_parameter_step http_parameter_next(const uint8_t *bytes, struct span query, uint32_t *at, char *out,
                                             uint32_t capacity, struct http_parameter *parameter);
