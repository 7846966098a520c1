// Plays a run: a profile by the seed, guests and hub in turns chosen by chance, then rest, then the end.
#include "tests/sim/run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/flood.h"
#include "tests/sim/kernel.h"

// The bound is some seconds: bodies of 200,000 bytes through a window of one take millions of steps.
enum {
    STEPS_MAX = 50000000,
    SECOND = 1000000000,
    NARROW_FRAME_BYTES = 400000 // more than what guests send then
};

// --- The profile

static uint16_t sometimes(struct random *random, uint32_t per_mille, uint32_t most) {
    return random_chance(random, per_mille) ? (uint16_t)(1 + random_below(random, most)) : 0;
}

static void choose_faults(struct random *random, struct sim_faults *faults) {
    faults->cut = sometimes(random, 500, 600);
    faults->single_byte = sometimes(random, 200, 300);
    faults->end_multishot = sometimes(random, 500, 300);
    faults->no_buffer = sometimes(random, 300, 100);
    faults->interrupt = sometimes(random, 200, 30);
    faults->short_send = sometimes(random, 300, 300);
    faults->late = sometimes(random, 400, 400);
    faults->accept_failure = sometimes(random, 150, 300);
    faults->file_short = sometimes(random, 300, 300);
    faults->file_error = sometimes(random, 300, 300);
    faults->lent_max = random_chance(random, 300) ? 1 + random_below(random, 8) : 0;
    faults->window_bytes = random_chance(random, 400) ? 1 + random_below(random, 20000) : 0;
}

// Nothing but its time closes a connection.
static void choose_times(struct random *random, struct profile *profile, struct world_options *options) {
    profile->timed = profile->lossy = true;
    profile->counted = false;
    if (random_chance(random, 600))
        options->faults.window_bytes = 500 + random_below(random, 3000);
    if (random_chance(random, 200)) {
        profile->small_queue = true;
        options->limits.queue_bytes_max = 1000 + random_below(random, 100000);
    }
}

static void choose_losses(struct random *random, struct profile *profile, struct world_options *options) {
    struct limits *limits = &options->limits;
    profile->lossy = true;
    profile->counted = false;
    options->faults.reset = sometimes(random, 500, 5);
    options->no_memory = sometimes(random, 250, 20);
    if (random_chance(random, 300))
        limits->queue_bytes_max = 1000 + random_below(random, 100000);
    if (random_chance(random, 300)) {
        uint64_t least = limits_memory_bytes_least(options->shard_count);
        limits->memory_bytes_max = least + random_below(random, 400000);
    }
    if (random_chance(random, 200))
        limits->frame_bytes_max = 20000 + random_below(random, 100000);
    if (random_chance(random, 100))
        limits->connections_max = 5 + random_below(random, 10);
    if (random_chance(random, 500))
        options->mailbox_room = 4U << random_below(random, 5);
}

static void choose(uint64_t seed, bool clean, struct profile *profile, struct world_options *options) {
    struct random random; // another sequence than the world's
    random_init(&random, seed ^ UINT64_C(0x70726f66696c65));
    world_defaults(options, seed, random_between(&random, 1, WORLD_SHARDS_MAX));
    options->limits.connections_max = 2 * GUESTS_MAX;
    *profile = (struct profile){.clean = clean, .counted = true, .big_bytes_max = 200000};
    profile->strict = options->strict = random_chance(&random, 400);
    profile->flaws = profile->strict ? 120 : 0;
    profile->tokens = random_chance(&random, 500) ? 600 : 0;
    profile->lines = 500 * random_below(&random, 3);
    profile->subscribers = 200 * random_below(&random, 3);
    profile->callers = 300 * random_below(&random, 3);
    profile->sockets = 300 * random_below(&random, 4);
    if (clean)
        return;
    choose_faults(&random, &options->faults);
    options->journal = random_chance(&random, 500) ? "journal" : NULL;
    profile->leavers = random_chance(&random, 600);
    profile->rude = random_chance(&random, 600);
    profile->silent = random_chance(&random, 400);
    profile->drain_early = random_chance(&random, 250);
    profile->flaws = profile->rude ? 120 : profile->flaws;
    options->takeover = random_chance(&random, 300);
    if (profile->silent)
        options->limits.request_timeout_ns =
            (uint64_t)SECOND * (1 + random_below(&random, random_chance(&random, 500) ? 5 : 300));
    if (random_chance(&random, 200)) {
        profile->tight = true;
        options->limits.pending_max = 1 + random_below(&random, 4);
    }
    if (random_chance(&random, 200)) {
        profile->tight = true;
        profile->counted = false; // subscriptions may be refused
        options->kept_room = 1 + random_below(&random, random_chance(&random, 500) ? 300000 : 30000);
    }
    profile->leave = random_chance(&random, 250);
    if (random_chance(&random, 250)) {
        choose_times(&random, profile, options);
    } else if (random_chance(&random, 400)) {
        choose_losses(&random, profile, options);
    } else if (random_chance(&random, 300)) {
        profile->steady = profile->tight = true;
        profile->big_bytes_max = 20000;
        options->limits.queue_bytes_max = 1000 + random_below(&random, 20000);
        options->faults.window_bytes = 200 + random_below(&random, 2000);
    }
    if (profile->lines && profile->rude && !profile->flood && random_chance(&random, 300)) {
        profile->big_bytes_max = 20000;
        if (options->limits.frame_bytes_max > NARROW_FRAME_BYTES)
            options->limits.frame_bytes_max = NARROW_FRAME_BYTES;
    }
    options->faults.preempt = sometimes(&random, 500, 300);
    if (!profile->steady && !profile->timed && random_chance(&random, 150))
        flood_choose(&random, profile, options);
    struct limits defaults;
    limits_defaults(&defaults);
    profile->sure_cancels = !options->no_memory && !options->kept_room &&
                            options->limits.queue_bytes_max == defaults.queue_bytes_max &&
                            options->limits.memory_bytes_max == defaults.memory_bytes_max;
}

