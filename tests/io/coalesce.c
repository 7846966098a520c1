// io/coalesce.c: when waits are held, and when not any more.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "io/coalesce.h"

#define MS_NS UINT64_C(1000000)

enum { HOLD_NS = 100000 };

// A shard under a load, as its policy sees it: the same each millisecond, once for waits that aren't held and once for
// those that are.
struct load {
    uint32_t wakes, bytes, cpu_us;
    uint32_t late_one_in; // of its waits takes longer than it may be held; 0: none
};

struct shard {
    struct coalesce coalesce;
    uint64_t now_ns, cpu_ns;
    uint32_t held_ms, waits;
};

static struct shard shard_of(uint64_t hold_ns) {
    struct shard shard = {.now_ns = 77 * MS_NS, .cpu_ns = 5 * MS_NS};
    coalesce_init(&shard.coalesce, hold_ns);
    return shard;
}

static uint64_t wait_of(struct shard *shard, struct load load) {
    bool late = load.late_one_in && ++shard->waits % load.late_one_in == 0;
    return late ? 2 * HOLD_NS + 1 : 2 * HOLD_NS;
}

static void millisecond(struct shard *shard, struct load without, struct load with) {
    bool holds = shard->coalesce.holds;
    struct load load = holds ? with : without;
    shard->held_ms += holds;
    for (uint32_t wake = 0; wake < load.wakes; wake++) {
        shard->now_ns += MS_NS / load.wakes;
        shard->cpu_ns += load.cpu_us * 1000 / load.wakes;
        assert_true(coalesce_hold(&shard->coalesce, UINT64_MAX) <= HOLD_NS);
        if (coalesce_hold(&shard->coalesce, UINT64_MAX))
            coalesce_waited(&shard->coalesce, wait_of(shard, load));
        coalesce_came(&shard->coalesce, load.bytes / load.wakes);
        if (coalesce_woke(&shard->coalesce, shard->now_ns))
            coalesce_evaluate(&shard->coalesce, shard->now_ns, shard->cpu_ns);
    }
    if (!load.wakes)
        shard->now_ns += MS_NS;
}

// How many of them were held.
static uint32_t play(struct shard *shard, uint32_t ms, struct load without, struct load with) {
    shard->held_ms = 0;
    while (ms-- > 0)
        millisecond(shard, without, with);
    return shard->held_ms;
}

static const struct load MANY_WAKES = {.wakes = 30, .bytes = 12000, .cpu_us = 450};
static const struct load FEWER = {.wakes = 6, .bytes = 12000, .cpu_us = 330};

static void it_holds_where_that_saves(void **state) {
    (void)state;
    struct shard shard = shard_of(HOLD_NS);
    assert_in_range(play(&shard, 300, MANY_WAKES, FEWER), 150, 250);
    assert_int_equal(shard.coalesce.state, COALESCE_HOLDING);
    // The shard goes on holding waits, but for the trials now and then.
    assert_in_range(play(&shard, 10000, MANY_WAKES, FEWER), 9300, 9800);
    assert_int_equal(shard.coalesce.pause_ns, 10000 * MS_NS);
}

static void where_it_is_off_nothing_is_held(void **state) {
    (void)state;
    struct shard shard = shard_of(0);
    assert_int_equal(play(&shard, 3000, MANY_WAKES, FEWER), 0);
    assert_int_equal(coalesce_hold(&shard.coalesce, UINT64_MAX), 0);
}

// No trial is begun.
static void assert_left_alone(struct load load) {
    struct shard shard = shard_of(HOLD_NS);
    assert_int_equal(play(&shard, 3000, load, (struct load){.wakes = 1, .bytes = 1, .cpu_us = 1}), 0);
    assert_int_equal(shard.coalesce.state, COALESCE_WATCHING);
}

static void no_trial_where_it_is_of_no_use(void **state) {
    (void)state;
    assert_left_alone((struct load){.wakes = 4, .bytes = 1000, .cpu_us = 100});    // wakes seldom
    assert_left_alone((struct load){.wakes = 30, .bytes = 12000, .cpu_us = 900});  // is busy
    assert_left_alone((struct load){.wakes = 30, .bytes = 600000, .cpu_us = 450}); // gets much each time
    assert_left_alone((struct load){.wakes = 30, .bytes = 0, .cpu_us = 450});      // gets nothing
}

// Each trial in vain is cut short, or not, and the next one is further off.
static void a_trial_in_vain_ends_it(struct load with, uint32_t held_most) {
    struct shard shard = shard_of(HOLD_NS);
    uint32_t held = play(&shard, 1000, MANY_WAKES, with);
    assert_in_range(held, 10, held_most);
    assert_int_equal(shard.coalesce.state, COALESCE_WATCHING);
    assert_int_equal(shard.coalesce.pause_ns, 20000 * MS_NS);
    held = play(&shard, 2000000, MANY_WAKES, with); // after 10, 20, 40, 80, 160, 320, 640 and 640 seconds
    assert_in_range(held, 70, 8 * held_most);
    assert_int_equal(shard.coalesce.pause_ns, 640000 * MS_NS);
}

