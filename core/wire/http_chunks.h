// The chunked body of a request (RFC 9112 section 7.1), which http_scan goes on with once the head is whole.
#pragma once

#include "core/wire/unit.h"

// The head is whole, up to `at`.
void http_chunks_begin(struct unit *unit, uint32_t at);
// The state becomes HTTP_SIZED at the end, and HTTP_REFUSED at a fault.
void http_chunks_scan(struct unit *unit, uint8_t *bytes, uint32_t end, const struct unit_limits *limits);
