// The gate on the simulated kernel. Peers send messages that must be held, others decide, sources cancel,
// leave and half-close, time passes, the hub drains. Bytes come in pieces and late. In some seeds there is a
// journal whose disk runs full now and then. The oracle knows of each message who decided what, and so what
// must not have happened to it. Nothing passes that nobody approved, nothing ends twice, and nobody decides
// on their own messages. Nothing is decided that the journal can't tell of, and nothing is held at the end.
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "router/features/feature_list.h"
#include "router/features/gate/gate_hold.h"
#include "tests/sim/kernel.h"
#include "tests/sim/naive.h"
#include "tests/sim/seeds.h"
#include "tests/sim/world.h"

#define SECOND UINT64_C(1000000000)

enum {
    AGENTS = 2, // the first players
    PLAYERS = 9,
    LETTERS_MAX = 150,
    RULINGS_MAX = 400,
    RULING_IDS = 100000,
    LIST_IDS = 200000,
    OTHER_IDS = 300000,
    ACTS = 120,
    CHECKPOINT_ROOM = 48,
};

enum word { APPROVED, REJECTED, NEEDS_REVISION, WORDS };
static const char *const words[WORDS] = {"approved", "rejected", "needs_revision"};

struct letter {
    unsigned source, target;
    bool is_request, is_event, is_gated, is_cancelled;
    char checkpoint[CHECKPOINT_ROOM]; // with its quotes; empty: nobody has been told
    unsigned tried;                   // bits: words that somebody else has said of it
    int applied;                      // the word that counted, as far as that is known; -1: none
    unsigned delivered;               // bits: to whom
    unsigned ended;
    bool good; // ended with a result
};

struct spoken_ruling {
    unsigned letter, player;
    enum word word;
    bool answered;
    bool while_full; // said while the journal was known to fail
};

struct player {
    struct cable *cable;
    uint8_t *in;
    size_t count;
    bool listens, shut;
};

static struct {
    struct world world;
    struct random random;
    struct player players[PLAYERS];
    struct letter letters[LETTERS_MAX];
    struct spoken_ruling rulings[RULINGS_MAX];
    unsigned letter_count, ruling_count, other_count;
    bool draining;
    bool journaled, full; // there is a journal; its disk is full, and the hub knows
    bool scarce;          // allocations fail: much may be refused, and connections are lost
} stage;

static struct { uint64_t letters, held, approved, refused, cancelled, late, own, lists, unrecorded; } sums;

// --- Saying

static void say(struct player *player, const char *fields, const char *body) {
    char head[128];
    if (!player->cable || player->shut)
        return;
    int count = snprintf(head, sizeof head, "Content-Length: %zu\r\n%s\r\n", strlen(body), fields);
    cable_write(player->cable, head, (size_t)count);
    cable_write(player->cable, body, strlen(body));
}

static unsigned any_player(void) {
    return random_below(&stage.random, PLAYERS);
}

static void send_letter(void) {
    char id[32] = "", filler[3000], body[4096];
    if (stage.letter_count == LETTERS_MAX)
        return;
    unsigned tag = stage.letter_count++;
    struct letter *letter = &stage.letters[tag];
    *letter =
        (struct letter){.source = AGENTS + random_below(&stage.random, PLAYERS - AGENTS), .applied = -1};
    letter->target = random_below(&stage.random, AGENTS);
    letter->is_gated = random_chance(&stage.random, 700);
    letter->is_event = random_chance(&stage.random, 200);
    letter->is_request = !letter->is_event && random_chance(&stage.random, 600);
    if (letter->is_request)
        snprintf(id, sizeof id, "\"id\":%u,", tag);
    size_t count = random_chance(&stage.random, 200) ? random_below(&stage.random, sizeof filler) : 0;
    memset(filler, 'x', count);
    filler[count ? count - 1 : 0] = '\0';
    if (letter->is_event)
        snprintf(body, sizeof body,
                 "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"tag\":%u,\"event\":\"news\",\"x\":"
                 "\"%s\"}}",
                 tag, filler);
    else
        snprintf(
            body, sizeof body,
            "{\"jsonrpc\":\"2.0\",%s\"method\":\"work\",\"params\":{\"tag\":%u,\"targetAgent\":\"agent-%u\","
            "\"x\":\"%s\"}}",
            id, tag, letter->target, filler);
    say(&stage.players[letter->source], letter->is_gated ? "Governance-Level: manual\r\n" : "", body);
    sums.letters++;
}

