#include "core/lookup/hcs_fields.h"

#include <string.h>

enum { NAME_BYTES_MAX = 12 };

static const struct {
    const char *text;
    size_t bytes;
} names[STREAM_KEYS_COUNT] = {
#define X(name, text) {text, sizeof(text) - 1},
    HCS_FIELDS_KEYS(X)
#undef X
};

// Returns the key of that name; STREAM_KEYS_COUNT: none.
static enum hcs_fields_key key_of(const char *name, size_t bytes) {
    enum hcs_fields_key key = 0;
    while (key < STREAM_KEYS_COUNT &&
           (names[key].bytes != bytes || memcmp(names[key].text, name, bytes) != 0))
        key++;
    return key;
}

static void hcs_fields_fault(struct hcs_fields *frame, enum lookup_verdict verdict, uint32_t at) {
    if (frame->verdict != LOOKUP_GOOD)
        return;
    frame->verdict = verdict;
    frame->fault_at = at;
}

static void hcs_fields_record(struct hcs_fields *frame, const uint8_t *body, enum hcs_fields_key key,
                              const struct json_item *item, bool escaped) {
    if (hcs_fields_has(frame, key) || escaped) {
        frame->fault_key = frame->verdict == LOOKUP_GOOD ? names[key].text : frame->fault_key;
        hcs_fields_fault(frame, LOOKUP_AMBIGUOUS, item->key.at);
    }
    if (item->type == JSON_STRING && !json_string_valid(body, item->value))
        hcs_fields_fault(frame, LOOKUP_NOT_JSON, item->value.at);
    frame->present |= UINT32_C(1) << key;
    frame->value[key] = item->value;
    frame->type[key] = (uint8_t)item->type;
}

static void hcs_fields_member(struct hcs_fields *frame, const uint8_t *body, const struct json_item *item) {
    char name[NAME_BYTES_MAX + 8]; // with room for json_string_decode's whole words
    size_t bytes = json_string_decode(body, item->key, name, sizeof name);
    if (bytes == SIZE_MAX) // the name is longer than any key
        return;
    enum hcs_fields_key key = key_of(name, bytes);
    if (key < STREAM_KEYS_COUNT)
        hcs_fields_record(frame, body, key, item, item->key.bytes != bytes + 2);
}

// Returns the offset behind the value that begins at `at`. The lookup has skipped the value before, so its brackets are
// good.
static uint32_t skip_value(const uint8_t *body, uint32_t at, uint32_t end, enum json_type *type) {
    if (body[at] == '"') {
        *type = JSON_STRING;
        return json_skip_string(body, at, end);
    }
    if (body[at] == '{' || body[at] == '[') {
        *type = body[at] == '{' ? JSON_OBJECT : JSON_ARRAY;
        return json_skip_container(body, at, end);
    }
    return json_skip_scalar(body, at, end, type);
}

// Reads the member that begins at `at`. Returns the offset behind the member.
static uint32_t take_member(struct hcs_fields *frame, const uint8_t *body, uint32_t at, uint32_t end) {
    struct json_item item;
    uint32_t behind = json_skip_string(body, at, end);
    assert(behind <= end);
    item.key = (struct span){at, behind - at};
    at = json_skip_space(body, behind, end);
    assert(body[at] == ':');
    at = json_skip_space(body, at + 1, end);
    behind = skip_value(body, at, end, &item.type);
    assert(behind <= end);
    item.value = (struct span){at, behind - at};
    hcs_fields_member(frame, body, &item);
    return behind;
}

void hcs_fields_read(struct hcs_fields *frame, const uint8_t *body, uint32_t bytes) {
    uint32_t at = json_skip_space(body, 0, bytes);
    assert(at < bytes && body[at] == '{');
    *frame = (struct hcs_fields){.verdict = LOOKUP_GOOD, .inside = at + 1};
    do {
        at = json_skip_space(body, at + 1, bytes); // behind the opening brace, or a comma
        if (body[at] == '"')
            at = json_skip_space(body, take_member(frame, body, at, bytes), bytes);
    } while (body[at] == ',');
    assert(at < bytes && body[at] == '}');
}

bool hcs_fields_is(const struct hcs_fields *frame, const uint8_t *body, enum hcs_fields_key key,
                   const char *literal) {
    return hcs_fields_has(frame, key) && frame->type[key] == JSON_STRING &&
           json_string_is(body, frame->value[key], literal);
}

bool hcs_fields_number(const struct hcs_fields *frame, const uint8_t *body, enum hcs_fields_key key,
                       uint64_t *out) {
    return hcs_fields_has(frame, key) && frame->type[key] == JSON_NUMBER &&
           json_number_whole(body, frame->value[key], out);
}

size_t hcs_fields_text(const struct hcs_fields *frame, const uint8_t *body, enum hcs_fields_key key,
                       char *out, size_t capacity) {
    return hcs_fields_has(frame, key) && frame->type[key] == JSON_STRING
               ? json_string_decode(body, frame->value[key], out, capacity)
               : SIZE_MAX;
}
