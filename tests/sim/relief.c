// Acts of the hub behind the sends of a turn, and when its bound of memory changes.
#include <signal.h>

#include "tests/sim/scarce.h"

// Holds so many sixteenths of the memory, as if by connections that can't be closed.
static void hold_elsewhere(struct scene *scene, int64_t *more, unsigned sixteenths) {
    int64_t before = *more;
    *more = sixteenths ? (int64_t)MEMORY_BYTES / 16 * sixteenths - ((int64_t)held(scene) - before) : 0;
    atomic_fetch_add(&scene->world.hub->budget.bytes, (uint64_t)(*more - before));
}

// A source is closed because its frame has waited for memory in vain, when nothing else happens. The source's requests
// are cancelled then and there, and not when something arrives the next time.
static void what_relief_queues_is_sent_at_once(void **state) {
    (void)state;
    static struct scene scene;
    int64_t more = 0;
    open_small(&scene, 1);
    struct party *agent = join_as(&scene, "good"), *source = party_join(&scene);
    agent->silent = true;
    party_ask(source, "work", 0, "\"targetAgent\":\"good\"");
    scene_settle(&scene);
    assert_int_equal(agent->heard, 1);
    hold_elsewhere(&scene, &more, 10);
    begin_frame(source, 8 * MEBIBYTE, 1000);
    scene_settle(&scene);
    hold_elsewhere(&scene, &more, 15);
    for (unsigned tenth = 0; tenth < 30 && !cable_hub_closed(source->cable); tenth++)
        scene_pass(&scene, 100 * (uint64_t)MILLISECOND);
    assert_true(cable_hub_closed(source->cable));
    assert_int_equal(agent->heard, 2);
    hold_elsewhere(&scene, &more, 0);
    scene_check(&scene);
    scene_close(&scene);
}

// Where the bytes of a frame find no memory, a peer that waits for some with more makes way. A peer in the
// middle of a frame that isn't large stays when memory is used up.
static void who_waits_with_more_makes_way(void **state) {
    (void)state;
    static struct scene scene;
    int64_t more = 0;
    open_small(&scene, 1);
    struct party *agent = join_as(&scene, "good"), *large = party_join(&scene), *witness = party_join(&scene);
    scene_settle(&scene);
    hold_elsewhere(&scene, &more, 13);
    begin_frame(large, 4 * MEBIBYTE, MEBIBYTE);
    scene_settle(&scene);
    hold_elsewhere(&scene, &more, 0);
    _Atomic uint64_t *bytes = &scene.world.hub->budget.bytes;
    int64_t rest = MEMORY_BYTES - MEMORY_BYTES / 64 * BUDGET_PART - 20000 - (int64_t)held(&scene);
    atomic_fetch_add(bytes, (uint64_t)rest);
    party_ask(witness, "work", 90000, "\"targetAgent\":\"good\"");
    scene_settle(&scene);
    assert_false(cable_hub_closed(witness->cable));
    assert_true(cable_hub_closed(large->cable));
    atomic_fetch_sub(bytes, (uint64_t)rest);
    scene_settle(&scene);
    scene_pass(&scene, 100 * (uint64_t)MILLISECOND);
    assert_int_equal(witness->results, 1);
    assert_int_equal(agent->heard, 1);
    scene_check(&scene);
    scene_close(&scene);
}

static void reload(struct scene *scene, uint64_t memory_bytes_max) {
    struct limits limits = scene->world.limits;
    limits.memory_bytes_max = memory_bytes_max;
    world_reload(&scene->world, &limits);
    scene_settle(scene);
}

// A bound of which what is kept takes more than half isn't taken up, and one above that is.
static void what_is_kept_has_room_under_a_lower_bound(void **state) {
    (void)state;
    static struct scene scene;
    struct world_options options;
    world_defaults(&options, 3, 2);
    options.limits.memory_bytes_max = 64 * MEBIBYTE;
    options.kept_room = MEBIBYTE; // so 15 are taken
    scene_open(&scene, &options);
    struct party *source = party_join(&scene);
    _Atomic uint64_t *bound = &scene.world.hub->budget.bytes_max;
    reload(&scene, 24 * MEBIBYTE);
    assert_int_equal(atomic_load(bound), 64 * MEBIBYTE);
    assert_int_equal(counted(&scene, COUNT_RELOADS_FAILED), 1);
    reload(&scene, 32 * MEBIBYTE);
    assert_int_equal(atomic_load(bound), 32 * MEBIBYTE);
    assert_int_equal(counted(&scene, COUNT_RELOADS_FAILED), 1);
    party_ask(source, "hub/ping", 100, "\"x\":1");
    scene_settle(&scene);
    assert_int_equal(source->results, 1);
    scene_close(&scene);
}

// With the least that the options allow, after much: shards on which nothing arrives keep nothing for it.
static void a_lower_bound_is_kept_by_idle_shards(void **state) {
    (void)state;
    static struct scene scene;
    struct world_options options;
    for (uint32_t shards = 1; shards <= WORLD_SHARDS_MAX; shards++) {
        world_defaults(&options, 3, shards);
        scene_open(&scene, &options);
        struct party *source = party_join(&scene);
        scene_settle(&scene);
        uint64_t least = limits_memory_bytes_least(shards);
        reload(&scene, least);
        assert_true(held(&scene) <= least / 4);
        for (unsigned number = 0; number < 300; number++) {
            party_ask(source, "hub/ping", 100, "\"x\":1");
            scene_settle(&scene);
        }
        assert_int_equal(source->results, 300);
        scene_close(&scene);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_relief_queues_is_sent_at_once),
        cmocka_unit_test(who_waits_with_more_makes_way),
        cmocka_unit_test(what_is_kept_has_room_under_a_lower_bound),
        cmocka_unit_test(a_lower_bound_is_kept_by_idle_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
