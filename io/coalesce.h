// Decides whether waits are held. A shard that wakes often and gets few bytes each time may wait a little longer, so
// that a wake brings more.
//
// The gain can't be known beforehand. A held wait needs a timer, which costs as much as several wakes on some machines.
// If peers wait for answers before they send more, a longer wait only means less traffic. A shard that wakes often,
// isn't busy, and gets few bytes a wake therefore runs a trial: windows with held waits and windows without take turns.
// Waits stay held only under three conditions. A byte must have cost clearly less processor time. No fewer bytes may
// have come. 99 of 100 held waits must have been over within twice their time, so a wait adds no more than that to the
// p99 of messages. A shard that holds waits repeats the trial now and then. When the load changes, the holding ends at
// once. Each failed trial doubles the time until the next, so that trials hold waits for less than 1 % of the time.
//
// The module reads no clock and calls no kernel: the caller says how long a wait took.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { COALESCE_WINDOW_NS = 10000000 };

enum coalesce_state { COALESCE_WATCHING, COALESCE_TRYING, COALESCE_HOLDING };

// Time, processor time and bytes of one or more windows.
struct coalesce_sum {
    uint64_t ns, cpu_ns, bytes;
};

struct coalesce {
    uint64_t hold_ns; // how long a wait may be held; 0: waits are never held
    enum coalesce_state state;
    bool holds;    // whether waits are held in this window
    bool measured; // cpu_ns is the value at the window's begin
    uint64_t began_ns, cpu_ns;
    uint64_t bytes, bytes_seen; // bytes that came in this window, and the value of `bytes` at the last wake
    uint32_t wakes;             // wakes in this window that brought bytes
    // Of this trial: windows that are over, and pairs in which holding was cheaper
    uint32_t windows, wins;
    uint32_t held, late; // held waits of this trial, or since its success; and late ones among these
    // Of the pair, and of the trial: [false] without held waits, [true] with
    struct coalesce_sum half[2], all[2];
    uint64_t usual; // bytes a window while waits were held in the last trial
    // When the next trial may begin, and how long to wait after the next failed one
    uint64_t next_ns, pause_ns;
    bool holds_on; // waits were held before this trial began
};

void coalesce_init(struct coalesce *coalesce, uint64_t hold_ns);

// Returns how long to hold a wait of up to wait_ns: at most wait_ns and hold_ns. 0: not at all.
static inline uint64_t coalesce_hold(const struct coalesce *coalesce, uint64_t wait_ns) {
    if (!coalesce->holds)
        return 0;
    return wait_ns < coalesce->hold_ns ? wait_ns : coalesce->hold_ns;
}

static inline void coalesce_came(struct coalesce *coalesce, uint64_t bytes) {
    coalesce->bytes += bytes;
}

// Notes that a held wait brought an event after waited_ns. An event that came only after the hold's time wasn't
// delayed. The wait counts as late nevertheless, since a late timer looks the same.
static inline void coalesce_waited(struct coalesce *coalesce, uint64_t waited_ns) {
    coalesce->held++;
    coalesce->late += waited_ns > 2 * coalesce->hold_ns;
}

// Counts a wake. Returns whether coalesce_evaluate is due. With too few wakes it isn't: the thread's processor time
// need not be read then.
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

// Ends the window. cpu_ns is the processor time that the thread has used in all.
void coalesce_evaluate(struct coalesce *coalesce, uint64_t now_ns, uint64_t cpu_ns);
