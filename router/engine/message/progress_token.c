#include "router/engine/message/progress_token.h"

#include <assert.h>

// At the end of a token.
static const char letters[TOKENS_COUNT] = {
    [TOKEN_WORK_DONE] = 'w', [TOKEN_PARTIAL_RESULT] = 'p', [TOKEN_META] = 'm'};

size_t progress_token(char *out, uint64_t hub_id, enum pending_token kind) {
    size_t count = 0;
    assert(kind < TOKENS_COUNT);
    out[count++] = '"';
    count += text_digits(out + count, hub_id);
    out[count++] = letters[kind];
    out[count++] = '"';
    assert(count <= PROGRESS_TOKEN_BYTES);
    return count;
}

// Reads a token. Returns false if the token isn't the hub's.
static bool read_token(const uint8_t *body, struct span value, struct progress_report *report) {
    if (value.bytes < 4 || value.bytes > PROGRESS_TOKEN_BYTES || body[value.at] != '"')
        return false;
    struct span digits = {value.at + 1, value.bytes - 3};
    char letter = (char)body[value.at + value.bytes - 2];
    unsigned kind = 0;
    while (kind < TOKENS_COUNT && letters[kind] != letter)
        kind++;
    report->kind = (enum pending_token)kind;
    return kind < TOKENS_COUNT && json_number_valid(body, digits) &&
           json_number_whole(body, digits, &report->hub_id);
}

static enum lookup_key token_key(const struct message *message) {
    return message_method_is(message, "$/progress")               ? KEY_TOKEN
           : message_method_is(message, "notifications/progress") ? KEY_PROGRESS_TOKEN
                                                                  : LOOKUP_KEYS_COUNT;
}

bool progress_token_read(const struct message *message, struct progress_report *report) {
    report->key = token_key(message);
    return report->key < LOOKUP_KEYS_COUNT && !message_is_request(message) &&
           lookup_has(&message->lookup, report->key) &&
           read_token(message->body, message->lookup.value[report->key], report);
}
