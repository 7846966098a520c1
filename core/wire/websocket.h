// WebSocket (RFC 6455, no extensions), as a server and a client read and write it. A unit is one text message, whole or
// in fragments, with control frames between the fragments. Each byte of a payload is unmasked once, in place, and moved
// down over the headers before it, so that the body is contiguous.
//
// The scan returns UNIT_CONTROL when a control frame is whole, and its payload is at control_at. A control frame that
// isn't between fragments is a unit by itself, without a body: UNIT_WHOLE follows.
//
// A frame's length is judged when its header has come, before memory is taken for the payload: no message may be over
// body_bytes_max, in any number of fragments. A message's UTF-8 is judged when the message is whole.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/unit.h"

enum websocket_opcode {
    WEBSOCKET_CONTINUATION,
    WEBSOCKET_TEXT,
    WEBSOCKET_BINARY,
    WEBSOCKET_CLOSE = 8,
    WEBSOCKET_PING,
    WEBSOCKET_PONG,
};

enum websocket_code {
    WEBSOCKET_CODE_NONE = 0, // a close frame without a code
    WEBSOCKET_CODE_NORMAL = 1000,
    WEBSOCKET_CODE_GOING_AWAY = 1001,
    WEBSOCKET_CODE_PROTOCOL = 1002,
    WEBSOCKET_CODE_UNSUPPORTED = 1003,
    WEBSOCKET_CODE_NOT_UTF8 = 1007,
    WEBSOCKET_CODE_POLICY = 1008,
    WEBSOCKET_CODE_TOO_LARGE = 1009,
    WEBSOCKET_CODE_TRY_LATER = 1013,
};

enum {
    WEBSOCKET_CONTROL_BYTES_MAX = 125, // bytes of a control frame's payload
    WEBSOCKET_CONTROL_HEAD_BYTES = 2,  // bytes of the header that a server sends
    WEBSOCKET_REASON_BYTES_MAX = WEBSOCKET_CONTROL_BYTES_MAX - 2,
};

// Scans on in the unit that starts at `bytes`, of which `count` have come: the same bytes as at the last call, as that
// call left them, and perhaps more. The length is known with the header of the message's last frame.
enum unit_result websocket_scan(struct unit *unit, uint8_t *bytes, size_t count,
                                const struct unit_limits *limits);
// Scans on in a unit that a server sends, which isn't masked.
enum unit_result websocket_client_scan(struct unit *unit, uint8_t *bytes, size_t count,
                                       const struct unit_limits *limits);
// Returns the most bytes that a unit can have while its length isn't known. The caller must close the unit's gap after
// each arrival.
uint32_t websocket_open_max(const struct unit_limits *limits);
// Returns the control frame for which the last scan returned UNIT_CONTROL: a close, a ping or a pong. A close's payload
// is valid.
enum websocket_opcode websocket_aside(const struct unit *unit);

// Reads the payload of a close frame: the code, and a reason in UTF-8. Sets *code to WEBSOCKET_CODE_NONE without a
// payload. Returns the fault, or UNIT_FAULT_NONE.
enum unit_fault websocket_close_read(const uint8_t *payload, size_t count, uint16_t *code);
// Returns the code with which the connection is closed for a fault.
enum websocket_code websocket_code_of(enum unit_fault fault);

// Writes the head of a text message of `body_bytes`, unmasked. Returns the head's length, 2 to 10 bytes.
size_t websocket_head(char *out, uint64_t body_bytes);
// Writes the head of a client's frame with this opcode. Returns the head's length, 6 to 14 bytes. The caller must mask
// the payload (websocket_mask_off does that, too).
size_t websocket_client_head(char *out, enum websocket_opcode opcode, uint64_t payload_bytes,
                             const uint8_t mask[WEBSOCKET_MASK_BYTES]);
// Writes the head of a server's control frame, WEBSOCKET_CONTROL_HEAD_BYTES long.
void websocket_control_head(char out[WEBSOCKET_CONTROL_HEAD_BYTES], enum websocket_opcode opcode,
                            size_t payload_bytes);
// Writes a close frame with an ASCII reason, which is cut if it is too long. Returns the frame's length in bytes.
size_t websocket_close(char out[WEBSOCKET_CONTROL_HEAD_BYTES + WEBSOCKET_CONTROL_BYTES_MAX],
                       enum websocket_code code, const char *reason);

// --- The opening handshake

// Makes the proof that a server has read a WebSocket's opening handshake (RFC 6455 section 4.2.2).

enum { WEBSOCKET_KEY_BYTES = 24, WEBSOCKET_ACCEPT_BYTES = 28 };

// Writes the Sec-WebSocket-Accept for a Sec-WebSocket-Key, without a NUL. Returns false if the key isn't 16 bytes in
// base64, or without memory.
bool websocket_accept(const uint8_t *key, size_t count, char out[WEBSOCKET_ACCEPT_BYTES]);
