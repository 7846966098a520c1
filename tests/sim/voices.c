#include "tests/sim/voices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kernel.h"
#include "tests/sim/toy.h"
#include "tests/sim/world.h"

enum {
    UNIT_TEXT = 0x81,
    UNIT_CLOSE = 0x88,
    UNIT_PING = 0x89,
    UNIT_PONG = 0x8A,
    MASKED = 0x80,
    SHORT_MAX = 125
};

static void write_unit(struct voice *http_owner, uint8_t kind, const void *bytes, size_t count) {
    uint8_t head[8] = {kind, (uint8_t)(MASKED | (count > SHORT_MAX ? SHORT_MAX + 1 : count))};
    size_t wide = count > SHORT_MAX ? 2 : 0;
    if (count > UINT16_MAX)
        kernel_fail("a message is too large");
    if (wide) {
        head[2] = (uint8_t)(count >> 8);
        head[3] = (uint8_t)count;
    }
    cable_write(http_owner->cable, head, 2 + wide + 4); // under a mask of zeros
    cable_write(http_owner->cable, bytes, count);
}

bool voice_dial(struct voice *http_owner, struct world *world, enum way way) {
    struct cable *cable = way == LINES    ? world_dial_lines(world)
                          : way == FRAMES ? world_dial(world)
                                          : world_dial_http(world);
    *http_owner = (struct voice){.cable = cable, .way = way};
    return cable != NULL;
}

void voice_greet(struct voice *http_owner) {
    static const char upgrade[] =
        "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    if (http_owner->way == SOCKET)
        cable_write(http_owner->cable, upgrade, sizeof upgrade - 1);
    else if (http_owner->cable->toy) // who says nothing for long has shaken hands all the same
        cable_record(http_owner->cable, TOY_DATA, "", 0);
}

void voice_write(struct voice *http_owner, const char *body, size_t count, const char *fields) {
    static const char post[] = "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    char length[64];
    if (http_owner->way == SOCKET) {
        write_unit(http_owner, UNIT_TEXT, body, count);
        return;
    }
    if (http_owner->way == POSTS)
        cable_write(http_owner->cable, post, sizeof post - 1);
    if (http_owner->way != LINES) {
        cable_write(http_owner->cable, length,
                    (size_t)snprintf(length, sizeof length, "Content-Length: %zu\r\n", count));
        cable_write(http_owner->cable, fields, strlen(fields));
        cable_write(http_owner->cable, "\r\n", 2);
    }
    cable_write(http_owner->cable, body, count);
    if (http_owner->way == LINES)
        cable_write(http_owner->cable, "\n", 1);
}

// An answer: its status, and what is in it.
static enum naive_result read_answer(struct voice *http_owner, struct naive_frame *frame,
                                     const uint8_t *bytes, size_t count) {
    static const char length[] = "\r\nContent-Length: ";
    const uint8_t *end = memmem(bytes, count, "\r\n\r\n", 4);
    if (!end)
        return NAIVE_PARTIAL;
    size_t head = (size_t)(end - bytes) + 4;
    const uint8_t *at = memmem(bytes, head, length, sizeof length - 1);
    if (memcmp(bytes, "HTTP/1.1 ", 9) != 0 || !at || memmem(bytes, head, "secret-", 7))
        return NAIVE_BAD;
    size_t body = strtoul((const char *)at + sizeof length - 1, NULL, 10);
    http_owner->status = (unsigned)strtoul((const char *)bytes + 9, NULL, 10);
    *frame = (struct naive_frame){.bytes = head + body};
    if (count < frame->bytes)
        return NAIVE_PARTIAL;
    if (body)
        frame->body = (struct bit){bytes + head, body};
    return NAIVE_WHOLE;
}

static enum naive_result read_head(struct voice *http_owner, struct naive_frame *frame, const uint8_t *bytes,
                                   size_t count) {
    static const char switches[] = "HTTP/1.1 101 ";
    const uint8_t *end = memmem(bytes, count, "\r\n\r\n", 4);
    if (!end)
        return NAIVE_PARTIAL;
    if (memcmp(bytes, switches, sizeof switches - 1) != 0)
        return read_answer(http_owner, frame, bytes, count);
    *frame = (struct naive_frame){.bytes = (size_t)(end - bytes) + 4};
    http_owner->is_upgraded = true;
    return NAIVE_WHOLE;
}