static void decide(void) {
    char body[512];
    if (!stage.letter_count || stage.ruling_count == RULINGS_MAX)
        return;
    unsigned tag = random_below(&stage.random, stage.letter_count), by = any_player();
    struct letter *letter = &stage.letters[tag];
    struct player *player = &stage.players[by];
    enum word word = random_chance(&stage.random, 600) ? APPROVED : 1 + random_below(&stage.random, 2);
    if (!letter->checkpoint[0] || !player->cable || player->shut)
        return;
    unsigned number = stage.ruling_count++;
    stage.rulings[number] =
        (struct spoken_ruling){.letter = tag, .player = by, .word = word, .while_full = stage.full};
    if (by != letter->source)
        letter->tried |= 1U << word;
    snprintf(
        body, sizeof body,
        "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"governance/approval\",\"params\":{\"checkpoint\":%s,"
        "\"artifact\":{},\"approver\":\"p%u\",\"decision\":\"%s\"}}",
        RULING_IDS + number, letter->checkpoint, by, words[word]);
    say(player, "", body);
}

static void cancel(void) {
    char body[128];
    unsigned tag = stage.letter_count ? random_below(&stage.random, stage.letter_count) : 0;
    struct letter *letter = &stage.letters[tag];
    if (!stage.letter_count || !letter->is_request)
        return;
    letter->is_cancelled = true;
    snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":%u}}",
             tag);
    say(&stage.players[letter->source], "", body);
}

static void ask_list(void) {
    char body[128];
    snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"hub/approvals\"}",
             LIST_IDS + stage.other_count++);
    say(&stage.players[any_player()], "", body);
}

static void pretend(void) {
    say(&stage.players[any_player()], "",
        "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"event\":\"approval-needed\",\"data\":{}}}");
}

// --- Hearing

static void fail(const char *what, unsigned tag) {
    const struct letter *letter = &stage.letters[tag];
    kernel_fail("%s: message %u of %u to %u%s%s%s, tried %u, applied %d, delivered %u, ended %u%s", what, tag,
                letter->source, letter->target, letter->is_request ? ", a request" : "",
                letter->is_event ? ", an event" : "", letter->is_gated ? ", gated" : "", letter->tried,
                letter->applied, letter->delivered, letter->ended,
                stage.players[letter->source].shut ? ", half-closed" : "");
}

static struct letter *letter_of(uint64_t tag) {
    if (tag >= stage.letter_count)
        kernel_fail("something came that nobody sent");
    return &stage.letters[tag];
}

// The preview is the body as a string: its tag stands behind an escaped quote.
static void take_notice(unsigned by, struct bit body) {
    struct bit preview = naive_find(body, "params.data.artifact.preview"),
               checkpoint = naive_find(body, "params.data.checkpoint");
    static const char mark[] = "\\\"tag\\\":";
    const uint8_t *found = preview.bytes ? memmem(preview.bytes, preview.count, mark, strlen(mark)) : NULL;
    if (!found || !checkpoint.bytes || checkpoint.count >= CHECKPOINT_ROOM)
        kernel_fail("a notice of what is held shows nothing of it");
    unsigned tag = (unsigned)strtoul((const char *)found + strlen(mark), NULL, 10);
    struct letter *letter = letter_of(tag);
    if (!letter->is_gated || letter->source == by || !stage.players[by].listens)
        fail("a notice came to somebody who must not get it", tag);
    if (letter->checkpoint[0] && !bit_is(checkpoint, letter->checkpoint))
        fail("a message has two checkpoints", tag);
    sums.held += !letter->checkpoint[0];
    memcpy(letter->checkpoint, checkpoint.bytes, checkpoint.count);
    letter->checkpoint[checkpoint.count] = '\0';
}

