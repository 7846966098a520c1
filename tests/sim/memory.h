// How much memory the hub has, to the byte: in the simulation all that comes from core/memory is the hub's.
#pragma once

#include <stddef.h>

// What is there now; the most that was there since the last call.
size_t sim_memory_held(void);
size_t sim_memory_peak(void);
// All that was ever taken, given back or not.
size_t sim_memory_taken(void);
