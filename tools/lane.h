// One direction of `patchbay connect`: bytes go from one descriptor to another, in the framing that they come
// in or in the other one. What has been read is written before more is read, so that no more is held than a
// pipe holds, but where lines become frames: a frame begins with its length, so a whole line is held.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/wire.h"

enum {
    LANE_READ_BYTES = 64 * 1024,
    LANE_HEAD_BYTES_MAX = WIRE_HEAD_BYTES_MAX + 2,
    LANE_PARTS_MAX = 3,
    LANE_SAID_BYTES = 64, // of what went through last
};

// Longer lines aren't made frames of.
#define LANE_LINE_BYTES_MAX (UINT32_C(256) << 20)

enum lane_state {
    LANE_READS,  // nothing waits
    LANE_WRITES, // something does
    LANE_DONE,   // the end has come, and all before it is written
    LANE_BROKEN, // what came is no message of its framing: fault tells
    LANE_CLOSED, // who reads has gone
    LANE_FAILED, // error tells: an errno
};

struct lane {
    int from, to;
    bool to_pipe; // of which no more than PIPE_BUF bytes are sure not to block
    const struct wire *wire_from, *wire_to;
    enum lane_state state;
    bool ended; // nothing more comes
    int error;  // a negative errno; with LANE_DONE that of a stream that was cut off
    const char *fault;

    uint8_t *bytes; // [at, filled) isn't done yet; BUFFER_SLACK_BYTES lie behind the capacity
    size_t at, filled, capacity;
    struct unit unit;   // of which [at, …) is the start
    uint64_t body_left; // of a frame that becomes a line, or is passed on as it is
    bool is_raw;        // what comes is passed on, but isn't what its framing wants
    struct lane_part {
        const void *bytes;
        size_t count;
    } parts[LANE_PARTS_MAX]; // what is to be written; `at` is behind it
    char head[LANE_HEAD_BYTES_MAX];
    char said[LANE_SAID_BYTES];
};

// 0 or -ENOMEM. Nothing has come yet; lane_put_first tells what has.
int lane_init(struct lane *lane, int from, int to, const struct wire *wire_from, const struct wire *wire_to);
void lane_deinit(struct lane *lane);
// These bytes were read before, from a message's start on. 0 or -ENOMEM.
int lane_put_first(struct lane *lane, const uint8_t *bytes, size_t count);
// All is written: has these bytes be written behind it, which stay as long. False where that would be within a message.
bool lane_put_last(struct lane *lane, const void *bytes, size_t count);
// Reads what there is: to be called when there is something, and only while the lane reads.
void lane_read(struct lane *lane);
// Writes what can be written now.
void lane_write(struct lane *lane);
// Whether the text stands in what was written last.
bool lane_has_said(const struct lane *lane, const char *text);
