// How much memory the hub has, to the byte: in the simulation all that comes from core/memory is the hub's.
#pragma once

#include <stddef.h>

// Memory of one of several hubs.
struct sim_account {
    size_t held, peak;
};
// From now on what is taken counts there, too, until it is given back, whoever gives it; NULL: nowhere.
void sim_memory_use(struct sim_account *account);
// The most that one has held since the last call.
size_t sim_memory_peak_of(struct sim_account *account);

// Returns the memory that all have now.
size_t sim_memory_held(void);
// All that was ever taken, given back or not.
size_t sim_memory_taken(void);
