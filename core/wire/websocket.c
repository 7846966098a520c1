#include "core/wire/websocket.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/json/simdjson.h"

// The scan goes frame by frame. A header is read again until all of it has come, 14 bytes at most. A data frame's
// payload is unmasked as it comes, a control frame's when it is whole.

// The place of unit.at: at a header, or in a payload. A new scan is all zeros.
enum state { AT_FRAME, IN_PAYLOAD, REFUSED };

// Bits of unit.seen. The low bits are the opcode of the last control frame.
enum { IN_MESSAGE = 0x80, NOT_ASCII = 0x40, OF_SERVER = 0x20, OPCODE = 0x0f };

enum { LAST = 0x80, RESERVED = 0x70, MASKED = 0x80, LENGTH = 0x7f };
enum { LENGTH_16 = 126, LENGTH_64 = 127 };
enum { HEADER_BYTES_MAX = 2 + 8 + WEBSOCKET_MASK_BYTES };

struct header {
    uint32_t bytes;
    uint64_t payload_bytes;
    uint8_t opcode;
    bool last;
};

static void websocket_refuse(struct unit *unit, enum unit_fault fault, uint32_t at) {
    assert(fault > UNIT_FAULT_NONE && fault < UNIT_FAULTS_COUNT);
    unit->state = REFUSED;
    unit->length_known = false;
    unit->fault = fault;
    unit->fault_at = at;
}

static bool is_control(uint8_t opcode) {
    return opcode >= WEBSOCKET_CLOSE;
}

// --- Headers

static enum unit_fault check_first(const struct unit *unit, uint8_t byte) {
    uint8_t opcode = byte & OPCODE;
    bool in_message = unit->seen & IN_MESSAGE;
    if (byte & RESERVED)
        return UNIT_FAULT_WEBSOCKET_BITS;
    if (opcode > WEBSOCKET_PONG || (opcode > WEBSOCKET_BINARY && !is_control(opcode)))
        return UNIT_FAULT_WEBSOCKET_OPCODE;
    if (is_control(opcode))
        return byte & LAST ? UNIT_FAULT_NONE : UNIT_FAULT_WEBSOCKET_CONTROL;
    if (opcode == WEBSOCKET_CONTINUATION)
        return in_message ? UNIT_FAULT_NONE : UNIT_FAULT_WEBSOCKET_CONTINUATION;
    if (in_message)
        return UNIT_FAULT_WEBSOCKET_WITHIN;
    return opcode == WEBSOCKET_BINARY ? UNIT_FAULT_WEBSOCKET_BINARY : UNIT_FAULT_NONE;
}

static enum unit_fault check_second(const struct unit *unit, const struct header *header, uint8_t byte) {
    if (unit->seen & OF_SERVER && byte & MASKED)
        return UNIT_FAULT_WEBSOCKET_MASKED;
    if (!(unit->seen & OF_SERVER) && !(byte & MASKED))
        return UNIT_FAULT_WEBSOCKET_UNMASKED;
    if (is_control(header->opcode) && (byte & LENGTH) > WEBSOCKET_CONTROL_BYTES_MAX)
        return UNIT_FAULT_WEBSOCKET_CONTROL;
    return UNIT_FAULT_NONE;
}

static uint64_t big_endian(const uint8_t *bytes, unsigned count) {
    uint64_t value = 0;
    for (unsigned at = 0; at < count; at++)
        value = value << 8 | bytes[at];
    return value;
}

static unsigned length_bytes(uint8_t length) {
    return length == LENGTH_64 ? 8 : length == LENGTH_16 ? 2 : 0;
}

// Checks that the length is encoded in as few bytes as possible, and that the message so far and this payload are
// within the limit.
static enum unit_fault check_length(const struct unit *unit, struct header *header, const uint8_t *bytes,
                                    const struct unit_limits *limits) {
    uint8_t length = bytes[1] & LENGTH;
    header->payload_bytes = length;
    if (length >= LENGTH_16)
        header->payload_bytes = big_endian(bytes + 2, length_bytes(length));
    if ((length == LENGTH_16 && header->payload_bytes < LENGTH_16) ||
        (length == LENGTH_64 && (header->payload_bytes <= UINT16_MAX || header->payload_bytes >> 63)))
        return UNIT_FAULT_WEBSOCKET_LENGTH;
    bool fits = unit->body_bytes <= limits->body_bytes_max &&
                header->payload_bytes <= limits->body_bytes_max - unit->body_bytes;
    return is_control(header->opcode) || fits ? UNIT_FAULT_NONE : UNIT_FAULT_BODY_TOO_LARGE;
}

