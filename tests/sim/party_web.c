// Parties that speak WebSocket, in two fragments under a mask of zeros, or HTTP; what isn't a body is passed over.
#include "tests/sim/party_web.h"

#include <stdio.h>
#include <string.h>

enum { TEXT = 1, LAST = 0x80, MASKED = 0x80 };

void party_web_upgrade(struct party *party, const char *fields) {
    char text[512];
    int count =
        snprintf(text, sizeof text,
                 "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n",
                 fields);
    party_write(party, text, (size_t)count);
}

static void write_fragment(struct party *party, uint8_t first, const char *bytes, size_t count) {
    uint8_t head[14] = {first, (uint8_t)(MASKED | (count < 126 ? count : count <= UINT16_MAX ? 126 : 127))};
    unsigned wide = count < 126 ? 0 : count <= UINT16_MAX ? 2 : 8;
    for (unsigned at = 0; at < wide; at++)
        head[2 + at] = (uint8_t)((uint64_t)count >> 8 * (wide - 1 - at));
    party_write(party, head, 2 + wide + 4);
    party_write(party, bytes, count);
}

void party_web_write(struct party *party, const char *fields, const char *body, size_t bytes) {
    char head[512];
    if (party->socket) {
        write_fragment(party, TEXT, body, bytes / 3);
        write_fragment(party, LAST, body + bytes / 3, bytes - bytes / 3);
        return;
    }
    int count = snprintf(head, sizeof head,
                         "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                         "Content-Length: %zu\r\n%s\r\n",
                         bytes, fields);
    party_write(party, head, (size_t)count);
    party_write(party, body, bytes);
}

static enum naive_result read_response(struct party *party, struct naive_frame *frame, const uint8_t *bytes,
                                       size_t count) {
    static const char length[] = "\r\nContent-Length: ";
    const uint8_t *end = memmem(bytes, count, "\r\n\r\n", 4);
    if (!end)
        return NAIVE_PARTIAL;
    if (memcmp(bytes, "HTTP/1.1 ", 9) != 0)
        return NAIVE_BAD;
    size_t head = (size_t)(end - bytes) + 4;
    const uint8_t *at = memmem(bytes, head, length, sizeof length - 1);
    party->open = party->socket && bytes[9] == '1';
    uint64_t body = 0;
    for (at = at ? at + sizeof length - 1 : at; at && *at >= '0' && *at <= '9'; at++)
        body = body * 10 + *at - '0';
    frame->bytes = head + body;
    if (body && memmem(bytes, head, "\r\nContent-Type: application/json\r\n", 34))
        frame->body = (struct bit){bytes + head, body};
    return count < frame->bytes ? NAIVE_PARTIAL : NAIVE_WHOLE;
}

enum naive_result party_web_read(struct party *party, struct naive_frame *frame, const uint8_t *bytes,
                                 size_t count) {
    *frame = (struct naive_frame){.bytes = count};
    if (party->stream)
        return NAIVE_WHOLE;
    if (!party->open)
        return read_response(party, frame, bytes, count);
    if (count < 2)
        return NAIVE_PARTIAL;
    unsigned wide = bytes[1] == 126 ? 2 : bytes[1] == 127 ? 8 : 0;
    uint64_t body = wide ? 0 : bytes[1];
    if (!(bytes[0] & LAST) || bytes[1] > 127)
        return NAIVE_BAD;
    if (count < 2 + wide)
        return NAIVE_PARTIAL;
    for (unsigned at = 0; at < wide; at++)
        body = body << 8 | bytes[2 + at];
    frame->bytes = 2 + wide + body;
    if ((bytes[0] & 15) == TEXT)
        frame->body = (struct bit){bytes + 2 + wide, body};
    return count < frame->bytes ? NAIVE_PARTIAL : NAIVE_WHOLE;
}
