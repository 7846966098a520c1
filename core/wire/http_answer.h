// Finds in place an answer of HTTP/1.1 or HTTP/1.0 to one of the hub's own requests (RFC 9110, RFC 9112): the status
// line, the header fields and the body by Content-Length, in chunks, or up to the connection's end. Interim answers
// (1xx) are skipped. Bytes behind the body are ignored.
//
// If Content-Length is over the limit, the answer is whole without its body. Any other body that grows over the limit
// is a fault; the status is known even then (unit.body_at).
//
// The bytes lie contiguously from the first one on, and belong to the caller. A chunked body is moved together in
// place, as in http.h.
#pragma once

#include "core/json/json.h"
#include "core/wire/unit.h"

enum { HTTP_ANSWER_LINE_BYTES_MAX = 1024 };

enum http_answer_step {
    HTTP_ANSWER_OPEN,  // the answer isn't whole yet
    HTTP_ANSWER_WHOLE, // the answer is whole
    HTTP_ANSWER_BAD,   // not such an answer, or over a limit
};

// Zero bytes are an answer of which nothing has come.
struct http_answer {
    struct unit unit;           // unit.body_at is 0 until the head is whole
    unsigned status;            // 200 to 599 once the head is whole; else 0
    bool has_length;            // Content-Length delimits the body
    bool is_chunked;            // the body comes in chunks
    bool is_too_long;           // Content-Length is over the limit
    uint32_t retry_after_at;    // offset of Retry-After's value, from the first byte on
    uint32_t retry_after_bytes; // 0: there is no Retry-After
};

// Scans on in the answer, of which `count` bytes have come: the same bytes as at the last call, as that call left them,
// and perhaps more. `has_ended`: no more will come.
enum http_answer_step http_answer_scan(struct http_answer *answer, uint8_t *bytes, uint32_t count,
                                       bool has_ended, const struct unit_limits *limits);
// Returns the part of the body that has come and was not discarded. `count` is as in the last http_answer_scan.
struct span http_answer_body(const struct http_answer *answer, uint32_t count);
// Discards the part of the body that has come, so that a body of any length needs little memory: bytes behind that part
// are moved to its place. Returns how many bytes are left. The limit of a body applies to the bytes that are kept at
// once, and to Content-Length.
uint32_t http_answer_discard(struct http_answer *answer, uint8_t *bytes, uint32_t count);
// Reads Retry-After: sets *wait_ms to how long to wait in ms, by the wall clock `unix_ms`. The value may be a number of
// seconds, or a date in any form of RFC 9110 section 5.6.7. Returns false if there is no such field or it can't be
// read.
bool http_answer_retry_ms(const struct http_answer *answer, const uint8_t *bytes, uint64_t unix_ms,
                          uint64_t *wait_ms);
