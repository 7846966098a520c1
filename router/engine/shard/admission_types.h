// Counts of a connection's orders to the registry that are under way (admission.h).
#pragma once

#include <stdint.h>

struct mail;

// A peer's orders under way. Zeroed: none.
struct admission {
    uint32_t orders;             // that went out and haven't come back
    uint32_t patterns;           // that these list and that aren't in force yet
    struct mail *waiting, *last; // orders that wait for those; NULL: none
};
