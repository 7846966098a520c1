// Scenarios told step by step on the simulated kernel, without faults: what happens is the same every time.
#include <signal.h>

#include "tests/sim/sim_io.h"
#include "tests/sim/tell.h"

static const char ask[] =
    "{\"jsonrpc\":\"2.0\",\"id\":\"mine\",\"method\":\"work\",\"params\":{\"targetAgent\":"
    "\"agent\"}}";

static void agent_and_source_on_two_shards(void **state) {
    (void)state;
    struct world world;
    open_world(&world, 2);
    struct cable *cables[] = {join(&world, "agent"), join(&world, NULL)};
    for (unsigned shard = 0; shard < 2; shard++)
        assert_int_equal(world.shards[shard]->peers.count, 1);
    say(cables[1], ask);
    world_settle(&world);
    char answer[512];
    struct bit id = of(hear(cables[0]), "id");
    assert_true(bit_number(id) > 0 && bit_number(id) < UINT64_C(1) << 53);
    snprintf(answer, sizeof answer, "{\"jsonrpc\":\"2.0\",\"result\":[1, 2],\"id\":%.*s}", (int)id.count,
             (const char *)id.bytes);
    say(cables[0], answer);
    world_settle(&world);
    assert_string_equal(hear(cables[1]), "{\"jsonrpc\":\"2.0\",\"result\":[1, 2],\"id\":\"mine\"}");
    finish(&world, cables, 2);
}

static void target_leaves_on_another_shard(void **state) {
    (void)state;
    struct world world;
    open_world(&world, 3);
    struct cable *cables[] = {join(&world, NULL), join(&world, "agent"), join(&world, NULL)};
    say(cables[0], ask);
    say(cables[2], ask);
    world_settle(&world);
    hear(cables[1]);
    hear(cables[1]);
    cable_close(cables[1]);
    world_settle(&world);
    for (unsigned index = 0; index < 3; index += 2) {
        const char *answer = hear(cables[index]);
        assert_int_equal(bit_integer(of(answer, "error.code")), -32050);
        assert_true(bit_is(of(answer, "id"), "\"mine\""));
    }
    say(cables[0], ask);
    world_settle(&world);
    assert_int_equal(bit_integer(of(hear(cables[0]), "error.code")), -32010);
    finish(&world, (struct cable *[]){cables[0], cables[2]}, 2);
}

static void silent_target_times_out(void **state) {
    (void)state;
    struct world world;
    open_world(&world, 2);
    struct cable *cables[] = {join(&world, "agent"), join(&world, NULL)};
    char text[1024];
    assert_true(cable_write(cables[1], text, frame_of(text, "Custom-Timeout-Ms: 250\r\n", ask)));
    world_pass(&world, SECOND / 5);
    assert_int_equal(cable_readable(cables[1]), 0);
    world_pass(&world, SECOND / 10);
    assert_int_equal(bit_integer(of(hear(cables[1]), "error.code")), -32051);
    cable_read(cables[0], text, sizeof text);
    finish(&world, cables, 2);
}

static void half_closed_source_is_answered(void **state) {
    (void)state;
    struct world world;
    open_world(&world, 2);
    struct cable *cables[] = {join(&world, "agent"), join(&world, NULL)};
    say(cables[1], ask);
    cable_shut(cables[1]);
    world_settle(&world);
    char answer[512];
    struct bit id = of(hear(cables[0]), "id");
    snprintf(answer, sizeof answer, "{\"id\":%.*s,\"result\":0}", (int)id.count, (const char *)id.bytes);
    assert_false(cable_at_end(cables[1]));
    say(cables[0], answer);
    world_settle(&world);
    assert_string_equal(hear(cables[1]), "{\"id\":\"mine\",\"result\":0}");
    assert_true(cable_hub_closed(cables[1]) && !cable_was_reset(cables[1]));
    finish(&world, cables, 2);
}

// The answer to an order that goes round all shards comes even when the asker has half-closed meanwhile.
static void half_closed_agent_hears_of_its_registration(void **state) {
    (void)state;
    for (uint32_t shards = 1; shards <= WORLD_SHARDS_MAX; shards++) {
        struct world world;
        open_world(&world, shards);
        struct cable *idle = join(&world, NULL);
        struct cable *cable = world_dial(&world);
        say(cable,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"agent/register\",\"params\":{\"agentId\":\"a\"}}");
        cable_shut(cable);
        world_settle(&world);
        assert_true(bit_is(of(hear(cable), "id"), "1"));
        assert_true(cable_at_end(cable));
        cable_close(cable);
        finish(&world, &idle, 1);
    }
}

