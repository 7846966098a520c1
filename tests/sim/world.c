// Success: each step takes one thing that can be done, until nothing can; then time passes. Failure: a
// hub that never comes to rest, or one that leaves something behind, ends the program.
#include "tests/sim/world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/json/json.h"
#include "io/address.h"
#include "router/audit/journal.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/option.h"
#include "router/engine/shard/peer.h"
#include "router/engine/shard/post.h"
#include "router/engine/turn/accept.h"
#include "router/engine/turn/turn.h"
#include "router/features/http/http_transport.h"
#include "router/features/observe/observe_types.h"
#include "router/main/features.h"
#include "tests/sim/fiber.h"
#include "tests/sim/kernel.h"
#include "tests/sim/mailbox.h"
#include "tests/sim/memory.h"
#include "tests/sim/programs.h"

enum { STEPS_MAX = 3000000, KIBIBYTE = 1 << 10, MEBIBYTE = 1 << 20 };

void world_defaults(struct world_options *options, uint64_t seed, uint32_t shard_count) {
    *options = (struct world_options){.seed = seed, .shard_count = shard_count};
    limits_defaults(&options->limits);
    options->limits.connections_max = 256;
}

// Makes this hub the one whose code runs from now on; NULL: none.
static void become(struct world *world) {
    if (world)
        kernel_use(world->kernel);
    sim_memory_use(world ? &world->memory : NULL);
}

static void live(void *context) {
    struct shard *shard = context;
    while (turn_take(shard))
        fiber_yield(); // another shard may run between two turns as well as inside one's io_run
}

static void open_shards(struct world *world) {
    for (uint32_t index = 0; index < world->shard_count; index++) {
        const char *why = NULL;
        int failed = shard_open(&world->shards[index], world->hub, index, &why);
        if (failed)
            kernel_fail("shard %u can't be opened: %s", index, why);
        world->fibers[index] = fiber_create(live, world->shards[index]);
    }
    if (world->hub->start_settings.journal && journal_open(world->shards[0]))
        kernel_fail("the journal can't be opened");
    bool secure = world->hub->start_settings.secure != NULL;
    const struct accept_socket sockets[] = {{world->listener, &transport_framed, secure, false},
                                            {world->lines_listener, &transport_lines, secure, false},
                                            {world->http_listener, &transport_http, secure, false}};
    struct address http;
    if (address_parse(&http, "http://127.0.0.1:7412"))
        kernel_fail("the address of HTTP can't be read");
    feature_address_served(world->shards[0], &http);
    const char *lack = feature_start(world->shards[0]);
    if (lack)
        kernel_fail("there is no memory for %s", lack);
    accept_listen(world->shards[0], sockets, 3);
}

static void fill_quota(struct world *world, uint32_t room) {
    uint64_t max = atomic_load(&world->hub->budget.bytes_max) / 4;
    world->kept_bytes = room && room < max ? max - room : 0;
    atomic_fetch_add(&world->hub->budget.quota_bytes, world->kept_bytes);
    atomic_fetch_add(&world->hub->budget.bytes, world->kept_bytes);
}

static bool read_again(void *context, struct hub_settings *fresh) {
    const struct world *world = context;
    fresh->limits = world->limits;
    fresh->secure = world->hub->start_settings.secure ? toy_source() : NULL;
    fresh->children = world->children ? world->children() : NULL;
    fresh->users = world->users ? world->users(hub_settings(world->hub)->users) : NULL;
    return true;
}

static void begin_to_count(struct world *world) {
    const struct buffer_budget *budget = &world->hub->budget;
    struct resident *resident = &world->resident;
    sim_memory_peak_of(&world->memory);
    resident->bound = atomic_load(&budget->bytes_max);
    resident->base = world->memory.held + world->kept_bytes - atomic_load(&budget->bytes);
}

// Fills in the default of each setting that a test hasn't set. The settings of traces have no default here, because 0
// has a meaning there.
static void fill_own(struct hub_settings *settings) {
    static struct hub_settings presets;
    option_set_presets(features_all, &presets);
    for (unsigned number = 0; number < FEATURES_MAX; number++)
        for (unsigned place = 0; place < OPTIONS_OWN_MAX && number != FEATURE_TRACE; place++)
            if (!settings->own[number][place])
                settings->own[number][place] = presets.own[number][place];
}

