// The quota near its bound: a registration is there on all shards or on none, and memory of a burst goes
// back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/memory.h"
#include "tests/sim/kernel.h"
#include "tests/sim/party.h"

enum { SHARDS = 3, MILLISECOND = 1000000, SECOND = 1000 * MILLISECOND };

static void open_hub(struct scene *scene) {
    struct world_options options;
    world_defaults(&options, 3, SHARDS);
    options.takeover = true;
    scene_open(scene, &options);
}

static struct party *join_as(struct scene *scene, const char *agent_id) {
    struct party *party = party_join(scene);
    party_register(party, agent_id, "");
    scene_settle(scene);
    assert_int_equal(party->results, 1);
    return party;
}

static struct agent *agent_at(const struct scene *scene, uint32_t shard, const char *agent_id) {
    return agents_find(&scene->world.shards[shard]->agents, agent_id, strlen(agent_id));
}

static uint64_t connection_at(const struct scene *scene, uint32_t shard, const char *agent_id) {
    const struct agent *agent = agent_at(scene, shard, agent_id);
    return agent ? agent->registrant->connection : 0;
}

// Others take all that is left; returns how much.
static uint64_t fill(struct scene *scene) {
    struct buffer_budget *budget = &scene->world.hub->budget;
    for (uint32_t shard = 0; shard < SHARDS; shard++)
        quota_settle(&scene->world.shards[shard]->quota);
    uint64_t left = quota_bytes_left(&scene->world.shards[0]->quota);
    atomic_fetch_add(&budget->quota_bytes, left);
    atomic_fetch_add(&budget->bytes, left);
    return left;
}

static void empty(struct scene *scene, uint64_t bytes) {
    atomic_fetch_sub(&scene->world.hub->budget.quota_bytes, bytes);
    atomic_fetch_sub(&scene->world.hub->budget.bytes, bytes);
}

// Steps until the agent has another connection on a shard than it had.
static void step_until_changed(struct scene *scene, uint32_t shard, const char *agent_id) {
    uint64_t before = connection_at(scene, shard, agent_id);
    while (connection_at(scene, shard, agent_id) == before)
        assert_true(world_step(&scene->world));
}

static void without_room_nothing_changes(void **state) {
    (void)state;
    static struct scene scene;
    open_hub(&scene);
    struct party *holder = join_as(&scene, "name"), *other = party_join(&scene);
    uint64_t connection = connection_at(&scene, 0, "name");
    scene_settle(&scene);
    uint64_t filled = fill(&scene);
    party_register(other, "name", ",\"capabilities\":[\"x\"]"); // takes it over
    party_register(other, "new", "");
    party_register(holder, "name", ",\"capabilities\":[\"y\"]");
    scene_settle(&scene);
    assert_int_equal(other->errors, 2);
    assert_int_equal(holder->errors, 1);
    assert_int_equal(connection_at(&scene, 0, "name"), connection);
    assert_int_equal(agent_at(&scene, 0, "name")->capabilities->bytes, 2);
    world_check_agents(&scene.world);
    party_ask(holder, "agent/unregister", 0, "\"agentId\":\"name\""); // gives something back
    scene_settle(&scene);
    assert_int_equal(holder->results, 2);
    empty(&scene, filled);
    party_register(other, "name", "");
    scene_settle(&scene);
    assert_int_equal(other->results, 1);
    scene_check(&scene);
    scene_close(&scene);
}

// An agent that shard 0 found room for has it on the others, too, though the room is gone by then.
static void what_was_judged_to_have_room_has_it_everywhere(void **state) {
    (void)state;
    static struct scene scene;
    for (uint32_t shard = 0; shard + 1 < SHARDS; shard++) {
        open_hub(&scene);
        struct party *other = party_join(&scene);
        scene_settle(&scene);
        party_register(other, "name", "");
        step_until_changed(&scene, shard, "name");
        uint64_t filled = fill(&scene);
        scene_settle(&scene);
        assert_int_equal(other->results, 1);
        world_check_agents(&scene.world);
        assert_non_null(agent_at(&scene, 0, "name"));
        empty(&scene, filled);
        scene_check(&scene);
        scene_close(&scene);
    }
}

static void what_a_shard_has_no_memory_for_is_undone_on_all(void **state) {
    (void)state;
    static struct scene scene;
    for (uint32_t shard = 0; shard + 1 < SHARDS; shard++)
        for (unsigned held = 0; held < 2; held++) {
            open_hub(&scene);
            struct party *holder = held ? join_as(&scene, "name") : party_join(&scene);
            struct party *other = party_join(&scene);
            scene_settle(&scene);
            party_register(other, "name", "");
            step_until_changed(&scene, shard, "name");
            memory_fail(0, 1);
            scene_settle(&scene);
            assert_int_equal(memory_fail(0, 0), UINT64_MAX); // it has failed
            assert_int_equal(other->errors, 1);
            world_check_agents(&scene.world);
            assert_null(agent_at(&scene, 0, "name"));
            party_register(holder, "name", "");
            scene_settle(&scene);
            assert_int_equal(holder->results, 1 + held);
            world_check_agents(&scene.world);
            scene_check(&scene);
            scene_close(&scene);
        }
}

