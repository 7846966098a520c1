// Hubs that are joined through NATS servers, on simulated kernels. Guests register, ask, notify, publish, cancel and
// leave at each hub. Meanwhile servers are killed, cut from each other, silent and lame, and hubs are cut off and
// killed. The oracle knows of each message who sent the message where, and whether anything was wrong then. A request
// ends once, with its answer or an error that may be. A message that is sent while nothing is wrong arrives. A name has
// one holder. Once all is well again, everybody is found from everywhere.
#include "tests/sim/clusters.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "router/features/gate/gate.h"
#include "tests/sim/kernel.h"
#include "tests/sim/pack_count.h"
#include "tests/sim/seeds.h"
#include "tests/sim/toy.h"

#define SECOND UINT64_C(1000000000)

enum {
    ACTS = 160,
    PAYLOAD_BYTES = 30000,
    TIMEOUT_S = 300,
    ENDING_S = 45,
    HEALING_S = 45,
    RUNS_WITH_PACKS = 50
};

struct cluster_stage stage;
struct sums sums;
static bool faultless, rising;
static uint32_t joined; // hubs so far, where they join one after another

void stage_disturb(bool wrong) {
    stage.epoch++;
    stage.wrongs += wrong;
    stage.calm &= !wrong;
    stage.had_faults |= wrong;
}

static void go_on(void) {
    bool any;
    do {
        fleet_settle(&stage.fleet);
        any = false;
        for (unsigned by = 0; by < stage.guest_count; by++)
            any |= guest_hear(by);
        any |= stray_hear();
        any |= kids_hear();
        any |= calls_hear();
    } while (any);
}

static void pass(uint64_t ns) {
    uint64_t until_ns = stage.fleet.now_ns + ns;
    go_on();
    for (uint64_t next_ns; (next_ns = fleet_next_ns(&stage.fleet)) <= until_ns;) {
        fleet_advance(&stage.fleet, next_ns);
        go_on();
    }
    fleet_advance(&stage.fleet, until_ns);
    go_on();
}

// Lets everything under way arrive, until all hubs know of all.
static void arrive(void) {
    unsigned epoch;
    do {
        epoch = stage.epoch;
        pass(16 * stage.fleet.options.latency_ns + SECOND / 10);
    } while (epoch != stage.epoch);
    stage.settled = epoch;
    for (unsigned tag = 0; tag < stage.letter_count; tag++)
        letter_check_known(tag);
    stray_check();
    orders_check();
}

// --- What goes wrong

static uint32_t any_site(void) {
    return random_below(&stage.random, rising ? joined : stage.fleet.options.site_count);
}

static uint32_t any_server(void) {
    return random_below(&stage.random, stage.fleet.options.brokers.count);
}

static void guests_of(uint32_t site, bool enter) {
    for (unsigned by = 0; by < stage.guest_count; by++)
        if (stage.guests[by].site == site && enter)
            guest_enter(by);
        else if (stage.guests[by].site == site)
            guest_leave(by);
}

static void kill_or_start_site(void) {
    uint32_t site = any_site();
    if (stage.fleet.sites[site].runs) {
        guests_of(site, false);
        fleet_kill(&stage.fleet, site);
    } else {
        fleet_start(&stage.fleet, site);
        guests_of(site, true);
    }
}

// Ends a hub in good order, while its guests still hear it.
static void end_site(uint32_t site) {
    if (!stage.fleet.sites[site].runs)
        return;
    kernel_signal(stage.fleet.sites[site].world.kernel, SIGTERM);
    pass(random_below(&stage.random, 7) * SECOND);
    guests_of(site, false);
    fleet_kill(&stage.fleet, site);
}

static void kill_or_start_server(void) {
    uint32_t server = any_server();
    if (broker_runs(stage.fleet.brokers, server))
        fleet_kill_server(&stage.fleet, server);
    else
        broker_start(stage.fleet.brokers, server);
}

// The link as the hub knows it.
struct link_view {
    bool is_up;
    uint32_t number;
};

static struct link_view link_look(const struct shard *shard) {
    const struct registrant *registrant = &shard->remote_link.registrant;
    return (struct link_view){registrant->connection && !registrant->leaving,
                              atomic_load(&shard->hub->link_number)};
}

