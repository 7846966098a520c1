// The load over HTTP: requests that are posted to /rpc, many on one connection; and what its other protocols share.
// Success: an answer's body is found by Content-Length, an event by its one line of data. Failure: an answer
// without a length, a status other than 200 or a second line of data is broken.
#include "bench/load/load_http.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bench/load/load_dial.h"
#include "core/base/text.h"

enum { LINE_BYTES_MAX = 1024, HEAD_BYTES_MAX = 256, ANSWER_HEAD_BYTES_MAX = 4096, LENGTH_DIGITS_MAX = 10 };

int load_http_ask(int socket, const char *path, const char *fields, int status) {
    char text[LINE_BYTES_MAX], line[LINE_BYTES_MAX], wanted[16];
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", path, fields);
    int error = load_say(socket, text, strlen(text));
    ssize_t bytes = error < 0 ? error : load_hear_line(socket, line, sizeof line);
    snprintf(wanted, sizeof wanted, "HTTP/1.1 %d ", status);
    if (bytes >= 0 && ((size_t)bytes < strlen(wanted) || memcmp(line, wanted, strlen(wanted)) != 0)) {
        fprintf(stderr, "bench: %.*s\n", (int)bytes, line);
        return -EPROTO;
    }
    while (bytes > 2) { // up to the empty line
        bytes = load_hear_line(socket, line, sizeof line);
    }
    return bytes < 0 ? (int)bytes : 0;
}

// --- Events

enum load_step load_events_next(const uint8_t *in, size_t bytes, struct load_message *message) {
    static const char data[] = "data: ";
    *message = (struct load_message){0};
    for (size_t at = 0;;) {
        const uint8_t *line = in + at, *end = memchr(line, '\n', bytes - at);
        if (end == NULL) {
            return LOAD_PARTIAL;
        }
        size_t count = (size_t)(end - line);
        at += count + 1;
        if (count == 0) {
            message->bytes = at;
            return LOAD_MESSAGE;
        }
        if (count < sizeof data - 1 || memcmp(line, data, sizeof data - 1) != 0) {
            continue;
        }
        if (message->body != NULL) {
            return LOAD_BROKEN;
        }
        message->body = line + sizeof data - 1;
        message->body_bytes = count - (sizeof data - 1);
    }
}

// --- Requests

// A source is no agent of the hub's, and its connection is just there.
static int greet_rpc(const struct load_greeting *greeting) {
    return load_dial(greeting->at);
}

static size_t write_post(const struct load_body *body, const struct load_request *request, uint8_t *out) {
    static const char head[] = "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                               "Content-Length: ";
    static_assert(sizeof head + LENGTH_DIGITS_MAX + 4 <= HEAD_BYTES_MAX, "it has room");
    size_t bytes = load_request_bytes(body, request);
    uint8_t *at = load_put(out, head, sizeof head - 1);
    at += text_digits((char *)at, bytes);
    at = load_put(at, "\r\n\r\n", 4);
    load_request_write(body, request, at);
    return (size_t)(at - out) + bytes;
}

// The value of Content-Length in a head; SIZE_MAX without one.
static size_t length_in(const uint8_t *head, size_t bytes) {
    static const char name[] = "content-length:";
    const uint8_t *line = head, *end = head + bytes;
    while ((line = memchr(line, '\n', (size_t)(end - line))) != NULL && end - ++line > (ssize_t)sizeof name) {
        if (strncasecmp((const char *)line, name, sizeof name - 1) == 0) {
            return strtoul((const char *)line + sizeof name - 1, NULL, 10);
        }
    }
    return SIZE_MAX;
}

enum load_step load_http_next(const uint8_t *in, size_t bytes, const char *begin,
                              struct load_message *message) {
    const uint8_t *end = memmem(in, bytes, "\r\n\r\n", 4);
    if (end == NULL) {
        return bytes < ANSWER_HEAD_BYTES_MAX ? LOAD_PARTIAL : LOAD_BROKEN;
    }
    size_t head = (size_t)(end - in) + 4, length = length_in(in, head);
    if (head < strlen(begin) || memcmp(in, begin, strlen(begin)) != 0 || length > UINT32_MAX) {
        return LOAD_BROKEN;
    }
    *message = (struct load_message){.bytes = head + length, .body = in + head, .body_bytes = length};
    return bytes < message->bytes ? LOAD_PARTIAL : LOAD_MESSAGE;
}

static enum load_step next_answer(const uint8_t *in, size_t bytes, struct load_message *message) {
    return load_http_next(in, bytes, "HTTP/1.1 200 ", message);
}

const struct load_wire load_wire_rpc = {
    .name = "rpc",
    .server_picks_target = true,
    .greet = greet_rpc,
    .wrap_bytes_max = HEAD_BYTES_MAX,
    .write_request = write_post,
    .next = next_answer,
};
