#include "router/rights/recall.h"

#include <assert.h>

bool recall_same_other(const uint8_t *one, const uint8_t *other, size_t bytes) {
    enum { HALF = 16 };
    uint64_t words[2];
    if (bytes > HALF && bytes <= 2 * HALF)
        return recall_same(one, other, HALF) && recall_same(one + bytes - HALF, other + bytes - HALF, HALF);
    if (bytes < sizeof words[0]) {
        while (bytes > 0 && one[bytes - 1] == other[bytes - 1])
            bytes--;
        return bytes == 0;
    }
    for (size_t at = 0;; at += sizeof words[0]) {
        at = at + sizeof words[0] < bytes ? at : bytes - sizeof words[0];
        memcpy(&words[0], one + at, sizeof words[0]);
        memcpy(&words[1], other + at, sizeof words[1]);
        if (words[0] != words[1] || at + sizeof words[0] == bytes)
            return words[0] == words[1];
    }
}

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
