// Functions that the protocols of the load over WebSocket share: the handshake and whole messages, blocking,
// while a connection is greeted; then heads and masks of frames where they are written.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bench/load/load_wire.h"
#include "core/wire/websocket.h"

enum { LOAD_WEBSOCKET_HEAD_BYTES_MAX = 14 };

// Connects to a URI or HOST:PORT and has the connection upgraded at this path. The socket or -errno; -EPROTO when it
// was refused, which is then told on standard error.
int load_websocket_dial(const char *at, const char *path);
// Sends one message. 0 or -errno.
int load_websocket_say(int socket, enum websocket_opcode opcode, const char *text);
// Receives the payload of one frame and puts a zero behind it. Returns its length, -EPROTO when it doesn't
// fit in `capacity`, or -errno.
ssize_t load_websocket_hear(int socket, char *text, size_t capacity);

// Bytes of the head of a client's frame with such a payload.
size_t load_websocket_head_bytes(size_t payload_bytes);
// Writes the head, and puts a mask, another one each time, on the payload that lies behind it already. Returns the
// frame's length.
size_t load_websocket_finish(uint8_t *out, enum websocket_opcode opcode, size_t payload_bytes);
// Finds the first frame that a server sent: its payload as the message's body; a ping is a control message.
enum load_step load_websocket_next(const uint8_t *in, size_t bytes, struct load_message *message);
