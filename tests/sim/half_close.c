// Peers that end their direction, and those that have gone altogether: the ones are answered, and what the
// others asked is given up.
#include "tests/sim/scarce.h"

#define SECOND_NS UINT64_C(1000000000)

enum { SOURCES = 4 };

struct play {
    struct scene scene;
    struct party *target, *sources[SOURCES]; // half of them over TCP
};

static void begin(struct play *play, uint32_t shards, bool leave, bool asks) {
    struct world_options options;
    world_defaults(&options, 3, shards);
    struct hub_settings settings = {.limits = options.limits, .half_close_leaves = leave};
    settings.limits.request_timeout_ns = 3600 * SECOND_NS;
    options.settings = &settings;
    scene_open(&play->scene, &options);
    play->target = join_as(&play->scene, "target");
    play->target->silent = true;
    for (unsigned index = 0; index < SOURCES; index++) {
        play->sources[index] = party_join(&play->scene);
        scene_settle(&play->scene);
        if (asks)
            party_ask(play->sources[index], "work", 0, "\"targetAgent\":\"target\"");
    }
    scene_settle(&play->scene);
}

static void a_peer_that_goes_after_its_end_has_left(void **state) {
    (void)state;
    static struct play play;
    for (uint32_t shards = 1; shards <= 3; shards++)
        for (unsigned resets = 0; resets < 2; resets++) {
            begin(&play, shards, false, true);
            for (unsigned index = 0; index < SOURCES; index++)
                cable_shut(play.sources[index]->cable);
            scene_pass(&play.scene, 100 * SECOND_NS);
            assert_int_equal(play.target->heard, SOURCES);
            unsigned at_once = 0;
            for (unsigned index = 0; index < SOURCES; index++) {
                at_once += play.sources[index]->cable->local || resets;
                if (resets)
                    cable_reset(play.sources[index]->cable);
                party_leave(play.sources[index]);
            }
            scene_settle(&play.scene);
            assert_int_equal(at_once, resets ? SOURCES : SOURCES / 2);
            assert_int_equal(play.target->heard, SOURCES + at_once); // that it is given up
            scene_pass(&play.scene, 71 * SECOND_NS);
            assert_int_equal(play.target->heard, 2 * SOURCES);
            assert_int_equal(kernel_sockets(play.scene.world.kernel), 1);
            scene_close(&play.scene);
        }
}

// Messages before the end are still read and forwarded.
static void with_leave_the_end_is_the_leaving(void **state) {
    (void)state;
    static struct play play;
    for (uint32_t shards = 1; shards <= 3; shards++) {
        begin(&play, shards, true, false);
        for (unsigned index = 0; index < SOURCES; index++) {
            party_ask(play.sources[index], "work", 40000, "\"targetAgent\":\"target\"");
            party_tell(play.sources[index], "note", 0, "\"targetAgent\":\"target\"");
            cable_shut(play.sources[index]->cable);
        }
        scene_settle(&play.scene);
        // The note, and the request with its cancel unless it was taken out before it went.
        assert_in_range(play.target->heard, SOURCES, 3 * SOURCES);
        assert_int_equal(kernel_sockets(play.scene.world.kernel), 1);
        scene_close(&play.scene);
    }
}

static void attach(struct play *play, unsigned index) {
    party_ask(play->sources[index], "hub/attach", 0, "\"agent\":\"target\",\"halfClose\":\"leave\"");
    scene_settle(&play->scene);
    assert_int_equal(play->sources[index]->results, 1);
    party_ask(play->sources[index], "work", 0, "\"n\":1");
    scene_settle(&play->scene);
}

// As a program does that is killed: over TCP nothing but the end of its stream shows that.
static void whoever_says_so_leaves_with_its_end(void **state) {
    (void)state;
    static struct play play;
    for (uint32_t shards = 1; shards <= 3; shards++) {
        begin(&play, shards, false, false);
        for (unsigned index = 0; index < SOURCES; index++) {
            attach(&play, index);
            cable_shut(play.sources[index]->cable);
        }
        scene_settle(&play.scene);
        assert_int_equal(play.target->heard, 2 * SOURCES); // the request, and that it is given up
        assert_int_equal(kernel_sockets(play.scene.world.kernel), 1);
        scene_close(&play.scene);
    }
}

// A peer that says that nothing follows is answered all the same, as long as its stream hasn't ended.
static void whoever_finishes_leaves_with_its_end_alone(void **state) {
    (void)state;
    static struct play play;
    for (uint32_t shards = 1; shards <= 3; shards++)
        for (unsigned stays = 0; stays < 2; stays++) {
            begin(&play, shards, false, false);
            for (unsigned index = 0; index < SOURCES; index++) {
                attach(&play, index);
                party_tell(play.sources[index], "hub/finish", 0, "%s", "");
            }
            scene_pass(&play.scene, 100 * SECOND_NS);
            assert_int_equal(play.target->heard, SOURCES);
            assert_int_equal(kernel_sockets(play.scene.world.kernel), 1 + SOURCES);
            for (unsigned index = 0; index < SOURCES && !stays; index++)
                cable_shut(play.sources[index]->cable);
            if (stays)
                party_leave(play.target); // who owes them an end
            scene_settle(&play.scene);
            for (unsigned index = 0; index < SOURCES; index++)
                assert_int_equal(play.sources[index]->errors, stays);
            assert_int_equal(play.target->heard, stays ? SOURCES : 2 * SOURCES);
            assert_int_equal(kernel_sockets(play.scene.world.kernel), stays ? 0 : 1);
            scene_close(&play.scene);
        }
}

static void while_it_answers_the_end_is_no_leaving(void **state) {
    (void)state;
    static struct play play;
    begin(&play, 2, false, false);
    play.target->silent = false;
    for (unsigned index = 0; index < SOURCES; index++) {
        party_ask(play.sources[index], "work", 40000, "\"targetAgent\":\"target\"");
        cable_shut(play.sources[index]->cable);
    }
    scene_settle(&play.scene);
    for (unsigned index = 0; index < SOURCES; index++)
        assert_int_equal(play.sources[index]->results, 1);
    assert_int_equal(kernel_sockets(play.scene.world.kernel), 1);
    scene_close(&play.scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_that_goes_after_its_end_has_left),
        cmocka_unit_test(with_leave_the_end_is_the_leaving),
        cmocka_unit_test(whoever_says_so_leaves_with_its_end),
        cmocka_unit_test(whoever_finishes_leaves_with_its_end_alone),
        cmocka_unit_test(while_it_answers_the_end_is_no_leaving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