// Reads the header at unit.at. Returns whether all of the header has come and is good. A fault is found as soon as its
// byte has come.
static bool read_header(struct unit *unit, const uint8_t *bytes, size_t count,
                        const struct unit_limits *limits, struct header *header) {
    enum unit_fault fault;
    if (count < 1)
        return false;
    if ((fault = check_first(unit, bytes[0]))) {
        websocket_refuse(unit, fault, unit->at);
        return false;
    }
    header->opcode = bytes[0] & OPCODE;
    header->last = bytes[0] & LAST;
    if (count < 2)
        return false;
    if ((fault = check_second(unit, header, bytes[1]))) {
        websocket_refuse(unit, fault, unit->at + 1);
        return false;
    }
    header->bytes = 2 + length_bytes(bytes[1] & LENGTH);
    if (count < header->bytes)
        return false;
    if ((fault = check_length(unit, header, bytes, limits))) {
        websocket_refuse(unit, fault, unit->at + 1);
        return false;
    }
    if (!(unit->seen & OF_SERVER))
        header->bytes += WEBSOCKET_MASK_BYTES;
    return count >= header->bytes;
}

// --- Payloads

// Takes the mask from the end of the header, or an all-zero mask for a server's frame. (The bytes of such a frame may
// still be moved down.)
static void take_mask(const struct unit *unit, const uint8_t *header_end,
                      uint8_t mask[WEBSOCKET_MASK_BYTES]) {
    if (unit->seen & OF_SERVER)
        memset(mask, 0, WEBSOCKET_MASK_BYTES);
    else
        memcpy(mask, header_end - WEBSOCKET_MASK_BYTES, WEBSOCKET_MASK_BYTES);
}

// Begins a payload, whose length is within a limit that fits 32 bits.
static void begin_payload(struct unit *unit, const struct header *header, const uint8_t *bytes) {
    uint32_t payload_bytes = (uint32_t)header->payload_bytes;
    unit->at += header->bytes;
    take_mask(unit, bytes + unit->at, unit->mask);
    unit->left = payload_bytes;
    unit->state = IN_PAYLOAD;
    if (!(unit->seen & IN_MESSAGE))
        unit->body_at = unit->at;
    unit->seen |= IN_MESSAGE;
    if (!header->last)
        return;
    unit->length_known = true;
    unit->bytes = unit->at + payload_bytes;
    unit->body_bytes += payload_bytes;
}

// Takes the bytes of the payload that have come. Once the unit is sized, body_bytes counts bytes that are still to
// come, too.
static void take_payload(struct unit *unit, uint8_t *bytes, size_t count) {
    uint32_t come = count - unit->at < unit->left ? (uint32_t)(count - unit->at) : unit->left;
    uint32_t to = unit->body_at + unit->body_bytes - (unit->length_known ? unit->left : 0);
    assert(to <= unit->at && unit->at + come <= count);
    if (!websocket_mask_off(bytes + to, bytes + unit->at, come, unit->mask))
        unit->seen |= NOT_ASCII;
    unit->at += come;
    unit->left -= come;
    if (!unit->length_known)
        unit->body_bytes += come;
}

static enum unit_result close_message(struct unit *unit, const uint8_t *bytes) {
    assert(unit->length_known && unit->at == unit->bytes && unit->body_at + unit->body_bytes <= unit->bytes);
    if ((unit->seen & NOT_ASCII) && !simdjson_utf8(bytes + unit->body_at, unit->body_bytes)) {
        websocket_refuse(unit, UNIT_FAULT_WEBSOCKET_UTF8, unit->body_at);
        return UNIT_BAD;
    }
    unit->seen &= (uint8_t)~NOT_ASCII; // the UTF-8 has been judged
    unit->counts_without_body = unit->seen & IN_MESSAGE;
    return UNIT_WHOLE;
}

// Ends a unit that is a control frame alone.
static void close_alone(struct unit *unit) {
    assert(unit->body_bytes == 0 && unit->left == 0);
    unit->state = IN_PAYLOAD;
    unit->length_known = true;
    unit->bytes = unit->at;
}