static void take_letter(unsigned by, struct bit body) {
    char answer[256];
    uint64_t tag = bit_number(naive_find(body, "params.tag"));
    struct letter *letter = letter_of(tag);
    struct bit id = naive_find(body, "id");
    if (letter->delivered >> by & 1 || by >= AGENTS || (!letter->is_event && by != letter->target))
        fail("a message came twice, or to somebody else", (unsigned)tag);
    if (letter->is_gated && (!(letter->tried & 1U << APPROVED) || letter->applied > APPROVED))
        fail("a message came that nobody has approved", (unsigned)tag);
    if (letter->is_request != (id.bytes != NULL))
        fail("a message came with an id too many or too few", (unsigned)tag);
    letter->delivered |= 1U << by;
    if (!id.bytes)
        return;
    snprintf(answer, sizeof answer, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"tag\":%u}}",
             (int)id.count, (const char *)id.bytes, (unsigned)tag);
    say(&stage.players[by], "", answer);
}

static bool may_end(const struct letter *letter, int64_t code, struct bit data) {
    bool at_the_gate = naive_find(data, "checkpoint").bytes != NULL;
    bool by_somebody = naive_find(data, "approver").bytes != NULL;
    if (stage.scarce &&
        (code == -32052 || code == -32003 || code == -32603 || code == -32010 || code == -32050))
        return true;
    if (stage.journaled && code == -32003) // while the journal fails nothing is held anew
        return letter->is_gated;
    switch (code) {
    case -32011: // the level of an agent is looked at where nothing is held
        return at_the_gate && letter->applied != APPROVED && letter->tried & 1U << REJECTED;
    case -32012:
        return at_the_gate && letter->applied != APPROVED &&
               (by_somebody ? letter->tried & 1U << NEEDS_REVISION : true);
    case -32800:
        return letter->is_cancelled;
    case -32050:
        return stage.draining;
    case -32052:
        return stage.draining || letter->is_gated;
    default:
        return false;
    }
}

static void take_end(unsigned by, unsigned tag, struct bit body) {
    struct letter *letter = letter_of(tag);
    struct bit error = naive_find(body, "error");
    if (letter->source != by || !letter->is_request || letter->ended++)
        fail("a request ended twice, or for somebody else", tag);
    letter->good = !error.bytes;
    if (letter->good ? !letter->delivered
                     : !may_end(letter, bit_integer(naive_find(error, "code")), naive_find(error, "data")))
        fail("a request ended as it must not", tag);
    bool may_fail = letter->is_cancelled || stage.draining || stage.scarce;
    if (!letter->good && letter->is_gated && letter->delivered && !may_fail)
        fail("a request that was delivered ended with an error", tag);
    sums.refused += !letter->good;
    sums.cancelled += letter->is_cancelled && !letter->good;
}

