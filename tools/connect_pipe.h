// One direction of `patchbay connect`: copies bytes from one descriptor to another, in the framing of the source or in
// the other framing. Bytes are written before more are read, so that the memory in use is that of a pipe. Only a line
// that becomes a frame is kept whole, because a frame begins with its length.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/wire.h"

enum {
    CONNECT_PIPE_READ_BYTES = 64 * 1024,
    CONNECT_PIPE_HEAD_BYTES_MAX = WIRE_HEAD_BYTES_MAX + 2,
    CONNECT_PIPE_PARTS_MAX = 3,
    CONNECT_PIPE_SAID_BYTES = 64, // how many of the last bytes are remembered
};

// Longer lines can't become frames.
#define CONNECT_PIPE_LINE_BYTES_MAX (UINT32_C(256) << 20)

enum connect_pipe_state {
    CONNECT_PIPE_READS,  // no bytes wait to be written
    CONNECT_PIPE_WRITES, // bytes wait to be written
    CONNECT_PIPE_DONE,   // the end has come, and all bytes before the end are written
    CONNECT_PIPE_BROKEN, // the bytes are no message of their framing: `fault` tells why
    CONNECT_PIPE_CLOSED, // the reader has gone
    CONNECT_PIPE_FAILED, // `error` is the errno
};

struct connect_pipe {
    int from, to;
    bool to_pipe; // `to` is a pipe, where only PIPE_BUF bytes are sure not to block
    const struct wire *wire_from, *wire_to;
    enum connect_pipe_state state;
    bool ended; // `from` has ended
    int error;  // a negative errno; with CONNECT_PIPE_DONE: of a stream that was cut off
    const char *fault;

    uint8_t *bytes; // [at, filled) isn't a part yet; BUFFER_SLACK_BYTES lie behind the capacity
    size_t at, filled, capacity;
    struct unit unit;   // the scan of the unit that starts at `at`
    uint64_t body_left; // bytes of the present frame that must still come
    bool is_raw;        // the bytes are no frames, and are passed on unchanged
    struct connect_pipe_part {
        const void *bytes;
        size_t count;
    } parts[CONNECT_PIPE_PARTS_MAX]; // the bytes to write now; `at` is behind them
    char head[CONNECT_PIPE_HEAD_BYTES_MAX];
    char said[CONNECT_PIPE_SAID_BYTES];
};

// Makes a pipe. Bytes that have come before go to connect_pipe_put_first. Returns 0 or -ENOMEM.
int connect_pipe_init(struct connect_pipe *pipe, int from, int to, const struct wire *wire_from,
                      const struct wire *wire_to);
void connect_pipe_deinit(struct connect_pipe *pipe);
// Adds bytes that were read before, from a message's start on. Returns 0 or -ENOMEM.
int connect_pipe_put_first(struct connect_pipe *pipe, const uint8_t *bytes, size_t count);
// Has these bytes written last, after CONNECT_PIPE_DONE. The bytes must stay until then. Returns false if a message was
// cut off.
bool connect_pipe_put_last(struct connect_pipe *pipe, const void *bytes, size_t count);
// Reads bytes. Must be called only when there are bytes to read and the state is CONNECT_PIPE_READS.
void connect_pipe_read(struct connect_pipe *pipe);
// Writes as many bytes as can be written now.
void connect_pipe_write(struct connect_pipe *pipe);
// Returns whether the bytes that were written last have a JSON string that means this text of ASCII letters, with or
// without escapes.
bool connect_pipe_has_said(const struct connect_pipe *pipe, const char *text);
