// Presence: agents come, change and go, and subscribers are told of exactly that, in order. An arrival is told once all
// shards know the agent, a departure once none does. Where nobody listens nothing is kept.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "router/registry/presence.h"
#include "router/registry/registry.h"
#include "tests/sim/kernel.h"
#include "tests/sim/naive.h"
#include "tests/sim/seeds.h"
#include "tests/sim/world.h"

enum {
    OWNERS = 3,
    NAMES = 6,
    LISTENERS = 5,
    ACTS = 80,
    CHANGES_MAX = 2 * ACTS,
    STEPS_MAX = 40,
    IN_BYTES_MAX = 1 << 20,
    OFFER_BYTES_MAX = 8 * 1024,
    TEXT_BYTES_MAX = 2 * OFFER_BYTES_MAX,
    LARGE_BYTES = 5000, // of capabilities that are not told
    OFFERS = 4
};

static const char *const reasons[] = {NULL, "\"unregistered\"", "\"disconnected\"", "\"replaced\""};
enum reason { REGISTERED, UNREGISTERED, DISCONNECTED, REPLACED };

static const char *const levels[] = {"autonomous", "supervised", "manual"};
enum { LEVELS = sizeof levels / sizeof *levels };

struct change {
    enum reason reason;
    unsigned offers, level; // of one that registered
};

static struct name {
    int owner; // -1: nobody's
    unsigned offers, level;
    struct change changes[CHANGES_MAX]; // that subscribers have to be told, since the beginning
    unsigned count;
} names[NAMES];

// A connection, and what has come by it.
struct peer_end {
    struct cable *cable; // NULL: none
    uint8_t in[IN_BYTES_MAX];
    size_t count;
};

static struct owner {
    struct peer_end wire;
    unsigned asked, answered;
} owners[OWNERS];

static struct listener {
    struct peer_end wire;
    const char *pattern;
    bool came, left;      // is told of these
    unsigned told[NAMES]; // how many changes of a name are behind it
    bool is_subscribed;
} listeners[LISTENERS];

static const struct {
    const char *pattern;
    bool came, left;
} wishes[LISTENERS] = {{"hub-*", true, true},
                       {"hub-agent-left", false, true},
                       {"hub-agent-registered", true, false},
                       {"news", false, false},
                       {"*", true, true}};

static struct world world;
static struct random dice;
static char offers[OFFERS][OFFER_BYTES_MAX];
static uint64_t told_total, changes_kept;

static void say(struct peer_end *wire, const char *body) {
    static char frame[TEXT_BYTES_MAX + 256];
    int bytes = snprintf(frame, sizeof frame, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
    if (!cable_write(wire->cable, frame, (size_t)bytes))
        kernel_fail("a peer can't say what it wants");
}

static void ask(struct owner *owner, const char *method, const char *params) {
    static char body[TEXT_BYTES_MAX - 64];
    snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":%s}",
             owner->asked++, method, params);
    say(&owner->wire, body);
}

// --- What is told

static bool is_known(const struct shard *shard, unsigned name) {
    char text[32];
    int bytes = snprintf(text, sizeof text, "agent-%u", name);
    return agents_find(&shard->agents, text, (size_t)bytes) != NULL;
}

// The last thing that has happened to a name is so at all shards.
static void check_reach(unsigned name, bool came) {
    for (uint32_t index = 0; index < world.shard_count; index++)
        if (is_known(world.shards[index], name) != came)
            kernel_fail("agent-%u is told as %s, and shard %u doesn't know so", name, came ? "there" : "gone",
                        index);
}

static void check_data(const struct change *change, struct bit body) {
    struct bit told = naive_find(body, "params.data.capabilities"),
               reason = naive_find(body, "params.data.reason"),
               level = naive_find(body, "params.data.governanceLevel");
    bool came = change->reason == REGISTERED, is_large = strlen(offers[change->offers]) > LARGE_BYTES;
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\"", levels[change->level]);
    if (came && (reason.bytes || !bit_is(level, quoted) || is_large != !told.bytes ||
                 (told.bytes && !bit_is(told, offers[change->offers]))))
        kernel_fail("an agent came otherwise than it is told: %.*s", (int)body.count,
                    (const char *)body.bytes);
    if (!came && (told.bytes || level.bytes || !bit_is(reason, reasons[change->reason])))
        kernel_fail("an agent left otherwise than it is told: %.*s", (int)body.count,
                    (const char *)body.bytes);
}

static bool wants(const struct listener *listener, const struct change *change) {
    return change->reason == REGISTERED ? listener->came : listener->left;
}

