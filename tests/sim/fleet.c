#include "tests/sim/fleet.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "router/features/cluster_settings/cluster_settings.h"
#include "tests/sim/kernel.h"

enum { PIECE_MAX = 4096 };
#define SECOND UINT64_C(1000000000)
#define NEVER  UINT64_MAX

static const char subjects[] = "patchbay." CLUSTER_NAME ".", services[] = "$SRV.";

// --- Links

static struct link *free_link(struct fleet *fleet) {
    for (unsigned index = 0; index < LINKS_MAX; index++)
        if (!fleet->links[index].cable)
            return &fleet->links[index];
    kernel_fail("too many links");
}

// A hub connects.
static enum sim_answer answer(void *context, uint16_t port, struct cable *cable) {
    struct site *site = context;
    struct fleet *fleet = (struct fleet *)((char *)(site - site->index) - offsetof(struct fleet, sites));
    uint32_t server = (uint32_t)(port - BROKER_PORT);
    bool silent = site->apart || (server < BROKERS_MAX && fleet->silent[server]);
    struct broker_client *client = silent ? NULL : broker_join(fleet->brokers, server);
    if (!client)
        return silent || fleet->options.connects_hang ? SIM_SILENT : SIM_REFUSES;
    struct veil *veil = fleet->options.brokers.tls ? calloc(1, sizeof *veil) : NULL;
    if (fleet->options.brokers.tls && !veil)
        abort();
    *free_link(fleet) = (struct link){.cable = cable,
                                      .client = client,
                                      .veil = veil,
                                      .site = site->index,
                                      .server = server,
                                      .up_ns = NEVER,
                                      .down_ns = NEVER};
    return SIM_ANSWERS;
}

static void link_end(struct link *link, bool reset) {
    if (reset)
        cable_reset(link->cable);
    cable_close(link->cable);
    broker_leave(link->client);
    free(link->veil);
    *link = (struct link){0};
}

static bool link_is_still(const struct fleet *fleet, const struct link *link) {
    return fleet->sites[link->site].apart || fleet->silent[link->server];
}

static uint64_t arrival(struct fleet *fleet) {
    uint64_t most = fleet->options.latency_ns;
    return fleet->now_ns + (most ? random_next(&fleet->random) % most : 0);
}

// Returns whether what waits has been on its way for long enough; *due: when it has.
static bool is_due(struct fleet *fleet, bool waits, uint64_t *due) {
    if (!waits)
        *due = NEVER;
    else if (*due == NEVER)
        *due = arrival(fleet);
    return waits && *due <= fleet->now_ns;
}

static void fault(const struct fleet *fleet, const struct link *link) {
    if (!fleet->options.faults_allowed)
        kernel_fail("a server tells hub %u %s", link->site, broker_fault(link->client));
}

// --- Records of the toy cipher

static void seal(struct link *link, enum toy_type type, const void *bytes, size_t count) {
    static uint8_t record[TOY_RECORD_BYTES_MAX];
    cable_write(link->cable, record, toy_seal(&link->veil->out, type, bytes, count, record));
}

// Opens a record of the hub's, which says nothing before it has shaken hands.
static void open_record(struct link *link) {
    struct veil *veil = link->veil;
    enum toy_type type = (enum toy_type)veil->in.record[0];
    if (type == TOY_HELLO && !veil->shaken)
        seal(link, TOY_HELLO, "", 0);
    else if (type == TOY_DONE && !veil->shaken)
        veil->shaken = true;
    else if (type == TOY_DATA && veil->shaken)
        broker_hear(link->client, veil->in.record + TOY_HEAD_BYTES, toy_count(&veil->in));
    else if (type != TOY_END && type != TOY_ALERT)
        kernel_fail("hub %u says a record of type %u to its server", link->site, (unsigned)type);
    toy_next(&veil->in);
}

static void hear(struct link *link, const uint8_t *bytes, size_t count) {
    if (!link->veil) {
        broker_hear(link->client, bytes, count);
        return;
    }
    for (size_t at = 0; at < count;) {
        bool whole, broken;
        at += toy_take(&link->veil->in, bytes + at, count - at, &whole, &broken);
        if (broken)
            kernel_fail("hub %u says what is no record to a server that speaks TLS alone", link->site);
        if (whole)
            open_record(link);
    }
}

