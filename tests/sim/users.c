// The play itself (users.h): bursts, the file that changes in some of them, time that passes between them.
#include "tests/sim/users.h"
#include "router/features/gate/gate.h"
#include "tests/sim/pack_count.h"
#include "tests/sim/seeds.h"
#include "tests/sim/toy.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rights/users.h"

enum {
    BURSTS = 40,
    LETTERS_OF_BURST = 10,
    FLOCK_MAX = 24,
    RUNS_WITH_PACKS = 50,
    OTHER_UID = 77,
    ADDRESS = 1000
};

struct users_stage stage;
struct users_sums users_sums;

// --- The hub's file

static void complain(void *context, const struct users_fault *fault) {
    kernel_fail("line %u of %s can't be used: %s", fault->line, (const char *)context, fault->expected);
}

static struct users *read_users(const struct users *before) {
    static const struct siphash_key key = {{1, 2}};
    static char text[MODEL_TEXT_BYTES + 128];
    size_t bytes = model_write(&stage.now, text);
    if (stage.has_glutton)
        bytes += glutton_write(text + bytes, sizeof text - bytes);
    struct users *users = users_read(text, bytes, &key, before, complain, text);
    if (!users)
        kernel_fail("there is no memory for users");
    return users;
}

static bool read_again(void *context, struct hub_settings *fresh) {
    (void)context;
    fresh->secure = stage.world.hub->start_settings.secure ? toy_source_of(stage.now.authorities) : NULL;
    fresh->users = read_users(hub_settings(stage.world.hub)->users);
    return true;
}

// --- Steps

