// Whether a Content-Type leaves room for anything but UTF-8 (RFC 9110 sections 8.3.1 and 5.6.6).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Judges a field value without the white space around it and without control characters but tab. True for any
// media type, also a malformed one. False if a parameter `charset` (there may be several) is other than utf-8
// or utf8 in any case, quoted or not, or if a quoted string never closes.
bool media_type_is_utf8(const uint8_t *value, size_t bytes);