void world_open(struct world *world, const struct world_options *options) {
    *world = (struct world){.shard_count = options->shard_count,
                            .no_memory = options->no_memory,
                            .stuck = options->faults.file_stuck != 0};
    random_init(&world->random, options->seed);
    world->limits = options->limits;
    world->children = options->children;
    world->users = options->users;
    world->kernel = kernel_create(&world->random);
    kernel_set_faults(world->kernel, &options->faults);
    become(world);
    sim_mailbox_room(options->mailbox_room ? options->mailbox_room : MAILBOX_MESSAGES);
    world->listener = kernel_listen(world->kernel);
    world->lines_listener = kernel_listen(world->kernel);
    world->http_listener = kernel_listen(world->kernel);
    struct hub_settings settings = {.limits = options->limits,
                                    .takeover = options->takeover,
                                    .strict = options->strict,
                                    .half_close_leaves = options->half_close_leaves,
                                    .journal = options->journal,
                                    .approval_level = options->approval_level,
                                    .children = options->children ? options->children() : NULL,
                                    .users = options->users ? options->users(NULL) : NULL,
                                    .read_again = read_again,
                                    .read_context = world};
    memcpy(settings.own, options->own, sizeof settings.own);
    if (options->settings)
        settings = *options->settings;
    settings.features = features_all;
    fill_own(&settings);
    if (options->shard_count >= 2 &&
        !options->is_unobserved) // all requests are observed, and none is so slow
        settings.own[FEATURE_OBSERVE][OBSERVE_OPTION_SLOW_NS] = UINT64_C(24) * 3600 * 1000000000;
    settings.shard_count = options->shard_count;
    settings.bounds = options->bounds;
    settings.secure = options->secure ? toy_source() : NULL;
    const int listeners[] = {world->listener, world->lines_listener, world->http_listener};
    for (unsigned index = 0; index < 3 && options->secure; index++)
        kernel_secure(world->kernel, listeners[index]);
    settings.keeper = options->keeps ? programs_keep(world->kernel) : NULL;
    struct siphash_key *keys[] = {&settings.secrets.tables, &settings.secrets.sessions};
    for (unsigned index = 0; index < 4; index++)
        keys[index / 2]->words[index % 2] = random_next(&world->random);
    settings.secrets.tables.words[0] ^= options->table_secret;
    settings.secrets.checkpoints.words[0] = ~settings.secrets.sessions.words[0];
    settings.secrets.checkpoints.words[1] = settings.secrets.sessions.words[1];
    if (hub_create(&world->hub, &settings))
        kernel_fail("out of memory");
    fill_quota(world, options->kept_room);
    open_shards(world);
    begin_to_count(world);
    become(NULL);
}

void world_reload(struct world *world, const struct limits *limits) {
    world->limits = *limits;
    kernel_signal(world->kernel, SIGHUP);
}

// --- Memory

enum {
    SLACK_BYTES = MEBIBYTE,          // replies that are being put together, mail, events under way
    CONNECTION_BYTES = 4 * KIBIBYTE, // a peer, a send_op, their places in tables
};

// A bound that was lowered may be passed for as long as what was there goes, but not by anything new.
static void check_memory(struct world *world) {
    struct resident *resident = &world->resident;
    const struct hub *hub = world->hub;
    uint64_t without = resident->base, bound = atomic_load(&hub->budget.bytes_max);
    uint64_t held = world->memory.held, peak = sim_memory_peak_of(&world->memory), most = resident->bound;
    held = held > without ? held - without : 0;
    peak = peak > without ? peak - without : 0;
    if (most < bound)
        most = bound;
    if (most < resident->above)
        most = resident->above;
    most += SLACK_BYTES + (uint64_t)hub_connection_count(hub) * CONNECTION_BYTES +
            atomic_load(&hub->journal_bytes);
    if (peak > most)
        kernel_fail("the hub had %llu bytes, of which the budget counts %llu, with a bound of %llu",
                    (unsigned long long)peak, (unsigned long long)atomic_load(&hub->budget.bytes),
                    (unsigned long long)bound);
    if (bound < resident->bound || held < resident->above)
        resident->above = held;
    resident->bound = bound;
}

