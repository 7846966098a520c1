// See connect_pipe.h. Success: the bytes of one read become parts, and the parts are written before the next read.
// Failure: the state tells the failure, and stays.
#include "tools/connect_pipe.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/limits.h"

// The limits of a frame: a frame that becomes a line may have any length, because it is never kept whole.
static const struct unit_limits frame_limits = {.header_bytes_max = 32 * 1024,
                                                .body_bytes_max = UINT32_MAX - 64 * 1024};
static const struct unit_limits line_limits = {.header_bytes_max = 32 * 1024,
                                               .body_bytes_max = CONNECT_PIPE_LINE_BYTES_MAX};

static bool is_socket(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode);
}

int connect_pipe_init(struct connect_pipe *pipe, int from, int to, const struct wire *wire_from,
                      const struct wire *wire_to) {
    *pipe = (struct connect_pipe){.from = from,
                                  .to = to,
                                  .to_pipe = !is_socket(to),
                                  .wire_from = wire_from,
                                  .wire_to = wire_to,
                                  .capacity = CONNECT_PIPE_READ_BYTES};
    pipe->bytes = malloc(pipe->capacity + BUFFER_SLACK_BYTES);
    return pipe->bytes == NULL ? -ENOMEM : 0;
}

void connect_pipe_deinit(struct connect_pipe *pipe) {
    free(pipe->bytes);
    pipe->bytes = NULL;
}

static void stop(struct connect_pipe *pipe, enum connect_pipe_state state) {
    pipe->state = state;
}

static void fail(struct connect_pipe *pipe, int error) {
    bool gone = error == -EPIPE || error == -ECONNRESET;
    pipe->error = error;
    stop(pipe, gone ? CONNECT_PIPE_CLOSED : CONNECT_PIPE_FAILED);
}

static void break_off(struct connect_pipe *pipe, const char *fault) {
    pipe->fault = fault;
    stop(pipe, CONNECT_PIPE_BROKEN);
}

// --- From received bytes to parts

// Takes so many received bytes. The returned place stays valid until the next read.
static const void *take(struct connect_pipe *pipe, size_t count) {
    const void *taken = pipe->bytes + pipe->at;
    pipe->at += count;
    return taken;
}

static void add_part(struct connect_pipe *pipe, const void *bytes, size_t count) {
    unsigned which = 0;
    while (pipe->parts[which].count > 0) {
        which++;
    }
    pipe->parts[which] = (struct connect_pipe_part){bytes, count};
}

static size_t left_of(const struct connect_pipe *pipe) {
    return pipe->filled - pipe->at;
}

static void copy(struct connect_pipe *pipe) {
    size_t count = left_of(pipe);
    add_part(pipe, take(pipe, count), count);
}

// Takes bytes up to the end of a frame, unchanged. The end is known as long as the input is frames.
static void pass_frame(struct connect_pipe *pipe) {
    if (pipe->body_left == 0 && !pipe->is_raw) {
        enum unit_result result =
            wire_framed.scan(&pipe->unit, pipe->bytes + pipe->at, left_of(pipe), &frame_limits);
        pipe->is_raw = result == UNIT_BAD || (result == UNIT_OPEN && pipe->ended);
        if (result == UNIT_OPEN && !pipe->ended) {
            return;
        }
        pipe->body_left = pipe->is_raw ? 0 : pipe->unit.body_at + pipe->unit.body_bytes;
        unit_begin(&pipe->unit);
    }
    size_t count = left_of(pipe);
    if (!pipe->is_raw) {
        count = count < pipe->body_left ? count : (size_t)pipe->body_left;
        pipe->body_left -= count;
    }
    add_part(pipe, take(pipe, count), count);
}

// Replaces line breaks in a body by spaces. Line breaks are white space in JSON, but would end a line.
static void flatten(uint8_t *bytes, size_t count) {
    for (size_t at = 0; at < count; at++) {
        if (bytes[at] == '\r' || bytes[at] == '\n') {
            bytes[at] = ' ';
        }
    }
}

// Takes the part of a body that has come, and behind the body's end the end of a line.
static void take_body(struct connect_pipe *pipe) {
    size_t count = left_of(pipe) < pipe->body_left ? left_of(pipe) : (size_t)pipe->body_left;
    flatten(pipe->bytes + pipe->at, count);
    add_part(pipe, take(pipe, count), count);
    pipe->body_left -= count;
    if (pipe->body_left == 0) {
        add_part(pipe, pipe->wire_to->tail, strlen(pipe->wire_to->tail));
    }
}