// INFO goes in the clear, and nothing else does.
static size_t say(struct link *link, size_t piece) {
    uint8_t bytes[PIECE_MAX];
    struct veil *veil = link->veil;
    if (veil && !veil->greeted)
        piece = 1;
    size_t count = broker_say(link->client, bytes, piece);
    if (veil && veil->greeted)
        seal(link, TOY_DATA, bytes, count);
    else
        cable_write(link->cable, bytes, count);
    if (veil && count && bytes[0] == '\n')
        veil->greeted = true;
    return count;
}

// Returns whether there is something that the server may say now.
static bool has_to_say(const struct link *link) {
    return broker_waiting(link->client) > 0 && (!link->veil || !link->veil->greeted || link->veil->shaken);
}

static bool move_up(struct fleet *fleet, struct link *link) {
    uint8_t bytes[PIECE_MAX];
    if (!is_due(fleet, cable_readable(link->cable) > 0, &link->up_ns))
        return false;
    size_t piece = random_chance(&fleet->random, 300) ? random_between(&fleet->random, 1, 64) : PIECE_MAX;
    hear(link, bytes, cable_read(link->cable, bytes, piece));
    if (broker_fault(link->client)[0])
        fault(fleet, link);
    link->up_ns = NEVER;
    return true;
}

static bool move_down(struct fleet *fleet, struct link *link) {
    bool room = cable_unread(link->cable) < 16 * PIECE_MAX;
    if (!is_due(fleet, room && has_to_say(link), &link->down_ns))
        return false;
    size_t piece = random_chance(&fleet->random, 300) ? random_between(&fleet->random, 1, 64) : PIECE_MAX;
    bool in_the_clear = link->veil && !link->veil->greeted;
    while (say(link, piece) && in_the_clear && !link->veil->greeted)
        ;
    link->down_ns = NEVER;
    return true;
}

static bool move(struct fleet *fleet, struct link *link) {
    if (!link->cable || link_is_still(fleet, link))
        return false;
    bool says = broker_waiting(link->client) && (!link->veil || link->veil->shaken);
    if (cable_at_end(link->cable) || (broker_over(link->client) && !says)) {
        link_end(link, random_chance(&fleet->random, 500));
        return true;
    }
    const struct site *site = &fleet->sites[link->site];
    bool up_first = random_chance(&fleet->random, 500), up = !site->mute, down = !site->deaf;
    return (up && up_first && move_up(fleet, link)) || (down && move_down(fleet, link)) ||
           (up && !up_first && move_up(fleet, link));
}

static bool move_one(struct fleet *fleet) {
    uint32_t first = random_below(&fleet->random, LINKS_MAX);
    for (unsigned step = 0; step < LINKS_MAX; step++)
        if (move(fleet, &fleet->links[(first + step) % LINKS_MAX]))
            return true;
    return false;
}

uint32_t fleet_links(const struct fleet *fleet, uint32_t site) {
    uint32_t count = 0;
    for (unsigned index = 0; index < LINKS_MAX; index++) {
        const struct link *link = &fleet->links[index];
        count += link->cable && link->site == site && broker_connected(link->client);
    }
    return count;
}

// --- Hubs

static void settle_servers(struct fleet *fleet, struct cluster_settings *settings) {
    for (uint32_t server = 0; server < fleet->options.brokers.count; server++) {
        struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_port = htons((uint16_t)(BROKER_PORT + server))};
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        memcpy(&settings->servers[server].address.storage, &address, sizeof address);
        settings->servers[server].address.bytes = sizeof address;
    }
    settings->server_count = fleet->options.brokers.count;
    settings->authorities = fleet->options.brokers.tls ? toy_source() : NULL;
}

