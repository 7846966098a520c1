#include "core/agents/capabilities.h"

#include <assert.h>
#include <string.h>

#include "core/base/limits.h"

struct capabilities *capabilities_create(struct quota *quota, const void *text, size_t bytes) {
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

// Reads of the text by other shards happen before it is given back.
void capabilities_drop(struct quota *quota, struct capabilities *capabilities) {
    assert(!capabilities || atomic_load_explicit(&capabilities->references, memory_order_relaxed) > 0);
    if (capabilities && atomic_fetch_sub_explicit(&capabilities->references, 1, memory_order_acq_rel) == 1)
        quota_give(quota, capabilities);
}
