// The hub on the simulated kernel: a new one for each case. Time passes when nothing else can happen.
#include <string.h>

#include "router/config.h"
#include "tests/corpus/backend.h"
#include "tests/corpus/case.h"
#include "tests/sim/kernel.h"
#include "tests/sim/world.h"

static struct world world;

// A line is a cable.
static struct cable *cable_of(struct line *line) {
    return (struct cable *)line;
}

static bool read_options(const struct setup *setup, struct config *config, char *text) {
    char program[] = "patchbayd", listen[] = "--listen", nowhere[] = "tcp://127.0.0.1:0";
    char validate[] = "--validate", strict[] = "strict";
    char *arguments[CASE_OPTIONS_MAX] = {program, listen, nowhere};
    unsigned count = 3 + case_words(text, arguments + 3, CASE_OPTIONS_MAX - 5);
    if (setup->strict) {
        arguments[count++] = validate;
        arguments[count++] = strict;
    }
    return config_read(config, (int)count, arguments, setup->shard_count) == CONFIG_RUN;
}

// What a network may do to bytes without losing any.
static const struct sim_faults rough = {
    .cut = 300,
    .single_byte = 200,
    .end_multishot = 100,
    .no_buffer = 50,
    .interrupt = 50,
    .short_send = 300,
    .late = 300,
};

static bool begin(const struct setup *setup, struct text *why) {
    struct config config;
    char options[512];
    options[0] = '\0';
    strncat(options, setup->options, sizeof options - 1);
    if (!read_options(setup, &config, options)) {
        text_put(why, "the hub refuses these options");
        return false;
    }
    struct world_options world_options;
    world_defaults(&world_options, 7 + setup->rough, setup->shard_count);
    config.settings.limits.connections_max = world_options.limits.connections_max;
    world_options.settings = &config.settings;
    if (setup->rough)
        world_options.faults = rough;
    world_options.faults.window_bytes = setup->window_bytes;
    world_open(&world, &world_options);
    return true;
}

// What is wrong ends the program.
static bool end(bool failed, struct text *why) {
    (void)failed, (void)why;
    world_stop(&world);
    world_close(&world);
    return true;
}

static bool stop(struct text *why) {
    (void)why;
    return true;
}

static struct line *dial(bool lines) {
    struct cable *cable = lines ? world_dial_lines(&world) : world_dial(&world);
    world_settle(&world);
    return (struct line *)cable;
}

static bool write_all(struct line *line, const void *bytes, size_t count) {
    return cable_write(cable_of(line), bytes, count);
}

// Lets things happen, then time pass, until the cable is as wanted.
static bool wait_for(struct cable *cable, bool (*done)(const struct cable *)) {
    uint64_t until_ns = kernel_now(world.kernel) + PATIENCE_NS;
    for (;;) {
        world_settle(&world);
        uint64_t next_ns = world_next_ns(&world);
        if (done(cable))
            return true;
        if (next_ns > until_ns)
            return false;
        kernel_advance(world.kernel, next_ns);
    }
}

static bool readable(const struct cable *cable) {
    return cable_readable(cable) || cable_at_end(cable);
}

static size_t read_some(struct line *line, void *out, size_t capacity, enum line_state *state) {
    bool ended = wait_for(cable_of(line), readable) && cable_at_end(cable_of(line));
    *state = !ended ? LINE_OPEN : cable_was_reset(cable_of(line)) ? LINE_RESET : LINE_ENDED;
    return cable_read(cable_of(line), out, capacity);
}

static bool quiet(struct line *line) {
    world_settle(&world);
    return !readable(cable_of(line));
}

static void half_close(struct line *line) {
    cable_shut(cable_of(line));
    world_settle(&world);
}

static void reset(struct line *line) {
    cable_reset(cable_of(line));
    world_settle(&world);
}

static void close_line(struct line *line, bool wait) {
    (void)wait;
    cable_close(cable_of(line));
    world_settle(&world);
}

static bool hub_closed(struct line *line) {
    return wait_for(cable_of(line), cable_hub_closed);
}

static void pass(uint64_t ns) {
    world_pass(&world, ns);
}

static uint64_t count_of(const char *name) {
    uint64_t sum = 0;
    for (enum counter counter = 0; counter < COUNTERS_COUNT; counter++) {
        if (strcmp(stats_name(counter), name) != 0)
            continue;
        for (uint32_t shard = 0; shard < world.shard_count; shard++)
            sum += stats_read(&world.shards[shard]->stats, counter);
        return sum;
    }
    return UINT64_MAX;
}

static const char *journal(size_t *count) {
    size_t synced = 0;
    return (const char *)disk_file(world.kernel, 0, count, &synced);
}

const struct backend backend_sim = {
    .name = "sim",
    .simulated = true,
    .rounds = 1,
    .begin = begin,
    .end = end,
    .stop = stop,
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
