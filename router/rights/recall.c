#include "router/rights/recall.h"

#include <assert.h>

bool recall_same_other(const uint8_t *one, const uint8_t *other, size_t bytes) {
    return bytes == 0 || memcmp(one, other, bytes) == 0;
}

static bool method_is(const struct rules_message *asked, const char *method) {
    return asked->method_bytes == strlen(method) && memcmp(asked->method, method, strlen(method)) == 0;
}

// The name of an event, and whether the journal is to have a line.
static bool is_more(const struct rules_message *asked) {
    return method_is(asked, "event") || method_is(asked, "audit/log");
}

void recall_keep_call(struct identity *identity, const struct user *user, const struct rules_message *asked) {
    struct recalled_call *last = recall_place(identity, asked);
    size_t target_bytes = asked->target.bytes;
    if (!last)
        return;
    last->user = NULL;
    if (asked->method_bytes > RECALLED_CALL_BYTES_MAX ||
        target_bytes > RECALLED_CALL_BYTES_MAX - asked->method_bytes)
        return;
    assert(user && asked->method && (asked->target.text || target_bytes == 0));
    last->user = user;
    last->shape = (uint32_t)asked->method_bytes | (uint32_t)target_bytes << RECALLED_TARGET_AT |
                  (is_more(asked) ? RECALLED_MORE : 0);
    memcpy(last->text, asked->method, asked->method_bytes);
    if (target_bytes)
        memcpy(last->text + asked->method_bytes, asked->target.text, target_bytes);
}

void recall_keep_source(struct identity *identity, const struct agents *agents, const uint8_t *json,
                        size_t bytes) {
    struct recalled_source *last = &identity->source;
    assert(json && bytes > 0);
    last->bytes = 0;
    if (bytes > RECALLED_SOURCE_BYTES_MAX)
        return;
    last->bytes = (uint8_t)bytes;
    last->changes = agents->changes;
    memcpy(last->json, json, bytes);
}
