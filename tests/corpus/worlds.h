// Functions of backends on simulated kernels for a hub's world, be there one or several.
#pragma once

#include "tests/corpus/backend.h"
#include "tests/sim/world.h"

// A file that the hub reads, in memory.
struct worlds_file {
    char path[64];
    int descriptor; // -1: there is none yet
};
// Writes its text, in place of what there was.
void worlds_write(struct worlds_file *file, const char *text);

// NULL when nobody listens.
struct cable *worlds_dial(struct world *world, enum line_wire wire);
// Returns the hub's counter of this name; UINT64_MAX: there is none.
uint64_t worlds_count(const struct world *world, const char *name);
// As struct backend has it.
const char *worlds_journal(const struct world *world, size_t *count);
