// What a thing carries that travels from shard to shard. The link serves where the ring between them is full.
#pragma once

#include <stdint.h>

struct mail {
    struct mail *next;
    uint64_t connection; // whom it is for or about
    uint8_t kind;        // the router's
    uint8_t detail;      // by kind
};
