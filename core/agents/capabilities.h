// The capabilities of an agent, as they were written: once for all shards, which only read them. The last
// holder gives them back, on its own account (quota.h).
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/quota.h"
#include "core/json/json.h"

struct capabilities {
    _Atomic uint32_t references;
    uint32_t bytes;
    uint8_t text[]; // a JSON object or array, BUFFER_SLACK_BYTES readable behind it
};

// With one reference. NULL when memory, or the quota, is used up.
struct capabilities *capabilities_create(struct quota *quota, const void *text, size_t bytes);
// One more reference, on any shard's thread that has one.
struct capabilities *capabilities_hold(struct capabilities *capabilities);
// Gives one up. NULL is allowed.
void capabilities_drop(struct quota *quota, struct capabilities *capabilities);

// All of the text.
static inline struct span capabilities_span(const struct capabilities *capabilities) {
    return (struct span){0, capabilities->bytes};
}
