#include "router/transport/takings.h"

#include <assert.h>
#include <string.h>

#include "core/cluster/mark.h"

struct text *takings_list(struct takings *takings, const char hub[HUB_NAME_BYTES]) {
    uint32_t at = 0;
    assert(takings->count <= TAKINGS_MAX);
    while (at < takings->count && memcmp(takings->all[at].hub, hub, HUB_NAME_BYTES) != 0)
        at++;
    if (at == TAKINGS_MAX)
        return NULL;
    struct taking *taking = &takings->all[at];
    if (at < takings->count)
        return taking->numbers.length + 17 <= MARK_NUMBERS_BYTES_MAX ? &taking->numbers : NULL;
    takings->count++;
    text_init(&taking->numbers);
    memcpy(taking->hub, hub, HUB_NAME_BYTES);
    return &taking->numbers;
}

void takings_forget(struct takings *takings) {
    assert(takings->count <= TAKINGS_MAX);
    while (takings->count)
        text_deinit(&takings->all[--takings->count].numbers);
}
