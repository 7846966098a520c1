// Finds requests of HTTP/1.1 and HTTP/1.0 in place (RFC 9110, RFC 9112). Strict: a request that two readers could read
// differently is refused.
//
// One unit is one request: the request line, the header block, and the body by Content-Length, in chunks, or none. One
// CR LF before the request line is skipped. The data of chunks is moved together in place, so that a chunked body is
// [body_at, body_at + body_bytes) like any other. The bytes behind the body, up to `at`, are dead: the chunks' heads,
// and trailer fields, which are judged and dropped. While the body comes in, the caller may remove dead bytes: move
// later bytes down to the body's end, and set `at` to that end. No other state depends on a place behind the body.
//
// Limits: the request line has 8 KiB, without its CR LF. header_bytes_max is the limit of the fields with the blank
// line, without the request line, and again of the trailer. body_bytes_max is the limit of the body without the chunks'
// heads. The fault_at of a fault in a chunked body is the end of the body so far.
#pragma once

#include "core/wire/unit.h"

// --- States

// States that the parts of the request scanner share.

enum { HTTP_LINE_BYTES_MAX = 8 * 1024, HTTP_CHUNK_LINE_BYTES_MAX = 1024 };

// Values of unit.state: those of the head are below HTTP_CHUNKS, those of a chunked body start there.
enum { HTTP_CHUNKS = 16, HTTP_SIZED = 32, HTTP_REFUSED };

// Scans on in the request that starts at `bytes`, of which `count` have come: the same bytes as at the last call, as
// that call left them, and perhaps more. Returns UNIT_CONTROL when the head is whole, has Expect: 100-continue (RFC
// 9110 section 10.1.1), and nothing of the body has come. A chunked body is UNIT_OPEN to its end; its head is whole
// when body_at is set. A request without a body matters, too.
enum unit_result http_scan(struct unit *unit, uint8_t *bytes, size_t count, const struct unit_limits *limits);
// Returns the most bytes that a request can have while its length isn't known. The caller must remove dead bytes after
// each arrival.
uint32_t http_open_max(const struct unit_limits *limits);

// Returns the status that reports a fault: 400, 408, 413, 414, 417, 431 or 505.
unsigned http_status_of(enum unit_fault fault);

// --- Chunked bodies

// Scans the chunked body of a request (RFC 9112 section 7.1). http_scan calls this when the head is whole.

// Begins a chunked body at `at`, where the head ends.
void http_chunks_begin(struct unit *unit, uint32_t at);
// Scans on in the body. Sets the state to HTTP_SIZED at the body's end, and to HTTP_REFUSED at a fault.
void http_chunks_scan(struct unit *unit, uint8_t *bytes, uint32_t end, const struct unit_limits *limits);
