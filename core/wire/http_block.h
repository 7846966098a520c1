// The header fields that pass between HTTP and the framed wire in both directions: HugAI-Version, Governance-Level,
// Request-Id, Custom-*, and the trace fields traceparent, tracestate and baggage. The fields pass byte for byte, in
// order, and as often as they occur. No other field passes.
#pragma once

#include "core/json/json.h"
#include "core/wire/unit.h"

// Rewrites the head of a request with a body into a canonical header block that ends where the body begins:
// Content-Length, then the fields that pass. The unit is then a framed unit. Returns by how many bytes the unit starts
// later: more than 0, so that two requests in one buffer never lie side by side. Dead bytes behind the body are no part
// of the unit any more. The text of the head is lost.
uint32_t http_make_framed(uint8_t *bytes, struct unit *unit);

// Finds the next line, with its CR LF, of a field that passes. `block` is a framed header block as it came, and `end`
// its length with the blank line. *at must be 0 at first. Returns false when there are no more. A line may be copied
// unchanged into a head of HTTP.
bool http_next_passing(const uint8_t *block, uint32_t end, uint32_t *at, struct span *line);