static void framing_error_is_told_and_ends_one_connection(void **state) {
    (void)state;
    struct world world;
    open_world(&world, 2);
    struct cable *cables[] = {join(&world, "agent"), join(&world, NULL)};
    static const char bad[] = "Content-Length: +5\r\n\r\n{}   and a lot that is never read";
    assert_true(cable_write(cables[1], bad, sizeof bad - 1));
    world_settle(&world);
    assert_int_equal(bit_integer(of(hear(cables[1]), "error.code")), -32700);
    assert_true(cable_at_end(cables[1]) && !cable_hub_closed(cables[1]));
    world_pass(&world, 2 * (uint64_t)SECOND);
    assert_true(cable_hub_closed(cables[1]) && !cable_was_reset(cables[1]));
    cable_close(cables[1]);
    assert_false(cable_at_end(cables[0]));
    finish(&world, cables, 1);
}

// Opens a hub of one shard whose queues hold next to nothing. The queue of the agent is past twice the bound: with the
// next message to the agent, the agent must begin to read.
static struct cable *open_with_a_full_agent(struct world *world) {
    struct world_options options;
    world_defaults(&options, 7, 1);
    options.takeover = true;
    options.limits.queue_bytes_max = 1000;
    options.faults.window_bytes = 100;
    world_open(world, &options);
    struct cable *cable = join(world, "agent");
    char text[4096], ping[3000], filler[2500];
    memset(filler, 'x', sizeof filler);
    snprintf(ping, sizeof ping, "{\"id\":1,\"method\":\"hub/ping\",\"params\":{\"x\":\"%.*s\"}}",
             (int)sizeof filler, filler);
    assert_true(cable_write(cable, text, frame_of(text, "Custom-Timeout-Ms: 250\r\n", ask)));
    world_settle(world); // the request fills the window; what comes now waits behind it
    say(cable, ping);
    world_settle(world);
    assert_false(cable_hub_closed(cable));
    return cable;
}

// The agent owes itself an answer. The error that ends its request makes it be closed, and its debt, which is
// that request, has ended.
static void a_full_agent_that_owes_itself_is_closed_once(void **state) {
    (void)state;
    struct world world;
    struct cable *cable = open_with_a_full_agent(&world);
    world_pass(&world, SECOND + SECOND / 2);
    assert_true(cable_hub_closed(cable));
    cable_close(cable);
    finish(&world, NULL, 0);
}

// Told that its name is another's now, it is closed, and the name stays the other's.
static void a_full_agent_that_is_replaced_is_closed_once(void **state) {
    (void)state;
    struct world world;
    struct cable *old = open_with_a_full_agent(&world), *heir = world_dial(&world);
    say(heir, "{\"id\":1,\"method\":\"agent/register\",\"params\":{\"agentId\":\"agent\"}}");
    world_settle(&world);
    assert_true(bit_is(of(hear(heir), "result.registered"), "true"));
    world_pass(&world, SECOND + SECOND / 10);
    assert_true(cable_hub_closed(old));
    cable_close(old);
    assert_int_equal(world.shards[0]->agents.count, 1);
    finish(&world, &heir, 1);
}

// --- Shards that lose their core in the middle of a turn

static void open_busy_world(struct world *world, uint64_t seed) {
    struct world_options options;
    world_defaults(&options, seed, 3);
    options.takeover = true;
    options.faults.preempt = 200;
    options.faults.single_byte = 500;
    world_open(world, &options);
}

// Each shard has a peer: an agent that answers and leaves, a source that must hear the answer, and a third one. The
// source and the third peer keep their shards awake.
static void play_last_words(uint64_t seed, unsigned agent, unsigned source) {
    struct world world;
    struct cable *cables[3];
    char text[4096];
    open_busy_world(&world, seed);
    for (unsigned shard = 0; shard < 3; shard++)
        cables[shard] = join(&world, shard == agent ? "agent" : NULL);
    say(cables[source], ask);
    world_settle(&world);
    struct bit id = of(hear(cables[agent]), "id");
    snprintf(text, sizeof text, "{\"id\":%.*s,\"result\":0}", (int)id.count, (const char *)id.bytes);
    say(cables[agent], text);
    cable_shut(cables[agent]);
    for (unsigned shard = 0; shard < 3; shard++)
        if (shard != agent)
            say(cables[shard], "{\"id\":1,\"method\":\"hub/ping\"}");
    world_settle(&world);
    text[cable_read(cables[source], text, sizeof text - 1)] = '\0';
    assert_non_null(strstr(text, "{\"id\":\"mine\",\"result\":0}"));
    assert_true(cable_at_end(cables[agent]));
    for (unsigned shard = 0; shard < 3; shard++)
        cable_close(cables[shard]);
    world_stop(&world);
    world_close(&world);
}

