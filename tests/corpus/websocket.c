#include "tests/corpus/websocket.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

enum { LAST_TEXT = 0x81, MASKED = 0x80, OPCODE = 0x0f, TEXT = 1, LENGTH_16 = 126, LENGTH_64 = 127 };

static void drop_first(struct text *text, size_t count) {
    struct text rest;
    text_init(&rest);
    text_add(&rest, text->bytes + count, text->length - count);
    text_deinit(text);
    *text = rest;
}

bool websocket_begin(struct websocket *socket, int fd) {
    static const char request[] =
        "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    static const char accepted[] = "HTTP/1.1 101 ";
    char head[1024];
    size_t count = 0;
    text_init(&socket->come);
    text_init(&socket->ready);
    if (send(fd, request, sizeof request - 1, MSG_NOSIGNAL) < 0)
        return false;
    // Byte by byte: what stands behind the head is the first frame's.
    while (count < sizeof head && (count < 4 || memcmp(head + count - 4, "\r\n\r\n", 4) != 0)) {
        if (recv(fd, head + count, 1, 0) != 1)
            return false;
        count++;
    }
    return memcmp(head, accepted, sizeof accepted - 1) == 0;
}

void websocket_end(struct websocket *socket) {
    text_deinit(&socket->come);
    text_deinit(&socket->ready);
}

// --- Going out

static void wrap_one(const char *body, size_t count, struct text *out) {
    static const uint8_t mask[4] = {0x12, 0xf4, 0, 0x80};
    uint8_t head[10] = {LAST_TEXT};
    size_t bytes = count < LENGTH_16 ? 0 : count <= UINT16_MAX ? 2 : 8;
    head[1] = (uint8_t)(MASKED | (bytes == 0 ? count : bytes == 2 ? LENGTH_16 : LENGTH_64));
    for (size_t at = 0; at < bytes; at++)
        head[2 + at] = (uint8_t)(count >> 8 * (bytes - 1 - at));
    text_add(out, (const char *)head, 2 + bytes);
    text_add(out, (const char *)mask, sizeof mask);
    size_t from = out->length;
    text_add(out, body, count);
    for (size_t at = 0; at < count; at++)
        out->bytes[from + at] = (char)((uint8_t)out->bytes[from + at] ^ mask[at % sizeof mask]);
}

void websocket_wrap(const char *lines, size_t count, struct text *out) {
    const char *end = lines + count;
    for (const char *feed; (feed = memchr(lines, '\n', (size_t)(end - lines))); lines = feed + 1)
        wrap_one(lines, (size_t)(feed - lines), out);
    assert(lines == end);
}

// --- Coming in

// How long the frame at the front is; 0 when it isn't whole.
static size_t frame_at(const struct text *come, size_t at, size_t *body_at) {
    const uint8_t *bytes = (const uint8_t *)come->bytes + at;
    size_t count = come->length - at;
    size_t more = count < 2 ? 0 : bytes[1] == LENGTH_16 ? 2 : bytes[1] == LENGTH_64 ? 8 : 0;
    if (count < 2 + more)
        return 0;
    uint64_t length = more ? 0 : bytes[1];
    for (size_t digit = 0; digit < more; digit++)
        length = length << 8 | bytes[2 + digit];
    *body_at = at + 2 + more;
    return count - 2 - more < length ? 0 : 2 + more + (size_t)length;
}

void websocket_take(struct websocket *socket, const void *bytes, size_t count) {
    size_t at = 0, body_at, frame;
    text_add(&socket->come, bytes, count);
    for (; (frame = frame_at(&socket->come, at, &body_at)); at += frame) {
        if ((socket->come.bytes[at] & OPCODE) != TEXT)
            continue; // a close, which the end follows
        text_add(&socket->ready, socket->come.bytes + body_at, at + frame - body_at);
        text_put(&socket->ready, "\n");
    }
    drop_first(&socket->come, at);
}

size_t websocket_give(struct websocket *socket, void *out, size_t capacity) {
    size_t count = socket->ready.length < capacity ? socket->ready.length : capacity;
    if (count == 0)
        return 0;
    memcpy(out, socket->ready.bytes, count);
    drop_first(&socket->ready, count);
    return count;
}
