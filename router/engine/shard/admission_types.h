// What a connection's orders to the registry that are under way come to (admission.h).
#pragma once

#include <stdint.h>

struct mail;

// What a peer has under way. Zeroed: nothing.
struct admission {
    uint32_t orders;             // that went out and haven't come back
    uint32_t patterns;           // that these list and that aren't in force yet
    struct mail *waiting, *last; // orders that wait for those; NULL: none
};