static void take_ruling(unsigned by, unsigned number, struct bit body) {
    struct spoken_ruling *ruling = &stage.rulings[number];
    struct letter *letter = &stage.letters[ruling->letter];
    int64_t code = bit_integer(naive_find(body, "error.code"));
    if (number >= stage.ruling_count || ruling->player != by || ruling->answered)
        kernel_fail("a decision was answered to somebody else, or twice");
    ruling->answered = true;
    if (naive_find(body, "error").bytes) {
        bool is_own = bit_is(naive_find(body, "error.data.rule"), "\"own\"") && letter->source == by;
        bool is_unrecorded = stage.journaled && code == -32003;
        sums.unrecorded += is_unrecorded;
        if (!is_unrecorded && !(code == -32001 && is_own) &&
            !(code == -32052 && (stage.draining || stage.scarce)))
            fail("a decision was refused for no reason", ruling->letter);
        sums.own += is_own;
    } else if (bit_is(naive_find(body, "result.applied"), "true")) {
        if (letter->applied != -1 || letter->source == by || !letter->is_gated)
            fail("a second decision, or one's own, was applied", ruling->letter);
        if (ruling->while_full && stage.full)
            fail("a decision was applied of which the journal can't tell", ruling->letter);
        letter->applied = (int)ruling->word;
        sums.approved += ruling->word == APPROVED;
    } else if (bit_is(naive_find(body, "result.applied"), "false")) {
        sums.late++;
    } else {
        fail("a decision was answered by something else", ruling->letter);
    }
}

static void take_list(struct bit body) {
    struct naive_item item;
    struct bit all = naive_find(body, "result.approvals");
    if (!all.bytes && !stage.draining && !stage.scarce)
        kernel_fail("a list is none");
    for (size_t at = 0; all.bytes && naive_next(all, &at, &item);)
        if (!naive_find(item.value, "checkpoint").bytes || naive_find(item.value, "body").bytes)
            kernel_fail("an entry of a list is none");
    sums.lists++;
}

static void take(unsigned by, struct bit body) {
    struct bit method = naive_find(body, "method");
    uint64_t id = bit_number(naive_find(body, "id"));
    if (!naive_valid(body))
        kernel_fail("a body isn't JSON");
    if (bit_is(naive_find(body, "params.event"), "\"approval-needed\""))
        take_notice(by, body);
    else if (bit_is(method, "\"work\"") || bit_is(method, "\"event\""))
        take_letter(by, body);
    else if (method.bytes)
        return; // a cancel, or events that were missed
    else if (id < RULING_IDS)
        take_end(by, (unsigned)id, body);
    else if (id < LIST_IDS)
        take_ruling(by, (unsigned)id - RULING_IDS, body);
    else if (id < OTHER_IDS)
        take_list(body);
}

static bool hear(unsigned by) {
    struct player *player = &stage.players[by];
    size_t more = player->cable ? cable_readable(player->cable) : 0, at = 0;
    struct naive_frame frame;
    if (!more)
        return false;
    player->in = realloc(player->in, player->count + more);
    player->count += cable_read(player->cable, player->in + player->count, more);
    for (enum naive_result result; at < player->count; at += frame.bytes) {
        result = naive_frame(&frame, player->in + at, player->count - at);
        if (result == NAIVE_BAD)
            kernel_fail("the hub sent what is no frame");
        if (result == NAIVE_PARTIAL)
            break;
        take(by, frame.body);
    }
    memmove(player->in, player->in + at, player->count - at);
    player->count -= at;
    return true;
}

static void go_on(void) {
    bool any;
    do {
        world_settle(&stage.world);
        any = false;
        for (unsigned by = 0; by < PLAYERS; by++)
            any |= hear(by);
    } while (any);
}

static void pass(uint64_t ns) {
    uint64_t until_ns = kernel_now(stage.world.kernel) + ns;
    go_on();
    for (uint64_t next_ns; (next_ns = world_next_ns(&stage.world)) <= until_ns;) {
        kernel_advance(stage.world.kernel, next_ns);
        go_on();
    }
    kernel_advance(stage.world.kernel, until_ns);
    go_on();
}

// --- The play

static void leave(void) {
    struct player *player = &stage.players[AGENTS + random_below(&stage.random, PLAYERS - AGENTS)];
    if (!player->cable || player->shut)
        return;
    if (random_chance(&stage.random, 500)) {
        cable_shut(player->cable);
        player->shut = true;
        return;
    }
    if (random_chance(&stage.random, 500))
        cable_reset(player->cable);
    cable_close(player->cable);
    player->cable = NULL;
}