static void go_on(void) {
    bool any;
    do {
        world_settle(&stage.world);
        any = false;
        for (unsigned by = 0; by < PLAYERS; by++)
            any |= speak_hear(by);
        any |= glutton_hear();
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

static void enter(unsigned by) {
    struct random *random = &stage.random;
    struct player *player = &stage.players[by];
    unsigned generation = player->generation + 1;
    free(player->in);
    *player = (struct player){.generation = generation, .user = NOBODY, .uid_user = NOBODY, .guess = NOBODY};
    for (unsigned agent = 0; agent < AGENT_NAMES; agent++)
        player->claims[agent] = player->lost[agent] = NOBODY;
    enum way way = random_chance(random, 480)   ? FRAMES
                   : random_chance(random, 300) ? LINES
                   : random_chance(random, 350) ? SOCKET
                   : random_chance(random, 500) ? POSTS
                                                : EVENTS;
    player->enters = true;
    player->came_ns = player->since_ns = player->active_ns = kernel_now(stage.world.kernel);
    if (!voice_dial(&player->http_owner, &stage.world, way))
        kernel_fail("nobody listens");
    if (player->http_owner.cable->toy && random_chance(random, 600))
        papers_choose(player);
    // On the web, its process would count from the upgrade on, or the first request; over TLS there is none.
    if (player->certificate[0] || player->http_owner.way == SOCKET || posts_speaks(player) ||
        random_chance(random, 600)) {
        cable_of_address(player->http_owner.cable, ADDRESS + by);
    } else if (random_chance(random, 900)) {
        player->uid_user = (int)random_below(random, MODEL_USERS);
        cable_of_user(player->http_owner.cable, MODEL_UID + (unsigned)player->uid_user);
    } else {
        cable_of_user(player->http_owner.cable, OTHER_UID);
    }
    voice_greet(&player->http_owner);
}

// --- Bursts

static bool keeps_credential(const struct player *player) {
    if (player->token.given)
        return model_has_token(&stage.now, (unsigned)player->user, player->token.which,
                               player->token.generation);
    return papers_bearer(&stage.now, player) == player->user;
}

// A connection whose credential is gone is closed, and its agents may be gone.
static void foresee(void) {
    for (unsigned by = 0; by < PLAYERS; by++) {
        struct player *player = &stage.players[by];
        bool was_known = player->standing == KNOWN || (player->standing == GUESSED && player->user != NOBODY);
        player->doubtful = was_known && player->http_owner.way != POSTS && !keeps_credential(player);
        if (papers_bearer(&stage.before, player) == NOBODY)
            continue;
        player->bore_before = true;
        player->since_ns = stage.settled_ns; // from now on it may bear none
    }
    for (unsigned agent = 0; agent < AGENT_NAMES; agent++)
        stage.posts[agent].touched |= stage.posts[agent].holder != NOBODY;
}

static void begin_burst(bool may_reload) {
    stage.burst++;
    stage.burst_begin = stage.letter_count;
    stage.entered = 0;
    stage.before = stage.now;
    stage.reloads = may_reload && random_chance(&stage.random, 250);
    for (unsigned by = 0; by < PLAYERS; by++) {
        struct player *player = &stage.players[by];
        player->asked = 0;
        player->answered = 0;
        player->doubtful = player->leaves = false;
        for (unsigned agent = 0; agent < AGENT_NAMES; agent++)
            player->lost[agent] = NOBODY;
    }
    if (!stage.reloads)
        return;
    model_change(&stage.now, &stage.random);
    model_change_certificates(&stage.now, &stage.random);
    if (stage.gated && random_chance(&stage.random, 900))
        gate_revoke();
    users_sums.reloads++;
    foresee();
}

// Many small requests in one write to one agent, of which the hub packs the later ones (core/send/pack.h).
static void act_as_flock(unsigned by) {
    unsigned agent = random_below(&stage.random, AGENT_NAMES);
    for (unsigned other = 0; other < AGENT_NAMES && stage.posts[agent].holder == NOBODY; other++)
        agent = other;
    stage.one_target = model_agents[agent];
    for (unsigned left = random_between(&stage.random, 5, FLOCK_MAX); left; left--)
        speak_any(by);
    stage.one_target = NULL;
    users_sums.flocks++;
}

static void act(void) {
    unsigned by = random_below(&stage.random, PLAYERS);
    const struct player *player = &stage.players[by];
    if (player->standing == FRESH && !posts_speaks(player) && stage.reloads)
        return;
    if (player->standing == KNOWN && player->http_owner.way == FRAMES && random_chance(&stage.random, 30))
        act_as_flock(by);
    else if (player->duty_count && random_chance(&stage.random, 500))
        speak_answer(by, false);
    else
        speak_any(by);
}

static void play_burst(void) {
    begin_burst(true);
    unsigned count = 1 + random_below(&stage.random, LETTERS_OF_BURST);
    unsigned reload_at = random_below(&stage.random, count);
    for (unsigned number = 0; number < count; number++) {
        if (stage.reloads && number == reload_at)
            kernel_signal(stage.world.kernel, SIGHUP);
        act();
        if (random_chance(&stage.random, 200))
            go_on();
    }
    go_on();
    for (unsigned by = 0; by < PLAYERS; by++) // what is in an array has no answer but with the others
        if (random_chance(&stage.random, 300))
            speak_answer(by, true);
    go_on();
    oracle_burst();
}

static void leave(unsigned by) {
    struct player *player = &stage.players[by];
    if (!player->http_owner.cable || player->standing == GUESSED)
        return;
    player->was_reset = random_chance(&stage.random, 500);
    if (player->was_reset)
        cable_reset(player->http_owner.cable);
    cable_close(player->http_owner.cable);
    player->http_owner.cable = NULL;
    player->standing = GONE;
}

static void play_pause(void) {
    static const unsigned pauses_ms[] = {0, 0, 50, 200, 1000, 3000, 11000};
    begin_burst(false);
    if (random_chance(&stage.random, 200))
        leave(random_below(&stage.random, PLAYERS));
    pass(pauses_ms[random_below(&stage.random, sizeof pauses_ms / sizeof *pauses_ms)] * (SECOND / 1000));
    oracle_burst();
    for (unsigned by = 0; by < PLAYERS; by++)
        if (stage.players[by].standing == GONE && random_chance(&stage.random, 400))
            enter(by);
    go_on();
    papers_entered();
}

// --- A run

static void choose_gate(struct hub_settings *settings) {
    struct random *random = &stage.random;
    settings->approval_level = GOVERNANCE_MANUAL;
    stage.gate_wait_ns = random_between(random, 1, 60) * SECOND;
    stage.is_narrow = random_chance(random, 200);
    stage.held_max = stage.is_narrow ? random_between(random, 4, 40) : LETTERS_MAX * 4;
    settings->own[FEATURE_GATE][GATE_OPTION_WAIT_NS] = stage.gate_wait_ns;
    settings->own[FEATURE_GATE][GATE_OPTION_HELD_MAX] = stage.held_max;
}

static void choose(struct world_options *options, struct hub_settings *settings, uint64_t seed) {
    struct random *random = &stage.random;
    world_defaults(options, seed, random_between(random, 1, WORLD_SHARDS_MAX));
    options->faults.cut = random_chance(random, 500) ? (uint16_t)random_below(random, 600) : 0;
    options->faults.single_byte = random_chance(random, 200) ? 200 : 0;
    options->faults.late = random_chance(random, 400) ? 300 : 0;
    options->faults.preempt = random_chance(random, 500) ? 200 : 0;
    stage.takeover = random_chance(random, 400);
    options->secure = random_chance(random, 500);
    *settings = (struct hub_settings){
        .limits = options->limits, .takeover = stage.takeover, .read_again = read_again};
    stage.gated = random_chance(random, 500);
    if (stage.gated)
        choose_gate(settings);
    model_make(&stage.now, random, stage.gated);
    model_make_certificates(&stage.now, random);
    stage.has_glutton = random_chance(random, 150);
    if (stage.has_glutton)
        settings->limits.memory_bytes_max = options->limits.memory_bytes_max =
            limits_memory_bytes_least(options->shard_count);
    settings->users = read_users(NULL);
    options->settings = settings;
}

// The hub drains; or nobody decides in time.
static void end_what_is_held(void) {
    begin_burst(false);
    if (random_chance(&stage.random, 500)) {
        kernel_signal(stage.world.kernel, SIGTERM);
        go_on();
        gate_drained();
    } else {
        pass(stage.gate_wait_ns + SECOND);
        oracle_burst();
    }
}

// A receive buffer that has been given back has no token in it, in whatever pieces and by whatever way the token was
// read. (Where arrivals are cut, a token has two pieces at least, and the begin of each token is alike.)
static void check_buffers(void) {
    static const char begin[] = "secret-";
    for (uint32_t index = 0; index < stage.world.shard_count; index++)
        for (const struct buffer *buffer = stage.world.shards[index]->buffers.free; buffer;
             buffer = buffer->next) {
            const uint8_t *found = memmem(buffer->bytes, buffer->capacity, begin, sizeof begin - 1);
            if (found)
                kernel_fail("a buffer at rest bears a secret at %zu: %.*s", (size_t)(found - buffer->bytes),
                            40, (const char *)found);
        }
}

static void finish(void) {
    begin_burst(false);
    for (unsigned by = 0; by < PLAYERS; by++)
        speak_answer(by, true);
    go_on();
    oracle_burst();
    check_buffers();
    if (stage.gated)
        end_what_is_held();
    oracle_end();
    for (unsigned by = 0; by < PLAYERS; by++) {
        if (stage.players[by].http_owner.cable)
            cable_close(stage.players[by].http_owner.cable);
        free(stage.players[by].in);
    }
    glutton_leave();
    if (!world_stopped(&stage.world))
        world_stop(&stage.world);
    world_close(&stage.world);
}

static void play(uint64_t seed) {
    struct world_options options;
    struct hub_settings settings;
    memset(&stage, 0, sizeof stage);
    random_init(&stage.random, seed ^ UINT64_C(0x7573657273));
    choose(&options, &settings, seed);
    world_open(&stage.world, &options);
    for (unsigned agent = 0; agent < AGENT_NAMES; agent++)
        stage.posts[agent].holder = NOBODY;
    for (unsigned by = 0; by < PLAYERS; by++)
        enter(by);
    go_on();
    papers_entered();
    if (stage.has_glutton)
        glutton_fill(go_on);
    stage.settled_ns = kernel_now(stage.world.kernel);
    for (unsigned number = 0; number < BURSTS && stage.letter_count + 64 + FLOCK_MAX < LETTERS_MAX;
         number++) {
        play_burst();
        check_buffers();
        play_pause();
        glutton_go_on(go_on);
    }
    finish();
}

int main(int argc, char **argv) {
    static const struct seeds seeds = {.program = "patchbay_users", .run = play};
    uint64_t runs = seeds_run(&seeds, argc, argv);
    printf("%" PRIu64 " runs: %" PRIu64 " letters, %" PRIu64 " judged, %" PRIu64 " refused, %" PRIu64
           " over a rate, %" PRIu64 " deliveries, %" PRIu64 " wrong credentials, %" PRIu64
           " changes of the file, %" PRIu64 " registrations taken, %" PRIu64 " held, %" PRIu64
           " approved, %" PRIu64 " turned down, %" PRIu64 " gone with a credential, %" PRIu64
           " notices, %" PRIu64 " by a certificate, %" PRIu64 " streams, %" PRIu64 " of them ended, %" PRIu64
           " times told of an agent, %" PRIu64 " with a user who is full, %" PRIu64
           " writes of many requests, %" PRIu64 " frames packed\n",
           runs, users_sums.letters, users_sums.checked, users_sums.refused, users_sums.limited,
           users_sums.delivered, users_sums.authn_throttle, users_sums.reloads, users_sums.revoked,
           users_sums.held, users_sums.approved, users_sums.turned_down, users_sums.dropped,
           users_sums.notices, users_sums.by_certificate, users_sums.streams, users_sums.ended_streams,
           users_sums.presence, users_sums.gluttons, users_sums.flocks, pack_count);
    if (runs >= RUNS_WITH_PACKS && pack_count == 0)
        kernel_fail("no frame was packed");
    return 0;
}