// The undoing of a registration that failed on another shard leaves a newer one of the same connection alone.
static void undoing_leaves_a_newer_registration(void **state) {
    (void)state;
    static struct scene scene;
    for (uint32_t shard = 0; shard + 1 < SHARDS; shard++) {
        open_hub(&scene);
        struct party *party = party_join(&scene);
        scene_settle(&scene);
        party_register(party, "name", "");
        party_register(party, "name", ",\"capabilities\":[\"newer\"]");
        step_until_changed(&scene, shard, "name");
        memory_fail(0, 1);
        scene_settle(&scene);
        assert_int_equal(memory_fail(0, 0), UINT64_MAX); // it has failed
        assert_int_equal(party->errors, 1);
        assert_int_equal(party->results, 1);
        world_check_agents(&scene.world);
        assert_int_equal(agent_at(&scene, 0, "name")->capabilities->bytes, strlen("[\"newer\"]"));
        scene_check(&scene);
        scene_close(&scene);
    }
}

// Near the bound a source with many requests under way gets no more, and who has few goes on.
static void a_source_with_much_under_way_leaves_room_for_others(void **state) {
    (void)state;
    enum { LEFT_BYTES = 112 * 1024 };
    static struct scene scene;
    open_hub(&scene);
    struct party *agent = join_as(&scene, "agent");
    agent->silent = true;
    struct party *parties[2 * SHARDS];
    for (unsigned index = 0; index < 2 * SHARDS; index++) { // two on each shard
        parties[index] = party_join(&scene);
        party_ask(parties[index], "work", 0, "\"targetAgent\":\"agent\"");
        scene_settle(&scene);
    }
    uint64_t filled = fill(&scene);
    empty(&scene, LEFT_BYTES);
    for (unsigned index = 0; index < SHARDS; index++) {
        for (unsigned number = 1; number < PARTY_ASKS_MAX; number++)
            party_ask(parties[index], "work", 0, "\"targetAgent\":\"agent\"");
        scene_settle(&scene);
        assert_in_range(parties[index]->errors, 100, PARTY_ASKS_MAX - 20);
    }
    for (unsigned index = SHARDS; index < 2 * SHARDS; index++) {
        for (unsigned number = 1; number < 20; number++)
            party_ask(parties[index], "work", 0, "\"targetAgent\":\"agent\"");
        scene_settle(&scene);
        assert_int_equal(parties[index]->errors, 0);
    }
    empty(&scene, filled - LEFT_BYTES);
    scene_settle(&scene);
    scene_close(&scene);
}

// The slots of requests that have ended go back within seconds, and the shards sleep then.
static void slots_of_a_burst_go_back(void **state) {
    (void)state;
    enum { SOURCES = 4 };
    static struct scene scene;
    open_hub(&scene);
    struct party *agent = join_as(&scene, "agent");
    agent->silent = true;
    struct buffer_budget *budget = &scene.world.hub->budget;
    for (unsigned index = 0; index < SOURCES * SHARDS; index++) { // SOURCES on each shard
        struct party *source = party_join(&scene);
        for (unsigned number = 0; number < PARTY_ASKS_MAX; number++)
            party_ask(source, "work", 0, "\"targetAgent\":\"agent\"");
        scene_settle(&scene);
    }
    uint64_t burst = atomic_load(&budget->quota_bytes);
    assert_true(burst > SOURCES * SHARDS * PARTY_ASKS_MAX * sizeof(struct pending));
    party_leave(agent);
    scene_pass(&scene, 5 * (uint64_t)SECOND);
    uint64_t rest = atomic_load(&budget->quota_bytes);
    assert_true(rest < SHARDS * (PENDING_CHUNK * sizeof(struct pending) + 80 * 1024));
    for (uint32_t shard = 0; shard < SHARDS; shard++)
        assert_false(pending_table_has_unused(&scene.world.shards[shard]->pending));
    scene_check(&scene);
    scene_close(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_room_nothing_changes),
        cmocka_unit_test(what_was_judged_to_have_room_has_it_everywhere),
        cmocka_unit_test(what_a_shard_has_no_memory_for_is_undone_on_all),
        cmocka_unit_test(undoing_leaves_a_newer_registration),
        cmocka_unit_test(a_source_with_much_under_way_leaves_room_for_others),
        cmocka_unit_test(slots_of_a_burst_go_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
