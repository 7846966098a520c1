// Two hubs or more on simulated kernels, joined through a simulated NATS server: new ones for each case. Where the case
// doesn't say at which one a peer is, the first is at the first, the next one at the next, and so on in turns.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "router/config.h"
#include "tests/corpus/backend.h"
#include "tests/corpus/case.h"
#include "tests/corpus/worlds.h"
#include "tests/sim/fleet.h"
#include "tests/sim/kernel.h"

enum { HUBS_IN_TURNS = 2, OPTIONS_ROOM = 1024 };
#define JOINING_NS UINT64_C(5000000000)

static struct fleet fleet;
static unsigned here, hub_count;
static bool in_turns;
static const char *order; // of in_turns, as struct setup has it; moves on

struct line {
    struct cable *cable;
};

// --- Beginning

static bool read_options(const struct setup *setup, unsigned hub, struct hub_settings *out) {
    static char listen[] = "patchbayd --listen tcp://127.0.0.1:0 ", strict[] = " --validate strict";
    struct config config;
    char words[OPTIONS_ROOM], *arguments[CASE_OPTIONS_MAX];
    const char *own = hub < setup->hub_count ? setup->hub_options[hub] : "";
    snprintf(words, sizeof words, "%s%s %s%s", listen, setup->options, own, setup->strict ? strict : "");
    int count = (int)case_words(words, arguments, CASE_OPTIONS_MAX);
    if (config_read(&config, count, arguments, setup->shard_count) != CONFIG_RUN)
        return false;
    *out = config.settings;
    return true;
}

static bool joined(void) {
    for (unsigned hub = 0; hub < hub_count; hub++)
        if (fleet_links(&fleet, hub) != 1)
            return false;
    return true;
}

// What a network may do to bytes without losing any.
static const struct sim_faults rough = {.cut = 300,
                                        .single_byte = 200,
                                        .end_multishot = 100,
                                        .no_buffer = 50,
                                        .interrupt = 50,
                                        .short_send = 300,
                                        .late = 300};

static bool begin(const struct setup *setup, struct text *why) {
    static struct hub_settings settings[SITES_MAX];
    struct fleet_options options = {.seed = 7 + setup->rough, .brokers = {.count = 1}};
    in_turns = setup->hub_count == 0;
    order = setup->order;
    here = *order == 'y';
    options.site_count = hub_count = in_turns ? HUBS_IN_TURNS : setup->hub_count;
    world_defaults(&options.world, options.seed, setup->shard_count);
    if (setup->rough)
        options.world.faults = rough;
    for (unsigned hub = 0; hub < hub_count; hub++) {
        if (!read_options(setup, hub, &settings[hub])) {
            text_put(why, "a hub refuses these options");
            return false;
        }
        settings[hub].limits.connections_max = options.world.limits.connections_max;
        options.settings[hub] = &settings[hub];
    }
    fleet_open(&fleet, &options);
    for (uint64_t until_ns = fleet.now_ns + JOINING_NS; !joined() && fleet.now_ns < until_ns;)
        fleet_pass(&fleet, JOINING_NS / 50);
    if (!joined())
        kernel_fail("the hubs aren't joined");
    return true;
}

static bool end(bool failed, struct text *why) {
    (void)failed, (void)why;
    fleet_close(&fleet);
    return true;
}

static bool stop(struct text *why) {
    (void)why;
    return true;
}

// --- Lines

static void at(unsigned hub) {
    here = hub;
}

// To the hub where the next peer is.
static void move_on(void) {
    if (!*order) {
        here = (here + 1) % hub_count;
    } else if (order[1]) {
        order++;
        here = *order != 'x';
    }
}

static struct line *dial(enum line_wire wire) {
    struct world *world = &fleet.sites[here].world;
    struct cable *cable = worlds_dial(world, wire);
    struct line *line = cable ? malloc(sizeof *line) : NULL;
    if (in_turns)
        move_on();
    if (line)
        line->cable = cable;
    fleet_settle(&fleet);
    return line;
}

static bool write_all(struct line *line, const void *bytes, size_t count) {
    return cable_write(line->cable, bytes, count);
}

// Lets things happen, then time pass, until it is so.
static bool wait_until(bool (*done)(const struct cable *cable), const struct cable *cable) {
    uint64_t until_ns = fleet.now_ns + PATIENCE_NS;
    for (;;) {
        fleet_settle(&fleet);
        uint64_t next_ns = fleet_next_ns(&fleet);
        if (done(cable))
            return true;
        if (next_ns > until_ns)
            return false;
        fleet_advance(&fleet, next_ns);
    }
}

static bool readable(const struct cable *cable) {
    return cable_at_end(cable) || cable_readable(cable);
}

static size_t read_some(struct line *line, void *out, size_t capacity, enum line_state *state) {
    bool ended = wait_until(readable, line->cable) && cable_at_end(line->cable);
    *state = !ended ? LINE_OPEN : cable_was_reset(line->cable) ? LINE_RESET : LINE_ENDED;
    return cable_read(line->cable, out, capacity);
}

static bool quiet(struct line *line) {
    fleet_settle(&fleet);
    return !readable(line->cable);
}

static void half_close(struct line *line) {
    cable_shut(line->cable);
    fleet_settle(&fleet);
}

static void reset(struct line *line) {
    cable_reset(line->cable);
    fleet_settle(&fleet);
}

static void close_line(struct line *line, bool wait) {
    (void)wait;
    cable_close(line->cable);
    free(line);
    fleet_settle(&fleet);
}

static bool hub_closed(struct line *line) {
    return wait_until(cable_hub_closed, line->cable);
}

static void pass(uint64_t ns) {
    fleet_pass(&fleet, ns);
}

// --- What hubs say of themselves: all of them, and the first one's journal.

static uint64_t count_of(const char *name) {
    uint64_t sum = 0;
    for (unsigned hub = 0; hub < hub_count; hub++) {
        uint64_t count = worlds_count(&fleet.sites[hub].world, name);
        if (count == UINT64_MAX)
            return count;
        sum += count;
    }
    return sum;
}

static const char *journal(size_t *count) {
    return worlds_journal(&fleet.sites[0].world, count);
}

const struct backend backend_apart = {
    .name = "apart",
    .simulated = true,
    .rounds = 1,
    .begin = begin,
    .end = end,
    .stop = stop,
    .at = at,
    .dial = dial,
    .write = write_all,
    .read = read_some,
    .quiet = quiet,
    .half_close = half_close,
    .reset = reset,
    .close = close_line,
    .hub_closed = hub_closed,
    .pass = pass,
    .count = count_of,
    .journal = journal,
};