// --- Sleep. A shard sleeps when it has looked and found nothing to do. A shard that later makes work for the sleeper
// must wake the sleeper when handing its own work to the kernel, and no later.

static bool sleeps(const struct world *world, uint32_t index) {
    return !fiber_ended(world->fibers[index]) && sim_io_sleeps(world->shards[index]->io);
}

// The sender has handed its work to the kernel.
static void check_mail(const struct world *world, uint32_t from) {
    for (uint32_t to = 0; to < world->shard_count; to++) {
        const struct mailbox *mailbox = hub_mailbox(world->hub, from, to);
        if (sleeps(world, to) && !sim_mailbox_may_lie(mailbox, world->shards[from]->phase))
            kernel_fail("shard %u sleeps though there is mail", to);
        if (sleeps(world, from) && mailbox->waiting)
            kernel_fail("shard %u sleeps though its mail waits for room", from);
    }
}

static void check_phase(const struct world *world, uint32_t index) {
    const struct hub *hub = world->hub;
    if (!sleeps(world, index))
        return;
    if (hub_phase(hub) == HUB_STOPPED && atomic_load(&hub->phase_waiting) == 0)
        kernel_fail("shard %u sleeps though the hub has ended", index);
    if (hub_settings(hub) != world->shards[index]->settings)
        kernel_fail("shard %u sleeps though the configuration was read again", index);
    if (hub_phase(hub) != world->shards[index]->phase || world->shards[index]->orders)
        kernel_fail("shard %u sleeps though the phase is another one or an order is left", index);
}

// Fails when a peer is still there that has half-closed and that nothing is owed: nothing will close it.
static void check_settled(const struct shard *shard) {
    for (uint32_t slot = 0; slot < shard->peers.capacity; slot++) {
        const struct peer *peer = shard->peers.slots[slot];
        if (peer && peer->state == PEER_ENDED && list_empty(&peer->request_index.requests) &&
            !peer->awaited && !peer->exchanges && outbox_empty(&peer->connection.outbox) &&
            !peer->connection.send_op)
            kernel_fail("shard %u keeps connection %llx, which is owed nothing", shard->index,
                        (unsigned long long)peer->connection_id);
    }
}

// Fails when a shard sleeps that nobody will wake.
static void check_sleep(const struct world *world) {
    bool somebody_runs = false;
    for (uint32_t from = 0; from < world->shard_count; from++) {
        bool waits = fiber_ended(world->fibers[from]) || sim_io_waits(world->shards[from]->io);
        if (waits)
            check_mail(world, from);
        if (waits && sleeps(world, from) && world->shards[from]->missed)
            kernel_fail("shard %u sleeps though missed events are to be told", from);
        if (waits && sleeps(world, from) &&
            (!list_empty(&world->shards[from]->to_send) || send_goes_on_ns(world->shards[from]) == 0))
            kernel_fail("shard %u sleeps though something is to be sent", from);
        if (waits && !fiber_ended(world->fibers[from]))
            check_settled(world->shards[from]);
        somebody_runs |= !waits;
    }
    for (uint32_t index = 0; index < world->shard_count && !somebody_runs; index++)
        check_phase(world, index);
}

// --- Steps

static bool runnable(const struct world *world, uint32_t index) {
    return !fiber_ended(world->fibers[index]) && sim_io_ready(world->shards[index]->io);
}

// Checks that events to many leave room for other messages, and give back their room when they end.
static void check_turn(const struct shard *shard) {
    const struct fanout_sends *fanout_sends = &shard->fanout_sends;
    uint32_t forgotten = 0, under_way = 0, ended = 0;
    for (uint32_t slot = 0; slot < shard->peers.capacity; slot++) {
        const struct peer *peer = shard->peers.slots[slot];
        if (!peer)
            continue;
        forgotten += peer->in_fanout && !list_empty(&peer->to_send) && list_empty(&fanout_sends->waiting);
        under_way += peer->fanout_round == fanout_sends->round;
        ended += peer->fanout_round && !peer->connection.send_op;
        if (peer->connection.direct && peer->connection.direct_bytes > shard->bounds.part_max)
            kernel_fail("shard %u wants %u bytes of one peer at once", shard->index,
                        peer->connection.direct_bytes);
    }
    if (forgotten || fanout_sends->out > shard->bounds.fanout_sends_max)
        kernel_fail("shard %u has %u sends of events under way at a time, and forgets %u", shard->index,
                    fanout_sends->out, forgotten);
    if (ended || under_way != fanout_sends->out)
        kernel_fail("shard %u counts %u sends of events under way; there are %u, and %u have ended",
                    shard->index, fanout_sends->out, under_way, ended);
}

