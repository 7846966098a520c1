// Falling asleep against waking: the turn of a real shard on one thread. On another thread a shard posts mail
// or begins a phase at the same moment. The two meet within nanoseconds in each of very many short rounds. It
// never happens that one would sleep and the other one wouldn't wake it.
//
// The processor may let a store wait while later loads go on. That is what would break the promise, and it
// shows only where nothing else passes between the two sides. The rounds therefore have no kernel in them:
// io_run and io_wake are the test's own (the linker puts them in the place of io/io.h's). On a machine with
// one core both sides take their turns one behind the other, and nothing is proven.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#include "router/engine/shard/hub.h"
#include "router/engine/shard/post.h"
#include "router/engine/shard/shard.h"
#include "router/engine/turn/drain.h"
#include "router/engine/turn/turn.h"
#include "router/main/features.h"
#include "tests/sim/sim_io.h"

enum { ROUNDS_MAX = 2000000, TIME_MS = 1500, SPINS = 2000, DELAYS = 32, LATE_MAX = 300 };
enum { WAKER, SLEEPER, SHARDS };

// How far a side has come; each waits for the other one at every place.
struct place {
    alignas(CACHE_LINE_BYTES) _Atomic unsigned reached;
};

static cpu_set_t cores;
static struct place places[SHARDS];
static struct hub *hub;
static alignas(CACHE_LINE_BYTES) struct mail piece;
// State of a round, written by one side before both have met again, and read by the other one after that.
static alignas(CACHE_LINE_BYTES) bool woken;
static alignas(CACHE_LINE_BYTES) bool last;
static int waker_late;
static unsigned lost, slept, seen;

static void meet(unsigned side) {
    unsigned here = atomic_load_explicit(&places[side].reached, memory_order_relaxed) + 1;
    atomic_store_explicit(&places[side].reached, here, memory_order_release);
    for (unsigned spins = 1; atomic_load_explicit(&places[!side].reached, memory_order_acquire) < here;
         spins++)
        if (spins % SPINS == 0)
            sched_yield();
}

// Puts one side a little behind the other: by `late` on the whole, which follows what came of the rounds
// before, and by some chance.
static void dawdle(int late, uint32_t *random) {
    *random = *random * 1664525 + 1013904223;
    unsigned count = (late > 0 ? (unsigned)late : 0) + (*random >> 16) % DELAYS;
    for (volatile unsigned delay = count; delay;)
        delay = delay - 1;
}

void __wrap_io_wake(struct io *io, struct io *other);
void __wrap_io_wake(struct io *io, struct io *other) {
    (void)io;
    woken = other == hub->shards[SLEEPER]->io;
}

// The sleeper has made up its mind. The reason for which it would have woken up is taken away again.
void __wrap_io_run(struct io *io, uint64_t deadline_ns);
void __wrap_io_run(struct io *io, uint64_t deadline_ns) {
    (void)io;
    bool sleeps = deadline_ns != 0;
    meet(SLEEPER);
    slept += sleeps;
    seen += !sleeps;
    lost += sleeps && !woken;
    if (sleeps && waker_late > -LATE_MAX)
        waker_late--;
    else if (!sleeps && waker_late < LATE_MAX)
        waker_late++;
    while (mailbox_take(hub_mailbox(hub, WAKER, SLEEPER)))
        continue;
    atomic_store(&hub->phase, HUB_SERVING);
}

// Each side gets a core of its own, where there are two.
static void take_core(unsigned side) {
    cpu_set_t own;
    CPU_ZERO(&own);
    for (unsigned core = 0, found = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &cores) && found++ == side)
            CPU_SET(core, &own);
    if (CPU_COUNT(&own))
        sched_setaffinity(0, sizeof own, &own);
}

// Before both sides begin, each looks at the line that the other one is about to write. After that the loads of both
// sides are quick. Their stores are slow, because a store must first take the line away from the other core.
static void look(void) {
    (void)atomic_load(&hub->shards[SLEEPER]->asleep);
    (void)mailbox_quiet(hub_mailbox(hub, WAKER, SLEEPER));
    (void)hub_phase(hub);
}

static void *fall_asleep(void *context) {
    uint32_t random = 1;
    take_core(SLEEPER);
    for (;;) {
        meet(SLEEPER);
        if (*(bool *)context)
            return NULL;
        look();
        meet(SLEEPER);
        dawdle(-waker_late, &random);
        turn_take(hub->shards[SLEEPER]);
    }
}

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void wake_many_times(void (*prepare)(struct shard *), void (*wake)(struct shard *)) {
    struct shard *waker = hub->shards[WAKER];
    uint32_t random = 2;
    uint64_t until_ms = now_ms() + TIME_MS;
    take_core(WAKER);
    for (unsigned round = 0; round < ROUNDS_MAX && (round % 1024 || now_ms() < until_ms); round++) {
        prepare(waker);
        meet(WAKER);
        woken = false;
        look();
        meet(WAKER);
        dawdle(waker_late, &random);
        wake(waker);
        meet(WAKER);
    }
    last = true;
    meet(WAKER);
}

static void play(void (*prepare)(struct shard *), void (*wake)(struct shard *)) {
    pthread_t sleeper;
    lost = slept = seen = 0;
    waker_late = 0;
    last = false;
    atomic_store(&places[WAKER].reached, 0);
    atomic_store(&places[SLEEPER].reached, 0);
    assert_int_equal(pthread_create(&sleeper, NULL, fall_asleep, &last), 0);
    wake_many_times(prepare, wake);
    assert_int_equal(pthread_join(sleeper, NULL), 0);
    print_message("%u rounds slept, %u saw it in time, %u lost\n", slept, seen, lost);
    assert_int_equal(lost, 0);
}

static void post(struct shard *waker) {
    mailbox_post(hub_mailbox(hub, waker->index, SLEEPER), &piece);
}

static void nothing(struct shard *waker) {
    (void)waker;
}

static void a_shard_that_falls_asleep_has_no_mail(void **state) {
    (void)state;
    play(post, post_publish);
}

static void a_shard_that_falls_asleep_misses_no_phase(void **state) {
    (void)state;
    play(nothing, drain_begin);
}

static int open_hub(void **state) {
    static struct random random; // stays behind the kernel
    struct hub_settings settings = {.features = features_all, .shard_count = SHARDS};
    limits_defaults(&settings.limits);
    random_init(&random, 1);
    *state = kernel_create(&random);
    kernel_use(*state);
    int failed = hub_create(&hub, &settings);
    for (uint32_t index = 0; index < SHARDS && !failed; index++) {
        const char *why;
        struct shard *shard;
        failed = shard_open(&shard, hub, index, &why);
    }
    return failed;
}

static int close_hub(void **state) {
    for (uint32_t index = 0; index < SHARDS; index++)
        shard_close(hub->shards[index]);
    hub_destroy(hub);
    kernel_destroy(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_shard_that_falls_asleep_has_no_mail, open_hub, close_hub),
        cmocka_unit_test_setup_teardown(a_shard_that_falls_asleep_misses_no_phase, open_hub, close_hub),
    };
    sched_getaffinity(0, sizeof cores, &cores);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
