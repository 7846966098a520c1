// Decides whether waits are held. A shard that is woken again and again for little may wait a little longer
// each time, so that a wake brings more.
//
// Nobody can know beforehand what that saves. A held wait needs a timer, which on some machines costs as much
// as several wakes. Where peers wait for their answers before they send more, a longer wait brings nothing
// but less to do. A shard that wakes often, isn't busy, and gets little of each wake therefore tries it:
// windows with and without take turns. Waits are held on only where three things are true: a byte took
// clearly less of the processor, no fewer bytes came, and 99 of 100 held waits were over within twice their
// time. The p99 of messages rises by no more than that a wait. While the shard holds, it tries again now and
// then. When the load is another one it lets go at once. Each trial in vain puts the next one further off, so
// that trials hold waits for less than 1 % of the time.
//
// The module knows no clock and no kernel: its caller tells how long a wait took.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { COALESCE_WINDOW_NS = 10000000 };

enum coalesce_state { COALESCE_WATCHING, COALESCE_TRYING, COALESCE_HOLDING };

// Costs and gains of windows.
struct coalesce_sum {
    uint64_t ns, cpu_ns, bytes;
};

struct coalesce {
    uint64_t hold_ns; // how long a wait is held at most; 0: never
    enum coalesce_state state;
    bool holds;    // in this window
    bool measured; // cpu_ns is known
    uint64_t began_ns, cpu_ns;
    uint64_t bytes, bytes_seen; // that came in it, and by the last wake
    uint32_t wakes;             // that brought any
    uint32_t windows, wins;     // of this trial: that are over, and the pairs that speak for it
    uint32_t held, late; // waits of this trial, or since it was won; and those of them that took too long
    struct coalesce_sum half[2], all[2]; // of the pair, and of the trial: without, with
    uint64_t usual;                      // bytes a window, by the last trial
    uint64_t next_ns, pause_ns;          // when to try again, and how long to wait the next time
    bool holds_on;                       // a trial of one that holds
};

void coalesce_init(struct coalesce *coalesce, uint64_t hold_ns);

// How long to hold a wait of up to wait_ns: never beyond that, nor hold_ns. 0: not at all.
static inline uint64_t coalesce_hold(const struct coalesce *coalesce, uint64_t wait_ns) {
    if (!coalesce->holds)
        return 0;
    return wait_ns < coalesce->hold_ns ? wait_ns : coalesce->hold_ns;
}

static inline void coalesce_came(struct coalesce *coalesce, uint64_t bytes) {
    coalesce->bytes += bytes;
}

// Notes that a held wait brought something after waited_ns. An event that came only after the wait's time
// wasn't kept waiting, but looks the same as a late timer. So it counts, too.
static inline void coalesce_waited(struct coalesce *coalesce, uint64_t waited_ns) {
    coalesce->held++;
    coalesce->late += waited_ns > 2 * coalesce->hold_ns;
}

// Counts a wake. Whether coalesce_evaluate is due: not where wakes are too few to be worth asking how much of the processor
// they took.
static inline bool coalesce_woke(struct coalesce *coalesce, uint64_t now_ns) {
    if (!coalesce->hold_ns)
        return false;
    coalesce->wakes += coalesce->bytes != coalesce->bytes_seen;
    coalesce->bytes_seen = coalesce->bytes;
    uint64_t ns = now_ns - coalesce->began_ns;
    if (ns < COALESCE_WINDOW_NS)
        return false;
    if (coalesce->state != COALESCE_WATCHING || coalesce->wakes * 2 * coalesce->hold_ns >= ns)
        return true;
    coalesce->began_ns = now_ns;
    coalesce->bytes = coalesce->bytes_seen = coalesce->wakes = 0;
    coalesce->measured = false;
    return false;
}

// The window is over; cpu_ns is what the thread has used of a processor, ever.
void coalesce_evaluate(struct coalesce *coalesce, uint64_t now_ns, uint64_t cpu_ns);