// The hub learns that the disk is full, or that there is room again, by what it tries to write.
static void fill_disk(void) {
    stage.full = !stage.full;
    disk_room(stage.world.kernel, stage.full ? 0 : SIZE_MAX);
    say(&stage.players[AGENTS], "",
        "{\"jsonrpc\":\"2.0\",\"id\":399999,\"method\":\"audit/"
        "log\",\"params\":{\"action\":\"look\",\"actor\":\"me\","
        "\"timestamp\":\"now\"}}");
    go_on();
    pass(2 * SECOND);
    stage.full &= atomic_load(&stage.world.hub->journal_failing); // where the player had left it doesn't know
}

static void act(void) {
    uint32_t dice = random_below(&stage.random, 1000);
    if (dice < 420)
        send_letter();
    else if (dice < 820)
        decide();
    else if (dice < 880)
        cancel();
    else if (dice < 920)
        ask_list();
    else if (dice < 930)
        pretend();
    else if (dice < 945)
        leave();
    else if (dice < 965 && stage.journaled)
        fill_disk();
    else
        pass(random_below(&stage.random, 3) * SECOND);
}

static void enter(unsigned by) {
    char body[256];
    struct player *player = &stage.players[by];
    player->cable = world_dial(&stage.world);
    if (!player->cable)
        kernel_fail("nobody listens");
    if (by < AGENTS) {
        snprintf(body, sizeof body,
                 "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"agent/"
                 "register\",\"params\":{\"agentId\":\"agent-%u\","
                 "\"governanceLevel\":\"%s\",\"capabilities\":{\"events\":[\"news\"]}}}",
                 OTHER_IDS, by, by ? "manual" : "autonomous");
        say(player, "", body);
    } else if (by == AGENTS || random_chance(&stage.random, 700)) {
        player->listens = true;
        snprintf(body, sizeof body,
                 "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"hub/"
                 "subscribe\",\"params\":{\"events\":[\"approval-*\"]}}",
                 OTHER_IDS);
        say(player, "", body);
    }
    go_on();
}

static void choose(struct world_options *options, struct hub_settings *settings, uint64_t seed) {
    struct random *random = &stage.random;
    world_defaults(options, seed, random_between(random, 1, WORLD_SHARDS_MAX));
    options->faults.cut = random_chance(random, 500) ? (uint16_t)random_below(random, 600) : 0;
    options->faults.single_byte = random_chance(random, 200) ? 200 : 0;
    options->faults.late = random_chance(random, 400) ? 300 : 0;
    options->faults.preempt = random_chance(random, 500) ? 200 : 0;
    *settings = (struct hub_settings){.limits = options->limits, .approval_level = GOVERNANCE_MANUAL};
    settings->own[FEATURE_GATE][GATE_OPTION_WAIT_NS] = random_between(random, 1, 60) * SECOND;
    settings->own[FEATURE_GATE][GATE_OPTION_HELD_MAX] =
        random_chance(random, 300) ? random_between(random, 1, 40) : 1000;
    options->settings = settings;
    stage.journaled = !stage.scarce && random_chance(random, 400);
    if (stage.journaled)
        settings->journal = "journal";
    if (stage.scarce) {
        options->no_memory = (uint16_t)random_between(random, 1, 60);
        settings->journal = "journal";
    }
}

// --- The end

static uint64_t counted(enum gate_counter counter) {
    uint64_t sum = 0;
    for (unsigned shard = 0; shard < stage.world.shard_count; shard++)
        sum += stats_read(&stage.world.shards[shard]->stats, FEATURE_COUNTER(FEATURE_GATE, counter));
    return sum;
}

