// See load_body.h. Success: each part is one copy or one comparison at a known offset. Failure: a body
// that has something else at such an offset is told apart by the reader's `false`.
#include "bench/load/load_body.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"

#define HEAD           "{\"jsonrpc\":\"2.0\","
#define ID             "\"id\":"
#define TO_TARGET      "\"method\":\"agent/request\",\"params\":{\"targetAgent\":\""
#define TO_NONCE       ",\"task\":\"bench\",\"context\":{\"nonce\":\""
#define TO_FILL        "\",\"fill\":\""
#define TO_SOURCE      "\"},\"sourceAgent\":\""
#define PARAMS_END     "\"}"
#define ANSWER_HEAD    HEAD ID
#define TO_RESULT      ",\"result\":\""
#define ANSWER_END     "\"}"
#define EVENT_HEAD     HEAD "\"method\":\"event\",\"params\":{\"event\":\""
#define TO_SEQUENCE    "\",\"data\":{\"sequence\":\""
#define TO_EVENT_NONCE "\",\"nonce\":\""
#define EVENT_END      "\"}}}"

enum {
    HEAD_BYTES = sizeof HEAD - 1,
    ID_BYTES = sizeof ID - 1,
    TO_TARGET_BYTES = sizeof TO_TARGET - 1,
    TO_NONCE_BYTES = sizeof TO_NONCE - 1,
    TO_FILL_BYTES = sizeof TO_FILL - 1,
    TO_SOURCE_BYTES = sizeof TO_SOURCE - 1,
    PARAMS_END_BYTES = sizeof PARAMS_END - 1,
    ANSWER_HEAD_BYTES = sizeof ANSWER_HEAD - 1,
    TO_RESULT_BYTES = sizeof TO_RESULT - 1,
    ANSWER_END_BYTES = sizeof ANSWER_END - 1,
    // A request without its names, id digits, priority and filler; with the comma beside the id and the
    // closing brace.
    REQUEST_FIXED_BYTES = HEAD_BYTES + ID_BYTES + TO_TARGET_BYTES + TO_NONCE_BYTES + LOAD_NONCE_BYTES +
                          TO_FILL_BYTES + TO_SOURCE_BYTES + PARAMS_END_BYTES + 2,
    // An answer likewise, with room for an id of the usual length. The filler doesn't depend on the id, so
    // that the reader knows the length although a hub may have changed the id's on the way.
    ANSWER_FIXED_BYTES = ANSWER_HEAD_BYTES + TO_RESULT_BYTES + LOAD_NONCE_BYTES + ANSWER_END_BYTES,
    ANSWER_ID_BYTES_USUAL = 8,
    EVENT_HEAD_BYTES = sizeof EVENT_HEAD - 1,
    TO_SEQUENCE_BYTES = sizeof TO_SEQUENCE - 1,
    SEQUENCE_BYTES = 16, // hexadecimal
    TO_EVENT_NONCE_BYTES = sizeof TO_EVENT_NONCE - 1,
    EVENT_END_BYTES = sizeof EVENT_END - 1,
    EVENT_FIXED_BYTES = EVENT_HEAD_BYTES + TO_SEQUENCE_BYTES + SEQUENCE_BYTES + TO_EVENT_NONCE_BYTES +
                        LOAD_NONCE_BYTES + TO_FILL_BYTES + EVENT_END_BYTES,
};

// The text between a request's target and its task. Both priorities are equally long.
static const char plain[] = "\"", high[] = "\",\"priority\":\"high\"", low[] = "\",\"priority\":\"low\" ";
static_assert(sizeof high == sizeof low, "a body's length does not depend on its priority");

void load_nonce(uint64_t seed, uint8_t nonce[LOAD_NONCE_BYTES]) {
    uint64_t mixed = seed + 0x9e3779b97f4a7c15ULL; // splitmix64 (Steele, Lea, Flood 2014)
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebULL;
    mixed ^= mixed >> 31;
    for (int i = 0; i < LOAD_NONCE_BYTES; i++) {
        nonce[i] = (uint8_t)('a' + (mixed >> (4 * i) & 15));
    }
}

static uint8_t *put(uint8_t *out, const void *from, size_t bytes) {
    memcpy(out, from, bytes);
    return out + bytes;
}

static uint32_t digits_of(uint64_t number) {
    char digits[LOAD_ID_DIGITS_MAX];
    return (uint32_t)text_digits(digits, number);
}

static size_t between_bytes(const struct load_body *body) {
    return (body->priorities ? sizeof high : sizeof plain) - 1;
}

