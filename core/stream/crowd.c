#include "core/stream/crowd.h"

#include <assert.h>

enum crowd_mood crowd_mood(const struct crowd *crowd) {
    assert(crowd->stuck + crowd->over <= crowd->clients);
    if (crowd->clients == 0)
        return CROWD_GONE;
    return crowd->over > (crowd->clients - crowd->stuck) / 2 ? CROWD_OVER : CROWD_READS;
}

void crowd_count(struct crowd *crowd, bool over, bool stuck, int change) {
    assert(change == 1 || (change == -1 && crowd->clients > 0));
    crowd->clients += (uint32_t)change;
    if (stuck)
        crowd->stuck += (uint32_t)change;
    else if (over)
        crowd->over += (uint32_t)change;
    assert(crowd->stuck + crowd->over <= crowd->clients);
}