static void take_event(struct listener *listener, struct bit body) {
    unsigned number = NAMES;
    struct bit id = naive_find(body, "params.data.agentId");
    for (unsigned at = 0; at < NAMES; at++) {
        char quoted[32];
        snprintf(quoted, sizeof quoted, "\"agent-%u\"", at);
        number = bit_is(id, quoted) ? at : number;
    }
    if (number == NAMES)
        kernel_fail("a listener to %s was told of nobody: %.*s", listener->pattern, (int)body.count,
                    (const char *)body.bytes);
    const struct name *name = &names[number];
    unsigned at = listener->told[number];
    while (at < name->count && !wants(listener, &name->changes[at]))
        at++;
    bool came = bit_is(naive_find(body, "params.event"), "\"hub-agent-registered\"");
    if (at == name->count || came != (name->changes[at].reason == REGISTERED))
        kernel_fail("a listener to %s was told what hasn't happened: %.*s", listener->pattern,
                    (int)body.count, (const char *)body.bytes);
    check_data(&name->changes[at], body);
    listener->told[number] = at + 1;
    told_total++;
    if (at + 1 == name->count)
        check_reach(number, came);
}

static void take(struct owner *owner, struct listener *listener, struct bit body) {
    struct bit method = naive_find(body, "method");
    if (!method.bytes && !naive_find(body, "result").bytes)
        kernel_fail("a request has failed: %.*s", (int)body.count, (const char *)body.bytes);
    if (!method.bytes && owner)
        owner->answered++;
    else if (!method.bytes)
        listener->is_subscribed = true;
    else if (listener && bit_is(method, "\"event\""))
        take_event(listener, body);
    else if (!owner || !bit_is(method, "\"hub/replaced\""))
        kernel_fail("a peer was told what it didn't ask for: %.*s", (int)body.count,
                    (const char *)body.bytes);
}

static void hear(struct peer_end *wire, struct owner *owner, struct listener *listener) {
    struct naive_frame frame;
    if (!wire->cable)
        return;
    wire->count += cable_read(wire->cable, wire->in + wire->count, sizeof wire->in - wire->count);
    while (wire->count > 0) {
        enum naive_result result = naive_frame(&frame, wire->in, wire->count);
        if (result == NAIVE_PARTIAL)
            return;
        if (result != NAIVE_WHOLE)
            kernel_fail("the hub says what is no frame");
        take(owner, listener, frame.body);
        wire->count -= frame.bytes;
        memmove(wire->in, wire->in + frame.bytes, wire->count);
    }
}

// Counts the changes that the hub is done with.
void __real_presence_drop(struct shard *shard, struct presence_change *change);
void __wrap_presence_drop(struct shard *shard, struct presence_change *change);
void __wrap_presence_drop(struct shard *shard, struct presence_change *change) {
    changes_kept++;
    __real_presence_drop(shard, change);
}

static void check_quiet(void) {
    if (changes_kept)
        kernel_fail("nobody listens, and the hub has kept a change");
    for (uint32_t index = 0; index < world.shard_count; index++) {
        const struct presence_queue *queue = &world.shards[index]->presence;
        if (queue->count || queue->missed_came || queue->missed_went)
            kernel_fail("nobody listens, and shard %u has changes to tell", index);
    }
}

// Returns whether anything was done.
static bool step(bool is_quiet) {
    bool any = world_step(&world);
    for (unsigned at = 0; at < OWNERS; at++)
        hear(&owners[at].wire, &owners[at], NULL);
    for (unsigned at = 0; at < LISTENERS; at++)
        hear(&listeners[at].wire, NULL, &listeners[at]);
    if (is_quiet)
        check_quiet();
    return any;
}

static void settle(bool is_quiet) {
    while (step(is_quiet)) {
    }
}

// --- What happens

static void note(unsigned name, enum reason reason) {
    names[name].changes[names[name].count++] = (struct change){reason, names[name].offers, names[name].level};
}

static void leave(unsigned owner, enum reason reason) {
    for (unsigned at = 0; at < NAMES; at++)
        if (names[at].owner == (int)owner) {
            note(at, reason);
            names[at].owner = -1;
        }
}

// An agent that registers with the same offers again has not changed.
static void enroll(unsigned owner, unsigned number) {
    static char params[OFFER_BYTES_MAX + 256];
    struct name *name = &names[number];
    unsigned offer = random_below(&dice, OFFERS), level = random_below(&dice, LEVELS);
    bool same = name->owner == (int)owner && name->offers == offer && name->level == level;
    if (name->owner >= 0 && name->owner != (int)owner)
        note(number, REPLACED);
    name->owner = (int)owner;
    name->offers = offer;
    name->level = level;
    if (!same)
        note(number, REGISTERED);
    snprintf(params, sizeof params,
             "{\"agentId\":\"agent-%u\",\"capabilities\":%s,\"governanceLevel\":\"%s\"}", number,
             offers[offer], levels[level]);
    ask(&owners[owner], "agent/register", params);
}

static void withdraw(unsigned owner, unsigned number) {
    char params[64];
    note(number, UNREGISTERED);
    names[number].owner = -1;
    snprintf(params, sizeof params, "{\"agentId\":\"agent-%u\"}", number);
    ask(&owners[owner], "agent/unregister", params);
}

