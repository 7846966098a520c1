#include "core/send/heading.h"

#include <assert.h>

#include "core/base/memory.h"

struct heading *heading_take(struct buffer_budget *budget, uint32_t bytes) {
    size_t taken = memory_bytes_for(sizeof(struct heading) + bytes);
    assert(bytes > 0 && taken <= UINT32_MAX);
    if (!buffer_budget_take(budget, taken, BUDGET_OWED))
        return NULL;
    struct heading *heading = memory_take(sizeof *heading + bytes);
    if (!heading) {
        buffer_budget_give(budget, taken);
        return NULL;
    }
    *heading = (struct heading){.references = 1, .taken = (uint32_t)taken};
    return heading;
}

void heading_drop(struct buffer_budget *budget, struct heading *heading) {
    if (!heading || --heading->references > 0)
        return;
    buffer_budget_give(budget, heading->taken);
    memory_give(heading);
}