static enum unit_result take_control(struct unit *unit, const struct header *header, uint8_t *bytes) {
    uint32_t at = unit->at + header->bytes, payload_bytes = (uint32_t)header->payload_bytes;
    uint8_t mask[WEBSOCKET_MASK_BYTES];
    uint16_t code;
    enum unit_fault fault = UNIT_FAULT_NONE;
    take_mask(unit, bytes + at, mask);
    websocket_mask_off(bytes + at, bytes + at, payload_bytes, mask);
    if (header->opcode == WEBSOCKET_CLOSE)
        fault = websocket_close_read(bytes + at, payload_bytes, &code);
    if (fault) {
        websocket_refuse(unit, fault, at);
        return UNIT_BAD;
    }
    unit->control_at = at;
    unit->control_bytes = payload_bytes;
    unit->seen = (uint8_t)((unit->seen & ~OPCODE) | header->opcode);
    unit->at = at + payload_bytes;
    if (!(unit->seen & IN_MESSAGE))
        close_alone(unit);
    return UNIT_CONTROL;
}

enum unit_result websocket_scan(struct unit *unit, uint8_t *bytes, size_t count,
                                const struct unit_limits *limits) {
    assert(count >= unit->at);
    unit->control_at = unit->control_bytes = 0;
    while (unit->state != REFUSED) {
        if (unit->state == AT_FRAME) {
            struct header header;
            size_t come = count - unit->at;
            if (!read_header(unit, bytes + unit->at, come, limits, &header))
                break;
            if (is_control(header.opcode) && come < header.bytes + header.payload_bytes)
                break;
            if (is_control(header.opcode))
                return take_control(unit, &header, bytes);
            begin_payload(unit, &header, bytes);
        }
        take_payload(unit, bytes, count);
        if (unit->length_known)
            return unit->left ? UNIT_PARTIAL : close_message(unit, bytes);
        if (unit->left)
            break;
        unit->state = AT_FRAME;
    }
    return unit->state == REFUSED ? UNIT_BAD : UNIT_OPEN;
}

enum unit_result websocket_client_scan(struct unit *unit, uint8_t *bytes, size_t count,
                                       const struct unit_limits *limits) {
    unit->seen |= OF_SERVER;
    return websocket_scan(unit, bytes, count, limits);
}

// Counts the first header and a whole body, then a header or a control frame, and an arrival that is all gap.
uint32_t websocket_open_max(const struct unit_limits *limits) {
    enum { CONTROL_BYTES_MAX = 2 + WEBSOCKET_MASK_BYTES + WEBSOCKET_CONTROL_BYTES_MAX };
    uint32_t besides = HEADER_BYTES_MAX + CONTROL_BYTES_MAX + RECEIVE_BUFFER_BYTES;
    assert(limits->body_bytes_max <= UINT32_MAX - besides);
    return limits->body_bytes_max + besides;
}

enum websocket_opcode websocket_aside(const struct unit *unit) {
    assert(is_control(unit->seen & OPCODE));
    return (enum websocket_opcode)(unit->seen & OPCODE);
}

// --- Closing

// Returns whether a peer may send this code: codes of the protocol and its registry, and those that are free
// for libraries and programs.
static bool may_be_sent(unsigned code) {
    bool of_protocol = code >= 1000 && code <= 1014 && (code < 1004 || code > 1006);
    return of_protocol || (code >= 3000 && code <= 4999);
}

enum unit_fault websocket_close_read(const uint8_t *payload, size_t count, uint16_t *code) {
    *code = WEBSOCKET_CODE_NONE;
    if (count == 0)
        return UNIT_FAULT_NONE;
    if (count < 2 || !may_be_sent((unsigned)big_endian(payload, 2)))
        return UNIT_FAULT_WEBSOCKET_CLOSE;
    *code = (uint16_t)big_endian(payload, 2);
    return simdjson_utf8(payload + 2, count - 2) ? UNIT_FAULT_NONE : UNIT_FAULT_WEBSOCKET_UTF8;
}

enum websocket_code websocket_code_of(enum unit_fault fault) {
    switch (fault) {
    case UNIT_FAULT_WEBSOCKET_BINARY:
        return WEBSOCKET_CODE_UNSUPPORTED;
    case UNIT_FAULT_WEBSOCKET_UTF8:
        return WEBSOCKET_CODE_NOT_UTF8;
    case UNIT_FAULT_BODY_TOO_LARGE:
        return WEBSOCKET_CODE_TOO_LARGE;
    default:
        return WEBSOCKET_CODE_PROTOCOL;
    }
}