// A request without its filler.
static size_t request_least(const struct load_body *body, const struct load_request *request) {
    return REQUEST_FIXED_BYTES + between_bytes(body) + request->target->bytes + request->source->bytes +
           digits_of(request->id);
}

size_t load_request_bytes(const struct load_body *body, const struct load_request *request) {
    size_t least = request_least(body, request);
    return least < body->bytes ? body->bytes : least;
}

void load_request_write(const struct load_body *body, const struct load_request *request, uint8_t *out) {
    char digits[LOAD_ID_DIGITS_MAX];
    size_t count = text_digits(digits, request->id);
    size_t least = request_least(body, request);
    size_t fill = least < body->bytes ? body->bytes - least : 0;
    const char *between = !body->priorities ? plain : request->high ? high : low;
    out = put(out, HEAD, HEAD_BYTES);
    if (!body->id_last) {
        out = put(put(put(out, ID, ID_BYTES), digits, count), ",", 1);
    }
    out = put(put(out, TO_TARGET, TO_TARGET_BYTES), request->target->text, request->target->bytes);
    out = put(put(out, between, between_bytes(body)), TO_NONCE, TO_NONCE_BYTES);
    out = put(out, request->nonce, LOAD_NONCE_BYTES);
    out = put(out, TO_FILL, TO_FILL_BYTES);
    memset(out, 'x', fill);
    out = put(out + fill, TO_SOURCE, TO_SOURCE_BYTES);
    out = put(out, request->source->text, request->source->bytes);
    out = put(out, PARAMS_END, PARAMS_END_BYTES);
    if (body->id_last) {
        out = put(put(put(out, ",", 1), ID, ID_BYTES), digits, count);
    }
    put(out, "}", 1);
}

static uint32_t count_digits(const uint8_t *text, size_t bytes) {
    uint32_t count = 0;
    while (count < bytes && count < LOAD_ID_DIGITS_MAX && text[count] >= '0' && text[count] <= '9') {
        count++;
    }
    return count;
}

// The id of a request that ends in `,"id":<digits>}`.
static bool read_id_last(const uint8_t *text, size_t bytes, struct load_parts *parts) {
    const uint8_t *end = text + bytes - 1;
    const uint8_t *from = end;
    while (end - from <= LOAD_ID_DIGITS_MAX && from[-1] >= '0' && from[-1] <= '9') {
        from--;
    }
    parts->id = from;
    parts->id_bytes = (uint32_t)(end - from);
    return memcmp(from - ID_BYTES, ID, ID_BYTES) == 0;
}

static bool read_id_first(const uint8_t *text, size_t bytes, struct load_parts *parts) {
    parts->id = text + HEAD_BYTES + ID_BYTES;
    parts->id_bytes = count_digits(parts->id, bytes - HEAD_BYTES - ID_BYTES);
    return memcmp(text, ANSWER_HEAD, ANSWER_HEAD_BYTES) == 0;
}

bool load_request_read(const struct load_body *body, const struct load_name *target, const uint8_t *text,
                       size_t bytes, struct load_parts *parts) {
    size_t between = between_bytes(body), fixed = REQUEST_FIXED_BYTES + between + target->bytes;
    if (bytes < fixed || bytes + LOAD_ID_DIGITS_MAX < body->bytes || text[bytes - 1] != '}') {
        return false;
    }
    bool found = body->id_last ? read_id_last(text, bytes, parts) : read_id_first(text, bytes, parts);
    if (!found || parts->id_bytes == 0 || bytes < fixed + parts->id_bytes) {
        return false;
    }
    const uint8_t *name = body->id_last ? text + HEAD_BYTES + TO_TARGET_BYTES
                                        : parts->id + parts->id_bytes + 1 + TO_TARGET_BYTES;
    const uint8_t *task = name + target->bytes + between;
    parts->nonce = task + TO_NONCE_BYTES;
    return memcmp(name, target->text, target->bytes) == 0 && memcmp(task, TO_NONCE, TO_NONCE_BYTES) == 0 &&
           memcmp(parts->nonce + LOAD_NONCE_BYTES, TO_FILL, TO_FILL_BYTES) == 0;
}

size_t load_answer_fill(const struct load_body *body) {
    size_t least = ANSWER_FIXED_BYTES + ANSWER_ID_BYTES_USUAL;
    return body->bytes > least ? body->bytes - least : 0;
}

size_t load_answer_bytes(const struct load_body *body, uint32_t id_bytes) {
    return ANSWER_FIXED_BYTES + load_answer_fill(body) + id_bytes;
}

