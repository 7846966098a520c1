// Decides whether a shard spins for a while before it sleeps. A core that sleeps takes 10 to 25 µs to wake, but a core
// that spins uses up its time. Spinning pays while the waits are short: the last few waits must have ended within the
// time that spinning would take. A longer wait stops the spinning until the waits are short again.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { SPIN_SHORT_WAITS = 4 };

struct spin {
    uint64_t max_ns; // how long to spin; 0: never
    uint32_t short_waits;
};

static inline bool spin_pays(const struct spin *spin) {
    return spin->max_ns && spin->short_waits >= SPIN_SHORT_WAITS;
}

// Notes how long a turn had to wait, spinning or asleep.
static inline void spin_learn(struct spin *spin, uint64_t waited_ns) {
    if (waited_ns > spin->max_ns)
        spin->short_waits = 0;
    else if (spin->short_waits < SPIN_SHORT_WAITS)
        spin->short_waits++;
}

// Returns when to stop spinning in a wait until deadline_ns.
static inline uint64_t spin_end(const struct spin *spin, uint64_t now_ns, uint64_t deadline_ns) {
    return deadline_ns - now_ns < spin->max_ns ? deadline_ns : now_ns + spin->max_ns;
}

static inline void spin_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