static void frame_to_line(struct connect_pipe *pipe) {
    if (pipe->body_left == 0) {
        enum unit_result result =
            wire_framed.scan(&pipe->unit, pipe->bytes + pipe->at, left_of(pipe), &frame_limits);
        if (result == UNIT_BAD) {
            break_off(pipe, unit_fault_text(pipe->unit.fault));
        }
        if (result == UNIT_BAD || result == UNIT_OPEN) {
            return;
        }
        take(pipe, pipe->unit.body_at);
        pipe->body_left = pipe->unit.body_bytes;
        unit_begin(&pipe->unit);
    }
    if (left_of(pipe) > 0) {
        take_body(pipe);
    }
}

static enum unit_result find_line(struct connect_pipe *pipe) {
    uint8_t *line = pipe->bytes + pipe->at;
    enum unit_result result = wire_lines.scan(&pipe->unit, line, left_of(pipe), &line_limits);
    if (result == UNIT_OPEN && pipe->ended) {
        result = wire_lines.end(&pipe->unit, line, left_of(pipe));
    }
    return result;
}

// Makes a frame of a line. Skips a line of white space alone.
static void line_to_frame(struct connect_pipe *pipe) {
    enum unit_result result = find_line(pipe);
    if (result == UNIT_BAD) {
        break_off(pipe, unit_fault_text(pipe->unit.fault));
    }
    if (result != UNIT_WHOLE) {
        return;
    }
    const void *line = take(pipe, pipe->unit.bytes);
    size_t count = pipe->unit.body_bytes;
    unit_begin(&pipe->unit);
    if (count > 0) {
        size_t head_bytes = pipe->wire_to->head(pipe->head, count);
        memcpy(pipe->head + head_bytes, "\r\n", 2);
        add_part(pipe, pipe->head, head_bytes + 2);
        add_part(pipe, line, count);
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

// Ends the pipe after the input's end. Bytes of an incomplete frame, which should have become a line, are a fault,
// unless they are white space, as a user may have typed it.
static void finish(struct connect_pipe *pipe) {
    bool passes = pipe->wire_from == pipe->wire_to; // whatever the bytes are
    if (passes) {
        stop(pipe, CONNECT_PIPE_DONE);
    } else if (pipe->body_left > 0 || !is_blank(pipe->bytes + pipe->at, left_of(pipe))) {
        break_off(pipe, "it ends in the middle of a frame");
    } else {
        stop(pipe, CONNECT_PIPE_DONE);
    }
}

// Makes parts of received bytes, until there is a part or more bytes must come.
static void prepare(struct connect_pipe *pipe) {
    size_t before;
    do {
        before = left_of(pipe);
        if (before == 0) {
            break;
        }
        if (pipe->wire_from == pipe->wire_to && pipe->wire_from->breaks == BREAKS_SPACES) {
            copy(pipe);
        } else if (pipe->wire_from == pipe->wire_to) {
            pass_frame(pipe);
        } else if (pipe->wire_from->breaks == BREAKS_SPACES) {
            line_to_frame(pipe);
        } else {
            frame_to_line(pipe);
        }
    } while (pipe->state == CONNECT_PIPE_READS && pipe->parts[0].count == 0 && left_of(pipe) < before);
    if (pipe->state != CONNECT_PIPE_READS) {
        return;
    }
    if (pipe->parts[0].count > 0) {
        pipe->state = CONNECT_PIPE_WRITES;
    } else if (pipe->ended) {
        finish(pipe);
    }
}

// --- Reading

// Makes room for more bytes. No bytes wait to be written, so the rest may move. Returns false without memory.
static bool make_room(struct connect_pipe *pipe) {
    memmove(pipe->bytes, pipe->bytes + pipe->at, left_of(pipe));
    pipe->filled -= pipe->at;
    pipe->at = 0;
    if (pipe->filled < pipe->capacity) {
        return true;
    }
    uint8_t *moved = realloc(pipe->bytes, pipe->capacity * 2 + BUFFER_SLACK_BYTES);
    if (moved != NULL) {
        pipe->bytes = moved;
        pipe->capacity *= 2;
    }
    return moved != NULL;
}

int connect_pipe_put_first(struct connect_pipe *pipe, const uint8_t *bytes, size_t count) {
    while (pipe->capacity < count) {
        pipe->filled = pipe->capacity;
        if (!make_room(pipe)) {
            return -ENOMEM;
        }
    }
    memcpy(pipe->bytes, bytes, count);
    pipe->filled = count;
    prepare(pipe);
    return 0;
}

bool connect_pipe_put_last(struct connect_pipe *pipe, const void *bytes, size_t count) {
    if (pipe->state != CONNECT_PIPE_DONE || pipe->is_raw || pipe->body_left > 0) {
        return false;
    }
    add_part(pipe, bytes, count);
    pipe->state = CONNECT_PIPE_WRITES;
    return true;
}

void connect_pipe_read(struct connect_pipe *pipe) {
    if (!make_room(pipe)) {
        fail(pipe, -ENOMEM);
        return;
    }
    size_t room = pipe->capacity - pipe->filled;
    ssize_t count = read(pipe->from, pipe->bytes + pipe->filled,
                         room < CONNECT_PIPE_READ_BYTES ? room : CONNECT_PIPE_READ_BYTES);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (count < 0 && errno != ECONNRESET && errno != EIO && errno != EBADF) {
        fail(pipe, -errno);
        return;
    }
    pipe->ended = count <= 0; // the end, also of a terminal that has gone or a connection that was reset
    pipe->error = count < 0 ? -errno : 0;
    pipe->filled += count > 0 ? (size_t)count : 0;
    prepare(pipe);
}

// --- Writing

static void note_said(struct connect_pipe *pipe, const char *bytes, size_t count) {
    if (count > sizeof pipe->said) {
        bytes += count - sizeof pipe->said;
        count = sizeof pipe->said;
    }
    memmove(pipe->said, pipe->said + count, sizeof pipe->said - count);
    memcpy(pipe->said + sizeof pipe->said - count, bytes, count);
}

// Returns how many bytes at `at` spell this character of a JSON string, by itself or as \\u and four digits; 0: another
// character.
static size_t spelled(const char *at, size_t count, char letter) {
    enum { ESCAPE_BYTES = 6 };
    char escape[ESCAPE_BYTES + 1];
    if (count > 0 && *at == letter) {
        return 1;
    }
    snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(unsigned char)letter);
    return count >= ESCAPE_BYTES && at[1] == 'u' && strncasecmp(at, escape, ESCAPE_BYTES) == 0 ? ESCAPE_BYTES
                                                                                               : 0;
}

static bool is_string(const char *at, size_t count, const char *text) {
    size_t done = 1, bytes;
    if (count == 0 || *at != '"') {
        return false;
    }
    for (; *text != '\0'; text++, done += bytes) {
        bytes = spelled(at + done, count - done, *text);
        if (bytes == 0) {
            return false;
        }
    }
    return done < count && at[done] == '"';
}

bool connect_pipe_has_said(const struct connect_pipe *pipe, const char *text) {
    for (size_t at = 0; at < sizeof pipe->said; at++) {
        if (is_string(pipe->said + at, sizeof pipe->said - at, text)) {
            return true;
        }
    }
    return false;
}

static ssize_t put(const struct connect_pipe *pipe) {
    struct iovec vectors[CONNECT_PIPE_PARTS_MAX];
    struct msghdr message = {.msg_iov = vectors};
    for (unsigned which = 0; which < CONNECT_PIPE_PARTS_MAX && pipe->parts[which].count > 0; which++) {
        vectors[message.msg_iovlen++] = (struct iovec){
            .iov_base = (void *)(uintptr_t)pipe->parts[which].bytes, .iov_len = pipe->parts[which].count};
    }
    if (!pipe->to_pipe) {
        return sendmsg(pipe->to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    size_t count = vectors[0].iov_len;
    return write(pipe->to, vectors[0].iov_base, count < PIPE_BUF ? count : PIPE_BUF);
}

static void skip(struct connect_pipe *pipe, size_t count) {
    while (count > 0) {
        struct connect_pipe_part *part = &pipe->parts[0];
        size_t done = count < part->count ? count : part->count;
        note_said(pipe, part->bytes, done);
        part->bytes = (const char *)part->bytes + done;
        part->count -= done;
        count -= done;
        if (part->count == 0) {
            memmove(pipe->parts, pipe->parts + 1, sizeof pipe->parts - sizeof pipe->parts[0]);
            pipe->parts[CONNECT_PIPE_PARTS_MAX - 1] = (struct connect_pipe_part){0};
        }
    }
}

void connect_pipe_write(struct connect_pipe *pipe) {
    ssize_t count = put(pipe);
    if (count < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            fail(pipe, -errno);
        }
        return;
    }
    skip(pipe, (size_t)count);
    if (pipe->parts[0].count == 0) {
        pipe->state = CONNECT_PIPE_READS;
        prepare(pipe);
    }
}
