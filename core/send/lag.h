// Whether a receiver keeps up with what it is sent, judged by what waits behind each shipment to it.
//
// A kernel takes megabytes for a receiver, and those lie in a row: what is urgent, or takes back what waits, comes behind
// them. So one for whom much stands behind several shipments in a row is told from those that keep up, however large what
// they are sent.
#pragma once

#include <assert.h>
#include <stdint.h>

enum { LAG_SHIPMENTS = 3 }; // that left much behind, in a row: it lags

// The count that follows, when so many bytes are left behind a shipment. It has caught up when less than a quarter is.
static inline unsigned lag_after(unsigned lag, uint64_t behind, uint64_t much) {
    assert(lag <= LAG_SHIPMENTS);
    if (lag == LAG_SHIPMENTS)
        return behind < much / 4 ? 0 : LAG_SHIPMENTS;
    return behind > much ? lag + 1 : 0;
}
