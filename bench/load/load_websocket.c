// See load_websocket.h; and the load in patchbay's own protocol over WebSocket.
// Success: a server's frames are whole messages, read by their lengths. Failure: a connection that isn't
// upgraded is refused; a frame that is closed, masked, or a part of a message is broken.
#include "bench/load/load_websocket.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/load/load_dial.h"
#include "bench/load/load_http.h"
#include "bench/load/load_patchbay.h"
#include "core/wire/websocket_mask.h"

enum {
    FINAL = 0x80,
    LENGTH = 0x7f,
    LENGTH_16 = 126,
    LENGTH_64 = 127,
    PAYLOAD_BYTES_MAX = 1 << 30,
    GREETING_BYTES_MAX = 4096,
};

// --- Greeting

int load_websocket_dial(const char *at, const char *path) {
    int dialled = load_dial(at);
    if (dialled < 0) {
        return dialled;
    }
    char fields[256];
    snprintf(fields, sizeof fields,
             "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
    return load_greeted(dialled, load_http_ask(dialled, path, fields, 101));
}

int load_websocket_say(int socket, enum websocket_opcode opcode, const char *text) {
    uint8_t frame[GREETING_BYTES_MAX];
    size_t bytes = strlen(text), head = load_websocket_head_bytes(bytes);
    if (head + bytes > sizeof frame) {
        return -EMSGSIZE;
    }
    memcpy(frame + head, text, bytes);
    return load_say(socket, frame, load_websocket_finish(frame, opcode, bytes));
}

ssize_t load_websocket_hear(int socket, char *text, size_t capacity) {
    uint8_t head[2], more[2] = {0};
    int error = load_hear(socket, head, sizeof head);
    size_t bytes = head[1];
    if (error == 0 && bytes == LENGTH_16) {
        error = load_hear(socket, more, sizeof more);
        bytes = (size_t)more[0] << 8 | more[1];
    }
    if (error == 0 && (bytes >= capacity || head[1] >= LENGTH_64)) {
        error = -EPROTO;
    }
    if (error == 0) {
        error = load_hear(socket, text, bytes);
    }
    if (error < 0) {
        return error;
    }
    text[bytes] = '\0';
    return (ssize_t)bytes;
}

// --- Frames

size_t load_websocket_head_bytes(size_t payload_bytes) {
    return payload_bytes < LENGTH_16 ? 6 : payload_bytes <= UINT16_MAX ? 8 : LOAD_WEBSOCKET_HEAD_BYTES_MAX;
}

size_t load_websocket_finish(uint8_t *out, enum websocket_opcode opcode, size_t payload_bytes) {
    static uint32_t random = 0x9e3779b9;
    uint8_t mask[WEBSOCKET_MASK_BYTES];
    random ^= random << 13; // xorshift32 (Marsaglia 2003)
    random ^= random >> 17;
    random ^= random << 5;
    memcpy(mask, &random, sizeof mask);
    size_t head = websocket_client_head((char *)out, opcode, payload_bytes, mask);
    websocket_mask_off(out + head, out + head, payload_bytes, mask);
    return head + payload_bytes;
}

enum load_step load_websocket_next(const uint8_t *in, size_t bytes, struct load_message *message) {
    if (bytes < 2) {
        return LOAD_PARTIAL;
    }
    uint64_t payload = in[1];
    size_t head = payload == LENGTH_16 ? 4 : payload == LENGTH_64 ? 10 : 2;
    if (payload > LENGTH || bytes < head) {
        return payload > LENGTH ? LOAD_BROKEN : LOAD_PARTIAL;
    }
    if (head == 4) {
        payload = (uint64_t)in[2] << 8 | in[3];
    } else if (head == 10) {
        memcpy(&payload, in + 2, sizeof payload);
        payload = be64toh(payload);
    }
    if (payload > PAYLOAD_BYTES_MAX || (in[0] & FINAL) == 0) {
        return LOAD_BROKEN;
    }
    *message = (struct load_message){.bytes = head + (size_t)payload};
    if (bytes < message->bytes) {
        return LOAD_PARTIAL;
    }
    switch (in[0] & 15) {
    case WEBSOCKET_TEXT:
    case WEBSOCKET_BINARY:
        message->body = in + head;
        message->body_bytes = (size_t)payload;
        return LOAD_MESSAGE;
    case WEBSOCKET_PING: // of what it bears none can be said back by a text of fixed length
        message->control_answer = "\x8a\x80mask";
        return payload == 0 ? LOAD_MESSAGE : LOAD_BROKEN;
    default:
        return LOAD_BROKEN;
    }
}

// --- The hub

// Returns whether it was refused; told then.
static int read_answer(int socket) {
    char text[GREETING_BYTES_MAX];
    ssize_t bytes;
    do {
        bytes = load_websocket_hear(socket, text, sizeof text);
    } while (bytes >= 0 && strstr(text, "\"id\":1") == NULL);
    if (bytes >= 0 && strstr(text, "\"result\"") == NULL) {
        fprintf(stderr, "bench: %s\n", text);
        return -EPROTO;
    }
    return bytes < 0 ? (int)bytes : 0;
}

static int greet(const struct load_greeting *greeting) {
    int socket = load_websocket_dial(greeting->at, "/ws");
    if (socket < 0) {
        return socket;
    }
    char params[LOAD_PARAMS_BYTES_MAX], text[LOAD_PARAMS_BYTES_MAX + 64];
    const char *method = load_first_request(greeting, params);
    if (method == NULL) {
        return socket;
    }
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", method,
             params);
    int error = load_websocket_say(socket, WEBSOCKET_TEXT, text);
    return load_greeted(socket, error < 0 ? error : read_answer(socket));
}

static size_t write_request(const struct load_body *body, const struct load_request *request, uint8_t *out) {
    size_t bytes = load_request_bytes(body, request);
    load_request_write(body, request, out + load_websocket_head_bytes(bytes));
    return load_websocket_finish(out, WEBSOCKET_TEXT, bytes);
}

static size_t write_answer(const struct load_body *body, const struct load_message *asked,
                           const struct load_parts *parts, uint8_t *out) {
    (void)asked;
    size_t bytes = load_answer_bytes(body, parts->id_bytes);
    load_answer_write(body, parts, out + load_websocket_head_bytes(bytes));
    return load_websocket_finish(out, WEBSOCKET_TEXT, bytes);
}

static size_t write_event(const struct load_body *body, const struct load_event *event, uint8_t *out) {
    size_t bytes = load_event_bytes(body, event->topic);
    load_event_write(body, event, out + load_websocket_head_bytes(bytes));
    return load_websocket_finish(out, WEBSOCKET_TEXT, bytes);
}

const struct load_wire load_wire_websocket = {
    .name = "patchbay-websocket",
    .is_hub = true,
    .greet = greet,
    .wrap_bytes_max = LOAD_WEBSOCKET_HEAD_BYTES_MAX,
    .write_request = write_request,
    .write_answer = write_answer,
    .write_event = write_event,
    .next = load_websocket_next,
};
