// Events through an MQTT 3.1.1 broker at quality of service 0 (OASIS MQTT 3.1.1): nothing is acknowledged.
// Success: packets are read by their lengths. Failure: a refused connection or subscription, or a packet of
// unexpected kind, is broken.
#include <errno.h>
#include <string.h>

#include "bench/load/load_dial.h"
#include "bench/load/load_wire.h"

enum {
    PACKET_CONNECT = 0x10,
    PACKET_CONNACK = 0x20,
    PACKET_PUBLISH = 0x30, // with no flags: QoS 0, not retained
    PACKET_SUBSCRIBE = 0x82,
    PACKET_SUBACK = 0x90,
    LENGTH_BYTES_MAX = 4,
};

// The remaining length: seven bits a byte, the lowest first (2.2.3).
static uint8_t *put_length(uint8_t *out, size_t length) {
    for (; length >= 128; length >>= 7) {
        *out++ = (uint8_t)(length | 128);
    }
    *out++ = (uint8_t)length;
    return out;
}

static uint8_t *put_text(uint8_t *out, const char *text, size_t bytes) {
    *out++ = (uint8_t)(bytes >> 8);
    *out++ = (uint8_t)bytes;
    return load_put(out, text, bytes);
}

// Version 4 of the protocol, a clean session, no keep-alive, and a client identifier that the broker makes
// (3.1).
static int say_connect(int socket) {
    static const uint8_t connect[] = {PACKET_CONNECT, 12, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 0, 0, 0};
    uint8_t answer[4];
    int error = load_say(socket, connect, sizeof connect);
    if (error == 0) {
        error = load_hear(socket, answer, sizeof answer);
    }
    return error < 0 ? error : answer[0] == PACKET_CONNACK && answer[3] == 0 ? 0 : -EPROTO;
}

static int say_subscribe(int socket, const struct load_name *topic) {
    uint8_t packet[LOAD_NAME_BYTES_MAX + 16], answer[5];
    packet[0] = PACKET_SUBSCRIBE;
    uint8_t *at = load_put(put_length(packet + 1, topic->bytes + 5), "\0\1", 2); // the packet's number
    at = put_text(at, topic->text, topic->bytes);
    *at++ = 0; // QoS
    int error = load_say(socket, packet, (size_t)(at - packet));
    if (error == 0) {
        error = load_hear(socket, answer, sizeof answer);
    }
    return error < 0 ? error : answer[0] == PACKET_SUBACK && answer[4] == 0 ? 0 : -EPROTO;
}

static int greet(const struct load_greeting *greeting) {
    int dialled = load_dial(greeting->at);
    if (dialled < 0) {
        return dialled;
    }
    int error = say_connect(dialled);
    if (error == 0 && greeting->role == LOAD_SUBSCRIBES) {
        error = say_subscribe(dialled, greeting->name);
    }
    return load_greeted(dialled, error);
}

static size_t write_event(const struct load_body *body, const struct load_event *event, uint8_t *out) {
    size_t bytes = load_event_bytes(body, event->topic);
    *out = PACKET_PUBLISH;
    uint8_t *at = put_length(out + 1, 2 + event->topic->bytes + bytes);
    at = put_text(at, event->topic->text, event->topic->bytes);
    load_event_write(body, event, at);
    return (size_t)(at - out) + bytes;
}

static enum load_step next(const uint8_t *in, size_t bytes, struct load_message *message) {
    *message = (struct load_message){0};
    size_t at = 1, length = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (at >= bytes) {
            return LOAD_PARTIAL;
        }
        length |= (size_t)(in[at] & 127) << shift;
        if ((in[at++] & 128) == 0) {
            break;
        }
        if (at > LENGTH_BYTES_MAX) {
            return LOAD_BROKEN;
        }
    }
    if (in[0] != PACKET_PUBLISH || length < 2) {
        return LOAD_BROKEN;
    }
    if (bytes - at < length) {
        return LOAD_PARTIAL;
    }
    size_t topic_bytes = (size_t)in[at] << 8 | in[at + 1];
    if (topic_bytes + 2 > length) {
        return LOAD_BROKEN;
    }
    message->bytes = at + length;
    message->body = in + at + 2 + topic_bytes;
    message->body_bytes = length - 2 - topic_bytes;
    return LOAD_MESSAGE;
}

const struct load_wire load_wire_mqtt = {
    .name = "mqtt",
    .greet = greet,
    .wrap_bytes_max = LOAD_NAME_BYTES_MAX + 16,
    .write_event = write_event,
    .next = next,
};