void fleet_start(struct fleet *fleet, uint32_t index) {
    struct site *site = &fleet->sites[index];
    struct world_options options = fleet->options.world;
    options.seed = fleet->options.seed * 64 + index * 16 + site->lives;
    site->settings = (struct hub_settings){
        .limits = options.limits, .takeover = options.takeover, .strict = options.strict};
    memcpy(site->settings.own, options.own, sizeof site->settings.own);
    const struct hub_settings *own = fleet->options.settings[index];
    if (own || options.settings)
        site->settings = own ? *own : *options.settings;
    site->cluster_settings = calloc(1, sizeof *site->cluster_settings);
    if (!site->cluster_settings)
        abort();
    settle_servers(fleet, site->cluster_settings);
    site->settings.cluster = (struct hub_cluster){.name = CLUSTER_NAME, .settings = site->cluster_settings};
    options.settings = &site->settings;
    site->index = index;
    if (fleet->options.prepare)
        fleet->options.prepare(site);
    if (!site->lives++ && fleet->options.clocks_differ)
        site->ahead_ns =
            random_below(&fleet->random, 100000) * SECOND + random_below(&fleet->random, 1000000000);
    world_open(&site->world, &options);
    kernel_answer(site->world.kernel, answer, site);
    kernel_advance(site->world.kernel, fleet->now_ns + site->ahead_ns);
    if (fleet->options.clocks_differ)
        kernel_step_wall(site->world.kernel, (int64_t)random_below(&fleet->random, 100000) * 1000 - 50000000);
    site->runs = true;
    site->apart = site->deaf = site->mute = false;
}

static void cut_off(struct fleet *fleet, uint32_t site) {
    for (unsigned index = 0; index < LINKS_MAX; index++)
        if (fleet->links[index].cable && fleet->links[index].site == site)
            link_end(&fleet->links[index], true);
}

static enum sim_answer answer_nothing(void *context, uint16_t port, struct cable *cable) {
    (void)context, (void)port, (void)cable;
    return SIM_REFUSES;
}

void fleet_kill(struct fleet *fleet, uint32_t index) {
    struct site *site = &fleet->sites[index];
    cut_off(fleet, index);
    kernel_answer(site->world.kernel, answer_nothing, NULL);
    if (!world_stopped(&site->world))
        world_stop(&site->world);
    world_close(&site->world);
    secure_source_drop(site->cluster_settings->authorities);
    free(site->cluster_settings);
    site->runs = false;
}

void fleet_part(struct fleet *fleet, uint32_t site, bool apart) {
    fleet->sites[site].apart = apart;
}

void fleet_halve(struct fleet *fleet, uint32_t site, bool deaf, bool mute) {
    fleet->sites[site].deaf = deaf;
    fleet->sites[site].mute = mute;
}

void fleet_freeze(struct fleet *fleet, uint32_t site, uint64_t ns) {
    fleet->sites[site].frozen_ns = fleet->now_ns + ns;
}

void fleet_lose_beats(struct fleet *fleet, uint32_t site, uint64_t ns) {
    fleet->sites[site].unbeaten_ns = fleet->now_ns + ns;
}

static bool is_frozen(const struct fleet *fleet, const struct site *site) {
    return fleet->now_ns < site->frozen_ns;
}

void fleet_kill_server(struct fleet *fleet, uint32_t server) {
    broker_kill(fleet->brokers, server);
    for (unsigned index = 0; index < LINKS_MAX; index++)
        if (fleet->links[index].cable && fleet->links[index].server == server)
            link_end(&fleet->links[index], true);
}

// --- All of them

static bool check_message(void *context, const struct broker_client *from,
                          const struct broker_message *message) {
    struct fleet *fleet = context;
    bool lawful = strncmp(message->subject, subjects, sizeof subjects - 1) == 0 ||
                  strncmp(message->subject, services, sizeof services - 1) == 0;
    for (unsigned index = 0; index < LINKS_MAX; index++) {
        if (!fleet->links[index].cable || fleet->links[index].client != from)
            continue;
        fleet->messages++;
        if (message->count > fleet->published_bytes_max)
            fleet->published_bytes_max = message->count;
        if (!lawful && strncmp(message->subject, "_INBOX.", 7) != 0)
            kernel_fail("hub %u publishes to %.200s", fleet->links[index].site, message->subject);
        bool is_beat = strcmp(message->subject, "patchbay." CLUSTER_NAME ".hubs.beat") == 0;
        return !is_beat || fleet->now_ns >= fleet->sites[fleet->links[index].site].unbeaten_ns;
    }
    return true;
}

