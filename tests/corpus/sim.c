// The hub on the simulated kernel: a new one for each case. Time passes when nothing else can happen.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "router/main/config.h"
#include "router/main/config_users.h"
#include "tests/corpus/backend.h"
#include "tests/corpus/case.h"
#include "tests/corpus/worlds.h"
#include "tests/sim/kernel.h"
#include "tests/sim/programs.h"
#include "tests/sim/world.h"

static struct world world;

// A file that lies in memory alone.
// The hub's command line, its configuration file, and that of its users.
static struct {
    char options[512];
    char *arguments[CASE_OPTIONS_MAX];
    int count;
    struct worlds_file config, users;
    uint32_t shard_count;
} started = {.config.descriptor = -1, .users.descriptor = -1};

// A line's ends: one cable, or a child's two pipes.
struct line {
    struct cable *to_hub, *from_hub;
    struct program *program; // NULL: it is no child's
    uint32_t signals;        // that were expected: bits
};

static void add_file(struct worlds_file *file, char *option, const char *text) {
    worlds_write(file, text);
    started.arguments[started.count++] = option;
    started.arguments[started.count++] = file->path;
}

static bool read_options(const struct setup *setup, struct config *config) {
    static char program[] = "patchbayd", listen[] = "--listen", nowhere[] = "tcp://127.0.0.1:0";
    static char validate[] = "--validate", strict[] = "strict", file[] = "--config", users[] = "--users";
    char *always[] = {program, listen, nowhere};
    memcpy(started.arguments, always, sizeof always);
    started.options[0] = '\0';
    strncat(started.options, setup->options, sizeof started.options - 1);
    started.count = 3 + (int)case_words(started.options, started.arguments + 3, CASE_OPTIONS_MAX - 9);
    started.shard_count = setup->shard_count;
    if (setup->strict) {
        started.arguments[started.count++] = validate;
        started.arguments[started.count++] = strict;
    }
    if (setup->config)
        add_file(&started.config, file, setup->config);
    if (setup->users)
        add_file(&started.users, users, setup->users);
    return config_read(config, started.count, started.arguments, started.shard_count) == CONFIG_RUN;
}

static bool read_again(void *context, struct hub_settings *fresh) {
    struct config config;
    (void)context;
    bool good = config_read(&config, started.count, started.arguments, started.shard_count) == CONFIG_RUN;
    if (good && config.users[0]) {
        const struct hub_settings *before = hub_settings(world.hub);
        fresh->users = config_users(&config, &before->secrets.tables, before->users, before->approval_level,
                                    &fresh->realm);
        good = fresh->users != NULL;
    }
    if (good) {
        fresh->children = config.settings.children;
        config.settings.children = NULL;
    }
    config_deinit(&config);
    return good;
}

// Faults of a network that loses no bytes.
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
    static const struct siphash_key key = {{5, 6}};
    bool good = read_options(setup, &config);
    if (good && setup->users)
        good = (config.settings.users = config_users(&config, &key, NULL, config.settings.approval_level,
                                                     &config.settings.realm)) != NULL;
    if (!good) {
        text_put(why, "the hub refuses these options");
        config_deinit(&config);
        return false;
    }
    struct world_options world_options;
    world_defaults(&world_options, 7 + setup->rough, setup->shard_count);
    config.settings.limits.connections_max = world_options.limits.connections_max;
    struct child_settings *children = config.settings.children;
    config.settings.children = NULL; // they are the hub's
    config_deinit(&config);
    config.settings.children = children;
    config.settings.read_again = setup->config || setup->users ? read_again : NULL;
    world_options.keeps = setup->config != NULL;
    world_options.settings = &config.settings;
    if (setup->rough)
        world_options.faults = rough;
    world_options.faults.window_bytes = setup->window_bytes;
    world_open(&world, &world_options);
    if (setup->config)
        programs_hold(world.kernel, true);
    return true;
}

// A fault ends the program.
static bool end(bool failed, struct text *why) {
    (void)failed, (void)why;
    if (world.kernel->state)
        programs_hold(world.kernel, false);
    world_stop(&world);
    world_close(&world);
    return true;
}

static bool stop(struct text *why) {
    (void)why;
    return true;
}

static struct line *line_of(struct cable *to_hub, struct cable *from_hub, struct program *program) {
    struct line *line = malloc(sizeof *line);
    if (!line)
        abort();
    *line = (struct line){.to_hub = to_hub, .from_hub = from_hub, .program = program};
    return line;
}

static struct line *dial(enum line_wire wire) {
    struct cable *cable = worlds_dial(&world, wire);
    world_settle(&world);
    return cable ? line_of(cable, cable, NULL) : NULL;
}