// --- Going out

static size_t put_length(char *out, uint64_t count, unsigned bytes) {
    for (unsigned at = 0; at < bytes; at++)
        out[at] = (char)(count >> 8 * (bytes - 1 - at));
    return bytes;
}

static size_t put_head(char *out, enum websocket_opcode opcode, uint8_t masked, uint64_t count) {
    uint8_t length = count > UINT16_MAX ? LENGTH_64 : count >= LENGTH_16 ? LENGTH_16 : (uint8_t)count;
    out[0] = (char)(LAST | opcode);
    out[1] = (char)(masked | length);
    return 2 + put_length(out + 2, count, length_bytes(length));
}

size_t websocket_head(char *out, uint64_t body_bytes) {
    return put_head(out, WEBSOCKET_TEXT, 0, body_bytes);
}

size_t websocket_client_head(char *out, enum websocket_opcode opcode, uint64_t payload_bytes,
                             const uint8_t mask[WEBSOCKET_MASK_BYTES]) {
    size_t bytes = put_head(out, opcode, MASKED, payload_bytes);
    memcpy(out + bytes, mask, WEBSOCKET_MASK_BYTES);
    return bytes + WEBSOCKET_MASK_BYTES;
}

void websocket_control_head(char out[WEBSOCKET_CONTROL_HEAD_BYTES], enum websocket_opcode opcode,
                            size_t payload_bytes) {
    assert(is_control((uint8_t)opcode) && payload_bytes <= WEBSOCKET_CONTROL_BYTES_MAX);
    put_head(out, opcode, 0, payload_bytes);
}

size_t websocket_close(char out[WEBSOCKET_CONTROL_HEAD_BYTES + WEBSOCKET_CONTROL_BYTES_MAX],
                       enum websocket_code code, const char *reason) {
    size_t bytes = code ? 2 + strnlen(reason, WEBSOCKET_REASON_BYTES_MAX) : 0;
    websocket_control_head(out, WEBSOCKET_CLOSE, bytes);
    if (bytes) {
        put_length(out + WEBSOCKET_CONTROL_HEAD_BYTES, code, 2);
        memcpy(out + WEBSOCKET_CONTROL_HEAD_BYTES + 2, reason, bytes - 2);
    }
    return WEBSOCKET_CONTROL_HEAD_BYTES + bytes;
}

// --- The opening handshake

static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; // from RFC 6455 section 1.3
enum { GUID_BYTES = sizeof guid - 1 };

static bool is_base64(uint8_t byte) {
    uint8_t letter = byte | 0x20;
    return (letter >= 'a' && letter <= 'z') || (byte >= '0' && byte <= '9') || byte == '+' || byte == '/';
}

// Returns whether the key is 16 bytes in base64: 22 digits and two "=".
static bool is_key(const uint8_t *key, size_t count) {
    if (count != WEBSOCKET_KEY_BYTES || key[count - 2] != '=' || key[count - 1] != '=')
        return false;
    for (size_t at = 0; at < count - 2; at++)
        if (!is_base64(key[at]))
            return false;
    return true;
}

bool websocket_accept(const uint8_t *key, size_t count, char out[WEBSOCKET_ACCEPT_BYTES]) {
    static_assert(WEBSOCKET_ACCEPT_BYTES == (SHA_DIGEST_LENGTH + 2) / 3 * 4, "base64");
    uint8_t text[WEBSOCKET_KEY_BYTES + GUID_BYTES], digest[SHA_DIGEST_LENGTH];
    uint8_t encoded[WEBSOCKET_ACCEPT_BYTES + 1]; // with the NUL that EVP_EncodeBlock writes
    if (!is_key(key, count))
        return false;
    memcpy(text, key, WEBSOCKET_KEY_BYTES);
    memcpy(text + WEBSOCKET_KEY_BYTES, guid, GUID_BYTES);
    // Without this option the library would look for its configuration in a file.
    if (!OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) || !SHA1(text, sizeof text, digest))
        return false;
    EVP_EncodeBlock(encoded, digest, sizeof digest);
    memcpy(out, encoded, WEBSOCKET_ACCEPT_BYTES);
    return true;
}
