// See lane.h. It goes well: what one read brings becomes parts, and these are written before the next read. It
// fails: the state tells, and stays.
#include "tools/lane.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/limits.h"

// A frame that becomes a line is never held, so it may have any length.
static const struct unit_limits frame_limits = {.header_bytes_max = 32 * 1024,
                                                .body_bytes_max = UINT32_MAX - 64 * 1024};
static const struct unit_limits line_limits = {.header_bytes_max = 32 * 1024,
                                               .body_bytes_max = LANE_LINE_BYTES_MAX};

static bool is_socket(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode);
}

int lane_init(struct lane *lane, int from, int to, const struct wire *wire_from, const struct wire *wire_to) {
    *lane = (struct lane){.from = from,
                          .to = to,
                          .to_pipe = !is_socket(to),
                          .wire_from = wire_from,
                          .wire_to = wire_to,
                          .capacity = LANE_READ_BYTES};
    lane->bytes = malloc(lane->capacity + BUFFER_SLACK_BYTES);
    return lane->bytes == NULL ? -ENOMEM : 0;
}

void lane_deinit(struct lane *lane) {
    free(lane->bytes);
    lane->bytes = NULL;
}

static void stop(struct lane *lane, enum lane_state state) {
    lane->state = state;
}

static void fail(struct lane *lane, int error) {
    bool gone = error == -EPIPE || error == -ECONNRESET;
    lane->error = error;
    stop(lane, gone ? LANE_CLOSED : LANE_FAILED);
}

static void break_off(struct lane *lane, const char *fault) {
    lane->fault = fault;
    stop(lane, LANE_BROKEN);
}

// --- What came becomes parts

// Takes so many bytes of what came as the next part. Its place stays good until the next read.
static const void *take(struct lane *lane, size_t count) {
    const void *taken = lane->bytes + lane->at;
    lane->at += count;
    return taken;
}

static void add_part(struct lane *lane, const void *bytes, size_t count) {
    unsigned which = 0;
    while (lane->parts[which].count > 0) {
        which++;
    }
    lane->parts[which] = (struct lane_part){bytes, count};
}

static size_t left_of(const struct lane *lane) {
    return lane->filled - lane->at;
}

static void copy(struct lane *lane) {
    size_t count = left_of(lane);
    add_part(lane, take(lane, count), count);
}

// The same, up to the end of a frame: where it is, is known as long as what comes is of frames.
static void pass_frame(struct lane *lane) {
    if (lane->body_left == 0 && !lane->is_raw) {
        enum unit_result result =
            wire_framed.scan(&lane->unit, lane->bytes + lane->at, left_of(lane), &frame_limits);
        lane->is_raw = result == UNIT_BAD || (result == UNIT_OPEN && lane->ended);
        if (result == UNIT_OPEN && !lane->ended) {
            return;
        }
        lane->body_left = lane->is_raw ? 0 : lane->unit.body_at + lane->unit.body_bytes;
        unit_begin(&lane->unit);
    }
    size_t count = left_of(lane);
    if (!lane->is_raw) {
        count = count < lane->body_left ? count : (size_t)lane->body_left;
        lane->body_left -= count;
    }
    add_part(lane, take(lane, count), count);
}

// Line breaks in a body are white space in JSON; in a line they would end it.
static void flatten(uint8_t *bytes, size_t count) {
    for (size_t at = 0; at < count; at++) {
        if (bytes[at] == '\r' || bytes[at] == '\n') {
            bytes[at] = ' ';
        }
    }
}

// The body as far as it has come, and at its end the line's.
static void take_body(struct lane *lane) {
    size_t count = left_of(lane) < lane->body_left ? left_of(lane) : (size_t)lane->body_left;
    flatten(lane->bytes + lane->at, count);
    add_part(lane, take(lane, count), count);
    lane->body_left -= count;
    if (lane->body_left == 0) {
        add_part(lane, lane->wire_to->tail, strlen(lane->wire_to->tail));
    }
}

static void frame_to_line(struct lane *lane) {
    if (lane->body_left == 0) {
        enum unit_result result =
            wire_framed.scan(&lane->unit, lane->bytes + lane->at, left_of(lane), &frame_limits);
        if (result == UNIT_BAD) {
            break_off(lane, unit_fault_text(lane->unit.fault));
        }
        if (result == UNIT_BAD || result == UNIT_OPEN) {
            return;
        }
        take(lane, lane->unit.body_at);
        lane->body_left = lane->unit.body_bytes;
        unit_begin(&lane->unit);
    }
    if (left_of(lane) > 0) {
        take_body(lane);
    }
}

static enum unit_result find_line(struct lane *lane) {
    uint8_t *line = lane->bytes + lane->at;
    enum unit_result result = wire_lines.scan(&lane->unit, line, left_of(lane), &line_limits);
    if (result == UNIT_OPEN && lane->ended) {
        result = wire_lines.end(&lane->unit, line, left_of(lane));
    }
    return result;
}

// A line of white space alone is nothing.
static void line_to_frame(struct lane *lane) {
    enum unit_result result = find_line(lane);
    if (result == UNIT_BAD) {
        break_off(lane, unit_fault_text(lane->unit.fault));
    }
    if (result != UNIT_WHOLE) {
        return;
    }
    const void *line = take(lane, lane->unit.bytes);
    size_t count = lane->unit.body_bytes;
    unit_begin(&lane->unit);
    if (count > 0) {
        size_t head_bytes = lane->wire_to->head(lane->head, count);
        memcpy(lane->head + head_bytes, "\r\n", 2);
        add_part(lane, lane->head, head_bytes + 2);
        add_part(lane, line, count);
    }
}

