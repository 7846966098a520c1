// Functions that fuzzers of a whole hub share. The input is a script, a byte a decision, and in the end all is as it
// should be.
#pragma once

#include "core/base/memory.h"
#include "tests/sim/kernel.h"
#include "tests/sim/party.h"

struct script {
    const uint8_t *at, *end;
};

// Behind the end all decisions are 0.
static inline uint8_t script_next(struct script *script) {
    return script->at < script->end ? *script->at++ : 0;
}

// Nothing fails any more, those who are no party hang up, and all parties read: whatever is due must come, and the hub
// gives everything back.
static inline void play_ends(struct scene *scene, struct cable *const *cables, unsigned count) {
    memory_fail(0, 0);
    kernel_refuse(scene->world.kernel, 0, 0, 0);
    for (unsigned index = 0; index < count; index++)
        if (cables[index])
            cable_close(cables[index]);
    for (unsigned index = 0; index < scene->count; index++)
        scene->parties[index].deaf = false;
    scene_pass(scene, UINT64_C(400) * 1000000);
    scene_check(scene);
    scene_close(scene);
}
