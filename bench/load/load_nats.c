// The same load in the text protocol of a NATS server. A target subscribes to its name, a source to its
// inbox. A request is a PUB with a reply subject and the answer a PUB to that subject, as the NATS clients do
// it. The protocol goes by itself or, as browsers speak it, in WebSocket's messages. Success: MSG lines are
// read by position. Failure: -ERR, or a line of unknown kind, is broken.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/load/load_dial.h"
#include "bench/load/load_websocket.h"
#include "core/base/text.h"

enum {
    NATS_LINE_BYTES_MAX = 4096,
    NATS_SUBJECTS_BYTES_MAX = 2 * LOAD_NAME_BYTES_MAX + 32,
    NATS_HELLO_BYTES_MAX = NATS_SUBJECTS_BYTES_MAX + 128
};
#define INBOX "_INBOX."

// Reads, line by line, up to the PONG that says that the server has taken the subscription. The server sends
// nothing after it before somebody publishes.
static int wait_for_pong(int socket) {
    char line[NATS_LINE_BYTES_MAX];
    for (;;) {
        ssize_t length = load_hear_line(socket, line, sizeof line);
        if (length < 0) {
            return (int)length;
        }
        if (length >= 5 && memcmp(line, "PONG\r", 5) == 0) {
            return 0;
        }
        if (line[0] == '-') {
            fprintf(stderr, "bench: %.*s\n", (int)length, line);
            return -EPROTO;
        } // else INFO, or a PING that the server will ask again
    }
}

// Writes what a connection begins with.
static void put_hello(const struct load_greeting *greeting, char hello[NATS_HELLO_BYTES_MAX]) {
    bool asks = greeting->role == LOAD_ASKS;
    char subscription[NATS_SUBJECTS_BYTES_MAX + 16] = "";
    if (asks || greeting->role == LOAD_ANSWERS || greeting->role == LOAD_SUBSCRIBES) {
        snprintf(subscription, sizeof subscription, "SUB %s%s%s 1\r\n", asks ? INBOX : "",
                 greeting->name->text, asks && !greeting->plain_inbox ? ".*" : "");
    }
    snprintf(hello, NATS_HELLO_BYTES_MAX,
             "CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"c\",\"version\":\"" PATCHBAY_VERSION
             "\"}\r\n"
             "%sPING\r\n",
             subscription);
}

static int greet(const struct load_greeting *greeting) {
    char hello[NATS_HELLO_BYTES_MAX];
    struct bridge *bridge;
    int dialled = load_dial_upgraded(greeting->at, &bridge);
    if (dialled < 0) {
        return dialled;
    }
    put_hello(greeting, hello);
    int error = load_say(dialled, hello, strlen(hello));
    error = error < 0 ? error : wait_for_pong(dialled);
    return load_greeted_over(dialled, error, bridge, greeting->ssl);
}

static uint8_t *put_length(uint8_t *out, size_t bytes) {
    *out++ = ' ';
    out += text_digits((char *)out, bytes);
    return load_put(out, "\r\n", 2);
}

static size_t write_request(const struct load_body *body, const struct load_request *request, uint8_t *out) {
    size_t bytes = load_request_bytes(body, request);
    uint8_t *at = load_put(load_put(out, "PUB ", 4), request->target->text, request->target->bytes);
    at = load_put(load_put(at, " " INBOX, sizeof INBOX), request->source->text, request->source->bytes);
    if (!request->plain_inbox) {
        *at++ = '.';
        at += text_digits((char *)at, request->id);
    }
    at = put_length(at, bytes);
    load_request_write(body, request, at);
    at = load_put(at + bytes, "\r\n", 2);
    return (size_t)(at - out);
}

static size_t write_answer(const struct load_body *body, const struct load_message *asked,
                           const struct load_parts *parts, uint8_t *out) {
    size_t bytes = load_answer_bytes(body, parts->id_bytes);
    uint8_t *at = load_put(load_put(out, "PUB ", 4), asked->reply_to, asked->reply_to_bytes);
    at = put_length(at, bytes);
    load_answer_write(body, parts, at);
    at = load_put(at + bytes, "\r\n", 2);
    return (size_t)(at - out);
}

static size_t write_event(const struct load_body *body, const struct load_event *event, uint8_t *out) {
    size_t bytes = load_event_bytes(body, event->topic);
    uint8_t *at = load_put(load_put(out, "PUB ", 4), event->topic->text, event->topic->bytes);
    at = put_length(at, bytes);
    load_event_write(body, event, at);
    at = load_put(at + bytes, "\r\n", 2);
    return (size_t)(at - out);
}

// Reads `MSG <subject> <sid> [<reply-to>] <bytes>`, without its line end.
static bool read_message_line(const uint8_t *line, size_t bytes, struct load_message *message) {
    const uint8_t *words[4];
    size_t lengths[4], count = 0;
    for (size_t at = 4; at < bytes && count < 4; count++) {
        const uint8_t *space = memchr(line + at, ' ', bytes - at);
        size_t end = space == NULL ? bytes : (size_t)(space - line);
        words[count] = line + at;
        lengths[count] = end - at;
        at = end + 1;
    }
    if (count < 3) {
        return false;
    }
    for (size_t i = 0; i < lengths[count - 1]; i++) {
        uint8_t digit = (uint8_t)(words[count - 1][i] - '0');
        if (digit > 9 || i > 9) {
            return false;
        }
        message->body_bytes = message->body_bytes * 10 + digit;
    }
    message->reply_to = count == 4 ? words[2] : NULL;
    message->reply_to_bytes = count == 4 ? lengths[2] : 0;
    return message->reply_to_bytes <= NATS_SUBJECTS_BYTES_MAX;
}

