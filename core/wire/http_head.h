// The head of a request: what http_scan does until the body.
#pragma once

#include "core/wire/unit.h"

// Goes on with the head. When it is whole, body_at is set and the state is one of a chunked body's, or
// HTTP_SIZED; at a fault it is HTTP_REFUSED.
void http_head_scan(struct unit *unit, const uint8_t *bytes, uint32_t end, const struct unit_limits *limits);
// Of a whole head: whether its sender waits to be told that it may send the body.
bool http_head_waits(const struct unit *unit);
