// A hierarchical timer wheel (Varghese and Lauck, 1987, scheme 7): arming, disarming and expiring a timer costs the
// same with any number of timers. Ticks are milliseconds of a clock that the caller reads.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/list.h"

enum { WHEEL_BITS = 6, WHEEL_SLOTS = 1 << WHEEL_BITS, WHEEL_LEVELS = 5 };

#define TIMER_DUE_MAX ((UINT64_C(1) << 56) - 1) // milliseconds: two million years

// A timer, which lies in the object that waits; owns nothing.
struct timer {
    struct list link;
    uint64_t due_ms : 56;
    uint64_t kind : 8; // set by the owner: the kind of object in which the timer lies
};

struct wheel {
    struct list slots[WHEEL_LEVELS][WHEEL_SLOTS];
    uint64_t occupied[WHEEL_LEVELS]; // bit s: slot s may hold timers
    uint64_t now_ms;                 // all timers due by this time have been expired
    struct list expired;
};

void wheel_init(struct wheel *wheel, uint64_t now_ms);
static inline void timer_init(struct timer *timer, uint8_t kind) {
    list_init(&timer->link);
    timer->due_ms = 0; // both fields in one store, which wheel_arm then reads at once
    timer->kind = kind;
}
static inline bool timer_armed(const struct timer *timer) {
    return !list_empty(&timer->link);
}
// Arms a timer, or rearms an armed one. A timer that is due in the past expires at the next call of wheel_expire. A
// time more than about 12 days ahead is cut to that.
void wheel_arm(struct wheel *wheel, struct timer *timer, uint64_t due_ms);
// Disarms a timer, if it is armed. Also removes a timer that has expired and that wheel_expire hasn't returned yet.
void wheel_disarm(struct timer *timer);
// Moves the wheel to now_ms, and returns the next timer that is due, disarmed, or NULL. Must be called until NULL.
struct timer *wheel_expire(struct wheel *wheel, uint64_t now_ms);
// Returns the time by which wheel_expire must be called again; UINT64_MAX without timers. The time is never later than
// the next timer's due time, but may be earlier: a far timer is placed again when its time comes near.
uint64_t wheel_next(const struct wheel *wheel);
