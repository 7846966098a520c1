// Events through a redis-server in its own protocol (RESP 2): a subscriber subscribes to the topic's channel,
// the publisher sends PUBLISH and is told how many got it. Success: replies and messages are read by
// position. Failure: an error reply, or a reply of unknown kind, is broken.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/load/load_dial.h"
#include "bench/load/load_wire.h"
#include "core/base/text.h"

enum { REDIS_LINE_BYTES_MAX = 512 };

// Hears lines up to the one that begins with `end`.
static int wait_for(int socket, const char *end) {
    char line[REDIS_LINE_BYTES_MAX];
    for (;;) {
        ssize_t length = load_hear_line(socket, line, sizeof line);
        if (length < 0) {
            return (int)length;
        }
        if (strncmp(line, end, strlen(end)) == 0) {
            return 0;
        }
        if (line[0] == '-') {
            fprintf(stderr, "bench: %.*s\n", (int)length, line);
            return -EPROTO;
        }
    }
}

static int greet(const struct load_greeting *greeting) {
    int dialled = load_dial(greeting->at);
    if (dialled < 0) {
        return dialled;
    }
    bool subscribes = greeting->role == LOAD_SUBSCRIBES;
    char hello[LOAD_NAME_BYTES_MAX + 32];
    snprintf(hello, sizeof hello, subscribes ? "SUBSCRIBE %s\r\n" : "PING\r\n", greeting->name->text);
    int error = load_say(dialled, hello, strlen(hello));
    return load_greeted(dialled, error < 0 ? error : wait_for(dialled, subscribes ? ":1\r" : "+PONG\r"));
}

// `$<bytes>`, the bytes, and the end of the line.
static uint8_t *put_length(uint8_t *out, size_t bytes) {
    *out++ = '$';
    out += text_digits((char *)out, bytes);
    return load_put(out, "\r\n", 2);
}

static size_t write_event(const struct load_body *body, const struct load_event *event, uint8_t *out) {
    static const char publish[] = "*3\r\n$7\r\nPUBLISH\r\n";
    size_t bytes = load_event_bytes(body, event->topic);
    uint8_t *at = put_length(load_put(out, publish, sizeof publish - 1), event->topic->bytes);
    at = load_put(load_put(at, event->topic->text, event->topic->bytes), "\r\n", 2);
    at = put_length(at, bytes);
    load_event_write(body, event, at);
    at = load_put(at + bytes, "\r\n", 2);
    return (size_t)(at - out);
}

// Reads `<kind><digits>\r\n` at `at`; where the next begins, 0 when the line isn't whole, -EPROTO when it is
// none.
static ssize_t read_number(const uint8_t *in, size_t bytes, size_t at, char kind, size_t *number) {
    if (at >= bytes) {
        return 0;
    }
    const uint8_t *line_end = memchr(in + at, '\n', bytes - at);
    if (in[at++] != (uint8_t)kind) {
        return -EPROTO;
    }
    if (line_end == NULL) {
        return bytes - at < REDIS_LINE_BYTES_MAX ? 0 : -EPROTO;
    }
    *number = 0;
    for (; in[at] >= '0' && in[at] <= '9' && *number < (size_t)1 << 40; at++) {
        *number = *number * 10 + (size_t)(in[at] - '0');
    }
    return in + at + 1 == line_end && in[at] == '\r' ? (ssize_t)at + 2 : -EPROTO;
}

// A message is an array of three strings: "message", the channel, the body.
static enum load_step next(const uint8_t *in, size_t bytes, struct load_message *message) {
    *message = (struct load_message){0};
    size_t number;
    ssize_t at = read_number(in, bytes, 0, in[0] == ':' ? ':' : '*', &number);
    if (at > 0 && in[0] == ':') {
        message->bytes = (size_t)at; // the publisher is told how many got it
        return LOAD_MESSAGE;
    }
    size_t body_at = 0;
    for (int part = 0; part < 3 && at > 0; part++) {
        at = read_number(in, bytes, (size_t)at, '$', &number);
        if (at > 0) {
            body_at = (size_t)at;
            at += (ssize_t)number + 2;
        }
    }
    if (at < 0) {
        return LOAD_BROKEN;
    }
    if (at == 0 || (size_t)at > bytes) {
        return LOAD_PARTIAL;
    }
    message->bytes = (size_t)at;
    message->body = in + body_at;
    message->body_bytes = number;
    return LOAD_MESSAGE;
}

const struct load_wire load_wire_redis = {
    .name = "redis",
    .greet = greet,
    .wrap_bytes_max = LOAD_NAME_BYTES_MAX + 128,
    .write_event = write_event,
    .next = next,
};