// A hub stands still for 1 to 12 s. Where that were 2 s or more, it takes a new link before it reads what came
// meanwhile.
static void freeze(uint32_t index) {
    struct site *site = &stage.fleet.sites[index];
    uint64_t ns = random_between(&stage.random, 10, 120) * (SECOND / 10);
    if (!site->runs || world_stopped(&site->world))
        return;
    struct link_view before = link_look(site->world.shards[0]);
    fleet_freeze(&stage.fleet, index, ns);
    pass(ns);
    sums.frozen++;
    struct link_view after = link_look(site->world.shards[0]);
    if (before.is_up && ns >= 2 * SECOND + SECOND / 4 && !stage.scarce && after.number == before.number &&
        after.is_up)
        kernel_fail("hub %u has stood still for %" PRIu64 " ms, and goes on with its link %u", index,
                    ns / 1000000, before.number);
}

// Beats are lost while all else arrives: two of them are missed by nobody, four are.
static void lose_beats(uint32_t site) {
    bool is_long = random_chance(&stage.random, 500);
    if (is_long)
        stage_disturb(true);
    fleet_lose_beats(&stage.fleet, site, is_long ? 4 * SECOND : 2 * SECOND - SECOND / 10);
    pass(4 * SECOND);
    sums.unbeaten++;
}

static void go_wrong(void) {
    struct fleet *fleet = &stage.fleet;
    uint32_t one = any_server(), other = any_server(), site = any_site();
    if (rising) { // each hub takes link after link
        stage_disturb(true);
        freeze(any_site());
        return;
    }
    if (random_chance(&stage.random, 120)) {
        lose_beats(site);
        return;
    }
    stage_disturb(true);
    sums.faults++;
    switch (random_below(&stage.random, 10)) {
    case 9:
        fleet_halve(fleet, site, random_chance(&stage.random, 500), random_chance(&stage.random, 500));
        sums.halves += fleet->sites[site].deaf != fleet->sites[site].mute;
        break;
    case 8:
        freeze(site);
        break;
    case 0:
        kill_or_start_server();
        break;
    case 1:
        kill_or_start_site();
        break;
    case 2:
        fleet_part(fleet, site, !fleet->sites[site].apart);
        break;
    case 3:
        fleet->silent[one] = !fleet->silent[one];
        break;
    case 4:
        if (one != other)
            brokers_cut(fleet->brokers, one, other, random_chance(&stage.random, 500));
        stage.had_cuts = true;
        break;
    case 5:
        end_site(site);
        break;
    case 6:
        if (fleet->sites[site].runs)
            kernel_step_wall(fleet->sites[site].world.kernel,
                             (int64_t)random_below(&stage.random, 7200000) - 3600000);
        break;
    default:
        if (broker_runs(fleet->brokers, one) && fleet->options.brokers.count > 1)
            broker_lame(fleet->brokers, one);
        break;
    }
}

// --- Hubs that join one after another

// All hubs but the first go before anybody is there, and have yet to join.
static void hold_back(void) {
    for (uint32_t site = 1; site < stage.fleet.options.site_count; site++)
        fleet_kill(&stage.fleet, site);
    joined = 1;
}

static void send_any(unsigned by);

// The next hub joins while those that are there send: nothing is wrong for them. The guests of the next hub come when
// its link stands.
static void join_next(void) {
    uint32_t site = joined;
    if (site == stage.fleet.options.site_count)
        return;
    fleet_start(&stage.fleet, site);
    for (unsigned times = 0; times < 8; times++) {
        send_any(random_below(&stage.random, site * GUESTS_A_SITE));
        pass(SECOND / 4);
    }
    stage_disturb(false);
    guests_of(site, true);
    joined++;
    sums.joined++;
}

