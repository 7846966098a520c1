// An answer of HTTP/1.1 or HTTP/1.0 to one request of the hub's own (RFC 9110, RFC 9112), found in place: the status
// line, the header fields and the body by Content-Length, in chunks, or up to the connection's end. Interim answers
// (1xx) before it are read over. Bytes behind the body are of no use.
//
// A body whose Content-Length is over the limit isn't waited for: the answer is whole, without one. Any other body that
// grows over the limit is a fault; the status is known all the same (unit.body_at).
//
// The bytes lie contiguously from the first one on and are the caller's. A chunked body is moved together where it
// lies, as in http.h.
#pragma once

#include "core/json/json.h"
#include "core/wire/unit.h"

enum { HTTP_ANSWER_LINE_BYTES_MAX = 1024 };

enum http_answer_step {
    HTTP_ANSWER_OPEN,  // there is more to come
    HTTP_ANSWER_WHOLE, // all of it is there
    HTTP_ANSWER_BAD,   // this is no such answer, or one over the limits
};

// Zero bytes are an answer of which nothing has come.
struct http_answer {
    struct unit unit;           // its body_at is 0 until the head is whole
    unsigned status;            // 200 to 599 once the head is whole; else 0
    bool has_length;            // the body is delimited by Content-Length, or there can be none
    bool is_chunked;            // likewise in chunks
    bool is_too_long;           // its Content-Length is over the limit
    uint32_t retry_after_at;    // value of the field, from the first byte on
    uint32_t retry_after_bytes; // 0: the field isn't there
};

// Goes on with the answer, of which `count` bytes have come: at least as many as at the last call, and the same ones
// but for the changes of earlier calls. `has_ended`: no more will come.
enum http_answer_step http_answer_scan(struct http_answer *answer, uint8_t *bytes, uint32_t count,
                                       bool has_ended, const struct unit_limits *limits);
// Returns the part of the body that has come and was not discarded. `count` is as of the last http_answer_scan.
struct span http_answer_body(const struct http_answer *answer, uint32_t count);
// Discards that part, so that a body of any length needs little memory: what stands behind the part is moved to its place.
// Returns how many bytes are left. The limit of a body holds for what is there at once, and for Content-Length.
uint32_t http_answer_discard(struct http_answer *answer, uint8_t *bytes, uint32_t count);
// Reads the time that the answer asks for, in milliseconds, by the wall clock `unix_ms`: a number of seconds, or a
// date in any form that RFC 9110 section 5.6.7 knows. False: the field isn't there, or can't be read.
bool http_answer_retry_ms(const struct http_answer *answer, const uint8_t *bytes, uint64_t unix_ms,
                          uint64_t *wait_ms);
