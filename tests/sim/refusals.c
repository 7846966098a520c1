// Registrations that are refused change nothing, whatever else of their connection is under way. Each number of shards
// is played, with the connection on each shard.
#include "tests/sim/tell.h"

#include "router/engine/shard/shard.h"

enum { SHARDS = 3, HALF = 600 };

static const char taken[] = "{\"agentId\":\"x\",\"capabilities\":{\"methods\":[\"m\"]}}";

// A list of patterns, all of them others than those of another prefix.
static void put_patterns(char *out, char prefix, unsigned count) {
    for (unsigned number = 0; number < count; number++)
        out += sprintf(out, "%s\"%c%u\"", number ? "," : "", prefix, number);
}

static void ask_for(struct cable *cable, const char *id, const char *method, const char *params) {
    static char body[TEXT_BYTES_MAX];
    sprintf(body, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":%s}", id, method, params);
    say(cable, body);
}

static void enter(struct cable *cable, const char *id, const char *agent_id, char prefix, unsigned count) {
    static char params[TEXT_BYTES_MAX / 2], patterns[TEXT_BYTES_MAX / 4];
    *patterns = '\0';
    put_patterns(patterns, prefix, count);
    snprintf(params, sizeof params, "{\"agentId\":\"%s\",\"capabilities\":{\"events\":[%s]}}", agent_id,
             patterns);
    ask_for(cable, id, "agent/register", params);
}

static void want(struct world *world, struct cable *cable, const char *id, const char *code) {
    world_settle(world);
    const char *answer = hear(cable);
    assert_true(bit_is(of(answer, "id"), id));
    if (code)
        assert_true(bit_is(of(answer, "error.code"), code));
    else
        assert_true(of(answer, "result").bytes != NULL);
}

static void want_too_many(struct world *world, struct cable *cable, const char *id) {
    world_settle(world);
    const char *answer = hear(cable);
    assert_true(bit_is(of(answer, "id"), id) && bit_is(of(answer, "error.code"), "-32602"));
    assert_true(bit_is(of(answer, "error.data.field"), "\"params.capabilities.events\""));
    assert_true(bit_is(of(answer, "error.data.limit"), "1024"));
}

// Returns the agent of that name, as all shards have it.
static const struct agent *stands(const struct world *world, const char *agent_id) {
    world_check_agents(world);
    return agents_find(&world->shards[0]->agents, agent_id, strlen(agent_id));
}

static uint32_t subscriptions(const struct world *world) {
    uint32_t count = 0;
    for (uint32_t shard = 0; shard < world->shard_count; shard++)
        count += world->shards[shard]->agents.topics.count;
    return count;
}

struct setting {
    struct world world;
    struct cable *cables[SHARDS + 1], *cable, *holder;
    unsigned count;
};

// `cable` is a peer of the shard, `holder` one of the same or of the next.
static void open_stage(struct setting *stage, uint32_t shards, uint32_t shard) {
    struct world_options options;
    world_defaults(&options, 7, shards);
    options.takeover = true;
    world_open(&stage->world, &options);
    stage->count = shards + 1;
    for (unsigned index = 0; index < stage->count; index++)
        stage->cables[index] = join(&stage->world, NULL);
    stage->cable = stage->cables[shard];
    stage->holder = stage->cables[shard + 1];
}

static void close_stage(struct setting *stage) {
    finish(&stage->world, stage->cables, stage->count);
}

// Two registrations that pass the bound only together, the second of a name that is there already.
static void play_refused(uint32_t shards, uint32_t shard, bool own) {
    static struct setting stage;
    open_stage(&stage, shards, shard);
    struct cable *holder = own ? stage.cable : stage.holder;
    ask_for(holder, "0", "agent/register", taken);
    want(&stage.world, holder, "0", NULL);
    const struct capabilities *before = stands(&stage.world, "x")->capabilities;
    enter(stage.cable, "1", "y", 'a', HALF);
    enter(stage.cable, "2", "x", 'b', HALF);
    want(&stage.world, stage.cable, "1", NULL);
    want_too_many(&stage.world, stage.cable, "2");
    assert_int_equal(cable_readable(stage.holder), 0); // nobody was told that anything was replaced
    assert_ptr_equal(stands(&stage.world, "x")->capabilities, before);
    assert_int_equal(subscriptions(&stage.world), HALF);
    close_stage(&stage);
}

static void a_refused_registration_changes_nothing(void **state) {
    (void)state;
    for (uint32_t shards = 1; shards <= SHARDS; shards++)
        for (uint32_t shard = 0; shard < shards; shard++) {
            play_refused(shards, shard, true);
            play_refused(shards, shard, false);
        }
}