// All that was wrong isn't any more; then what was under way has its time.
static void heal(void) {
    struct fleet *fleet = &stage.fleet;
    for (uint32_t server = 0; server < fleet->options.brokers.count; server++) {
        fleet->silent[server] = false;
        if (broker_is_lame(fleet->brokers, server))
            fleet_kill_server(fleet, server);
        broker_start(fleet->brokers, server);
        for (uint32_t other = 0; other < server; other++)
            brokers_cut(fleet->brokers, server, other, false);
    }
    uint32_t site_count = rising ? joined : fleet->options.site_count;
    for (uint32_t site = 0; site < site_count; site++) {
        fleet_part(fleet, site, false);
        fleet_halve(fleet, site, false, false);
        if (!fleet->sites[site].runs)
            fleet_start(fleet, site);
        guests_of(site, true);
    }
    pass(HEALING_S * SECOND);
    for (uint32_t site = 0; site < site_count; site++)
        if (!stage.scarce && fleet_links(fleet, site) != 1)
            kernel_fail("hub %u has %u links though all is well", site, fleet_links(fleet, site));
    stage_disturb(false);
    stage.calm = !stage.scarce;
    arrive();
}

// --- What guests do

static void send_any(unsigned by) {
    uint32_t dice = random_below(&stage.random, 1000);
    enum kind kind = dice < 300 ? KIND_NEWS : dice < 800 ? KIND_REQUEST : KIND_NOTE;
    if (stage.events_only || (stage.no_events && kind == KIND_NEWS))
        kind = stage.no_events ? KIND_REQUEST : KIND_NEWS;
    enum recipient address = random_chance(&stage.random, stage.busy ? 200 : 600)
                                 ? TO_AGENT
                                 : random_below(&stage.random, ADDRESSES);
    if (kind == KIND_NOTE && random_chance(&stage.random, 300))
        address = TO_ALL;
    if (!stage.probes && !stage.gated[stage.guests[by].site] && random_chance(&stage.random, 40))
        orders_give(by);
    if (stage.kids && kind != KIND_NEWS && random_chance(&stage.random, 150))
        guest_send(by, kind, TO_KID, any_site());
    else if (!stage.probes && kind == KIND_REQUEST && random_chance(&stage.random, 100))
        guest_send_several(by, random_chance(&stage.random, 800) ? TO_AGENT : TO_NOBODY,
                           random_below(&stage.random, NAMES));
    else
        guest_send(by, kind, address, random_below(&stage.random, NAMES));
}

static void reload(void) {
    unsigned by = random_below(&stage.random, stage.guest_count);
    for (unsigned name = 0; stage.by_users && name < NAMES; name++) {
        unsigned holder = stage_holder(name);
        if (holder < stage.guest_count && stage.guests[holder].site != stage.guests[by].site)
            guest_send(by, KIND_REQUEST, TO_AGENT, name);
    }
    go_on(); // who has just shown a credential is judged by the file as it was
    if (!rights_reload(by))
        return;
    go_on();
    for (unsigned site = 0; site < stage.fleet.options.site_count; site++)
        rights_recalled(site);
}

static void act(void) {
    uint32_t dice = random_below(&stage.random, 1000);
    unsigned by = random_below(&stage.random, stage.guest_count), name = random_below(&stage.random, NAMES);
    if (dice < 60)
        gate_decide(by);
    else if (dice < 75)
        stream_start(by);
    else if (dice < 600)
        send_any(by);
    else if (dice < 700)
        guest_answer(by, random_chance(&stage.random, 300));
    else if (dice < 750)
        guest_cancel();
    else if (dice < 800)
        guest_claim(by, name);
    else if (dice < 820)
        guest_unclaim(by, name);
    else if (dice < 840)
        guest_leave(by);
    else if (dice < 880)
        guest_enter(by);
    else if (dice < 930 && !faultless)
        go_wrong();
    else if (dice < 950 && !faultless)
        heal();
    else if (dice < 960)
        stray_ask();
    else if (dice < 965)
        reload();
    else if (dice < 970)
        guest_list(by);
    else if (dice < 980)
        arrive();
    else
        pass(random_below(&stage.random, 4) * SECOND);
}

// --- A hub's settings

static bool read_again(void *context, struct hub_settings *fresh) {
    const struct site *site = context;
    const struct hub *hub = site->world.hub;
    fresh->secure = hub->start_settings.secure ? toy_source() : NULL;
    fresh->children = kids_read(site->index);
    fresh->users = rights_read(site->index, hub_settings(hub)->users);
    rights_realm(site->index, &fresh->realm);
    return true;
}

static void prepare(struct site *site) {
    struct hub_settings *settings = &site->settings;
    settings->users = rights_read(site->index, NULL);
    settings->children = kids_read(site->index);
    settings->journal = stage.journaled[site->index] ? "journal" : NULL;
    settings->read_again = read_again;
    settings->read_context = site;
    settings->approval_level = stage.gated[site->index] ? GOVERNANCE_MANUAL : 0;
    rights_realm(site->index, &settings->realm);
}

