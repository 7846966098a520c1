// When a client of an HCS session reads too slowly, and what it gets less of then.
//
// It is over from half of its queue's bound until less than a quarter waits. Chunks of the finest level of
// detail, `atomic`, are shed for it while half or more waits, those of the middle one, `micro`, from three
// quarters on; all else never. What was shed is told when it is under again.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The level of detail of a chunk. Of one whose level isn't known nothing is shed.
enum stream_lod { LOD_KEPT, LOD_MICRO, LOD_ATOMIC };

// What one client misses of one session. Zeroed: nothing.
struct shed {
    uint32_t atomic;
    uint32_t micro;
    uint64_t from, to; // the seqs of the first and the last
};

// Whether who was over, or not, is over now that so much waits for it.
bool shed_is_over(bool before, size_t waiting, size_t queue_max);
// Whether a chunk is shed while so much waits.
bool shed_drops(enum stream_lod lod, size_t waiting, size_t queue_max);
void shed_note(struct shed *shed, enum stream_lod lod, uint64_t seq);
static inline bool shed_any(const struct shed *shed) {
    return shed->atomic || shed->micro;
}