void fleet_open(struct fleet *fleet, const struct fleet_options *options) {
    *fleet = (struct fleet){.options = *options, .now_ns = SECOND};
    random_init(&fleet->random, options->seed ^ UINT64_C(0x636c7573746572));
    fleet->brokers = brokers_open(&options->brokers, &fleet->random);
    brokers_tap(fleet->brokers, check_message, fleet);
    for (uint32_t index = 0; index < options->site_count; index++)
        fleet_start(fleet, index);
}

static bool step_site(struct fleet *fleet) {
    uint32_t count = fleet->options.site_count, first = random_below(&fleet->random, count);
    for (uint32_t step = 0; step < count; step++) {
        struct site *site = &fleet->sites[(first + step) % count];
        if (site->runs && !is_frozen(fleet, site) && world_step(&site->world))
            return true;
    }
    return false;
}

bool fleet_step(struct fleet *fleet) {
    uint32_t first = random_below(&fleet->random, 4);
    if ((first == 0 && move_one(fleet)) || (first == 1 && brokers_step(fleet->brokers)))
        return true;
    return step_site(fleet) || move_one(fleet) || brokers_step(fleet->brokers);
}

void fleet_settle(struct fleet *fleet) {
    for (uint32_t steps = 0; fleet_step(fleet); steps++)
        if (steps == FLEET_STEPS_MAX)
            kernel_fail("the cluster doesn't come to rest");
}

uint64_t fleet_next_ns(const struct fleet *fleet) {
    uint64_t next_ns = NEVER;
    for (uint32_t index = 0; index < fleet->options.site_count; index++) {
        const struct site *site = &fleet->sites[index];
        uint64_t own_ns = site->runs ? world_next_ns(&site->world) : NEVER;
        if (own_ns != NEVER && is_frozen(fleet, site)) {
            next_ns = site->frozen_ns < next_ns ? site->frozen_ns : next_ns;
            continue;
        }
        if (own_ns != NEVER && own_ns - site->ahead_ns < next_ns)
            next_ns = own_ns > site->ahead_ns ? own_ns - site->ahead_ns : 0;
    }
    for (unsigned index = 0; index < LINKS_MAX; index++) {
        const struct link *link = &fleet->links[index];
        if (!link->cable || link_is_still(fleet, link))
            continue;
        const struct site *site = &fleet->sites[link->site];
        next_ns = link->up_ns < next_ns && !site->mute ? link->up_ns : next_ns;
        next_ns = link->down_ns < next_ns && !site->deaf ? link->down_ns : next_ns;
    }
    return next_ns;
}

void fleet_advance(struct fleet *fleet, uint64_t to_ns) {
    if (to_ns > fleet->now_ns)
        fleet->now_ns = to_ns;
    for (uint32_t index = 0; index < fleet->options.site_count; index++)
        if (fleet->sites[index].runs && !is_frozen(fleet, &fleet->sites[index]))
            kernel_advance(fleet->sites[index].world.kernel, fleet->now_ns + fleet->sites[index].ahead_ns);
}

void fleet_pass(struct fleet *fleet, uint64_t ns) {
    uint64_t until_ns = fleet->now_ns + ns;
    fleet_settle(fleet);
    for (uint64_t next_ns; (next_ns = fleet_next_ns(fleet)) <= until_ns;) {
        fleet_advance(fleet, next_ns);
        fleet_settle(fleet);
    }
    fleet_advance(fleet, until_ns);
    fleet_settle(fleet);
}

void fleet_close(struct fleet *fleet) {
    for (uint32_t index = 0; index < fleet->options.site_count; index++)
        if (fleet->sites[index].runs)
            fleet_kill(fleet, index);
    brokers_close(fleet->brokers);
}