static void choose_gates(struct hub_settings *settings) {
    struct random *random = &stage.random;
    bool any = random_chance(random, 400);
    for (unsigned site = 0; any && site < SITES_MAX; site++)
        stage.gated[site] = true;
    stage.gate_wait_ns = random_between(random, 5, 30) * SECOND;
    settings->own[FEATURE_GATE][GATE_OPTION_WAIT_NS] = stage.gate_wait_ns;
}

static void choose(struct fleet_options *options, struct hub_settings *settings, uint64_t seed) {
    struct random *random = &stage.random;
    *options = (struct fleet_options){.seed = seed, .site_count = random_between(random, 2, 3)};
    if (random_chance(random, 100) || rising)
        options->site_count = rising ? SITES_MAX : 4;
    options->brokers = (struct broker_options){.payload_max = PAYLOAD_BYTES};
    options->brokers.count = random_chance(random, 400) ? 1 : random_between(random, 1, BROKERS_MAX);
    options->brokers.tls = random_chance(random, 250);
    options->latency_ns = random_chance(random, 500) ? random_below(random, 20) * 1000000 : 0;
    options->clocks_differ = random_chance(random, 500);
    options->connects_hang = random_chance(random, 300);
    world_defaults(&options->world, seed, random_between(random, 1, 2));
    struct sim_faults *faults = &options->world.faults;
    faults->cut = random_chance(random, 500) ? (uint16_t)random_below(random, 600) : 0;
    faults->single_byte = random_chance(random, 100) ? 100 : 0;
    faults->late = random_chance(random, 300) ? 300 : 0;
    faults->preempt = random_chance(random, 300) ? 200 : 0;
    faults->short_send = random_chance(random, 300) ? 200 : 0;
    faults->end_multishot = random_chance(random, 300) ? 100 : 0;
    stage.scarce = stage.had_faults = !faultless && random_chance(random, 150);
    if (stage.scarce)
        options->world.no_memory = (uint16_t)random_between(random, 1, 30);
    *settings = (struct hub_settings){.limits = options->world.limits};
    settings->limits.request_timeout_ns = TIMEOUT_S * SECOND;
    stage.busy = random_chance(random, 400);
    options->world.settings = settings;
    options->world.secure = random_chance(random, 200);
    options->prepare = prepare;
    stage.had_scarce = stage.scarce;
    stage.kids = options->world.keeps =
        random_chance(random, 300) && !stage.scarce; // without memory there may be none
    stage.kids_wait = random_chance(random, 500);
    for (unsigned site = 0; site < SITES_MAX; site++)
        stage.kid_kinds[site] = random_below(random, KID_KINDS);
    for (unsigned site = 0; site < SITES_MAX; site++)
        stage.journaled[site] = random_chance(random, 400);
    choose_gates(settings);
    stage.apart = random_chance(random, 80) ? options->site_count - 1 : SITES_MAX;
    rights_choose();
}

// --- The end

// Returns whether it may come from one hub to another, for all that their files say, and nobody holds it.
static bool is_free(const struct letter *letter, unsigned to) {
    unsigned from = stage.guests[letter->source].site;
    return rights_may_be(letter, from, JUDGED_ALLOWED) && stage_together(from, to) &&
           !gate_may_hold(letter) && !letter->big;
}

static void check_probe(unsigned tag) {
    const struct letter *letter = &stage.letters[tag];
    bool to_kid = letter->kind == KIND_REQUEST && letter->address == TO_KID;
    unsigned holder =
        letter->kind == KIND_REQUEST && !to_kid ? stage_holder(letter->name) : stage.guest_count;
    bool serves = to_kid && kids_serve(letter->name, stage.guests[letter->source].site);
    if (serves && !letter->good && is_free(letter, letter->name))
        letter_fails("a child isn't found though all is well", tag);
    if (holder < stage.guest_count && !letter->good && is_free(letter, stage.guests[holder].site))
        letter_fails("an agent isn't found though all is well", tag);
    for (unsigned by = 0; by < stage.guest_count; by++)
        if (guest_wants(by, letter) && by != letter->source && !(letter->got >> by & 1) &&
            is_free(letter, stage.guests[by].site))
            letter_fails("somebody doesn't get what is for all though all is well", tag);
}

