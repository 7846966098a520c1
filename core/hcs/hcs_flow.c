#include "core/hcs/hcs_flow.h"

#include <assert.h>

enum hcs_flow_state hcs_flow_state(const struct hcs_flow *flow) {
    assert(flow->stuck + flow->over <= flow->clients);
    if (flow->clients == 0)
        return HCS_FLOW_GONE;
    return flow->over > (flow->clients - flow->stuck) / 2 ? HCS_FLOW_OVER : HCS_FLOW_READS;
}

void hcs_flow_count(struct hcs_flow *flow, bool over, bool stuck, int change) {
    assert(change == 1 || (change == -1 && flow->clients > 0));
    flow->clients += (uint32_t)change;
    if (stuck)
        flow->stuck += (uint32_t)change;
    else if (over)
        flow->over += (uint32_t)change;
    assert(flow->stuck + flow->over <= flow->clients);
}

// --- Shed chunks

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
