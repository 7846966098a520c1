// Bytes that were received or are to be sent, and wait.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bytes that grow on demand.
struct bytes {
    uint8_t *at;
    size_t count, capacity;
};

// Room for `more` bytes behind those that are there, and for slack behind them; false without memory.
bool bytes_room(struct bytes *bytes, size_t more);
