#include "core/agents/agent.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/base/limits.h"

// --- Ids

// Checks the syntax of an agentId in one pass over at most AGENT_ID_BYTES_MAX bytes.

static const bool allowed[256] = {
    ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['-'] = true,
    ['_'] = true,         ['.'] = true,         [':'] = true,         ['/'] = true,
};

bool agent_id_valid(const char *text, size_t bytes) {
    assert(text || bytes == 0);
    if (bytes > AGENT_ID_BYTES_MAX)
        return false;
    char before = '.'; // the start counts as a dot, so that an empty text is invalid, too
    for (size_t at = 0; at < bytes; at++) {
        if (!allowed[(uint8_t)text[at]] || (text[at] == '.' && before == '.'))
            return false;
        before = text[at];
    }
    return before != '.';
}

// --- Capabilities

struct capabilities *capabilities_create(struct quota *quota, const void *text, size_t bytes) {
    assert(text);
    assert(bytes >= 2 && bytes <= UINT32_MAX);
    struct capabilities *capabilities = quota_take(quota, sizeof *capabilities + bytes + BUFFER_SLACK_BYTES);
    if (!capabilities)
        return NULL;
    atomic_init(&capabilities->references, 1);
    capabilities->bytes = (uint32_t)bytes;
    memcpy(capabilities->text, text, bytes);
    memset(capabilities->text + bytes, 0, BUFFER_SLACK_BYTES);
    return capabilities;
}

struct capabilities *capabilities_hold(struct capabilities *capabilities) {
    assert(atomic_load_explicit(&capabilities->references, memory_order_relaxed) > 0);
    atomic_fetch_add_explicit(&capabilities->references, 1, memory_order_relaxed);
    return capabilities;
}

// Drops a reference. acq_rel: other shards' reads of the text happen before the text is freed.
void capabilities_drop(struct quota *quota, struct capabilities *capabilities) {
    assert(!capabilities || atomic_load_explicit(&capabilities->references, memory_order_relaxed) > 0);
    if (capabilities && atomic_fetch_sub_explicit(&capabilities->references, 1, memory_order_acq_rel) == 1)
        quota_give(quota, capabilities);
}
