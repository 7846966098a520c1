// What stands before several parcels together when they go out as one, made once: each of them refers to it until it is dropped. It belongs
// to the shard that made it, as they do; others read it while they have one of them.
#pragma once

#include <stdint.h>

#include "core/base/buffer.h"

struct bundle_head {
    uint32_t references;
    uint32_t taken; // bytes of the budget
    uint64_t link;  // on which it goes out
    // Its text is these, one behind the other: whom it is for, the last of that a name; where what is said of it comes; the hubs' own
    // line with the empty one behind it; and of that, as the caller knows it, whose it is.
    uint32_t subject_bytes, token_bytes, inbox_bytes, line_bytes, user_bytes;
    char text[];
};

// With room for so many bytes of text, and one reference; NULL when memory or the budget is used up.
struct bundle_head *bundle_head_take(struct buffer_budget *budget, uint32_t bytes);
static inline void bundle_head_hold(struct bundle_head *heading) {
    heading->references++;
}
// NULL is allowed.
void bundle_head_drop(struct buffer_budget *budget, struct bundle_head *heading);