static void run(struct world *world, uint32_t index) {
    kernel_trace(world->kernel, index);
    bool fails = random_chance(&world->random, world->no_memory);
    become(world);
    if (fails)
        memory_fail_after(random_below(&world->random, 12));
    fiber_resume(world->fibers[index]);
    if (fails)
        memory_fail_after(UINT64_MAX);
    become(NULL);
    check_sleep(world);
    check_memory(world);
    check_turn(world->shards[index]);
}

static bool run_one(struct world *world) {
    uint32_t first = random_below(&world->random, world->shard_count);
    for (uint32_t step = 0; step < world->shard_count; step++) {
        uint32_t index = (first + step) % world->shard_count;
        if (!runnable(world, index))
            continue;
        run(world, index);
        return true;
    }
    return false;
}

bool world_step(struct world *world) {
    bool kernel_first = random_below(&world->random, 3) != 0;
    if (kernel_first && kernel_step(world->kernel))
        return true;
    return run_one(world) || (!kernel_first && kernel_step(world->kernel));
}

void world_settle(struct world *world) {
    for (uint32_t steps = 0; world_step(world); steps++)
        if (steps == STEPS_MAX)
            kernel_fail("the hub doesn't come to rest");
}

uint64_t world_next_ns(const struct world *world) {
    uint64_t next_ns = kernel_next_ns(world->kernel);
    for (uint32_t index = 0; index < world->shard_count; index++) {
        if (fiber_ended(world->fibers[index]))
            continue;
        uint64_t deadline_ns = sim_io_deadline(world->shards[index]->io);
        if (deadline_ns < next_ns)
            next_ns = deadline_ns;
    }
    return next_ns;
}

void world_pass(struct world *world, uint64_t ns) {
    uint64_t until_ns = kernel_now(world->kernel) + ns;
    world_settle(world);
    for (uint64_t next_ns; (next_ns = world_next_ns(world)) <= until_ns;) {
        kernel_advance(world->kernel, next_ns);
        world_settle(world);
    }
    kernel_advance(world->kernel, until_ns);
    world_settle(world);
}

struct cable *world_dial(struct world *world) {
    return cable_dial(world->kernel, world->listener);
}

struct cable *world_dial_lines(struct world *world) {
    return cable_dial(world->kernel, world->lines_listener);
}

struct cable *world_dial_http(struct world *world) {
    return cable_dial(world->kernel, world->http_listener);
}

// --- The end

bool world_stopped(const struct world *world) {
    for (uint32_t index = 0; index < world->shard_count; index++)
        if (!fiber_ended(world->fibers[index]))
            return false;
    return true;
}

void world_stop(struct world *world) {
    kernel_signal(world->kernel, SIGTERM);
    world_settle(world);
    for (uint32_t rounds = 0; !world_stopped(world); rounds++) {
        uint64_t next_ns = world_next_ns(world);
        if (next_ns == UINT64_MAX || rounds == 10000)
            kernel_fail("the hub doesn't stop: phase %u, %u shards are not done", hub_phase(world->hub),
                        atomic_load(&world->hub->phase_waiting));
        kernel_advance(world->kernel, next_ns);
        world_settle(world);
    }
}

static void check_shard(const struct shard *shard) {
    if (shard->peers.count || shard->pending.count || shard->agents.count || shard->orders_out ||
        shard->entries_out)
        kernel_fail("shard %u ends with %u peers, %u requests, %zu agents, %u orders and %u entries",
                    shard->index, shard->peers.count, shard->pending.count, shard->agents.count,
                    shard->orders_out, shard->entries_out);
    if (shard->events_out || shard->agents.topics.count)
        kernel_fail("shard %u ends with %u events and %u subscriptions", shard->index, shard->events_out,
                    shard->agents.topics.count);
    for (size_t chain = 0; chain < REGISTRANT_CHAINS; chain++)
        if (!list_empty(&shard->agents.registrants[chain]))
            kernel_fail("shard %u ends with a registrant", shard->index);
    if (!parcel_pool_full(&shard->parcels))
        kernel_fail("shard %u ends with %u parcels out", shard->index,
                    shard->parcels.made - shard->parcels.free_count);
}

