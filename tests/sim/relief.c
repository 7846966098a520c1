// What the hub does when its bound of memory changes.
#include <signal.h>

#include "tests/sim/scarce.h"

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
        cmocka_unit_test(what_is_kept_has_room_under_a_lower_bound),
        cmocka_unit_test(a_lower_bound_is_kept_by_idle_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