// --- The run

static bool acts(struct run *run) {
    if (!run->guest_count)
        return false;
    unsigned first = random_below(run->random, run->guest_count), count = run->guest_count;
    for (unsigned step = 0; step < count; step++)
        if (guest_act(run, run->guests[(first + step) % count]))
            return true;
    return false;
}

static bool anybody_acts(struct run *run) {
    bool any = flood_act(run);
    run->idles = false;
    any |= acts(run);
    if (any && !run->idles)
        run->acted_ns = kernel_now(run->world.kernel);
    return any;
}

static uint64_t next_of(const struct run *run) {
    uint64_t next_ns = world_next_ns(&run->world), other_ns = patience_next_ns(run),
             reads_ns = pace_next_ns(run);
    other_ns = reads_ns < other_ns ? reads_ns : other_ns;
    return next_ns < other_ns ? next_ns : other_ns;
}

// Returns whether anything may come yet: what the hub puts off (a receive without a buffer, an accept that fails time
// and again) comes within seconds.
static bool may_go_on(const struct run *run) {
    uint64_t next_ns = next_of(run);
    if (pace_next_ns(run) != UINT64_MAX)
        return true;
    return next_ns != UINT64_MAX && next_ns < run->acted_ns + 20 * (uint64_t)SECOND;
}

static bool hub_owes(const struct run *run) {
    for (uint32_t shard = 0; shard < run->world.shard_count; shard++)
        if (run->world.shards[shard]->pending.count)
            return true;
    return false;
}

// Does one thing that a guest, the kernel or the hub can do without time passing.
static bool step(struct run *run) {
    if (random_below(run->random, 3) == 0 && anybody_acts(run))
        return true;
    return world_step(&run->world) || anybody_acts(run);
}

static void begin_to_drain(struct run *run) {
    run->draining = true;
    for (unsigned index = 0; index < run->guest_count; index++) {
        run->guests[index]->reads = 1000;
        run->guests[index]->piece = 0;
        patience_end(run->guests[index]);
    }
    kernel_signal(run->world.kernel, SIGTERM);
}

// Lets time pass to what is due next; false when nothing ever is.
static bool pass(struct run *run) {
    uint64_t next_ns = next_of(run);
    patience_check(run, next_ns);
    if (next_ns == UINT64_MAX)
        return false;
    kernel_advance(run->world.kernel, next_ns);
    return true;
}

static void serve(struct run *run) {
    uint32_t drain_at = run->profile.drain_early ? 500 + random_below(run->random, 4000) : UINT32_MAX;
    for (uint32_t steps = 0; !world_stopped(&run->world); steps++) {
        if (steps == STEPS_MAX)
            kernel_fail("the run doesn't end");
        if (steps == drain_at)
            begin_to_drain(run);
        if (random_chance(run->random, 20))
            kernel_advance(run->world.kernel,
                           kernel_now(run->world.kernel) + random_below(run->random, 50000));
        if (random_chance(run->random, 2))
            witness_set_clock(run);
        if (step(run))
            continue;
        patience_reload(run);
        if (step(run))
            continue;
        if (run->draining || hub_owes(run) || may_go_on(run)) {
            if (!pass(run))
                kernel_fail("nothing will ever happen again, but the hub owes something");
            continue;
        }
        patience_check(run, next_of(run));
        oracle_rest(run, false);
        flood_rest(run);
        world_check_agents(&run->world);
        begin_to_drain(run);
    }
}

