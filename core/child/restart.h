// When a child that has ended is started again: after a delay that doubles with each end and begins anew
// when it was well for long enough. Too many failures in a row, and it stays down.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct restart_policy {
    uint64_t delay_ms, delay_max_ms;
    uint64_t healthy_ms; // so long it must run to be well
    uint32_t limit;      // of failures in a row
};

// Zero bytes: it hasn't ended yet.
struct restart {
    uint32_t ends;     // in a row
    uint32_t failures; // of these
};

// Notes that the child has ended after it ran for so long (0: it never came to run). False: the child stays
// down. Else it is to be started after *delay_ms.
bool restart_ended(struct restart *restart, const struct restart_policy *policy, uint64_t ran_ms, bool failed,
                   uint64_t *delay_ms);
