// Two hubs or more on simulated kernels, joined through a simulated NATS server. Cases that ask for the same ones have
// them one after the other, as long as they hold. What one case leaves behind, and isn't forgotten in time, fails the
// next. Where the case doesn't say at which one a peer is, peers take them in turns: the first peer the first one, and
// so on. Children are the last one's, and then no other case has these hubs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "router/main/config.h"
#include "router/main/config_users.h"
#include "tests/corpus/backend.h"
#include "tests/corpus/case.h"
#include "tests/corpus/worlds.h"
#include "tests/sim/fleet.h"
#include "tests/sim/kernel.h"
#include "tests/sim/programs.h"

enum { HUBS_IN_TURNS = 2, OPTIONS_ROOM = 1024, SETUP_ROOM = 8192 };
#define JOINING_NS    UINT64_C(5000000000)
#define FORGETTING_NS UINT64_C(1200000000) // what has ended is remembered for a second, but sessions

static struct fleet fleet;
static bool is_open;
static char asked_for[SETUP_ROOM]; // all that tells one fleet from another
static unsigned here, hub_count;
static uint64_t before[STATS_COUNTERS_MAX]; // what all had counted when the case began
static size_t journal_at;                   // where the first one's journal was then
static bool in_turns;
static const char *order; // of in_turns, as struct setup has it; moves on

static struct worlds_file config_file = {.descriptor = -1}; // of the last hub
static bool has_children;

struct line {
    struct cable *cable;     // NULL: it is a child's
    struct program *program; // which may have been killed, and its pipes with it
};

static struct cable *cable_to(const struct line *line) {
    return line->program ? line->program->out : line->cable;
}

static struct cable *cable_of(const struct line *line) {
    return line->program ? line->program->in : line->cable;
}

static struct kernel *childrens_kernel(void) {
    return fleet.sites[hub_count - 1].world.kernel;
}

// --- Beginning

// Settings point into what they were read from.
static struct said {
    struct config config;
    struct worlds_file users;
    char words[OPTIONS_ROOM], *arguments[CASE_OPTIONS_MAX];
} said[SITES_MAX] = {[0 ... SITES_MAX - 1] = {.users.descriptor = -1}};

// NULL: none.
static const char *users_of(const struct setup *setup, unsigned hub) {
    const char *own = hub < setup->hub_count ? setup->hub_users[hub] : NULL;
    return own ? own : setup->users;
}

// Reads the users that the hub knows, if it is to know any.
static bool read_users(const struct config *config, struct hub_settings *out) {
    static const struct siphash_key key = {{5, 6}};
    out->users = config->users[0]
                     ? config_users(config, &key, NULL, config->settings.approval_level, &out->realm)
                     : NULL;
    return out->users || !config->users[0];
}

static bool read_options(const struct setup *setup, unsigned hub, struct hub_settings *out) {
    static char listen[] = "patchbayd --listen tcp://127.0.0.1:0 ", strict[] = " --validate strict";
    static char option[] = "--users", file[] = "--config";
    struct said *text = &said[hub];
    const char *own = hub < setup->hub_count ? setup->hub_options[hub] : "", *users = users_of(setup, hub);
    snprintf(text->words, OPTIONS_ROOM, "%s%s %s%s", listen, setup->options, own,
             setup->strict ? strict : "");
    int count = (int)case_words(text->words, text->arguments, CASE_OPTIONS_MAX - 4);
    if (setup->config && hub + 1 == hub_count) {
        worlds_write(&config_file, setup->config);
        text->arguments[count++] = file;
        text->arguments[count++] = config_file.path;
    }
    if (users) {
        worlds_write(&text->users, users);
        text->arguments[count++] = option;
        text->arguments[count++] = text->users.path;
    }
    if (config_read(&text->config, count, text->arguments, setup->shard_count) != CONFIG_RUN)
        return false;
    *out = text->config.settings;
    bool good = read_users(&text->config, out);
    text->config.settings.children = NULL; // they are the settings' now
    config_deinit(&text->config);
    return good;
}

