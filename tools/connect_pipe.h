// One direction of `patchbay connect`: bytes go from one descriptor to another, in the framing that they come
// in or in the other one. Bytes that were read are written before more is read, so that no more is held than
// a pipe holds. Where lines become frames a whole line is held: a frame begins with its length.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/wire.h"

enum {
    CONNECT_PIPE_READ_BYTES = 64 * 1024,
    CONNECT_PIPE_HEAD_BYTES_MAX = WIRE_HEAD_BYTES_MAX + 2,
    CONNECT_PIPE_PARTS_MAX = 3,
    CONNECT_PIPE_SAID_BYTES = 64, // of what went through last
};

// Longer lines aren't made frames of.
#define CONNECT_PIPE_LINE_BYTES_MAX (UINT32_C(256) << 20)

enum connect_pipe_state {
    CONNECT_PIPE_READS,  // nothing waits
    CONNECT_PIPE_WRITES, // something does
    CONNECT_PIPE_DONE,   // the end has come, and all before it is written
    CONNECT_PIPE_BROKEN, // what came is no message of its framing: fault tells
    CONNECT_PIPE_CLOSED, // who reads has gone
    CONNECT_PIPE_FAILED, // error tells: an errno
};

struct connect_pipe {
    int from, to;
    bool to_pipe; // of which no more than PIPE_BUF bytes are sure not to block
    const struct wire *wire_from, *wire_to;
    enum connect_pipe_state state;
    bool ended; // nothing more comes
    int error;  // a negative errno; with CONNECT_PIPE_DONE that of a stream that was cut off
    const char *fault;

    uint8_t *bytes; // [at, filled) isn't done yet; BUFFER_SLACK_BYTES lie behind the capacity
    size_t at, filled, capacity;
    struct unit unit;   // of which [at, …) is the start
    uint64_t body_left; // of a frame that becomes a line, or is passed on as it is
    bool is_raw;        // what comes is passed on, but isn't what its framing wants
    struct connect_pipe_part {
        const void *bytes;
        size_t count;
    } parts[CONNECT_PIPE_PARTS_MAX]; // what is to be written; `at` is behind it
    char head[CONNECT_PIPE_HEAD_BYTES_MAX];
    char said[CONNECT_PIPE_SAID_BYTES];
};

// 0 or -ENOMEM. Nothing has come yet; connect_pipe_put_first tells what has.
int connect_pipe_init(struct connect_pipe *pipe, int from, int to, const struct wire *wire_from,
                      const struct wire *wire_to);
void connect_pipe_deinit(struct connect_pipe *pipe);
// These bytes were read before, from a message's start on. 0 or -ENOMEM.
int connect_pipe_put_first(struct connect_pipe *pipe, const uint8_t *bytes, size_t count);
// All is written: has these bytes be written behind it, which stay as long. False where that would be within a message.
bool connect_pipe_put_last(struct connect_pipe *pipe, const void *bytes, size_t count);
// Reads what there is: to be called when there is something, and only while the lane reads.
void connect_pipe_read(struct connect_pipe *pipe);
// Writes what can be written now.
void connect_pipe_write(struct connect_pipe *pipe);
// Whether a JSON string, spelled in any way, that means this text of ASCII letters stands in what was written last.
bool connect_pipe_has_said(const struct connect_pipe *pipe, const char *text);