// Everybody who holds a name is found from each hub, once.
static void probe(void) {
    unsigned first = stage.letter_count;
    stage.probes = true;
    for (unsigned name = 0; name < NAMES && !stage.events_only; name++) {
        unsigned holders = 0;
        for (unsigned by = 0; by < stage.guest_count; by++)
            holders += stage.guests[by].holds[name];
        if (holders > 1)
            kernel_fail("%s has %u holders", model_agents[name], holders);
        for (uint32_t site = 0; holders && site < stage.fleet.options.site_count; site++)
            guest_send(site * GUESTS_A_SITE, KIND_REQUEST, TO_AGENT, name);
    }
    for (uint32_t site = 0; stage.kids && site < stage.fleet.options.site_count; site++)
        guest_send(random_below(&stage.random, stage.guest_count), KIND_REQUEST, TO_KID, site);
    for (uint32_t site = 0; site < stage.fleet.options.site_count; site++)
        guest_list(site * GUESTS_A_SITE);
    for (uint32_t site = 0; site < stage.fleet.options.site_count && !stage.no_events; site++)
        guest_send(site * GUESTS_A_SITE, KIND_NEWS, TO_NOBODY, 0);
    for (uint32_t site = 0; site < stage.fleet.options.site_count && !stage.events_only; site++)
        guest_send(site * GUESTS_A_SITE, KIND_NOTE, TO_ALL, 0);
    for (uint32_t site = 0; site < stage.fleet.options.site_count; site++)
        if (!stage.gated[site])
            orders_give(site * GUESTS_A_SITE + random_below(&stage.random, GUESTS_A_SITE));
    for (unsigned rounds = 0; rounds < 3; rounds++) {
        pass(SECOND);
        for (unsigned by = 0; by < stage.guest_count; by++)
            guest_answer(by, true);
    }
    pass(SECOND);
    orders_check();
    for (uint32_t site = 0; site < stage.fleet.options.site_count; site++)
        guest_check_list(site * GUESTS_A_SITE);
    for (unsigned tag = first; tag < stage.letter_count; tag++)
        check_probe(tag);
    stage.probes = false;
    stray_ask_all();
    pass(SECOND);
    stray_check();
    pass(stage.gate_wait_ns + SECOND); // what is held
}

static void end(void) {
    stage.scarce = false;
    for (uint32_t site = 0; site < stage.fleet.options.site_count; site++)
        stage.fleet.sites[site].world.no_memory = 0;
    stage.fleet.options.world.no_memory = 0;
    for (unsigned by = 0; by < stage.guest_count; by++)
        guest_answer(by, true);
    heal();
    for (unsigned by = 0; by < stage.guest_count; by++)
        guest_answer(by, true);
    pass(ENDING_S * SECOND);
    arrive();
    probe();
    told_check();
    // A request that was lost between two servers, of which no hub knows, ends at its time.
    bool waits = false;
    for (unsigned tag = 0; stage.had_cuts && tag < stage.letter_count; tag++)
        waits |= letter_waits(tag);
    if (waits)
        pass((TIMEOUT_S + 1) * SECOND);
    for (unsigned tag = 0; tag < stage.letter_count; tag++)
        letter_check(tag);
    journals_check();
    kids_check();
    for (unsigned by = 0; by < stage.guest_count; by++) {
        guest_leave(by);
        free(stage.guests[by].in);
    }
    kids_forget();
    for (unsigned at = 0; at < CALLERS; at++)
        free(stage.callers[at].in);
    stray_leave();
    fleet_settle(&stage.fleet);
    fleet_close(&stage.fleet);
}

// The parts of the play that the command line leaves out.
struct leaving_out {
    bool faults, requests, events, names, rising;
};

