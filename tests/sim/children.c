// Children on the simulated kernel, from a seed. Programs start late or never, answer in pieces, in any order
// or not at all, die, hold on, or write garbage. Meanwhile clients use them, the configuration changes and
// the hub ends. An oracle knows which request went where. Each request ends once, with its child's answer or
// with an error that it may have. States move only as child.h draws them. When all is over no program is
// left.
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "tests/sim/children.h"
#include "tests/sim/memory.h"
#include "tests/sim/seeds.h"

struct children_stage stage;
struct sums sums;

// --- Clients

static void ask(unsigned client, unsigned kind) {
    struct client *source = &stage.clients[client];
    if (!source->here || stage.ask_count == ASKS_MAX || (stage.calm && stage.kinds[kind].absent))
        return;
    struct kind *target = &stage.kinds[kind];
    uint64_t now_ns = kernel_now(stage.world.kernel);
    bool command = target->protocol == CHILD_HERMES && random_chance(&stage.random, 200);
    bool modern = target->protocol == CHILD_MCP && random_chance(&stage.random, 300);
    stage.asks[stage.ask_count] = (struct ask){
        .client = (int)client,
        .kind = kind,
        .command = command,
        .modern = modern,
        .at_ns = now_ns,
        .ends = target->ends,
        .reloads = sums.reloads,
        .was_removed = target->absent && kind_is_removed(target),
        .away = target->away,
        .was_ending = kind_any_is(target, CHILD_STOPPING, CHILD_STOPPED) || target->gone_ns == now_ns,
        .was_waiting = kind_any_is(target, CHILD_WAITING, CHILD_WAITING),
        .was_away = kind_is_away(target) || target->absent};
    mouth_say(
        &source->mouth,
        "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":{\"targetAgent\":\"%s\",\"tag\":%u%s}}",
        stage.ask_count, command ? "command/execute" : "work", target->name, stage.ask_count,
        modern ? ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}" : "");
    mouth_flush(&source->mouth, stage.good || random_chance(&stage.random, 700));
    stage.ask_count++;
    sums.asks++;
}

static void check_error(struct ask *one, const struct bit body, int64_t code) {
    const struct kind *kind = &stage.kinds[one->kind];
    uint64_t since_ns = kernel_now(stage.world.kernel) - one->at_ns;
    // A new child that waits may have the place of one whose going not all shards know yet.
    bool is_new = one->was_waiting && !stage.calm;
    bool lost = code == -32050 && (one->was_ending || one->was_away || is_new || kind->ends > one->ends);
    bool away =
        code == -32010 && (one->was_ending || one->was_waiting || one->was_away || kind->away > one->away);
    if (code == -32050 && one->was_removed && !one->delivered && one->reloads == sums.reloads &&
        !stage.ending)
        kernel_fail("a request of %s, which there wasn't any more, has lost its target", kind->name);
    // A hub that ends a program that is idle, or anew, keeps messages that haven't gone out to it.
    bool cut_off = lost && one->delivered && !stage.steady;
    bool late = code == -32051 && since_ns >= stage.timeout_ns;
    bool full = code == -32052 && (kind->ever_each || stage.narrow);
    bool cancelled = code == -32800 && one->cancelled, torn = code == -32603 && !stage.calm;
    bool no_era = code == -32601 && one->modern && !stage.calm; // as it ended at the first question
    if (stage.calm && !stage.ending && !cut_off)
        kernel_fail("a request of %s has failed, and nothing else has: %.*s", kind->name, (int)body.count,
                    (const char *)body.bytes);
    if (!no_era && !lost && !away && !late && !full && !cancelled && !torn && !stage.ending && !stage.faulty)
        kernel_fail("a request of %s ended with an error that it can't have: %.*s", kind->name,
                    (int)body.count, (const char *)body.bytes);
    sums.lost += lost;
    sums.away += away;
    sums.late += late;
    sums.full += full;
    sums.cancelled += cancelled;
}

static void hear_answer(unsigned client, struct bit body, uint64_t id) {
    struct ask *one = &stage.asks[id];
    int64_t code = bit_integer(naive_find(body, "error.code"));
    if (id >= stage.ask_count || one->client != (int)client)
        kernel_fail("an answer that nobody has asked for: %.*s", (int)body.count, (const char *)body.bytes);
    if (one->ended)
        kernel_fail("a request has ended twice: %.*s", (int)body.count, (const char *)body.bytes);
    one->ended = true;
    if (naive_find(body, "error").bytes && !one->given_up_ns)
        one->given_up_ns = kernel_now(stage.world.kernel);
    if (code == 7 && one->answered && one->failed &&
        bit_number(naive_find(body, "error.data")) == id) { // its child's own
        sums.answers++;
    } else if (naive_find(body, "error").bytes) {
        check_error(one, body, code);
    } else if (one->command ? !bit_is(naive_find(body, "result"), "null")
                            : !one->answered || one->failed || bit_number(naive_find(body, "result")) != id) {
        kernel_fail("an answer that its child hasn't given: %.*s", (int)body.count, (const char *)body.bytes);
    } else {
        sums.answers++;
        const struct kind *kind = &stage.kinds[one->kind];
        stage.clients[client].uses[one->kind] |= kind->protocol == CHILD_MCP && !kind->each && !one->modern;
    }
}

// A request of a server of MCP is for the client whose request it is about, if that is known, and for nobody
// else.
static void check_question(const struct client *client, struct bit body) {
    uint64_t about = bit_number(naive_find(body, "params.about"));
    if (about >= stage.ask_count || !bit_number(naive_find(body, "params.asks")) ||
        bit_is(naive_find(body, "method"), "\"roots/list\""))
        kernel_fail("a client was asked what its server may not ask: %.*s", (int)body.count,
                    (const char *)body.bytes);
    if (stage.asks[about].client != client - stage.clients && !stage.faulty)
        kernel_fail("a client was asked about a request of another one: %.*s", (int)body.count,
                    (const char *)body.bytes);
    sums.put++;
}

// The first client is an agent, too, whom programs ask and tell.
static void hear_program(struct client *client, struct bit body) {
    struct bit id = naive_find(body, "id");
    if (naive_find(body, "params.about").bytes)
        check_question(client, body);
    if (bit_is(naive_find(body, "method"), "\"notifications/tools/list_changed\""))
        memset(client->stale, 0, sizeof client->stale);
    uint64_t from = bit_number(naive_find(body, "params.from")),
             note = bit_number(naive_find(body, "params.note"));
    if (bit_is(naive_find(body, "method"), "\"note\"")) {
        if (from >= stage.program_count || note <= client->noted[from])
            kernel_fail("a note came late or twice: %.*s", (int)body.count, (const char *)body.bytes);
        client->noted[from] = note;
        stage.notes_heard++;
    } else if (id.bytes) {
        mouth_say(&client->mouth, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":1}", (int)id.count,
                  (const char *)id.bytes);
    }
}

static void leave(struct client *client) {
    unsigned index = (unsigned)(client - stage.clients);
    for (unsigned number = 0; number < stage.ask_count; number++)
        if (stage.asks[number].client == (int)index && !stage.asks[number].ended) {
            stage.asks[number].client = NOBODY;
            stage.asks[number].given_up_ns = kernel_now(stage.world.kernel);
        }
    cable_close(client->mouth.to);
    mouth_close(&client->mouth);
    client->here = false;
}

static bool hear(unsigned index) {
    struct client *client = &stage.clients[index];
    struct bit body;
    bool any = false;
    for (size_t done = 0; client->here && mouth_listen(&client->mouth, &body, &done); any = true) {
        struct bit id = naive_find(body, "id");
        if (naive_find(body, "method").bytes)
            hear_program(client, body);
        else if (bit_is(id, "\"r\""))
            stage.is_known |= naive_find(body, "result").bytes != NULL;
        else if (bit_number(id) != UINT64_MAX)
            hear_answer(index, body, bit_number(id));
        else if (bit_is(id, "null") && !stage.faulty)
            kernel_fail("what a client said can't be read: %.*s", (int)body.count, (const char *)body.bytes);
    }
    if (client->here && cable_at_end(client->mouth.from)) {
        if (!stage.ending && !stage.faulty)
            kernel_fail("the hub has closed a client's connection");
        leave(client);
    }
    return any;
}

static void come(unsigned index) {
    struct client *client = &stage.clients[index];
    bool lines = random_chance(&stage.random, 300);
    struct cable *cable = lines ? world_dial_lines(&stage.world) : world_dial(&stage.world);
    if (!cable)
        return;
    mouth_open(&client->mouth, cable, cable, lines);
    client->here = true;
    memset(client->noted, 0, sizeof client->noted);
    memset(client->uses, 0, sizeof client->uses);
    memset(client->stale, 0, sizeof client->stale);
    if (index == 0)
        mouth_say(&client->mouth,
                  "{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"method\":\"agent/register\",\"params\":{"
                  "\"agentId\":\"editor\",\"governanceLevel\":\"autonomous\",\"capabilities\":{}}}");
    mouth_flush(&client->mouth, true);
}

static void go(void) {
    bool any;
    do {
        world_settle(&stage.world);
        any = programs_drive();
        for (unsigned index = 0; index < stage.client_count; index++) {
            any |= hear(index);
            if (stage.clients[index].here)
                mouth_flush(&stage.clients[index].mouth, true);
        }
    } while (any);
    world_settle(&stage.world);
    check_programs();
}

static void pass(uint64_t ns) {
    uint64_t until_ns = kernel_now(stage.world.kernel) + ns;
    go();
    for (uint64_t next_ns; (next_ns = world_next_ns(&stage.world)) <= until_ns;) {
        kernel_advance(stage.world.kernel, next_ns);
        go();
    }
    kernel_advance(stage.world.kernel, until_ns);
    go();
}

// --- The configuration

static void set(struct child_settings *settings, const char *key, const char *value) {
    if (child_settings_set(settings, key, value))
        kernel_fail("%s = %s isn't a child's", key, value);
}

static struct child_settings *settings_of(const struct kind *kind) {
    struct child_settings *settings = child_settings_create(kind->name);
    static const char *const protocols[] = {"plain", "hermes", "mcp"};
    char number[32], command[32];
    if (!settings)
        abort();
    snprintf(command, sizeof command, "program %s%s%s", kind->lines ? "lines" : "frames",
             kind->each ? "-each" : "", kind->asks ? "-asks" : "");
    set(settings, "command", command);
    set(settings, "protocol", protocols[kind->protocol]);
    set(settings, "framing", kind->lines ? "lines" : "content-length");
    set(settings, "restart-delay-max", "5s");
    set(settings, "data", "/data");
    snprintf(number, sizeof number, "%u", kind->instances);
    set(settings, "instances", kind->each ? "each" : number);
    set(settings, "max-instances", "3");
    set(settings, "start", kind->on_demand ? "on-demand" : "at-once");
    set(settings, "idle", kind->idle ? "700ms" : "off");
    set(settings, "ask-clients", kind->asks ? "yes" : "no");
    snprintf(number, sizeof number, "%u", kind->version);
    set(settings, "set VERSION", number);
    set(settings, "cancel", kind->acp ? "acp" : "lsp");
    if (child_settings_finish(settings))
        kernel_fail("the section of %s lacks something", kind->name);
    return settings;
}

static struct child_settings *all_settings(void) {
    struct child_settings *first = NULL;
    memory_fail_after(UINT64_MAX); // what can't be read changes nothing: that is the configuration's business
    for (unsigned index = 0; index < stage.kind_count; index++) {
        if (stage.kinds[index].absent)
            continue;
        struct child_settings *settings = settings_of(&stage.kinds[index]);
        settings->next = first;
        first = settings;
    }
    return first;
}

static void choose_kind(struct kind *kind, bool first) {
    struct random *random = &stage.random;
    if (first)
        kind->protocol = random_chance(random, 400)   ? CHILD_HERMES
                         : random_chance(random, 400) ? CHILD_MCP
                                                      : CHILD_PLAIN;
    kind->lines = random_chance(random, 400);
    kind->each = kind->protocol != CHILD_HERMES && random_chance(random, 250);
    kind->ever_each |= kind->each;
    kind->instances = random_chance(random, 300) ? random_between(random, 2, 3) : 1;
    kind->asks = random_chance(random, 700);
    kind->acp = random_chance(random, 500);
    *(kind->acp ? &kind->ever_acp : &kind->ever_lsp) = true;
    kind->on_demand = random_chance(random, 400);
    kind->idle = kind->on_demand && random_chance(random, 500);
}

static void change(struct kind *kind) {
    size_t index = (size_t)(kind - stage.kinds);
    kind->version++;
    for (unsigned client = 0; client < stage.client_count; client++)
        stage.clients[client].stale[index] |= stage.clients[client].uses[index] && !kind->on_demand;
}

// Something changes, goes, or comes; or nothing, and those that are down run again.
static void reload(void) {
    struct kind *kind = &stage.kinds[random_below(&stage.random, stage.kind_count)];
    uint32_t dice = random_below(&stage.random, 100);
    if (dice < 30 && !stage.calm) {
        kind->absent = !kind->absent;
        kind->away += kind->absent; // it is as if there were none before it has ended
    } else if (dice < 70 && !stage.steady)
        change(kind);
    else if (dice < 85 && !stage.calm)
        choose_kind(kind, false);
    kernel_signal(stage.world.kernel, SIGHUP);
    sums.reloads++;
}

// --- Acts

static void cancel(unsigned client) {
    unsigned number = stage.ask_count ? random_below(&stage.random, stage.ask_count) : 0;
    struct ask *one = &stage.asks[number];
    if (!stage.ask_count || one->client != (int)client || one->ended || stage.calm)
        return;
    if (!one->cancelled) // a second one means nothing
        one->cancelled_acp = random_chance(&stage.random, 500);
    one->cancelled = true;
    one->given_up_ns = one->given_up_ns ? one->given_up_ns : kernel_now(stage.world.kernel);
    mouth_say(&stage.clients[client].mouth, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":{\"%s\":%u}}",
              one->cancelled_acp ? "$/cancel_request" : "$/cancelRequest",
              one->cancelled_acp ? "requestId" : "id", number);
}

static void order(unsigned client) {
    const struct kind *kind = &stage.kinds[random_below(&stage.random, stage.kind_count)];
    bool stop = !stage.calm && random_chance(&stage.random, 300);
    if (stage.clients[client].here && !stage.steady)
        mouth_say(
            &stage.clients[client].mouth,
            "{\"jsonrpc\":\"2.0\",\"id\":\"o\",\"method\":\"hub/child%s\",\"params\":{\"name\":\"%s\"}}",
            stop ? "Stop" : "Restart", kind->name);
}

// Up to the very moment in which something is due, be it that a program was idle for so long.
static void linger(void) {
    uint64_t next_ns = world_next_ns(&stage.world);
    if (stage.calm) { // nothing may take too long
        bool was_good = stage.good;
        stage.good = true;
        go();
        stage.good = was_good;
        for (unsigned number = 0; number < stage.ask_count; number++)
            if (!stage.asks[number].ended)
                return;
        next_ns = world_next_ns(&stage.world);
    }
    if (next_ns != UINT64_MAX)
        kernel_advance(stage.world.kernel, next_ns);
}

static void act(void) {
    struct random *random = &stage.random;
    unsigned client = random_below(random, stage.client_count);
    uint32_t dice = random_below(random, 1000);
    if (dice < 500)
        for (unsigned left = random_between(random, 1, 4); left > 0; left--)
            ask(client, random_below(random, stage.kind_count));
    else if (dice < 800)
        programs_act();
    else if (dice < 840)
        reload();
    else if (dice < 880)
        cancel(client);
    else if (dice < 900)
        order(client);
    else if (dice < 920 && stage.clients[client].here && !stage.calm)
        leave(&stage.clients[client]);
    else if (dice < 940 && !stage.clients[client].here)
        come(client);
    else if (dice < 970)
        linger();
    else
        pass((stage.calm ? random_below(random, 20) : random_below(random, 1500)) * (uint64_t)MILLISECOND);
    if (random_chance(random, 500))
        go();
    else
        for (unsigned steps = random_below(random, 30); steps > 0 && world_step(&stage.world); steps--)
            continue;
}

// --- A run

static void choose(struct world_options *options, uint64_t seed) {
    struct random *random = &stage.random;
    world_defaults(options, seed, random_between(random, 1, WORLD_SHARDS_MAX));
    options->keeps = true;
    options->strict = random_chance(random, 300);
    stage.calm = random_chance(random, 300);
    stage.steady = stage.calm && random_chance(random, 500);
    stage.kind_count = random_between(random, 1, KINDS_MAX);
    stage.client_count = random_between(random, 1, CLIENTS_MAX);
    for (unsigned index = 0; index < stage.kind_count; index++) {
        snprintf(stage.kinds[index].name, sizeof stage.kinds[index].name, "c%u", index);
        choose_kind(&stage.kinds[index], true);
        if (stage.calm) // who is the fourth has no place
            stage.kinds[index].each &= stage.client_count <= 3;
    }
    options->children = all_settings;
    stage.timeout_ns = options->limits.request_timeout_ns;
    options->faults.cut = (uint16_t)random_below(random, 300);
    options->faults.single_byte = (uint16_t)random_below(random, 50);
    options->faults.short_send = (uint16_t)random_below(random, 300);
    options->faults.late = (uint16_t)random_below(random, 300);
    options->faults.preempt = (uint16_t)random_below(random, 200);
    options->faults.end_multishot = (uint16_t)random_below(random, 100);
    options->faults.no_buffer = (uint16_t)random_below(random, 50);
    options->faults.interrupt = (uint16_t)random_below(random, 50);
    options->faults.keeper_busy = (uint16_t)random_below(random, 300);
    stage.narrow = !stage.calm && random_chance(random, 300);
    if (stage.narrow)
        options->mailbox_room = 4u << random_below(random, 5);
    stage.faulty = !stage.calm && random_chance(random, 150);
    if (stage.faulty)
        options->no_memory = (uint16_t)random_below(random, 30);
}

// Everybody behaves, until whatever was asked has ended.
static void calm_down(void) {
    stage.good = true;
    for (unsigned index = 0; index < stage.kind_count; index++)
        stage.kinds[index].absent = false;
    for (unsigned index = 0; index < PLAYED_MAX; index++)
        stage.played[index].mute = false;
    pass(2 * stage.timeout_ns);
}

static void check_ended(void) {
    for (unsigned number = 0; number < stage.ask_count; number++) {
        const struct ask *one = &stage.asks[number];
        if (one->client != NOBODY && !one->ended)
            kernel_fail("request %u, of %s, has not ended", number, stage.kinds[one->kind].name);
    }
    if (stage.steady && !stage.ending && stage.notes_heard != stage.notes_said)
        kernel_fail("of %" PRIu64 " notes %" PRIu64 " have come", stage.notes_said, stage.notes_heard);
    for (unsigned at = 0; at < stage.client_count * stage.kind_count && stage.calm && !stage.ending; at++) {
        const struct client *client = &stage.clients[at / stage.kind_count];
        if (client->here && client->stale[at % stage.kind_count])
            kernel_fail("a client wasn't told that %s is another program",
                        stage.kinds[at % stage.kind_count].name);
    }
    for (unsigned index = 0; index < PLAYED_MAX; index++)
        if (stage.played[index].program && stage.played[index].mouth.from &&
            stage.played[index].answered != stage.played[index].asked && !stage.faulty)
            kernel_fail("a program of %s has %u answers to %u requests", stage.played[index].program->name,
                        stage.played[index].answered, stage.played[index].asked);
}

// Ends the hub, which goes through the phases while everybody goes on.
static void end_hub(void) {
    stage.ending = true;
    kernel_signal(stage.world.kernel, SIGTERM);
    go();
    for (unsigned rounds = 0; !world_stopped(&stage.world); rounds++) {
        uint64_t next_ns = world_next_ns(&stage.world);
        if (next_ns == UINT64_MAX || rounds == 20000)
            kernel_fail("the hub doesn't end");
        kernel_advance(stage.world.kernel, next_ns);
        go();
    }
    go();
}

static void close_all(void) {
    for (unsigned index = 0; index < stage.client_count; index++)
        if (stage.clients[index].here)
            leave(&stage.clients[index]);
    for (unsigned index = 0; index < PLAYED_MAX; index++)
        if (stage.played[index].program)
            programs_part(&stage.played[index]);
    world_settle(&stage.world);
    world_close(&stage.world);
}

static void run_children(uint64_t seed) {
    struct world_options options;
    size_t before = sim_memory_held();
    memset(&stage, 0, sizeof stage);
    random_init(&stage.random, seed);
    choose(&options, seed);
    world_open(&stage.world, &options);
    programs_hold(stage.world.kernel, true);
    world_settle(&stage.world); // children are known
    for (unsigned index = 0; index < stage.client_count; index++)
        come(index);
    unsigned acts = random_between(&stage.random, 20, ACTS);
    for (unsigned number = 0; number < acts; number++)
        act();
    if (random_chance(&stage.random, 200) && !stage.calm) { // in mid traffic
        if (random_chance(&stage.random, 200))
            stage.ending = true, programs_lose_keeper(stage.world.kernel);
    } else {
        calm_down();
        check_ended();
        check_places();
    }
    end_hub();
    check_ended();
    close_all();
    if (sim_memory_held() != before)
        kernel_fail("%zu bytes are left", sim_memory_held() - before);
}

int main(int argc, char **argv) {
    static const struct seeds seeds = {.program = "patchbay_children", .run = run_children, .has_log = true};
    uint64_t runs = seeds_run(&seeds, argc, argv);
    printf("%" PRIu64 " runs: %" PRIu64 " requests, %" PRIu64 " answered, %" PRIu64 " lost, %" PRIu64
           " found nobody, %" PRIu64 " too late, %" PRIu64 " too many, %" PRIu64 " cancelled; %" PRIu64
           " programs, %" PRIu64 " ends, %" PRIu64 " reloads, %" PRIu64
           " questions of servers, of which %" PRIu64 " came to a client; %" PRIu64 " and %" PRIu64
           " cancels told\n",
           runs, sums.asks, sums.answers, sums.lost, sums.away, sums.late, sums.full, sums.cancelled,
           sums.programs, sums.ends, sums.reloads, sums.questions, sums.put, sums.told[0], sums.told[1]);
    return 0;
}
