#include "router/transport/takings.h"

#include <assert.h>
#include <string.h>

#include "core/cluster/hub_header.h"

struct taking *takings_of(struct takings *takings, const struct neighbour *hub) {
    uint32_t at = 0;
    assert(takings->count <= TAKINGS_MAX);
    while (at < takings->count && memcmp(takings->all[at].hub, hub->name, HUB_NAME_BYTES) != 0)
        at++;
    if (at == TAKINGS_MAX)
        return NULL;
    struct taking *taking = &takings->all[at];
    if (at < takings->count)
        return taking->numbers.length + 17 <= HUB_HEADER_NUMBERS_BYTES_MAX ? taking : NULL;
    takings->count++;
    text_init(&taking->numbers);
    taking->takes_bundles = hub->takes_bundles;
    memcpy(taking->hub, hub->name, HUB_NAME_BYTES);
    return taking;
}

void takings_forget(struct takings *takings) {
    assert(takings->count <= TAKINGS_MAX);
    while (takings->count)
        text_deinit(&takings->all[--takings->count].numbers);
}
