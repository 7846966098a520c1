#include "router/features/cluster/acks.h"

#include <assert.h>
#include <string.h>

#include "core/cluster/hub_header.h"

struct ack_list *acks_of(struct acks *acks, const struct cluster_member *hub) {
    uint32_t at = 0;
    assert(acks->count <= ACKS_MAX);
    while (at < acks->count && memcmp(acks->all[at].hub, hub->name, HUB_NAME_BYTES) != 0)
        at++;
    if (at == ACKS_MAX)
        return NULL;
    struct ack_list *taking = &acks->all[at];
    if (at < acks->count)
        return taking->numbers.length + 17 <= HUB_HEADER_NUMBERS_BYTES_MAX ? taking : NULL;
    acks->count++;
    text_init(&taking->numbers);
    memcpy(taking->hub, hub->name, HUB_NAME_BYTES);
    return taking;
}

void acks_forget(struct acks *acks) {
    assert(acks->count <= ACKS_MAX);
    while (acks->count)
        text_deinit(&acks->all[--acks->count].numbers);
}
