#include "core/base/wheel.h"

#include <assert.h>

void wheel_init(struct wheel *wheel, uint64_t now_ms) {
    *wheel = (struct wheel){.now_ms = now_ms};
    for (unsigned level = 0; level < WHEEL_LEVELS; level++)
        for (unsigned slot = 0; slot < WHEEL_SLOTS; slot++)
            list_init(&wheel->slots[level][slot]);
    list_init(&wheel->expired);
}

// Places a timer. The timer's level is the highest group of WHEEL_BITS bits in which the due time differs from now. The
// timer's slot is the value of the due time's bits in that group. The timer moves down a level when now reaches that
// slot.
static void wheel_place(struct wheel *wheel, struct timer *timer) {
    assert(list_empty(&timer->link));
    if (timer->due_ms <= wheel->now_ms) {
        list_append(&wheel->expired, &timer->link);
        return;
    }
    assert(timer->due_ms - wheel->now_ms < UINT64_C(1) << (WHEEL_LEVELS * WHEEL_BITS));
    uint64_t differ = timer->due_ms ^ wheel->now_ms;
    unsigned level = (63u - (unsigned)__builtin_clzll(differ)) / WHEEL_BITS;
    if (level >= WHEEL_LEVELS)
        level = WHEEL_LEVELS - 1; // the top level is a ring: the due time is less than one turn ahead
    unsigned slot = (unsigned)(timer->due_ms >> (level * WHEEL_BITS)) & (WHEEL_SLOTS - 1);
    list_append(&wheel->slots[level][slot], &timer->link);
    wheel->occupied[level] |= UINT64_C(1) << slot;
}

void wheel_arm(struct wheel *wheel, struct timer *timer, uint64_t due_ms) {
    uint64_t horizon = wheel->now_ms + (UINT64_C(1) << (WHEEL_LEVELS * WHEEL_BITS)) - 1;
    list_remove(&timer->link);
    timer->due_ms = (due_ms < horizon ? due_ms : horizon) & TIMER_DUE_MAX;
    wheel_place(wheel, timer);
}

void wheel_disarm(struct timer *timer) {
    list_remove(&timer->link);
}

// Places the timers of one slot again, when the time has reached the slot.
static void spread(struct wheel *wheel, unsigned level, unsigned slot) {
    assert(level < WHEEL_LEVELS && slot < WHEEL_SLOTS);
    struct list moved;
    list_init(&moved);
    struct list *from = &wheel->slots[level][slot];
    wheel->occupied[level] &= ~(UINT64_C(1) << slot);
    for (struct list *node; (node = list_take(from));)
        list_append(&moved, node);
    for (struct list *node; (node = list_take(&moved));)
        wheel_place(wheel, list_entry(node, struct timer, link));
}

// Returns the earliest time after now at which the wheel reaches a slot that may hold timers.
static uint64_t next_slot(const struct wheel *wheel, unsigned *at_level, unsigned *at_slot) {
    uint64_t soonest = UINT64_MAX;
    for (unsigned level = 0; level < WHEEL_LEVELS; level++) {
        if (!wheel->occupied[level])
            continue;
        unsigned shift = level * WHEEL_BITS;
        unsigned now_slot = (unsigned)(wheel->now_ms >> shift) & (WHEEL_SLOTS - 1);
        uint64_t rotated = wheel->occupied[level] >> now_slot | wheel->occupied[level]
                                                                    << (WHEEL_SLOTS - 1 - now_slot) << 1;
        unsigned ahead = (unsigned)__builtin_ctzll(rotated);
        // A bit at now's own slot means disarmed timers, or timers a whole turn ahead.
        uint64_t time = ((wheel->now_ms >> shift) + (ahead ? ahead : WHEEL_SLOTS)) << shift;
        if (time < soonest) {
            soonest = time;
            *at_level = level;
            *at_slot = (now_slot + ahead) & (WHEEL_SLOTS - 1);
        }
    }
    assert(soonest > wheel->now_ms);
    return soonest;
}

struct timer *wheel_expire(struct wheel *wheel, uint64_t now_ms) {
    while (list_empty(&wheel->expired)) {
        unsigned level = 0, slot = 0;
        uint64_t time = next_slot(wheel, &level, &slot);
        if (time > now_ms) {
            if (now_ms > wheel->now_ms)
                wheel->now_ms = now_ms;
            return NULL;
        }
        wheel->now_ms = time;
        spread(wheel, level, slot);
    }
    struct timer *timer = list_entry(list_take(&wheel->expired), struct timer, link);
    assert(timer->due_ms <= wheel->now_ms);
    return timer;
}

uint64_t wheel_next(const struct wheel *wheel) {
    unsigned level = 0, slot = 0;
    return list_empty(&wheel->expired) ? next_slot(wheel, &level, &slot) : wheel->now_ms;
}