static bool joined(void) {
    for (unsigned hub = 0; hub < hub_count; hub++)
        if (fleet_links(&fleet, hub) != 1)
            return false;
    return true;
}

// Faults of a network that loses no bytes.
static const struct sim_faults rough = {.cut = 300,
                                        .single_byte = 200,
                                        .end_multishot = 100,
                                        .no_buffer = 50,
                                        .interrupt = 50,
                                        .short_send = 300,
                                        .late = 300};

static uint64_t sum_of(unsigned counter) {
    uint64_t sum = 0;
    for (unsigned hub = 0; hub < hub_count; hub++) {
        const struct world *world = &fleet.sites[hub].world;
        for (uint32_t shard = 0; shard < world->shard_count; shard++)
            sum += stats_read(&world->shards[shard]->stats, counter);
    }
    return sum;
}

static void describe(const struct setup *setup, char out[SETUP_ROOM]) {
    int count = snprintf(out, SETUP_ROOM, "%d %u %llu %u\n%s", setup->strict, setup->shard_count,
                         (unsigned long long)setup->rough, setup->hub_count, setup->options);
    for (unsigned hub = 0; hub < setup->hub_count && count < SETUP_ROOM; hub++)
        count += snprintf(out + count, SETUP_ROOM - (size_t)count, "\n%s\n%s", setup->hub_options[hub],
                          users_of(setup, hub) ? users_of(setup, hub) : "");
    if (count >= SETUP_ROOM)
        kernel_fail("too many options");
}

static bool open_fleet(const struct setup *setup, struct text *why) {
    static struct hub_settings settings[SITES_MAX];
    struct fleet_options options = {.seed = 7 + setup->rough, .brokers = {.count = 1}};
    options.site_count = hub_count = setup->hub_count ? setup->hub_count : HUBS_IN_TURNS;
    world_defaults(&options.world, options.seed, setup->shard_count);
    if (setup->rough)
        options.world.faults = rough;
    has_children = options.world.keeps = setup->config != NULL;
    for (unsigned hub = 0; hub < hub_count; hub++) {
        if (!read_options(setup, hub, &settings[hub])) {
            text_put(why, "a hub refuses these options");
            return false;
        }
        settings[hub].limits.connections_max = options.world.limits.connections_max;
        options.settings[hub] = &settings[hub];
    }
    fleet_open(&fleet, &options);
    is_open = true;
    describe(setup, asked_for);
    if (has_children)
        programs_hold(childrens_kernel(), true);
    for (uint64_t until_ns = fleet.now_ns + JOINING_NS; !joined() && fleet.now_ns < until_ns;)
        fleet_pass(&fleet, JOINING_NS / 50);
    if (!joined())
        kernel_fail("the hubs aren't joined");
    return true;
}

static bool stop(struct text *why) {
    (void)why;
    if (is_open && has_children)
        programs_hold(childrens_kernel(), false);
    if (is_open)
        fleet_close(&fleet);
    is_open = false;
    return true;
}

static void note_beginning(void) {
    for (unsigned counter = 0; counter < STATS_COUNTERS_MAX; counter++)
        before[counter] = sum_of(counter);
    journal_at = 0;
    worlds_journal(&fleet.sites[0].world, &journal_at);
}

static bool begin(const struct setup *setup, struct text *why) {
    char fresh[SETUP_ROOM];
    describe(setup, fresh);
    in_turns = setup->hub_count == 0;
    order = setup->order;
    here = *order == 'y';
    if (is_open && (setup->config || strcmp(fresh, asked_for) != 0))
        stop(why);
    if (!is_open && !open_fleet(setup, why))
        return false;
    note_beginning();
    return true;
}

