// Time is cut into windows. COALESCE_WATCHING lasts until a trial may be worth its cost. A trial compares pairs of
// windows, one with held waits and one without; every second pair has the opposite order. After a successful trial,
// waits are held. A window that ends late, because no event came for long, is not used: the events after it are another
// load.
#include "io/coalesce.h"

#include <assert.h>

enum {
    TRIAL_PAIRS = 9,
    FALLS_PAIRS = 3,          // after this many pairs a trial may end, because fewer bytes come
    LITTLE_BYTES = 16 * 1024, // a wake that brings more bytes gains nothing from a longer wait
    BUSY_PERCENT = 80,        // a busier shard hardly sleeps
    // Bounds of the values with held waits, in % of the values without: processor time a byte at most, bytes a second
    // at least. Some bytes come one held wait later, and so in the next window. A shard that holds already has looser
    // bounds, so that noise doesn't end the holding.
    WIN_CPU_PERCENT = 90,
    STAY_CPU_PERCENT = 95,
    WIN_BYTES_PERCENT = 90,
    STAY_BYTES_PERCENT = 85,
    LATE_ONE_IN = 100, // of the held waits, one in so many may be late, and LATE_BY_CHANCE more
    LATE_BY_CHANCE = 3,
};
// Times from a trial to the next: after a success, and after a failure at first and at most. A trial itself holds waits
// for 90 ms.
#define HOLD_FOR_NS  UINT64_C(2000000000)
#define PAUSE_MIN_NS UINT64_C(10000000000)
#define PAUSE_MAX_NS UINT64_C(640000000000)

void coalesce_init(struct coalesce *coalesce, uint64_t hold_ns) {
    *coalesce = (struct coalesce){.hold_ns = hold_ns, .pause_ns = PAUSE_MIN_NS};
}

// Returns whether waits are held in this window of the trial: without, with; with, without; and so on.
static bool trial_holds(uint32_t window) {
    return ((window & 1) ^ (window >> 1 & 1)) != 0;
}

static void let_go(struct coalesce *coalesce) {
    coalesce->state = COALESCE_WATCHING;
    coalesce->holds = false;
}

static void begin_trial(struct coalesce *coalesce) {
    coalesce->holds_on = coalesce->state == COALESCE_HOLDING;
    coalesce->state = COALESCE_TRYING;
    coalesce->windows = coalesce->wins = coalesce->held = coalesce->late = 0;
    coalesce->all[false] = coalesce->all[true] = (struct coalesce_sum){0};
    coalesce->holds = trial_holds(0);
}

static void lose(struct coalesce *coalesce, uint64_t now_ns) {
    let_go(coalesce);
    coalesce->next_ns = now_ns + coalesce->pause_ns;
    coalesce->pause_ns = coalesce->pause_ns * 2 > PAUSE_MAX_NS ? PAUSE_MAX_NS : coalesce->pause_ns * 2;
}

static void win(struct coalesce *coalesce, uint64_t now_ns) {
    coalesce->state = COALESCE_HOLDING;
    coalesce->holds = true;
    coalesce->held = coalesce->late = 0;
    coalesce->usual = coalesce->all[true].bytes / TRIAL_PAIRS;
    coalesce->next_ns = now_ns + HOLD_FOR_NS;
    coalesce->pause_ns = PAUSE_MIN_NS;
}

// Returns whether a trial may pay. The shard must wake at least once in the time of two held waits, must not be busy,
// and must get few bytes a wake.
static bool is_worth_a_trial(const struct coalesce *coalesce, const struct coalesce_sum *window) {
    return coalesce->wakes * 2 * coalesce->hold_ns >= window->ns &&
           window->cpu_ns * 100 <= window->ns * BUSY_PERCENT &&
           window->bytes <= (uint64_t)coalesce->wakes * LITTLE_BYTES;
}

static bool has_won(const struct coalesce *coalesce) {
    const struct coalesce_sum *without = &coalesce->half[false], *with = &coalesce->half[true];
    uint64_t percent = coalesce->holds_on ? STAY_CPU_PERCENT : WIN_CPU_PERCENT;
    return with->cpu_ns * without->bytes * 100 <= without->cpu_ns * with->bytes * percent;
}

static bool load_falls(const struct coalesce *coalesce) {
    const struct coalesce_sum *without = &coalesce->all[false], *with = &coalesce->all[true];
    uint64_t percent = coalesce->holds_on ? STAY_BYTES_PERCENT : WIN_BYTES_PERCENT;
    return with->bytes * (without->ns / 1000) * 100 < without->bytes * (with->ns / 1000) * percent;
}

static bool is_late(const struct coalesce *coalesce) {
    return coalesce->late > LATE_BY_CHANCE + coalesce->held / LATE_ONE_IN;
}

static void add(struct coalesce_sum *sum, const struct coalesce_sum *window) {
    sum->ns += window->ns;
    sum->cpu_ns += window->cpu_ns;
    sum->bytes += window->bytes;
}

static void go_on_trying(struct coalesce *coalesce, const struct coalesce_sum *window, uint64_t now_ns) {
    assert(coalesce->windows < 2 * TRIAL_PAIRS && coalesce->holds == trial_holds(coalesce->windows));
    coalesce->half[coalesce->holds] = *window;
    add(&coalesce->all[coalesce->holds], window);
    coalesce->windows++;
    uint32_t pairs = coalesce->windows / 2;
    if (coalesce->windows % 2 == 0)
        coalesce->wins += has_won(coalesce);
    coalesce->holds = trial_holds(coalesce->windows);
    if (coalesce->windows % 2 == 1)
        return;
    if (is_late(coalesce) || (pairs >= FALLS_PAIRS && load_falls(coalesce)))
        lose(coalesce, now_ns);
    else if (pairs == TRIAL_PAIRS && coalesce->wins * 2 > TRIAL_PAIRS)
        win(coalesce, now_ns);
    else if (pairs == TRIAL_PAIRS)
        lose(coalesce, now_ns);
}

static void continue_holding(struct coalesce *coalesce, const struct coalesce_sum *window, uint64_t now_ns) {
    if (is_late(coalesce)) {
        lose(coalesce, now_ns);
        return;
    }
    if (window->bytes < coalesce->usual / 2 || window->bytes > coalesce->usual * 2)
        let_go(coalesce); // a new trial may begin at once
    else if (now_ns >= coalesce->next_ns)
        begin_trial(coalesce);
    else
        return;
    coalesce->next_ns = now_ns;
}

void coalesce_evaluate(struct coalesce *coalesce, uint64_t now_ns, uint64_t cpu_ns) {
    assert(coalesce->hold_ns && now_ns >= coalesce->began_ns);
    struct coalesce_sum window = {now_ns - coalesce->began_ns, cpu_ns - coalesce->cpu_ns, coalesce->bytes};
    bool useful = coalesce->measured && window.ns <= 2 * COALESCE_WINDOW_NS;
    if (!useful)
        let_go(coalesce);
    else if (coalesce->state == COALESCE_TRYING)
        go_on_trying(coalesce, &window, now_ns);
    else if (coalesce->state == COALESCE_HOLDING)
        continue_holding(coalesce, &window, now_ns);
    else if (now_ns >= coalesce->next_ns && is_worth_a_trial(coalesce, &window))
        begin_trial(coalesce);
    coalesce->began_ns = now_ns;
    coalesce->cpu_ns = cpu_ns;
    coalesce->bytes = coalesce->bytes_seen = coalesce->wakes = 0;
    coalesce->measured = true;
}
