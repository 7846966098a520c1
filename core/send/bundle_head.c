#include "core/send/bundle_head.h"

#include <assert.h>

#include "core/base/memory.h"

struct bundle_head *bundle_head_take(struct buffer_budget *budget, uint32_t bytes) {
    size_t taken = memory_bytes_for(sizeof(struct bundle_head) + bytes);
    assert(bytes > 0 && taken <= UINT32_MAX);
    if (!buffer_budget_take(budget, taken, BUDGET_OWED))
        return NULL;
    struct bundle_head *heading = memory_take(sizeof *heading + bytes);
    if (!heading) {
        buffer_budget_give(budget, taken);
        return NULL;
    }
    *heading = (struct bundle_head){.references = 1, .taken = (uint32_t)taken};
    return heading;
}

void bundle_head_drop(struct buffer_budget *budget, struct bundle_head *heading) {
    if (!heading || --heading->references > 0)
        return;
    buffer_budget_give(budget, heading->taken);
    memory_give(heading);
}