static void play(uint64_t seed, const struct leaving_out *out) {
    struct fleet_options options;
    struct hub_settings settings;
    memset(&stage, 0, sizeof stage);
    stage.events_only = out->requests;
    stage.no_events = out->events;
    stage.no_names = out->names;
    faultless = out->faults;
    rising = out->rising;
    random_init(&stage.random, seed ^ UINT64_C(0x68756273));
    choose(&options, &settings, seed);
    fleet_open(&stage.fleet, &options);
    if (rising)
        hold_back();
    stage.guest_count = GUESTS_A_SITE * options.site_count;
    for (unsigned by = 0; by < stage.guest_count; by++) {
        stage.guests[by].site = by / GUESTS_A_SITE;
        stage.guests[by].user = NOBODY;
        if (stage.fleet.sites[stage.guests[by].site].runs)
            guest_enter(by);
    }
    heal();
    for (unsigned name = 0; name < NAMES; name++)
        guest_claim(random_below(&stage.random, stage.guest_count), name);
    pass(2 * SECOND);
    arrive();
    for (unsigned number = 0; number < ACTS; number++) {
        if (rising && number % (ACTS / 2 / SITES_MAX) == 0)
            join_next();
        act();
        uint32_t dice = random_below(&stage.random, 10);
        if (dice < 2)
            arrive();
        else if (dice < 7)
            go_on();
    }
    end();
}

static struct leaving_out out;

static void run_seed(uint64_t seed) {
    play(seed, &out);
}

// Wants requests in packs to have been played. The check of each letter has seen that each request ended once.
static void check_packs(uint64_t runs) {
    if (runs >= RUNS_WITH_PACKS && !out.requests &&
        (!pack_count_requests || !pack_count_answers || !pack_count_taken_out))
        kernel_fail("no request or no answer was packed for the link, or none was taken out of a pack");
}

int main(int argc, char **argv) {
    static const struct seeds_flag flags[] = {{"--clean", &out.faults},     {"--no-requests", &out.requests},
                                              {"--no-events", &out.events}, {"--no-names", &out.names},
                                              {"--rising", &out.rising},    {NULL, NULL}};
    static const struct seeds seeds = {.program = "patchbay_cluster", .flags = flags, .run = run_seed};
    uint64_t runs = seeds_run(&seeds, argc, argv);
    printf("%" PRIu64 " runs: %" PRIu64 " messages, %" PRIu64 " to another hub, %" PRIu64
           " answered, %" PRIu64 " ended with errors, %" PRIu64 " events heard, %" PRIu64
           " names refused, %" PRIu64 " lost, %" PRIu64 " faults, %" PRIu64 " cancels, %" PRIu64
           " reports of progress, %" PRIu64 " answers to strays, %" PRIu64 " for sure, %" PRIu64
           " orders for sure, %" PRIu64 " of them to another hub, %" PRIu64 " denied, %" PRIu64
           " of nobody, %" PRIu64 " strangers turned away, %" PRIu64 " changes of files, %" PRIu64
           " of credentials, with %" PRIu64 " requests elsewhere, %" PRIu64 " held, %" PRIu64
           " approved, %" PRIu64 " turned down, %" PRIu64 " children asked, %" PRIu64
           " asked by them, %" PRIu64 " calls, %" PRIu64 " of %" PRIu64 " sessions begun, %" PRIu64
           " refusals in journals, %" PRIu64 " hubs frozen, %" PRIu64 " without beats, %" PRIu64
           " beats of another protocol, %" PRIu64 " of a former link, %" PRIu64 " told of agents, %" PRIu64
           " in the end, %" PRIu64 " hubs half apart, %" PRIu64 " joined under load, %" PRIu64
           " bursts, %" PRIu64 " requests and %" PRIu64 " answers packed for the link, %" PRIu64
           " requests taken out of packs\n",
           runs, sums.letters, sums.crossed, sums.good, sums.failed, sums.copies, sums.refused, sums.replaced,
           sums.faults, sums.cancels, sums.progress, sums.strays, sums.strays_sure, sums.orders,
           sums.orders_crossed, sums.denied, sums.foreign, sums.strangers, sums.reloads, sums.revoked,
           sums.revoked_away, sums.held, sums.approved, sums.turned_down, sums.kids, sums.kids_ask,
           sums.calls, sums.started, sums.starts, sums.journaled, sums.frozen, sums.unbeaten,
           sums.foreign_beats, sums.late_beats, sums.presence, sums.presence_sure, sums.halves, sums.joined,
           sums.bursts, pack_count_requests, pack_count_answers, pack_count_taken_out);
    check_packs(runs);
    return 0;
}