static void arrive_all(struct run *run) {
    unsigned agents = 1 + random_below(run->random, 6), sources = random_below(run->random, 6);
    for (unsigned index = 0; index < agents; index++) {
        bool contender = !run->profile.clean && random_chance(run->random, 100);
        guest_arrive(run, contender ? (int)random_below(run->random, agents) : (int)index);
    }
    for (unsigned index = 0; index < sources; index++)
        guest_arrive(run, NOBODY);
}

static void forget_all(struct run *run) {
    for (unsigned index = 0; index < run->guest_count; index++) {
        guest_leave(run, run->guests[index]);
        free(run->guests[index]->in.bytes);
        free(run->guests[index]->out.bytes);
        free(run->guests[index]->subscriber.data.bytes);
        free(run->guests[index]);
    }
    for (unsigned tag = 0; tag < run->record_count; tag++) {
        free(run->records[tag]->memory);
        free(run->records[tag]);
    }
}

// Guests that judge by how many bytes there are to be read don't reckon with records.
static void choose_secure(uint64_t seed, struct profile *profile, struct world_options *options) {
    options->secure = seed % 3 == 0 && !profile->steady && !profile->timed && !profile->flood;
    if (!options->secure)
        return;
    profile->sockets = 0;
    profile->subscribers = 0;
}

// Turns do so little that most of what comes has to wait for another one. Where times are measured nothing may take
// any.
static void choose_turns(uint64_t seed, const struct profile *profile, struct world_options *options) {
    static const struct turn_bounds few = {.read_ns = 20000,
                                           .slice_ns = 5000,
                                           .registry_ns = 5000,
                                           .fanout_direct_max = 1,
                                           .fanout_sends_max = 1,
                                           .fanout_bytes_max = 1000,
                                           .fanout_wait_ns = 50000,
                                           .fanout_ahead_bytes = 500,
                                           .send_bytes = 1000,
                                           .lagging_bytes = 2000,
                                           .lagging_backlog_bytes = 300,
                                           .large_bytes = 3000,
                                           .part_min = 700,
                                           .part_max = 2000,
                                           .request_ends_max = 2,
                                           .copies_max = 1,
                                           .peer_orders_max = 1};
    if (seed % 4 != 1)
        return;
    options->bounds = &few;
    if (!profile->timed && !profile->steady)
        options->faults.work_ns = 30000;
}

uint64_t run_seed(uint64_t seed, bool clean, uint64_t table_secret) {
    static struct run run;
    struct world_options options;
    run = (struct run){0};
    choose(seed, clean, &run.profile, &options);
    options.table_secret = table_secret;
    choose_secure(seed, &run.profile, &options);
    choose_turns(seed, &run.profile, &options);
    patience_choose(&run, seed, &options);
    world_open(&run.world, &options);
    run.random = &run.world.random;
    run.late = run.profile.steady;
    naive_take_breaks(!run.profile.strict);
    witness_begin(&run);
    arrive_all(&run);
    flood_open(&run, &options);
    serve(&run);
    oracle_rest(&run, true);
    witness_journal(&run);
    uint64_t trace = kernel_traced(run.world.kernel);
    forget_all(&run);
    flood_close();
    world_close(&run.world);
    totals.runs++;
    totals.strict += run.profile.strict;
    return trace;
}

void run_print_totals(void) {
    printf("%" PRIu64 " runs: %" PRIu64 " requests asked, %" PRIu64 " answered, %" PRIu64
           " ended by the hub, %" PRIu64 " notifications, %" PRIu64 " messages delivered, %" PRIu64
           " faulty bodies answered, %" PRIu64 " connections lost; %" PRIu64 " events, heard %" PRIu64
           " times, %" PRIu64 " missed and told; %" PRIu64 " runs strict, %" PRIu64
           " messages flawed; %" PRIu64 " reports of progress, %" PRIu64 " cancels; %" PRIu64
           " times a method of the hub, %" PRIu64 " lines of journals; %" PRIu64
           " guests spoke lines, %" PRIu64 " WebSocket, %" PRIu64 " HTTP, %" PRIu64 " streams; %" PRIu64
           " messages of attached guests\n",
           totals.runs, totals.asked, totals.answered, totals.refused, totals.told, totals.delivered,
           totals.null_errors, totals.lost, totals.events, totals.heard, totals.missed, totals.strict,
           totals.flawed, totals.reports, totals.cancels, totals.forms, totals.witnessed, totals.liners,
           totals.sockets, totals.callers, totals.subscribers, totals.attached);
}