static void hang_up(unsigned number) {
    struct owner *owner = &owners[number];
    leave(number, DISCONNECTED);
    if (random_chance(&dice, 500))
        cable_reset(owner->wire.cable);
    cable_close(owner->wire.cable);
    owner->wire.cable = NULL;
    owner->wire.count = 0;
    owner->asked = owner->answered = 0;
}

// An owner does something, unless it waits for an answer. Another's name is taken while nothing else is under way:
// which of two comes first would be anybody's guess.
static void act(bool is_quiet) {
    unsigned number = random_below(&dice, OWNERS), name = random_below(&dice, NAMES);
    struct owner *owner = &owners[number];
    uint32_t chance = random_below(&dice, 100);
    if (!owner->wire.cable)
        owner->wire.cable = world_dial(&world);
    if (owner->answered < owner->asked)
        return;
    bool is_own = names[name].owner == (int)number, is_free = names[name].owner < 0;
    if (chance < 50 && (!is_own || random_chance(&dice, 600))) {
        if (!is_own)
            settle(is_quiet);
        enroll(number, name);
        if (!is_own && !is_free)
            settle(is_quiet);
    } else if (chance < 75 && is_own)
        withdraw(number, name);
    else if (chance < 85) {
        leave(number, UNREGISTERED);
        ask(owner, "shutdown", "{}");
    } else if (chance < 95)
        hang_up(number);
}

static void play(bool is_quiet) {
    for (unsigned acts = 0; acts < ACTS; acts++) {
        act(is_quiet);
        for (uint32_t steps = random_below(&dice, STEPS_MAX); steps > 0; steps--)
            step(is_quiet);
    }
    settle(is_quiet);
}

static void subscribe(struct listener *listener) {
    char body[128];
    snprintf(body, sizeof body,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hub/subscribe\",\"params\":{\"events\":[\"%s\"]}}",
             listener->pattern);
    say(&listener->wire, body);
}

static void open_all(uint64_t seed) {
    struct world_options options;
    random_init(&dice, seed ^ UINT64_C(0x70726573));
    world_defaults(&options, seed, random_between(&dice, 1, WORLD_SHARDS_MAX));
    options.takeover = true;
    options.strict = random_chance(&dice, 300);
    options.mailbox_room = random_chance(&dice, 500) ? 8 : 0;
    world_open(&world, &options);
    memset(names, 0, sizeof names);
    memset(owners, 0, sizeof owners);
    memset(listeners, 0, sizeof listeners);
    for (unsigned at = 0; at < NAMES; at++)
        names[at].owner = -1;
    for (unsigned at = 0; at < LISTENERS; at++) {
        listeners[at].pattern = wishes[at].pattern;
        listeners[at].came = wishes[at].came;
        listeners[at].left = wishes[at].left;
        listeners[at].wire.cable = world_dial(&world);
        subscribe(&listeners[at]);
    }
    settle(false);
}

static void check_told(void) {
    for (unsigned at = 0; at < LISTENERS; at++)
        for (unsigned number = 0; number < NAMES; number++) {
            const struct listener *listener = &listeners[at];
            for (unsigned change = listener->told[number]; change < names[number].count; change++)
                if (!listener->is_subscribed || wants(listener, &names[number].changes[change]))
                    kernel_fail("a listener to %s was never told of agent-%u", listener->pattern, number);
        }
}

static void silence(void) {
    for (unsigned at = 0; at < LISTENERS; at++) {
        cable_close(listeners[at].wire.cable);
        listeners[at].wire.cable = NULL;
    }
    settle(false);
    if (atomic_load(&world.hub->presence_subscriptions))
        kernel_fail("nobody listens, and the hub thinks otherwise");
    changes_kept = 0;
}

static void close_all(void) {
    for (unsigned at = 0; at < OWNERS; at++)
        if (owners[at].wire.cable) {
            cable_close(owners[at].wire.cable);
            owners[at].wire.cable = NULL;
        }
    settle(false);
    world_stop(&world);
    world_close(&world);
}

static void run_seed(uint64_t seed) {
    open_all(seed);
    play(false);
    check_told();
    silence();
    for (unsigned at = 0; at < NAMES; at++)
        names[at].count = 0; // nobody is told any more
    play(true);
    world_check_agents(&world);
    close_all();
}

int main(int argc, char **argv) {
    static const struct seeds seeds = {.program = "patchbay_presence", .run = run_seed};
    strcpy(offers[0], "{}");
    strcpy(offers[1], "{\"tasks\":[\"t\"]}");
    strcpy(offers[2], "[\"a\",\"b\"]");
    int head = snprintf(offers[3], OFFER_BYTES_MAX, "{\"x\":\"");
    memset(offers[3] + head, 'x', LARGE_BYTES);
    strcpy(offers[3] + head + LARGE_BYTES, "\"}");
    uint64_t runs = seeds_run(&seeds, argc, argv);
    printf("%" PRIu64 " runs: %" PRIu64 " times told of an agent\n", runs, told_total);
}