// The news goes from the agent's shard to the first one and from there upwards, the answer straight.
static void news_of_a_leaver_do_not_overtake_its_answer(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        play_last_words(seed, 2, 1);
        play_last_words(seed, 0, 2);
    }
}

static const char *last_of(const char *text, const char *word) {
    const char *last = NULL;
    for (const char *at = text; (at = strstr(at, word)); at++)
        last = at;
    return last;
}

// Returns whether the last that a peer was told is that it has the name.
static bool was_told_it_has(struct cable *cable) {
    char text[4096];
    text[cable_read(cable, text, sizeof text - 1)] = '\0';
    const char *taken = last_of(text, "\"registered\""), *lost = last_of(text, "\"hub/replaced\"");
    return taken && (!lost || taken > lost);
}

// Two want one name at the same moment.
static void play_taking(uint64_t seed, unsigned holder, unsigned heir) {
    static const char name[] = "{\"id\":1,\"method\":\"agent/register\",\"params\":{\"agentId\":\"agent\"}}";
    struct world world;
    struct cable *cables[3];
    unsigned other = 3 - holder - heir;
    open_busy_world(&world, seed);
    for (unsigned shard = 0; shard < 3; shard++)
        cables[shard] = join(&world, shard == holder ? "agent" : NULL);
    say(cables[heir], name);
    say(cables[holder], name);
    world_settle(&world);
    bool has = was_told_it_has(cables[holder]);
    assert_int_equal(was_told_it_has(cables[heir]), !has);
    say(cables[other], ask);
    world_settle(&world);
    assert_true(cable_readable(cables[has ? holder : heir]) && !cable_readable(cables[has ? heir : holder]));
    for (unsigned shard = 0; shard < 3; shard++)
        cable_close(cables[shard]);
    world_stop(&world);
    world_close(&world);
}

// The word that a name was lost goes a longer way than the answer to who has taken it back meanwhile.
static void who_has_a_name_was_told_so_last(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++)
        for (unsigned pair = 0; pair < 9; pair++)
            if (pair / 3 != pair % 3)
                play_taking(seed, pair / 3, pair % 3);
}

// Two shards, and a third that has nothing to do. Notifications go from one shard to the other, and their parcels come
// home. Meanwhile SIGTERM comes at any moment.
static void play_drain(uint64_t seed) {
    static const char tell[] = "{\"method\":\"note\",\"params\":{\"targetAgent\":\"agent\"}}";
    struct world world;
    char text[4096];
    open_busy_world(&world, seed);
    struct cable *cables[] = {join(&world, NULL), join(&world, "agent")};
    for (unsigned count = 0; count < 8; count++) {
        say(cables[0], tell);
        for (uint32_t steps = random_below(&world.random, 20); steps; steps--)
            world_step(&world);
    }
    kernel_signal(world.kernel, SIGTERM);
    world_settle(&world);
    for (unsigned index = 0; index < 2; index++) {
        while (cable_read(cables[index], text, sizeof text))
            continue;
        assert_true(cable_at_end(cables[index]));
        cable_close(cables[index]);
    }
    world_stop(&world);
    world_close(&world);
}

// Once the hub drains, no mail is left to a shard that sleeps. A shard that has taken up the drain is woken for all
// later mail.
static void parcels_come_home_while_a_drain_begins(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++)
        play_drain(seed);
}

// --- Every split