void load_answer_write(const struct load_body *body, const struct load_parts *request, uint8_t *out) {
    size_t fill = load_answer_fill(body);
    out = put(put(out, ANSWER_HEAD, ANSWER_HEAD_BYTES), request->id, request->id_bytes);
    out = put(put(out, TO_RESULT, TO_RESULT_BYTES), request->nonce, LOAD_NONCE_BYTES);
    memset(out, 'y', fill);
    put(out + fill, ANSWER_END, ANSWER_END_BYTES);
}

bool load_answer_read(const struct load_body *body, const uint8_t *text, size_t bytes, uint64_t *id,
                      struct load_parts *parts) {
    if (bytes < ANSWER_FIXED_BYTES || !read_id_first(text, bytes, parts) || parts->id_bytes == 0 ||
        bytes != load_answer_bytes(body, parts->id_bytes)) {
        return false;
    }
    *id = 0;
    for (uint32_t i = 0; i < parts->id_bytes; i++) {
        *id = *id * 10 + (uint64_t)(parts->id[i] - '0');
    }
    parts->nonce = parts->id + parts->id_bytes + TO_RESULT_BYTES;
    return memcmp(parts->id + parts->id_bytes, TO_RESULT, TO_RESULT_BYTES) == 0 &&
           memcmp(text + bytes - ANSWER_END_BYTES, ANSWER_END, ANSWER_END_BYTES) == 0;
}

static size_t event_fill(const struct load_body *body, const struct load_name *topic) {
    size_t least = EVENT_FIXED_BYTES + topic->bytes;
    return body->bytes > least ? body->bytes - least : 0;
}

size_t load_event_bytes(const struct load_body *body, const struct load_name *topic) {
    return EVENT_FIXED_BYTES + topic->bytes + event_fill(body, topic);
}

void load_event_write(const struct load_body *body, const struct load_event *event, uint8_t *out) {
    size_t fill = event_fill(body, event->topic);
    out = put(put(out, EVENT_HEAD, EVENT_HEAD_BYTES), event->topic->text, event->topic->bytes);
    out = put(out, TO_SEQUENCE, TO_SEQUENCE_BYTES);
    for (int digit = SEQUENCE_BYTES - 1; digit >= 0; digit--) {
        *out++ = (uint8_t) "0123456789abcdef"[event->sequence >> (4 * digit) & 15];
    }
    out = put(put(out, TO_EVENT_NONCE, TO_EVENT_NONCE_BYTES), event->nonce, LOAD_NONCE_BYTES);
    out = put(out, TO_FILL, TO_FILL_BYTES);
    memset(out, 'z', fill);
    put(out + fill, EVENT_END, EVENT_END_BYTES);
}

static bool read_sequence(const uint8_t *digits, uint64_t *sequence) {
    *sequence = 0;
    for (int i = 0; i < SEQUENCE_BYTES; i++) {
        uint8_t digit = digits[i];
        bool decimal = digit >= '0' && digit <= '9', letter = digit >= 'a' && digit <= 'f';
        if (!decimal && !letter) {
            return false;
        }
        *sequence = *sequence << 4 | (uint64_t)(decimal ? digit - '0' : digit - 'a' + 10);
    }
    return true;
}

bool load_event_read(const struct load_body *body, const uint8_t *text, size_t bytes,
                     struct load_event *event) {
    const struct load_name *topic = event->topic;
    if (bytes != load_event_bytes(body, topic)) {
        return false;
    }
    const uint8_t *name = text + EVENT_HEAD_BYTES, *to_sequence = name + topic->bytes;
    const uint8_t *digits = to_sequence + TO_SEQUENCE_BYTES, *to_nonce = digits + SEQUENCE_BYTES;
    const uint8_t *nonce = to_nonce + TO_EVENT_NONCE_BYTES;
    memcpy(event->nonce, nonce, LOAD_NONCE_BYTES);
    return memcmp(text, EVENT_HEAD, EVENT_HEAD_BYTES) == 0 && memcmp(name, topic->text, topic->bytes) == 0 &&
           memcmp(to_sequence, TO_SEQUENCE, TO_SEQUENCE_BYTES) == 0 &&
           memcmp(to_nonce, TO_EVENT_NONCE, TO_EVENT_NONCE_BYTES) == 0 &&
           memcmp(text + bytes - EVENT_END_BYTES, EVENT_END, EVENT_END_BYTES) == 0 &&
           read_sequence(digits, &event->sequence);
}
