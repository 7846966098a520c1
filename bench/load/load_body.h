// The bodies of the load. All sides of a comparison carry the same ones: a request of a chosen size to a
// named target with a nonce in it, an answer of about that size that begins with the request's nonce, and an
// event with its number.
//
// Bodies are read by position, not parsed. Each part is found again where it was put, or the body is wrong.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOAD_NAME_BYTES_MAX = 64, LOAD_NONCE_BYTES = 16, LOAD_ID_DIGITS_MAX = 20 };

// An agent's, a source's or a topic's name.
struct load_name {
    char text[LOAD_NAME_BYTES_MAX];
    uint32_t bytes;
};

struct load_body {
    uint32_t bytes;  // of a request or event; one that can't be so small is as small as it can be
    bool id_last;    // the id follows the params, as many JSON-RPC libraries write it
    bool priorities; // params.priority says `high` or `low`
};

struct load_request {
    const struct load_name *source;
    const struct load_name *target;
    uint64_t id;
    uint8_t nonce[LOAD_NONCE_BYTES];
    bool high;        // of two priorities, where the body has them
    bool plain_inbox; // NATS: one reply subject for all requests of a source and not one each
};

struct load_event {
    const struct load_name *topic;
    uint64_t sequence; // from 1 up
    uint8_t nonce[LOAD_NONCE_BYTES];
};

// Where a body that was read has its parts.
struct load_parts {
    const uint8_t *id;
    uint32_t id_bytes;
    const uint8_t *nonce; // LOAD_NONCE_BYTES
};

// The nonce of the number `seed`: the same for the same seed, and letters that tell nearby seeds far apart.
void load_nonce(uint64_t seed, uint8_t nonce[LOAD_NONCE_BYTES]);

// Bytes of the request.
size_t load_request_bytes(const struct load_body *body, const struct load_request *request);
// Writes that many bytes.
void load_request_write(const struct load_body *body, const struct load_request *request, uint8_t *out);
// Reads a request that `target` received; its id is whatever number it bears now. False when it is none of
// ours.
bool load_request_read(const struct load_body *body, const struct load_name *target, const uint8_t *text,
                       size_t bytes, struct load_parts *parts);

// How many letters stand behind the nonce in an answer.
size_t load_answer_fill(const struct load_body *body);
// Bytes of the answer whose id has `id_bytes` digits.
size_t load_answer_bytes(const struct load_body *body, uint32_t id_bytes);
void load_answer_write(const struct load_body *body, const struct load_parts *request, uint8_t *out);
// Reads an answer; false when it isn't exactly what load_answer_write writes for some id and nonce of this
// length.
bool load_answer_read(const struct load_body *body, const uint8_t *text, size_t bytes, uint64_t *id,
                      struct load_parts *parts);

// Bytes of an event on this topic, whatever its number.
size_t load_event_bytes(const struct load_body *body, const struct load_name *topic);
void load_event_write(const struct load_body *body, const struct load_event *event, uint8_t *out);
// Reads an event; false when it isn't one that load_event_write writes for this topic. Whether its nonce is
// the right one is left to the caller.
bool load_event_read(const struct load_body *body, const uint8_t *text, size_t bytes,
                     struct load_event *event);