void world_check_agents(const struct world *world) {
    const struct agents *first = &world->shards[0]->agents;
    for (uint32_t index = 1; index < world->shard_count; index++) {
        const struct agents *other = &world->shards[index]->agents;
        if (other->count != first->count)
            kernel_fail("shard %u has %zu agents, and shard 0 has %zu", index, other->count, first->count);
        for (struct list *node = first->all.next; node != &first->all; node = node->next) {
            const struct agent *agent = list_entry(node, struct agent, link);
            const struct agent *same = agents_find(other, agent->id, agent->id_bytes);
            if (!same || same->registrant->connection != agent->registrant->connection ||
                same->capabilities != agent->capabilities || same->governance != agent->governance)
                kernel_fail("shard %u knows another agent %.*s than shard 0", index, (int)agent->id_bytes,
                            agent->id);
        }
    }
}

// Takes back the part of the quota that the world had taken in the place of other peers.
static void empty_quota(struct world *world) {
    atomic_fetch_sub(&world->hub->budget.quota_bytes, world->kept_bytes);
    atomic_fetch_sub(&world->hub->budget.bytes, world->kept_bytes);
}

static void check_hub(const struct hub *hub) {
    if (atomic_load(&hub->budget.bytes) || atomic_load(&hub->budget.quota_bytes))
        kernel_fail("%llu bytes are still counted as held, %llu of them as kept",
                    (unsigned long long)atomic_load(&hub->budget.bytes),
                    (unsigned long long)atomic_load(&hub->budget.quota_bytes));
    for (uint32_t shard = 0; shard < hub->start_settings.shard_count; shard++) {
        if (atomic_load(&hub->connections[shard]))
            kernel_fail("shard %u still counts connections", shard);
        for (uint32_t slot = 0; slot < hub->start_settings.limits.connections_max; slot++)
            if (atomic_load(&hub->pending[shard][slot]))
                kernel_fail("slot %u of shard %u still owes", slot, shard);
    }
}

// All lines of a file are JSON; how many there are.
static uint64_t count_lines(const uint8_t *bytes, size_t count) {
    uint64_t lines = 0;
    while (count) {
        const uint8_t *end = memchr(bytes, '\n', count);
        size_t length = end ? (size_t)(end - bytes) : count;
        uint8_t *line = calloc(1, length + BUFFER_SLACK_BYTES);
        if (!line)
            abort();
        memcpy(line, bytes, length);
        if (!end || !json_grammar_valid(line, (uint32_t)length))
            kernel_fail("a line of the journal is torn or no JSON: %s", (char *)line);
        free(line);
        bytes += length + 1;
        count -= length + 1;
        lines++;
    }
    return lines;
}

// Checks that exactly the entries that count as written are in the files.
static void check_journal(const struct world *world) {
    uint64_t lines = 0, entries = stats_read(&world->shards[0]->stats, COUNT_JOURNAL_ENTRIES);
    const uint8_t *bytes;
    size_t count, synced;
    for (uint32_t index = 0; (bytes = disk_file(world->kernel, index, &count, &synced)); index++) {
        lines += count_lines(bytes, count);
        if (synced != count)
            kernel_fail("of %zu bytes of the journal, %zu would outlast a crash", count, synced);
    }
    if (lines != entries)
        kernel_fail("the journal has %llu lines of %llu entries", (unsigned long long)lines,
                    (unsigned long long)entries);
}

void world_close(struct world *world) {
    if (world->hub->start_settings.journal && !world->stuck)
        check_journal(world);
    for (uint32_t index = 0; index < world->shard_count; index++)
        check_shard(world->shards[index]);
    programs_forget(world->kernel);
    if (kernel_sockets(world->kernel))
        kernel_fail("%u sockets are still open", kernel_sockets(world->kernel));
    for (uint32_t index = 0; index < world->shard_count; index++) {
        journal_close(world->shards[index]);
        shard_close(world->shards[index]);
        fiber_destroy(world->fibers[index]);
    }
    empty_quota(world);
    check_hub(world->hub);
    hub_destroy(world->hub);
    kernel_destroy(world->kernel);
}
