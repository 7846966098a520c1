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
