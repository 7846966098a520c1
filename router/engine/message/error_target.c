#include "router/engine/message/error_target.h"

#include <assert.h>

#include "router/engine/send/reply.h"

bool error_target_keep(struct pending_table *table, struct pending *pending, enum subject_kind kind,
                       const char *token, size_t bytes) {
    assert(kind <= SUBJECT_COMMAND && bytes <= SUBJECT_NAME_BYTES_MAX);
    return pending_keep_asked(table, pending, (char)kind, token, (uint32_t)bytes);
}

void error_target_put(struct text *data, enum subject_kind kind, const char *token, size_t bytes) {
    static const char *const keys[] = {[SUBJECT_AGENT] = "agent",
                                       [SUBJECT_CAPABILITY] = "agent",
                                       [SUBJECT_TOOL] = "tool",
                                       [SUBJECT_METHOD] = "method",
                                       [SUBJECT_COMMAND] = "command"};
    char name[1 + METHOD_BYTES_MAX] = "@";
    size_t at = kind == SUBJECT_CAPABILITY;
    assert(kind <= SUBJECT_COMMAND);
    size_t count = subject_unescape(name + at, METHOD_BYTES_MAX, (const uint8_t *)token, bytes);
    if (count != SIZE_MAX)
        reply_data_string(data, keys[kind], name, at + count);
}

void error_target_put_kept(struct text *data, const struct pending *pending) {
    const char *asked = pending_asked(pending);
    assert(pending->used);
    if (pending->asked_bytes)
        error_target_put(data, (enum subject_kind)asked[0], asked + 1, pending->asked_bytes - 1u);
}