// An order that takes the place of one under way, or comes behind one that gives its room back, isn't too
// much.
static void what_waits_for_room_finds_it(void **state) {
    (void)state;
    for (uint32_t shard = 0; shard < SHARDS; shard++) {
        static struct setting stage;
        open_stage(&stage, SHARDS, shard);
        enter(stage.cable, "1", "x", 'a', HALF);
        enter(stage.cable, "2", "x", 'b', HALF); // in the place of the first
        ask_for(stage.cable, "3", "agent/unregister", "{\"agentId\":\"x\"}");
        enter(stage.cable, "4", "y", 'c', HALF);
        enter(stage.cable, "5", "z", 'd', HALF);
        ask_for(stage.cable, "6", "agent/unregister", "{\"agentId\":\"z\"}");
        enter(stage.cable, "7", "z", 'c', HALF); // the same ones as y
        for (char id[] = "1"; *id <= '4'; ++*id)
            want(&stage.world, stage.cable, id, NULL);
        want_too_many(&stage.world, stage.cable, "5");
        want(&stage.world, stage.cable, "6", "-32010");
        want(&stage.world, stage.cable, "7", NULL);
        assert_null(stands(&stage.world, "x"));
        assert_non_null(stands(&stage.world, "y"));
        assert_non_null(stands(&stage.world, "z"));
        assert_int_equal(subscriptions(&stage.world), HALF);
        close_stage(&stage);
    }
}

// A registration keeps the room that it was given from what the connection asks for meanwhile.
static void subscriptions_leave_room_for_what_is_under_way(void **state) {
    (void)state;
    static char events[TEXT_BYTES_MAX / 2], patterns[TEXT_BYTES_MAX / 4];
    put_patterns(patterns, 's', HALF);
    snprintf(events, sizeof events, "{\"events\":[%s]}", patterns);
    for (uint32_t shard = 0; shard < SHARDS; shard++) {
        static struct setting stage;
        open_stage(&stage, SHARDS, shard);
        ask_for(stage.cable, "0", "hub/subscribe", "{\"events\":[\"s1\"]}");
        want(&stage.world, stage.cable, "0", NULL);
        enter(stage.cable, "1", "x", 'a', 1023);
        ask_for(stage.cable, "2", "hub/subscribe", "{\"events\":[\"s1\"]}"); // which is there
        ask_for(stage.cable, "3", "hub/subscribe", "{\"events\":[\"s2\"]}");
        want(&stage.world, stage.cable, "2", NULL);
        want(&stage.world, stage.cable, "3", "-32602");
        want(&stage.world, stage.cable, "1", NULL);
        enter(stage.cable, "4", "x", 'a', 1);
        want(&stage.world, stage.cable, "4", NULL);
        ask_for(stage.cable, "5", "hub/subscribe", events);
        want(&stage.world, stage.cable, "5", NULL);
        assert_int_equal(subscriptions(&stage.world), HALF + 1);
        close_stage(&stage);
    }
}

// A peer that half-closes is no agent any more: its orders that still wait then take nothing from anybody.
static void what_waits_when_its_peer_leaves_is_refused(void **state) {
    (void)state;
    for (uint32_t shard = 0; shard < SHARDS; shard++) {
        static struct setting stage;
        open_stage(&stage, SHARDS, shard);
        ask_for(stage.holder, "0", "agent/register", taken);
        want(&stage.world, stage.holder, "0", NULL);
        enter(stage.cable, "1", "y", 'a', HALF);
        enter(stage.cable, "2", "x", 'b', HALF);
        ask_for(stage.cable, "3", "shutdown", "null");
        cable_shut(stage.cable);
        world_settle(&stage.world);
        unsigned seen = 0;
        for (unsigned answer = 0; answer < 3; answer++) {
            const char *body = hear(stage.cable);
            uint64_t id = bit_number(of(body, "id"));
            assert_true(id != 2 || bit_is(of(body, "error.code"), "-32052"));
            assert_true(id == 2 || of(body, "result").bytes);
            seen |= 1U << id;
        }
        assert_int_equal(seen, 14);
        assert_int_equal(cable_readable(stage.holder), 0);
        assert_non_null(stands(&stage.world, "x"));
        assert_null(stands(&stage.world, "y"));
        close_stage(&stage);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_registration_changes_nothing),
        cmocka_unit_test(what_waits_for_room_finds_it),
        cmocka_unit_test(subscriptions_leave_room_for_what_is_under_way),
        cmocka_unit_test(what_waits_when_its_peer_leaves_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