static void where_it_saves_little_it_lets_go(void **state) {
    (void)state;
    a_trial_in_vain_ends_it((struct load){.wakes = 6, .bytes = 12000, .cpu_us = 430}, 120);
}

// Peers wait for answers: less is done with less.
static void where_the_load_falls_it_lets_go_soon(void **state) {
    (void)state;
    a_trial_in_vain_ends_it((struct load){.wakes = 6, .bytes = 4000, .cpu_us = 100}, 50);
    a_trial_in_vain_ends_it((struct load){.wakes = 6, .bytes = 10400, .cpu_us = 100}, 50);
}

// The shard has 6,000 held waits a second; the first pair of windows has 60.
static void where_timers_are_late_it_lets_go_soon(void **state) {
    (void)state;
    a_trial_in_vain_ends_it((struct load){.wakes = 6, .bytes = 12000, .cpu_us = 330, .late_one_in = 10}, 20);
    a_trial_in_vain_ends_it((struct load){.wakes = 6, .bytes = 12000, .cpu_us = 330, .late_one_in = 40}, 120);
}

static void one_late_wait_of_a_hundred_is_its_price(void **state) {
    (void)state;
    struct load with = {.wakes = 6, .bytes = 12000, .cpu_us = 330, .late_one_in = 101};
    struct shard shard = shard_of(HOLD_NS);
    assert_in_range(play(&shard, 10000, MANY_WAKES, with), 9000, 9800);
    with.late_one_in = 20; // and more than that are not
    assert_in_range(play(&shard, 1000, MANY_WAKES, with), 10, 200);
    assert_int_equal(shard.coalesce.state, COALESCE_WATCHING);
    assert_int_equal(shard.coalesce.pause_ns, 20000 * MS_NS);
}

static void another_load_is_tried_anew(void **state) {
    (void)state;
    struct shard shard = shard_of(HOLD_NS);
    play(&shard, 1000, MANY_WAKES, FEWER);
    assert_int_equal(shard.coalesce.state, COALESCE_HOLDING);
    // Peers do with less from now on, and wait for each answer: within two windows.
    struct load closed = {.wakes = 20, .bytes = 8000, .cpu_us = 300},
                falls = {.wakes = 5, .bytes = 2000, .cpu_us = 100};
    assert_in_range(play(&shard, 2000, closed, falls), 10, 100);
    assert_int_equal(shard.coalesce.state, COALESCE_WATCHING);
}

// Processor time while nothing came says nothing, and later events are another load.
static void a_pause_ends_it(void **state) {
    (void)state;
    struct shard shard = shard_of(HOLD_NS);
    play(&shard, 1000, MANY_WAKES, FEWER);
    play(&shard, 50, (struct load){0}, (struct load){0});
    millisecond(&shard, MANY_WAKES, MANY_WAKES);
    assert_int_equal(shard.coalesce.state, COALESCE_WATCHING);
    assert_false(shard.coalesce.holds);
}

// A hold that began to save less is noticed by the next trial.
static void it_is_tried_again(void **state) {
    (void)state;
    struct shard shard = shard_of(HOLD_NS);
    play(&shard, 1000, MANY_WAKES, FEWER);
    assert_in_range(play(&shard, 4000, MANY_WAKES, MANY_WAKES), 1000, 2200);
    assert_int_equal(shard.coalesce.state, COALESCE_WATCHING);
}

static void a_hold_is_never_longer_than_its_bound_or_the_wait(void **state) {
    (void)state;
    struct coalesce coalesce;
    coalesce_init(&coalesce, HOLD_NS);
    assert_int_equal(coalesce_hold(&coalesce, UINT64_MAX), 0);
    coalesce.holds = true;
    assert_int_equal(coalesce_hold(&coalesce, UINT64_MAX), HOLD_NS);
    assert_int_equal(coalesce_hold(&coalesce, HOLD_NS + 1), HOLD_NS);
    assert_int_equal(coalesce_hold(&coalesce, HOLD_NS - 1), HOLD_NS - 1);
    assert_int_equal(coalesce_hold(&coalesce, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_holds_where_that_saves),
        cmocka_unit_test(where_it_is_off_nothing_is_held),
        cmocka_unit_test(no_trial_where_it_is_of_no_use),
        cmocka_unit_test(where_it_saves_little_it_lets_go),
        cmocka_unit_test(where_the_load_falls_it_lets_go_soon),
        cmocka_unit_test(where_timers_are_late_it_lets_go_soon),
        cmocka_unit_test(one_late_wait_of_a_hundred_is_its_price),
        cmocka_unit_test(another_load_is_tried_anew),
        cmocka_unit_test(a_pause_ends_it),
        cmocka_unit_test(it_is_tried_again),
        cmocka_unit_test(a_hold_is_never_longer_than_its_bound_or_the_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
