// The head of a thing that travels from shard to shard. The link serves where the ring between them is full.
#pragma once

#include <stdint.h>

struct mail {
    struct mail *next;
    uint64_t connection; // whom it is for or about
    uint8_t kind;        // the router's
    uint8_t detail;      // by kind
    uint32_t came_us;    // a parcel's: when what it bears came, by the shards' clock (parcel_pool.now_us)
};
