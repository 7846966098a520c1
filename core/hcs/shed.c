#include "core/hcs/shed.h"

#include <assert.h>

bool shed_is_over(bool before, size_t waiting, size_t queue_max) {
    if (waiting == 0)
        return false;
    return before ? waiting >= queue_max / 4 : waiting >= queue_max / 2;
}

bool shed_drops(enum stream_lod lod, size_t waiting, size_t queue_max) {
    if (waiting == 0 || lod == LOD_KEPT)
        return false;
    return waiting >= (lod == LOD_ATOMIC ? queue_max / 2 : queue_max / 4 * 3);
}

void shed_note(struct shed *shed, enum stream_lod lod, uint64_t seq) {
    assert(lod == LOD_ATOMIC || lod == LOD_MICRO);
    if (!shed_any(shed))
        shed->from = seq;
    assert(seq >= shed->from);
    shed->to = seq;
    if (lod == LOD_ATOMIC)
        shed->atomic++;
    else
        shed->micro++;
}