static enum load_step next(const uint8_t *in, size_t bytes, struct load_message *message) {
    const uint8_t *line_end = memchr(in, '\n', bytes);
    if (line_end == NULL) {
        return bytes < NATS_LINE_BYTES_MAX ? LOAD_PARTIAL : LOAD_BROKEN;
    }
    size_t line_bytes = (size_t)(line_end - in) + 1;
    *message = (struct load_message){.bytes = line_bytes};
    if (line_bytes < 5 || memcmp(in, "MSG ", 4) != 0) {
        message->control_answer = memcmp(in, "PING", 4) == 0 ? "PONG\r\n" : NULL;
        return in[0] == '-' ? LOAD_BROKEN : LOAD_MESSAGE;
    }
    if (!read_message_line(in, line_bytes - 2, message)) {
        return LOAD_BROKEN;
    }
    message->body = in + line_bytes;
    message->bytes = line_bytes + message->body_bytes + 2;
    return message->bytes <= bytes ? LOAD_MESSAGE : LOAD_PARTIAL;
}

const struct load_wire load_wire_nats = {
    .name = "nats",
    .greet = greet,
    .wrap_bytes_max = NATS_SUBJECTS_BYTES_MAX + 64,
    .write_request = write_request,
    .write_answer = write_answer,
    .write_event = write_event,
    .next = next,
};

// --- In messages of WebSocket

static int greet_websocket(const struct load_greeting *greeting) {
    char hello[NATS_HELLO_BYTES_MAX], heard[NATS_LINE_BYTES_MAX] = "";
    int socket = load_websocket_dial(greeting->at, "/");
    if (socket < 0) {
        return socket;
    }
    put_hello(greeting, hello);
    int error = load_websocket_say(socket, WEBSOCKET_BINARY, hello);
    while (error >= 0 && strstr(heard, "PONG\r\n") == NULL) {
        error = (int)load_websocket_hear(socket, heard, sizeof heard);
        if (error >= 0 && strstr(heard, "-ERR") != NULL) {
            fprintf(stderr, "bench: %s\n", heard);
            error = -EPROTO;
        }
    }
    return load_greeted(socket, error < 0 ? error : 0);
}

// The text lies where the longest head would end.
static size_t wrap(uint8_t *out, size_t bytes) {
    memmove(out + load_websocket_head_bytes(bytes), out + LOAD_WEBSOCKET_HEAD_BYTES_MAX, bytes);
    return load_websocket_finish(out, WEBSOCKET_BINARY, bytes);
}

static size_t write_wrapped_request(const struct load_body *body, const struct load_request *request,
                                    uint8_t *out) {
    return wrap(out, write_request(body, request, out + LOAD_WEBSOCKET_HEAD_BYTES_MAX));
}

static size_t write_wrapped_answer(const struct load_body *body, const struct load_message *asked,
                                   const struct load_parts *parts, uint8_t *out) {
    return wrap(out, write_answer(body, asked, parts, out + LOAD_WEBSOCKET_HEAD_BYTES_MAX));
}

static size_t write_wrapped_event(const struct load_body *body, const struct load_event *event,
                                  uint8_t *out) {
    return wrap(out, write_event(body, event, out + LOAD_WEBSOCKET_HEAD_BYTES_MAX));
}

// A message of WebSocket holds any number of whole ones of NATS: its head is read over, as a control message by itself.
static enum load_step next_wrapped(const uint8_t *in, size_t bytes, struct load_message *message) {
    if ((in[0] & 0x80) == 0) {
        enum load_step step = next(in, bytes, message);
        if (step == LOAD_MESSAGE && message->control_answer != NULL) {
            message->control_answer = "\x82\x86\x01\x01\x01\x01QNOF\x0c\x0b"; // PONG, masked
        }
        return step;
    }
    if (bytes < 2) {
        return LOAD_PARTIAL;
    }
    *message = (struct load_message){.bytes = in[1] < 126 ? 2 : in[1] == 126 ? 4 : in[1] == 127 ? 10 : 0};
    if (message->bytes == 0 || in[0] != (0x80 | WEBSOCKET_BINARY)) {
        return LOAD_BROKEN;
    }
    return bytes < message->bytes ? LOAD_PARTIAL : LOAD_MESSAGE;
}

const struct load_wire load_wire_nats_websocket = {
    .name = "nats-websocket",
    .greet = greet_websocket,
    .wrap_bytes_max = NATS_SUBJECTS_BYTES_MAX + 64 + LOAD_WEBSOCKET_HEAD_BYTES_MAX,
    .write_request = write_wrapped_request,
    .write_answer = write_wrapped_answer,
    .write_event = write_wrapped_event,
    .next = next_wrapped,
};