// Sends a request cut at `cut`, or byte by byte where `cut` is 0. Returns the bytes that came at the agent and, after
// its answer, at the source.
static void deliver_split(const char *fields, const char *body, size_t cut, char *at_agent, char *at_source) {
    struct world world;
    open_world(&world, 2);
    struct cable *cables[] = {join(&world, "agent"), join(&world, NULL)};
    char text[TEXT_BYTES_MAX];
    size_t count = frame_of(text, fields, body);
    for (size_t at = 0; at < count;) {
        size_t piece = cut == 0 ? 1 : at == 0 && cut < count ? cut : count - at;
        assert_true(cable_write(cables[1], text + at, piece));
        world_settle(&world);
        at += piece;
    }
    at_agent[cable_read(cables[0], at_agent, TEXT_BYTES_MAX - 1)] = '\0';
    struct naive_frame frame;
    assert_int_equal(naive_frame(&frame, (uint8_t *)at_agent, strlen(at_agent)), NAIVE_WHOLE);
    struct bit id = naive_find(frame.body, "id");
    count =
        (size_t)snprintf(text, sizeof text, "content-length:%zu\r\nX: y\r\n\r\n{\"result\":{},\"id\":%.*s}",
                         19 + id.count, (int)id.count, (const char *)id.bytes);
    for (size_t at = 0; at < count;) {
        size_t piece = cut == 0 ? 1 : at == 0 && cut < count ? cut : count - at;
        assert_true(cable_write(cables[0], text + at, piece));
        world_settle(&world);
        at += piece;
    }
    at_source[cable_read(cables[1], at_source, TEXT_BYTES_MAX - 1)] = '\0';
    finish(&world, cables, 2);
}

static void every_split_delivers_the_same(void **state) {
    (void)state;
    static const char *const fields[] = {"", "Request-Id: 7\r\nCustom-A:  b \r\n"};
    static const char *const bodies[] = {
        ask, "{\"params\":{\"x\":\"}{\\\"\",\"targetAgent\":\"agent\"} , \"method\":\"w\",\"id\" : 1e3 }"};
    static char first[2][TEXT_BYTES_MAX], again[2][TEXT_BYTES_MAX];
    for (unsigned which = 0; which < 2; which++) {
        char text[TEXT_BYTES_MAX];
        size_t count = frame_of(text, fields[which], bodies[which]);
        deliver_split(fields[which], bodies[which], count, first[0], first[1]);
        assert_non_null(strstr(first[1], which ? "\"id\":1e3}" : "\"id\":\"mine\"}"));
        for (size_t cut = 0; cut < count; cut++) {
            deliver_split(fields[which], bodies[which], cut, again[0], again[1]);
            assert_string_equal(again[0], first[0]);
            assert_string_equal(again[1], first[1]);
        }
    }
}

static bool allow_takeover(void *context, struct hub_settings *fresh) {
    (void)context;
    fresh->takeover = true;
    return true;
}

// Messages behind the signal in one turn are judged by the settings that were read.
static void a_configuration_holds_from_where_it_was_read(void **state) {
    (void)state;
    static const char name[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"agent/register\",\"params\":{\"agentId\":\"a\"}}";
    struct world world;
    struct world_options options;
    struct hub_settings settings = {.read_again = allow_takeover};
    limits_defaults(&settings.limits);
    settings.limits.connections_max = 256;
    world_defaults(&options, 1, 1);
    options.settings = &settings;
    world_open(&world, &options);
    struct cable *cables[] = {join(&world, "a"), join(&world, NULL)};
    kernel_signal(world.kernel, SIGHUP);
    say(cables[1], name);
    while (kernel_step(world.kernel)) {
    }
    world_settle(&world);
    assert_true(bit_is(of(hear(cables[1]), "result.registered"), "true"));
    (void)hear(cables[0]); // that it was replaced
    finish(&world, cables, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_configuration_holds_from_where_it_was_read),
        cmocka_unit_test(agent_and_source_on_two_shards),
        cmocka_unit_test(target_leaves_on_another_shard),
        cmocka_unit_test(silent_target_times_out),
        cmocka_unit_test(half_closed_source_is_answered),
        cmocka_unit_test(half_closed_agent_hears_of_its_registration),
        cmocka_unit_test(framing_error_is_told_and_ends_one_connection),
        cmocka_unit_test(a_full_agent_that_owes_itself_is_closed_once),
        cmocka_unit_test(a_full_agent_that_is_replaced_is_closed_once),
        cmocka_unit_test(news_of_a_leaver_do_not_overtake_its_answer),
        cmocka_unit_test(who_has_a_name_was_told_so_last),
        cmocka_unit_test(parcels_come_home_while_a_drain_begins),
        cmocka_unit_test(every_split_delivers_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
