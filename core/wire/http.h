// Requests of HTTP/1.1 and HTTP/1.0 (RFC 9110, RFC 9112), found in place and made strict: a request that two
// readers could take for two things is refused.
//
// One unit is one request: the request line, the header block, and the body by Content-Length, in chunks, or
// none. One CR LF before the request line is read over. A chunked body is moved together where it lies, so
// that it is [body_at, body_at + body_bytes) like any other. Bytes behind it up to `at` are dead: the chunks'
// heads, and trailer fields, which are judged and dropped. While the body goes on those bytes may be cut out:
// later bytes move down to the body's end, and `at` is set there. No state but `at` tells of a place behind
// the body.
//
// Limits: the request line has 8 KiB, without its CR LF. header_bytes_max holds for the fields with the blank
// line, without the request line, and once more for the trailer. body_bytes_max holds for the body without
// the chunks' heads. The fault_at of a fault in a chunked body is the end of the body so far.
#pragma once

#include "core/wire/unit.h"

// --- States

// States that the parts of the scanner of requests share (http.h).

enum { HTTP_LINE_BYTES_MAX = 8 * 1024, HTTP_CHUNK_LINE_BYTES_MAX = 1024 };

// unit.state: the head's own are below HTTP_CHUNKS, those of a chunked body from there on.
enum { HTTP_CHUNKS = 16, HTTP_SIZED = 32, HTTP_REFUSED };

// Goes on with the request that starts at `bytes`, of which `count` have come: at least as many as at the
// last call, and the same ones but for the changes of earlier calls. Returns UNIT_ASIDE when the head is
// whole, expects to be told to go on (RFC 9110 section 10.1.1), and nothing of the body is there. A chunked
// body is UNIT_OPEN to its end; its head is whole when body_at is set. A unit with nothing in it matters.
enum unit_result http_scan(struct unit *unit, uint8_t *bytes, size_t count, const struct unit_limits *limits);
// Returns the most bytes that a request can have while its length isn't known, when dead bytes have been cut out.
uint32_t http_open_max(const struct unit_limits *limits);

// The status that tells a peer of a fault: 400, 408, 413, 414, 417, 431 or 505.
unsigned http_status_of(enum unit_fault fault);

// --- Chunked bodies

// The chunked body of a request (RFC 9112 section 7.1), which http_scan goes on with once the head is whole.

// The head is whole, up to `at`.
void http_chunks_begin(struct unit *unit, uint32_t at);
// The state becomes HTTP_SIZED at the end, and HTTP_REFUSED at a fault.
void http_chunks_scan(struct unit *unit, uint8_t *bytes, uint32_t end, const struct unit_limits *limits);