static void check_counters(void) {
    uint64_t ends = counted(GATE_COUNT_APPROVED) + counted(GATE_COUNT_REJECTED) +
                    counted(GATE_COUNT_REVISED) + counted(GATE_COUNT_TIMED_OUT) +
                    counted(GATE_COUNT_CANCELLED) + counted(GATE_COUNT_SOURCE_LEFT) +
                    counted(GATE_COUNT_DRAINED) + counted(GATE_COUNT_TARGET_REMOVED);
    const struct gate_hub *held = gate_hub_of(stage.world.hub);
    if (atomic_load(&held->held) || atomic_load(&held->held_bytes))
        kernel_fail("something is held at the end");
    if (ends != counted(GATE_COUNT_HELD))
        kernel_fail("%" PRIu64 " were held, and %" PRIu64 " ended", counted(GATE_COUNT_HELD), ends);
}

// Where memory fails, a connection may have been lost, with what was due on it.
static void check_letter(unsigned tag) {
    const struct letter *letter = &stage.letters[tag];
    const struct player *source = &stage.players[letter->source];
    if (letter->is_request && source->cable && !source->shut && letter->ended != 1)
        fail("a request has not ended", tag);
    if (letter->applied > APPROVED && letter->delivered)
        fail("a message was delivered that was turned down", tag);
    if (letter->applied == APPROVED && source->cable && !letter->is_cancelled && !stage.draining &&
        !letter->delivered)
        fail("a message was approved and not delivered", tag);
    if (letter->is_request && letter->applied == APPROVED && source->cable && !source->shut &&
        !letter->is_cancelled && !stage.draining && !letter->good)
        fail("a message was approved and not answered", tag);
}

static void play(uint64_t seed, bool scarce) {
    struct world_options options;
    struct hub_settings settings;
    memset(&stage, 0, sizeof stage);
    stage.scarce = scarce;
    random_init(&stage.random, seed ^ UINT64_C(0x67617465));
    choose(&options, &settings, seed);
    world_open(&stage.world, &options);
    for (unsigned by = 0; by < PLAYERS; by++)
        enter(by);
    for (unsigned number = 0; number < ACTS; number++) {
        act();
        if (random_chance(&stage.random, 600))
            go_on();
    }
    stage.full = false;
    disk_room(stage.world.kernel, SIZE_MAX);
    go_on();
    stage.draining = random_chance(&stage.random, 300);
    if (stage.draining)
        kernel_signal(stage.world.kernel, SIGTERM);
    pass(stage.draining ? SECOND / 2 : settings.own[FEATURE_GATE][GATE_OPTION_WAIT_NS] + SECOND);
    check_counters();
    if (stage.journaled && !stage.draining && atomic_load(&stage.world.hub->journal_failing))
        kernel_fail("the journal fails though there is room");
    for (unsigned tag = 0; !stage.scarce && tag < stage.letter_count; tag++)
        check_letter(tag);
    for (unsigned by = 0; by < PLAYERS; by++) {
        if (stage.players[by].cable)
            cable_close(stage.players[by].cable);
        free(stage.players[by].in);
    }
    if (!world_stopped(&stage.world))
        world_stop(&stage.world);
    world_close(&stage.world);
}

static bool scarce;

static void run_seed(uint64_t seed) {
    play(seed, scarce);
}

int main(int argc, char **argv) {
    static const struct seeds_flag flags[] = {{"--scarce", &scarce}, {NULL, NULL}};
    static const struct seeds seeds = {.program = "patchbay_gate", .flags = flags, .run = run_seed};
    uint64_t runs = seeds_run(&seeds, argc, argv);
    printf("%" PRIu64 " runs: %" PRIu64 " messages, %" PRIu64 " seen held, %" PRIu64 " approved, %" PRIu64
           " ended with errors, %" PRIu64 " of them cancelled, %" PRIu64 " decisions too late, %" PRIu64
           " on one's own, %" PRIu64 " lists, %" PRIu64 " decisions that no journal could tell of\n",
           runs, sums.letters, sums.held, sums.approved, sums.refused, sums.cancelled, sums.late, sums.own,
           sums.lists, sums.unrecorded);
    return 0;
}