// Reads a unit of WebSocket. A unit that is no message has no body, and is answered where it must be.
static enum naive_result read_unit(struct voice *http_owner, struct naive_frame *frame, const uint8_t *bytes,
                                   size_t count) {
    if (count < 2)
        return NAIVE_PARTIAL;
    size_t wide = bytes[1] == 126 ? 2 : bytes[1] == 127 ? 8 : 0, body = wide ? 0 : bytes[1];
    if (http_owner->is_closed || bytes[1] & MASKED ||
        (bytes[0] != UNIT_TEXT && bytes[0] != UNIT_CLOSE && bytes[0] != UNIT_PING))
        return NAIVE_BAD;
    for (size_t at = 0; at < wide && 2 + at < count; at++)
        body = body << 8 | bytes[2 + at];
    if (count < 2 + wide || count - 2 - wide < body)
        return NAIVE_PARTIAL;
    *frame = (struct naive_frame){.bytes = 2 + wide + body};
    if (bytes[0] == UNIT_TEXT)
        frame->body = (struct bit){bytes + 2 + wide, body};
    http_owner->is_closed |= bytes[0] == UNIT_CLOSE;
    if (bytes[0] == UNIT_PING)
        write_unit(http_owner, UNIT_PONG, bytes + 2 + wide, body);
    return NAIVE_WHOLE;
}

void voice_listen(struct voice *http_owner, const char *query, const char *fields) {
    char head[1024];
    int count =
        snprintf(head, sizeof head, "GET /events?%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", query, fields);
    if (count >= (int)sizeof head)
        kernel_fail("a query is too long");
    cable_write(http_owner->cable, head, (size_t)count);
}

static enum naive_result read_stream_head(struct voice *http_owner, struct naive_frame *frame,
                                          const uint8_t *bytes, size_t count) {
    static const char good[] = "HTTP/1.1 200 ", type[] = "\r\nContent-Type: text/event-stream\r\n";
    const uint8_t *end = memmem(bytes, count, "\r\n\r\n", 4);
    if (!end || memcmp(bytes, good, sizeof good - 1) != 0)
        return read_answer(http_owner, frame, bytes, count);
    *frame = (struct naive_frame){.bytes = (size_t)(end - bytes) + 4};
    http_owner->status = 200;
    http_owner->is_upgraded = memmem(bytes, frame->bytes, type, sizeof type - 1) != NULL;
    return http_owner->is_upgraded ? NAIVE_WHOLE : NAIVE_BAD;
}

// An event, of one line that says what it is, or a comment.
static enum naive_result read_event(struct naive_frame *frame, const uint8_t *bytes, size_t count) {
    static const char data[] = "data: ";
    const uint8_t *end = memmem(bytes, count, "\n\n", 2);
    if (!end)
        return NAIVE_PARTIAL;
    size_t line = (size_t)(end - bytes);
    *frame = (struct naive_frame){.bytes = line + 2};
    if (line == 1 && bytes[0] == ':')
        return NAIVE_WHOLE;
    if (line < sizeof data || memcmp(bytes, data, sizeof data - 1) != 0 || memchr(bytes, '\n', line))
        return NAIVE_BAD;
    frame->body = (struct bit){bytes + sizeof data - 1, line - (sizeof data - 1)};
    return NAIVE_WHOLE;
}

enum naive_result voice_read(struct voice *http_owner, struct naive_frame *frame, const uint8_t *bytes,
                             size_t count) {
    switch (http_owner->way) {
    case LINES:
        return naive_line(frame, bytes, count);
    case SOCKET:
        return (http_owner->is_upgraded ? read_unit : read_head)(http_owner, frame, bytes, count);
    case POSTS:
        return read_answer(http_owner, frame, bytes, count);
    case EVENTS:
        return http_owner->is_upgraded ? read_event(frame, bytes, count)
                                       : read_stream_head(http_owner, frame, bytes, count);
    case FRAMES:
        break;
    }
    return naive_frame(frame, bytes, count);
}