static bool is_blank(const uint8_t *bytes, size_t count) {
    for (size_t at = 0; at < count; at++) {
        if (strchr(" \t\r\n", bytes[at]) == NULL || bytes[at] == '\0') {
            return false;
        }
    }
    return true;
}

// Nothing more comes. What is left of a frame that was to become a line is less than all of it, or the end of a
// text that somebody has typed.
static void finish(struct lane *lane) {
    bool passes = lane->wire_from == lane->wire_to; // whatever it is
    if (passes) {
        stop(lane, LANE_DONE);
    } else if (lane->body_left > 0 || !is_blank(lane->bytes + lane->at, left_of(lane))) {
        break_off(lane, "it ends in the middle of a frame");
    } else {
        stop(lane, LANE_DONE);
    }
}

// Makes parts of what has come, until there is one or more must come for it.
static void prepare(struct lane *lane) {
    size_t before;
    do {
        before = left_of(lane);
        if (before == 0) {
            break;
        }
        if (lane->wire_from == lane->wire_to && lane->wire_from->breaks == BREAKS_SPACES) {
            copy(lane);
        } else if (lane->wire_from == lane->wire_to) {
            pass_frame(lane);
        } else if (lane->wire_from->breaks == BREAKS_SPACES) {
            line_to_frame(lane);
        } else {
            frame_to_line(lane);
        }
    } while (lane->state == LANE_READS && lane->parts[0].count == 0 && left_of(lane) < before);
    if (lane->state != LANE_READS) {
        return;
    }
    if (lane->parts[0].count > 0) {
        lane->state = LANE_WRITES;
    } else if (lane->ended) {
        finish(lane);
    }
}

// --- Reading

// Nothing is to be written any more, so what is left may move.
static bool make_room(struct lane *lane) {
    memmove(lane->bytes, lane->bytes + lane->at, left_of(lane));
    lane->filled -= lane->at;
    lane->at = 0;
    if (lane->filled < lane->capacity) {
        return true;
    }
    uint8_t *moved = realloc(lane->bytes, lane->capacity * 2 + BUFFER_SLACK_BYTES);
    if (moved != NULL) {
        lane->bytes = moved;
        lane->capacity *= 2;
    }
    return moved != NULL;
}

int lane_put_first(struct lane *lane, const uint8_t *bytes, size_t count) {
    while (lane->capacity < count) {
        lane->filled = lane->capacity;
        if (!make_room(lane)) {
            return -ENOMEM;
        }
    }
    memcpy(lane->bytes, bytes, count);
    lane->filled = count;
    prepare(lane);
    return 0;
}

bool lane_put_last(struct lane *lane, const void *bytes, size_t count) {
    if (lane->state != LANE_DONE || lane->is_raw || lane->body_left > 0) {
        return false;
    }
    add_part(lane, bytes, count);
    lane->state = LANE_WRITES;
    return true;
}

void lane_read(struct lane *lane) {
    if (!make_room(lane)) {
        fail(lane, -ENOMEM);
        return;
    }
    size_t room = lane->capacity - lane->filled;
    ssize_t count =
        read(lane->from, lane->bytes + lane->filled, room < LANE_READ_BYTES ? room : LANE_READ_BYTES);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (count < 0 && errno != ECONNRESET && errno != EIO && errno != EBADF) {
        fail(lane, -errno);
        return;
    }
    lane->ended = count <= 0; // a terminal that has gone, a connection that was reset: nothing more comes
    lane->error = count < 0 ? -errno : 0;
    lane->filled += count > 0 ? (size_t)count : 0;
    prepare(lane);
}

// --- Writing

static void note_said(struct lane *lane, const char *bytes, size_t count) {
    if (count > sizeof lane->said) {
        bytes += count - sizeof lane->said;
        count = sizeof lane->said;
    }
    memmove(lane->said, lane->said + count, sizeof lane->said - count);
    memcpy(lane->said + sizeof lane->said - count, bytes, count);
}

bool lane_has_said(const struct lane *lane, const char *text) {
    return memmem(lane->said, sizeof lane->said, text, strlen(text)) != NULL;
}

static ssize_t put(const struct lane *lane) {
    struct iovec vectors[LANE_PARTS_MAX];
    struct msghdr message = {.msg_iov = vectors};
    for (unsigned which = 0; which < LANE_PARTS_MAX && lane->parts[which].count > 0; which++) {
        vectors[message.msg_iovlen++] = (struct iovec){
            .iov_base = (void *)(uintptr_t)lane->parts[which].bytes, .iov_len = lane->parts[which].count};
    }
    if (!lane->to_pipe) {
        return sendmsg(lane->to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    size_t count = vectors[0].iov_len;
    return write(lane->to, vectors[0].iov_base, count < PIPE_BUF ? count : PIPE_BUF);
}

static void skip(struct lane *lane, size_t count) {
    while (count > 0) {
        struct lane_part *part = &lane->parts[0];
        size_t done = count < part->count ? count : part->count;
        note_said(lane, part->bytes, done);
        part->bytes = (const char *)part->bytes + done;
        part->count -= done;
        count -= done;
        if (part->count == 0) {
            memmove(lane->parts, lane->parts + 1, sizeof lane->parts - sizeof lane->parts[0]);
            lane->parts[LANE_PARTS_MAX - 1] = (struct lane_part){0};
        }
    }
}

void lane_write(struct lane *lane) {
    ssize_t count = put(lane);
    if (count < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            fail(lane, -errno);
        }
        return;
    }
    skip(lane, (size_t)count);
    if (lane->parts[0].count == 0) {
        lane->state = LANE_READS;
        prepare(lane);
    }
}