// A child may have been killed, and its pipes with it.
static struct cable *cable_to(const struct line *line) {
    return line->program ? line->program->out : line->to_hub;
}

static struct cable *cable_of(const struct line *line) {
    return line->program ? line->program->in : line->from_hub;
}

static bool write_all(struct line *line, const void *bytes, size_t count) {
    return cable_to(line) && cable_write(cable_to(line), bytes, count);
}

// Lets things happen, then time pass, until it is so.
static bool wait_until(bool (*done)(const void *context), const void *context) {
    uint64_t until_ns = kernel_now(world.kernel) + PATIENCE_NS;
    for (;;) {
        world_settle(&world);
        uint64_t next_ns = world_next_ns(&world);
        if (done(context))
            return true;
        if (next_ns > until_ns)
            return false;
        kernel_advance(world.kernel, next_ns);
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
    world_settle(&world);
    return !readable(line) && (!line->program || line->program->signals == line->signals);
}

static void half_close(struct line *line) {
    if (line->program)
        program_close_out(line->program);
    else
        cable_shut(line->to_hub);
    world_settle(&world);
}

static void reset(struct line *line) {
    cable_reset(cable_of(line));
    world_settle(&world);
}

static void close_line(struct line *line, bool wait) {
    (void)wait;
    if (line->program)
        line->program->driven = false;
    else
        cable_close(line->to_hub);
    free(line);
    world_settle(&world);
}

static bool hub_closed(struct line *line) {
    return wait_until(closed_by_hub, line);
}

static void pass(uint64_t ns) {
    world_pass(&world, ns);
}

static uint64_t count_of(const char *name, uint64_t wanted) {
    (void)wanted; // nothing is under way any more
    return worlds_count(&world, name);
}

static const char *journal(size_t *count) {
    return worlds_journal(&world, count);
}

// --- Children

static bool is_ordered(const void *child) {
    return programs_ordered(world.kernel, child) != NULL;
}

static bool is_ordered_now(const char *child) {
    world_settle(&world);
    return is_ordered(child);
}

static bool speaks_lines(const char *child) {
    const struct child_settings *settings = hub_settings(world.hub)->children;
    while (settings && strcmp(settings->name, child) != 0)
        settings = settings->next;
    return settings && settings->lines;
}

static bool start_child(const char *child, int error, struct line **line, bool *lines) {
    if (!world.kernel->state || !wait_until(is_ordered, child))
        return false;
    struct program *program = programs_ordered(world.kernel, child);
    *lines = speaks_lines(child);
    *line = error ? NULL : line_of(NULL, NULL, program);
    if (error) {
        program_fail(world.kernel, program, error);
    } else {
        program->driven = true;
        program_start(world.kernel, program);
    }
    world_settle(&world);
    return true;
}

static void exit_child(struct line *line, int status) {
    if (line->program->state == PROGRAM_RUNS)
        program_end(world.kernel, line->program, status);
    close_line(line, false);
}

static void close_input(struct line *line) {
    program_close_in(line->program);
    world_settle(&world);
}

static void leave_others(struct line *line) {
    line->program->leaves_others = true;
}

struct signalling {
    const struct line *line;
    int number;
};

static bool was_signalled(const void *context) {
    const struct signalling *signalling = context;
    return signalling->line->program->signals & UINT32_C(1) << signalling->number;
}

static bool signalled(struct line *line, int number) {
    line->signals |= UINT32_C(1) << number;
    return wait_until(was_signalled, &(struct signalling){line, number});
}

static void reload(const char *config) {
    worlds_write(&started.config, config);
    kernel_signal(world.kernel, SIGHUP);
    world_settle(&world);
}

static void reload_users(const char *users) {
    worlds_write(&started.users, users);
    kernel_signal(world.kernel, SIGHUP);
    world_settle(&world);
}

static void terminate(void) {
    kernel_signal(world.kernel, SIGTERM);
    world_settle(&world);
}

static void lose_keeper(void) {
    programs_lose_keeper(world.kernel);
    world_settle(&world);
}

static void occupy_keeper(bool busy) {
    programs_occupy_keeper(world.kernel, busy);
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
    .start = start_child,
    .is_ordered = is_ordered_now,
    .exit = exit_child,
    .close_input = close_input,
    .leave_others = leave_others,
    .signalled = signalled,
    .reload = reload,
    .reload_users = reload_users,
    .terminate = terminate,
    .lose_keeper = lose_keeper,
    .occupy_keeper = occupy_keeper,
};
