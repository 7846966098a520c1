// The load in patchbay's own protocol: agent/request and event (HugAI v2 messages, 3.3 and 3.5), in
// Content-Length frames and in lines. Success: frames come with a header block of the one canonical field,
// which is read by comparison. Failure: any other block is left to the strict scanner, and a block that the
// scanner refuses is broken, as is an empty line.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/load/load_patchbay.h"
#include "core/base/text.h"
#include "core/wire/frame.h"
#include "tools/client.h"

static const char length_field[] = "Content-Length: ";
enum { LENGTH_FIELD_BYTES = sizeof length_field - 1, HEADER_DIGITS_MAX = 10 };

const char *load_first_request(const struct load_greeting *greeting, char params[LOAD_PARAMS_BYTES_MAX]) {
    const size_t capacity = LOAD_PARAMS_BYTES_MAX;
    const char *name = greeting->name->text;
    switch (greeting->role) {
    case LOAD_ASKS:
    case LOAD_ANSWERS:
        snprintf(params, capacity,
                 "{\"agentId\":\"%s\",\"capabilities\":{},\"governanceLevel\":\"autonomous\"}", name);
        return "agent/register";
    case LOAD_SUBSCRIBES:
        snprintf(params, capacity, "{\"events\":[\"%s\"]}", name);
        return "hub/subscribe";
    case LOAD_IDLES:
        snprintf(params, capacity, "{}");
        return "hub/ping";
    case LOAD_PUBLISHES:
        break;
    }
    return NULL;
}

static int greet(const struct load_greeting *greeting) {
    struct client client;
    int error = client_open(&client, greeting->at);
    if (error < 0) {
        return error;
    }
    char params[LOAD_PARAMS_BYTES_MAX];
    const char *method = load_first_request(greeting, params);
    struct client_answer answer = {0};
    error = method == NULL ? 0 : client_call(&client, method, params, &answer);
    if (error == 0 && answer.refused) {
        fprintf(stderr, "bench: %.*s\n", (int)answer.value.bytes,
                (const char *)answer.body.bytes + answer.value.at);
        error = -EPROTO;
    }
    if (error < 0) {
        client_close(&client);
        return error;
    }
    return client_release_secure(&client, greeting->ssl);
}

static uint8_t *write_header(uint8_t *out, size_t body_bytes) {
    memcpy(out, length_field, LENGTH_FIELD_BYTES);
    out += LENGTH_FIELD_BYTES;
    out += text_digits((char *)out, body_bytes);
    memcpy(out, "\r\n\r\n", 4);
    return out + 4;
}

static size_t write_request(const struct load_body *body, const struct load_request *request, uint8_t *out) {
    size_t bytes = load_request_bytes(body, request);
    uint8_t *at = write_header(out, bytes);
    load_request_write(body, request, at);
    return (size_t)(at - out) + bytes;
}

static size_t write_answer(const struct load_body *body, const struct load_message *asked,
                           const struct load_parts *parts, uint8_t *out) {
    (void)asked; // the id in the body is all the address that an answer needs
    size_t bytes = load_answer_bytes(body, parts->id_bytes);
    uint8_t *at = write_header(out, bytes);
    load_answer_write(body, parts, at);
    return (size_t)(at - out) + bytes;
}

static size_t write_event(const struct load_body *body, const struct load_event *event, uint8_t *out) {
    size_t bytes = load_event_bytes(body, event->topic);
    uint8_t *at = write_header(out, bytes);
    load_event_write(body, event, at);
    return (size_t)(at - out) + bytes;
}

// The header block's length if it is whole and holds nothing but the canonical field; 0 if not.
static size_t canonical_header(const uint8_t *in, size_t bytes, size_t *body_bytes) {
    if (bytes < LENGTH_FIELD_BYTES + HEADER_DIGITS_MAX + 4 ||
        memcmp(in, length_field, LENGTH_FIELD_BYTES) != 0) {
        return 0;
    }
    size_t at = LENGTH_FIELD_BYTES;
    *body_bytes = 0;
    while (at < LENGTH_FIELD_BYTES + HEADER_DIGITS_MAX && in[at] >= '0' && in[at] <= '9') {
        *body_bytes = *body_bytes * 10 + (size_t)(in[at++] - '0');
    }
    return memcmp(in + at, "\r\n\r\n", 4) == 0 ? at + 4 : 0;
}

static enum load_step next(const uint8_t *in, size_t bytes, struct load_message *message) {
    size_t body_bytes;
    size_t header_bytes = canonical_header(in, bytes, &body_bytes);
    if (header_bytes == 0) {
        static const struct unit_limits limits = {.header_bytes_max = 64 * 1024, .body_bytes_max = 1U << 30};
        struct unit scan;
        unit_begin(&scan);
        enum unit_result result = frame_scan(&scan, in, bytes, &limits);
        if (result != UNIT_WHOLE) {
            return result == UNIT_BAD ? LOAD_BROKEN : LOAD_PARTIAL;
        }
        header_bytes = scan.body_at;
        body_bytes = scan.body_bytes;
    }
    if (bytes - header_bytes < body_bytes) {
        return LOAD_PARTIAL;
    }
    *message = (struct load_message){
        .bytes = header_bytes + body_bytes, .body = in + header_bytes, .body_bytes = body_bytes};
    return LOAD_MESSAGE;
}

// --- Lines

static size_t end_line(uint8_t *out, size_t body_bytes) {
    out[body_bytes] = '\n';
    return body_bytes + 1;
}

static size_t write_request_line(const struct load_body *body, const struct load_request *request,
                                 uint8_t *out) {
    load_request_write(body, request, out);
    return end_line(out, load_request_bytes(body, request));
}

static size_t write_answer_line(const struct load_body *body, const struct load_message *asked,
                                const struct load_parts *parts, uint8_t *out) {
    (void)asked;
    load_answer_write(body, parts, out);
    return end_line(out, load_answer_bytes(body, parts->id_bytes));
}

static size_t write_event_line(const struct load_body *body, const struct load_event *event, uint8_t *out) {
    load_event_write(body, event, out);
    return end_line(out, load_event_bytes(body, event->topic));
}

static enum load_step next_line(const uint8_t *in, size_t bytes, struct load_message *message) {
    const uint8_t *end = memchr(in, '\n', bytes);
    if (end == NULL) {
        return LOAD_PARTIAL;
    }
    size_t body_bytes = (size_t)(end - in);
    *message = (struct load_message){.bytes = body_bytes + 1, .body = in, .body_bytes = body_bytes};
    return body_bytes > 0 ? LOAD_MESSAGE : LOAD_BROKEN;
}

const struct load_wire load_wire_patchbay = {
    .name = "patchbay",
    .is_hub = true,
    .greet = greet,
    .wrap_bytes_max = CLIENT_HEAD_BYTES_MAX,
    .write_request = write_request,
    .write_answer = write_answer,
    .write_event = write_event,
    .next = next,
};

const struct load_wire load_wire_lines = {
    .name = "patchbay-lines",
    .is_hub = true,
    .greet = greet,
    .wrap_bytes_max = 1,
    .write_request = write_request_line,
    .write_answer = write_answer_line,
    .write_event = write_event_line,
    .next = next_line,
};
