#include "router/rights/recall.h"

#include <assert.h>

void recall_keep_call(struct identity *identity, const struct user *user, const struct rules_message *asked) {
    struct recalled_call *last = recall_place(identity, asked);
    size_t target_bytes = asked->target.bytes;
    bool is_name = asked->method && (asked->target.text || !asked->target.given);
    last->user = NULL;
    if (!is_name || asked->method_bytes == 0 || asked->method_bytes > RECALLED_CALL_BYTES_MAX ||
        target_bytes > RECALLED_CALL_BYTES_MAX - asked->method_bytes)
        return;
    assert(user && (asked->target.text || target_bytes == 0));
    last->user = user;
    last->has_target = asked->target.given;
    last->method_bytes = (uint8_t)asked->method_bytes;
    last->target_bytes = (uint8_t)target_bytes;
    memcpy(last->text, asked->method, asked->method_bytes);
    if (target_bytes)
        memcpy(last->text + asked->method_bytes, asked->target.text, target_bytes);
}

void recall_keep_source(struct identity *identity, const struct agents *agents, const uint8_t *json,
                        size_t bytes) {
    struct recalled_source *last = &identity->source;
    last->bytes = 0;
    if (bytes > RECALLED_SOURCE_BYTES_MAX)
        return;
    last->bytes = (uint8_t)bytes;
    last->changes = agents->changes;
    memcpy(last->json, json, bytes);
}
