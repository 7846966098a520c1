// A plain reader of frames and JSON for the oracle. The reader is slow and obvious, parses everything, and shares no
// code with the hub.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A stretch of somebody else's bytes; `bytes` is NULL for what isn't there.
struct bit {
    const uint8_t *bytes;
    size_t count;
};

bool bit_is(struct bit bit, const char *text);
bool bit_equal(struct bit left, struct bit right);
// The decimal digits of the bit as a number; UINT64_MAX when it is anything else.
uint64_t bit_number(struct bit bit);
// A JSON number of any sign; INT64_MIN when it is no whole number.
int64_t bit_integer(struct bit bit);

// A frame: the header lines behind Content-Length as they are, and the body.
struct naive_frame {
    size_t bytes; // all of it
    struct bit fields;
    struct bit body;
    bool line;     // it came as a line
    bool passing;  // of its header fields only those may be there that pass over HTTP
    bool split;    // it came in lines, for each break one line feed
    bool headless; // or without a header block in another way
};

enum naive_result { NAIVE_PARTIAL, NAIVE_WHOLE, NAIVE_BAD };

// Reads the frame at the start. Only what the hub may send is taken: a canonical Content-Length line first.
enum naive_result naive_frame(struct naive_frame *frame, const uint8_t *bytes, size_t count);
// The same for a line: something, without a CR, up to its line feed.
enum naive_result naive_line(struct naive_frame *frame, const uint8_t *bytes, size_t count);
// Returns whether this stretch of a body has come as it was sent; in a line, with spaces for its line breaks.
bool naive_came(const struct naive_frame *frame, struct bit came, struct bit sent);
// From now on strings may hold raw line breaks, or not: a lazy hub passes them on.
void naive_take_breaks(bool take);

// A member of an object (the key with its quotes) or an element of an array (no key).
struct naive_item {
    struct bit key, value;
};

// The next item of the object or array; `*at` is 0 before the first. False at the end, or where it isn't
// JSON.
bool naive_next(struct bit json, size_t *at, struct naive_item *item);
// How many bytes the value at the start takes; 0 when there is none.
size_t naive_value(struct bit json);
// Returns whether all of it is one JSON value.
bool naive_valid(struct bit json);
// The value that a path of member names leads to, through objects: "error.data.tag". Strings keep their
// quotes.
struct bit naive_find(struct bit json, const char *path);