static bool end(bool failed, struct text *why) {
    if (failed || has_children)
        return stop(why);
    fleet_pass(&fleet, FORGETTING_NS);
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

static struct line *line_of(struct cable *cable, struct program *program) {
    struct line *line = malloc(sizeof *line);
    if (!line)
        abort();
    *line = (struct line){.cable = cable, .program = program};
    return line;
}

static struct line *dial(enum line_wire wire) {
    struct world *world = &fleet.sites[here].world;
    struct cable *cable = worlds_dial(world, wire);
    if (in_turns)
        move_on();
    fleet_settle(&fleet);
    return cable ? line_of(cable, NULL) : NULL;
}

static bool write_all(struct line *line, const void *bytes, size_t count) {
    return cable_to(line) && cable_write(cable_to(line), bytes, count);
}

// Lets things happen, then time pass, until it is so.
static bool wait_until(bool (*done)(const void *context), const void *context) {
    uint64_t until_ns = fleet.now_ns + PATIENCE_NS;
    for (;;) {
        fleet_settle(&fleet);
        uint64_t next_ns = fleet_next_ns(&fleet);
        if (done(context))
            return true;
        if (next_ns > until_ns)
            return false;
        fleet_advance(&fleet, next_ns);
    }
}

static bool at_end(const struct line *line) {
    return !cable_of(line) || cable_at_end(cable_of(line));
}

static bool readable(const void *line) {
    return at_end(line) || cable_readable(cable_of(line));
}

static bool closed_by_hub(const void *line) {
    return !cable_of(line) || cable_hub_closed(cable_of(line));
}

static size_t read_some(struct line *line, void *out, size_t capacity, enum line_state *state) {
    bool ended = wait_until(readable, line) && at_end(line);
    bool reset = ended && cable_of(line) && cable_was_reset(cable_of(line));
    *state = !ended ? LINE_OPEN : reset ? LINE_RESET : LINE_ENDED;
    return cable_of(line) ? cable_read(cable_of(line), out, capacity) : 0;
}

static bool quiet(struct line *line) {
    fleet_settle(&fleet);
    return !readable(line);
}

static void half_close(struct line *line) {
    if (line->program)
        program_close_out(line->program);
    else
        cable_shut(line->cable);
    fleet_settle(&fleet);
}

static void reset(struct line *line) {
    cable_reset(cable_of(line));
    fleet_settle(&fleet);
}

static void close_line(struct line *line, bool wait) {
    (void)wait;
    if (line->program)
        line->program->driven = false;
    else
        cable_close(line->cable);
    free(line);
    fleet_settle(&fleet);
}

static bool hub_closed(struct line *line) {
    return wait_until(closed_by_hub, line);
}

// --- Children

static bool is_ordered(const void *child) {
    return programs_ordered(childrens_kernel(), child) != NULL;
}

static bool is_ordered_now(const char *child) {
    fleet_settle(&fleet);
    return is_ordered(child);
}

static bool speaks_lines(const char *child) {
    const struct child_settings *settings = hub_settings(fleet.sites[hub_count - 1].world.hub)->children;
    while (settings && strcmp(settings->name, child) != 0)
        settings = settings->next;
    return settings && settings->lines;
}

static bool start_child(const char *child, int error, struct line **line, bool *lines) {
    if (!has_children || error || !wait_until(is_ordered, child))
        return false;
    struct program *program = programs_ordered(childrens_kernel(), child);
    *lines = speaks_lines(child);
    *line = line_of(NULL, program);
    program->driven = true;
    program_start(childrens_kernel(), program);
    fleet_settle(&fleet);
    return true;
}

static void pass(uint64_t ns) {
    fleet_pass(&fleet, ns);
}

// --- Words of the hubs about themselves: of all of them, and the first one's journal

static uint64_t count_of(const char *name, uint64_t wanted) {
    (void)wanted; // nothing is under way any more
    struct stats_list list;
    stats_list_counters(fleet.sites[0].world.hub->start_settings.features, &list);
    for (unsigned at = 0; at < list.count; at++)
        if (strcmp(list.entries[at].row->name, name) == 0)
            return sum_of(list.entries[at].number) - before[list.entries[at].number];
    return UINT64_MAX;
}

static const char *journal(size_t *count) {
    const char *text = worlds_journal(&fleet.sites[0].world, count);
    if (!text)
        return NULL;
    *count -= journal_at;
    return text + journal_at;
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
    .start = start_child,
    .is_ordered = is_ordered_now,
};
