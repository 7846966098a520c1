// An account of kept memory without a bound that anybody reaches.
#pragma once

#include "core/kept.h"

static inline struct kept *account(void) {
    static struct buffer_budget budget = {.bytes_max = UINT64_C(1) << 40};
    static struct kept kept;
    if (!kept.budget)
        kept_init(&kept, &budget);
    return &kept;
}
