#include "router/engine/message/error_target.h"

#include <assert.h>
#include <string.h>

#include "router/engine/send/reply.h"

bool error_target_save(struct pending_table *table, struct pending *pending, enum subject_kind kind,
                       const char *token, size_t bytes) {
    assert((kind <= SUBJECT_COMMAND || kind == SUBJECT_DECIDE) && bytes <= SUBJECT_NAME_BYTES_MAX);
    return pending_keep_named_target(table, pending, (char)kind, token, (uint32_t)bytes);
}

void error_target_put(struct text *data, enum subject_kind kind, const char *token, size_t bytes) {
    static const char *const keys[] = {
        [SUBJECT_AGENT] = "agent",   [SUBJECT_CAPABILITY] = "agent", [SUBJECT_TOOL] = "tool",
        [SUBJECT_METHOD] = "method", [SUBJECT_COMMAND] = "command",  [SUBJECT_DECIDE] = "checkpoint"};
    char name[1 + METHOD_BYTES_MAX] = "@";
    size_t at = kind == SUBJECT_CAPABILITY;
    assert(keys[kind]);
    if (kind == SUBJECT_DECIDE) {
        reply_data_string(data, keys[kind], token, bytes);
        return;
    }
    size_t count = subject_unescape(name + at, METHOD_BYTES_MAX, (const uint8_t *)token, bytes);
    if (count != SIZE_MAX)
        reply_data_string(data, keys[kind], name, at + count);
}

void error_target_put_saved(struct text *data, const struct pending *pending) {
    const char *queried = pending_named_target(pending);
    assert(pending->used);
    if (pending->named_target_bytes)
        error_target_put(data, (enum subject_kind)queried[0], queried + 1, pending->named_target_bytes - 1u);
}

enum subject_kind error_target_kind(const struct pending *pending) {
    return pending->named_target_bytes ? (enum subject_kind)pending_named_target(pending)[0]
                                       : SUBJECT_KINDS_COUNT;
}

size_t error_target_name(const struct pending *pending, char out[METHOD_BYTES_MAX]) {
    const char *token = pending_named_target(pending) + 1;
    size_t bytes = pending->named_target_bytes - 1u;
    assert(pending->named_target_bytes > 0);
    if (error_target_kind(pending) != SUBJECT_DECIDE)
        return subject_unescape(out, METHOD_BYTES_MAX, (const uint8_t *)token, bytes);
    if (bytes > METHOD_BYTES_MAX)
        return SIZE_MAX;
    memcpy(out, token, bytes);
    return bytes;
}
