// Near the bound of memory: slow readers go first, then large frames wait; who reads and says little is
// served all along.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "tests/sim/kernel.h"
#include "tests/sim/party.h"

enum { MEBIBYTE = 1 << 20, MILLISECOND = 1000000, MEMORY_BYTES = 24 * MEBIBYTE };

static uint64_t counted(const struct scene *scene, enum counter counter) {
    uint64_t sum = 0;
    for (uint32_t index = 0; index < scene->world.shard_count; index++)
        sum += stats_read(&scene->world.shards[index]->stats, counter);
    return sum;
}

static uint64_t held(const struct scene *scene) {
    return atomic_load(&scene->world.hub->budget.bytes);
}

static void open_small(struct scene *scene, uint32_t shards) {
    struct world_options options;
    world_defaults(&options, 3, shards);
    options.limits.memory_bytes_max = MEMORY_BYTES;
    options.limits.queue_bytes_max = 64 * MEBIBYTE;
    options.limits.frame_bytes_max = 64 * MEBIBYTE;
    scene_open(scene, &options);
}

static struct party *join_as(struct scene *scene, const char *agent_id) {
    struct party *party = party_join(scene);
    party_register(party, agent_id, "");
    scene_settle(scene);
    assert_int_equal(party->results, 1);
    return party;
}

static void check_served(struct scene *scene, struct party *source) {
    unsigned before = source->results;
    party_ask(source, "work", 100, "\"targetAgent\":\"good\"");
    scene_pass(scene, MILLISECOND);
    assert_int_equal(source->results, before + 1);
}

// One agent reads nothing and is sent megabytes; another one reads, and isn't touched.
static void the_slowest_reader_goes_first(void **state) {
    (void)state;
    static struct scene scene;
    for (uint32_t shards = 1; shards <= 3; shards++) {
        open_small(&scene, shards);
        struct party *good = join_as(&scene, "good"), *deaf = join_as(&scene, "deaf");
        struct party *worse = join_as(&scene, "worse"), *source = party_join(&scene),
                     *other = party_join(&scene);
        deaf->deaf = worse->deaf = true;
        for (unsigned step = 0; step < 400; step++) {
            party_ask(source, "work", 100000, "\"targetAgent\":\"%s\"", step % 3 < 2 ? "worse" : "deaf");
            scene_pass(&scene, 2 * MILLISECOND);
            if (step % 10 == 0)
                check_served(&scene, other);
            assert_true(held(&scene) <= MEMORY_BYTES);
            assert_true(wire_hub_closed(worse->wire) || !wire_hub_closed(deaf->wire));
        }
        assert_true(wire_hub_closed(worse->wire));
        assert_false(wire_hub_closed(good->wire));
        assert_true(counted(&scene, COUNT_CLOSED_SLOW_READER) <= 2);
        assert_int_equal(counted(&scene, COUNT_CLOSED_NO_MEMORY), 0);
        party_leave(deaf);
        party_leave(worse);
        scene_pass(&scene, 100 * (uint64_t)MILLISECOND);
        scene_check(&scene);
        scene_close(&scene);
    }
}

// What an unread queue holds is counted to the last byte, be it small frames that were copied or the hub's
// own answers.
static void answers_that_nobody_reads_count(void **state) {
    (void)state;
    static struct scene scene;
    open_small(&scene, 1);
    struct party *source = party_join(&scene), *idle = join_as(&scene, "good");
    scene_settle(&scene);
    uint64_t before = held(&scene);
    source->deaf = true;
    for (unsigned step = 0; step < 400; step++)
        party_ask(source, "hub/ping", 20000, "%s", "\"x\":1");
    scene_settle(&scene);
    assert_true(held(&scene) - before > 400 * 20000 - 2 * 256 * 1024);
    source->deaf = false;
    scene_settle(&scene);
    check_served(&scene, idle);
    scene_check(&scene);
    scene_close(&scene);
}

static void begin_frame(struct party *party, size_t bytes, size_t sent) {
    static char filler[4 * MEBIBYTE];
    char head[64];
    memset(filler, ' ', sizeof filler);
    int count = snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", bytes);
    party_write(party, head, (size_t)count);
    party_write(party, filler, sent);
}

// Frames that have begun hold nearly all: the next large one isn't read until there is memory for it.
static void a_large_frame_waits_for_memory(void **state) {
    (void)state;
    static struct scene scene;
    for (uint32_t shards = 1; shards <= 2; shards++) {
        open_small(&scene, shards);
        struct party *holders[4], *good = join_as(&scene, "good"), *source = party_join(&scene);
        for (unsigned index = 0; index < 4; index++) {
            holders[index] = party_join(&scene);
            begin_frame(holders[index], 4000 * 1024, 100000);
            scene_settle(&scene);
        }
        party_ask(source, "work", 3 * MEBIBYTE, "\"targetAgent\":\"good\"");
        struct party *other = party_join(&scene);
        scene_pass(&scene, 500 * (uint64_t)MILLISECOND);
        assert_int_equal(source->results, 0);
        assert_false(wire_hub_closed(source->wire));
        assert_true(wire_unread(source->wire) > 2 * MEBIBYTE);
        check_served(&scene, other);
        check_served(&scene, good);
        for (unsigned index = 0; index < 2; index++)
            party_leave(holders[index]);
        scene_pass(&scene, 100 * (uint64_t)MILLISECOND);
        assert_int_equal(source->results, 1);
        assert_int_equal(counted(&scene, COUNT_CLOSED_NO_MEMORY), 0);
        for (unsigned index = 2; index < 4; index++)
            party_leave(holders[index]);
        scene_check(&scene);
        scene_close(&scene);
    }
}

// Sends more of a frame that has begun; what it sends is never the last of it.
static void go_on(struct party *party, size_t bytes) {
    static const char more[MEBIBYTE];
    party_write(party, more, bytes);
}

// One that waits longer than a frame may take is closed, as is one that could never fit. What came of it
// before it had to wait may count as progress once. Those who hold the memory meanwhile go on at a good pace:
// a frame each takes 4 s, and the next one begins in the same write.
static void a_frame_does_not_wait_for_ever(void **state) {
    (void)state;
    static struct scene scene;
    for (uint32_t shards = 1; shards <= 2; shards++) {
        open_small(&scene, shards);
        struct party *holders[4], *source = party_join(&scene), *huge = party_join(&scene);
        for (unsigned index = 0; index < 4; index++) {
            holders[index] = party_join(&scene);
            holders[index]->rude = true;
            begin_frame(holders[index], 4000 * 1000, 100000 + index * 1000000);
            scene_settle(&scene);
        }
        begin_frame(huge, 20 * MEBIBYTE, 100000);
        scene_settle(&scene);
        assert_true(wire_hub_closed(huge->wire));
        party_ask(source, "work", 11 * MEBIBYTE, "\"targetAgent\":\"good\"");
        for (unsigned tenth = 9; tenth < 210; tenth++) {
            for (unsigned index = 0; index < 4; index++) {
                go_on(holders[index], 100000);
                if ((tenth + index * 10) % 40 == 7)
                    begin_frame(holders[index], 4000 * 1000, 0);
            }
            scene_pass(&scene, 100 * (uint64_t)MILLISECOND);
        }
        assert_true(wire_hub_closed(source->wire));
        for (unsigned index = 0; index < 4; index++)
            assert_false(wire_hub_closed(holders[index]->wire));
        assert_int_equal(counted(&scene, COUNT_CLOSED_NO_MEMORY), 2);
        scene_close(&scene);
    }
}

// Frames that trickle in hold what another one waits for: the slowest gives way, whichever shard it is on,
// and nobody who sends at a good pace, however little of it has come, nor whose frame is small.
static void a_frame_that_trickles_gives_way(void **state) {
    (void)state;
    static struct scene scene;
    for (uint32_t shards = 1; shards <= 3; shards++)
        for (unsigned slowest = 0; slowest < 3; slowest++) {
            open_small(&scene, shards);
            struct party *good = join_as(&scene, "good"), *source = party_join(&scene), *holders[4];
            for (unsigned index = 0; index < 4; index++) {
                holders[index] = party_join(&scene);
                begin_frame(holders[index], 4000 * 1024, 5000);
                scene_settle(&scene);
            }
            struct party *small = party_join(&scene);
            begin_frame(small, 40000, 100);
            party_ask(source, "work", 3 * MEBIBYTE, "\"targetAgent\":\"good\"");
            for (unsigned tenth = 0; tenth < 30; tenth++) {
                go_on(small, 100);
                for (unsigned index = 0; index < 3; index++)
                    go_on(holders[index], index == slowest ? 100 : 10000);
                go_on(holders[3], 100000);
                scene_pass(&scene, 100 * (uint64_t)MILLISECOND);
                assert_true(tenth > 8 || source->results == 0);
            }
            assert_int_equal(source->results, 1);
            assert_int_equal(counted(&scene, COUNT_CLOSED_NO_MEMORY), 1);
            assert_true(wire_hub_closed(holders[slowest]->wire));
            assert_false(wire_hub_closed(good->wire) || wire_hub_closed(small->wire));
            for (unsigned index = 0; index < 4; index++)
                party_leave(holders[index]);
            party_leave(small);
            scene_check(&scene);
            scene_close(&scene);
        }
}

// A frame that can't become whole any more, because its sender has closed its direction, keeps no memory
// while the sender waits for answers.
static void a_frame_whose_rest_never_comes_is_let_go(void **state) {
    (void)state;
    static struct scene scene;
    open_small(&scene, 2);
    struct party *silent = join_as(&scene, "silent"), *source = party_join(&scene);
    silent->silent = true;
    party_ask(source, "work", 100, "\"targetAgent\":\"silent\"");
    scene_settle(&scene);
    uint64_t before = held(&scene);
    begin_frame(source, 4 * MEBIBYTE, MEBIBYTE);
    scene_settle(&scene);
    assert_true(held(&scene) - before > 4 * MEBIBYTE);
    wire_shut(source->wire);
    scene_settle(&scene);
    assert_false(wire_hub_closed(source->wire));
    assert_true(held(&scene) < before + MEBIBYTE);
    party_leave(silent);
    scene_settle(&scene);
    assert_int_equal(source->errors, 1);
    scene_check(&scene);
    scene_close(&scene);
}

// Many frames of middle size that trickle in hold so much that nobody can receive any more: some of them make
// way, and whoever says little is served, or sends a frame of that size at a good pace.
static void frames_that_trickle_do_not_stop_the_hub(void **state) {
    (void)state;
    static struct scene scene;
    enum { HOLDERS = 80, SLOWEST = 40 };
    struct world_options options;
    world_defaults(&options, 3, 1);
    options.limits.memory_bytes_max = 4 * MEBIBYTE;
    scene_open(&scene, &options);
    join_as(&scene, "good");
    struct party *source = party_join(&scene), *holders[HOLDERS];
    for (unsigned index = 0; index < HOLDERS; index++) {
        holders[index] = party_join(&scene);
        begin_frame(holders[index], 48000, index == SLOWEST ? 300 : 600);
    }
    struct party *steady = party_join(&scene);
    steady->rude = true;
    begin_frame(steady, 40600, 600);
    scene_settle(&scene);
    for (unsigned second = 0; second < 10; second++) {
        party_ask(source, "work", 100, "\"targetAgent\":\"good\"");
        for (unsigned tenth = 0; tenth < 10; tenth++) {
            for (unsigned index = 0; index < HOLDERS; index++)
                if (!wire_hub_closed(holders[index]->wire))
                    go_on(holders[index], 150);
            if (second < 4)
                go_on(steady, 1000);
            scene_pass(&scene, 100 * (uint64_t)MILLISECOND);
        }
    }
    assert_int_equal(source->results, 10);
    assert_true(wire_hub_closed(holders[SLOWEST]->wire));
    assert_false(wire_hub_closed(steady->wire));
    assert_int_equal(counted(&scene, COUNT_FRAMES_RECEIVED), 22); // that, and what good and source sent
    assert_in_range(counted(&scene, COUNT_CLOSED_NO_MEMORY), 1, HOLDERS / 2);
    scene_close(&scene);
}

// All share a slow link, and more of them are there than have room: who has come far isn't closed for one
// that would not come further, so frames come to their end.
static void senders_of_one_pace_come_to_an_end(void **state) {
    (void)state;
    static struct scene scene;
    struct world_options options;
    enum { SENDERS = 6, BYTES = 4000 * 1000, STEP = 15000 };
    world_defaults(&options, 3, 1);
    options.limits.memory_bytes_max = MEMORY_BYTES;
    options.limits.frame_bytes_max = 4 * MEBIBYTE;
    scene_open(&scene, &options);
    struct party *senders[SENDERS] = {0};
    unsigned ended = 0, lacking[SENDERS] = {0};
    for (unsigned tenth = 0; tenth < 450; tenth++) {
        for (unsigned index = 0; index < SENDERS; index++) {
            if (senders[index] && wire_hub_closed(senders[index]->wire))
                party_leave(senders[index]);
            if (!senders[index] || !senders[index]->wire) {
                senders[index] = party_join(&scene);
                senders[index]->rude = true;
                begin_frame(senders[index], BYTES, STEP);
                lacking[index] = BYTES - STEP;
            } else if (lacking[index] && wire_unread(senders[index]->wire) < STEP) {
                unsigned bytes = lacking[index] < STEP ? lacking[index] : STEP;
                go_on(senders[index], bytes);
                lacking[index] -= bytes;
                ended += lacking[index] == 0;
            }
        }
        scene_pass(&scene, 100 * (uint64_t)MILLISECOND);
    }
    assert_int_equal(ended, 2);
    assert_int_equal(counted(&scene, COUNT_FRAMES_RECEIVED), ended);
    assert_true(counted(&scene, COUNT_CLOSED_NO_MEMORY) > 10);
    scene_close(&scene);
}

// --- Many requests

// All that sources may ask, asked of one agent at one time.
static unsigned ask_very_much(struct scene *scene, struct party *sources[], unsigned count) {
    for (unsigned index = 0; index < count; index++) {
        sources[index] = party_join(scene);
        for (unsigned number = 0; number < PARTY_ASKS_MAX; number++)
            party_ask(sources[index], "work", 0, "\"targetAgent\":\"good\"");
    }
    scene_settle(scene);
    return count * PARTY_ASKS_MAX;
}

// They are ended in several turns, so that others have theirs between.
static void what_times_out_together_is_not_ended_at_once(void **state) {
    (void)state;
    static struct scene scene;
    struct party *sources[8];
    open_small(&scene, 1);
    struct party *agent = join_as(&scene, "good");
    agent->silent = true;
    unsigned asked = ask_very_much(&scene, sources, 8);
    uint64_t ended = 0, most = 0;
    kernel_advance(scene.world.kernel, kernel_now(scene.world.kernel) + 300000 * (uint64_t)MILLISECOND);
    while (world_step(&scene.world)) {
        uint64_t before = ended;
        ended = counted(&scene, COUNT_REQUESTS_TIMED_OUT);
        if (ended - before > most)
            most = ended - before;
    }
    assert_int_equal(ended, asked);
    assert_in_range(most, 1, asked / 3);
    scene_settle(&scene);
    for (unsigned index = 0; index < 8; index++)
        assert_int_equal(sources[index]->errors, PARTY_ASKS_MAX);
    scene_check(&scene);
    scene_close(&scene);
}

// What a source puts into its cancels doesn't wait beside a queue that is full, and costs the target nothing;
// each cancel comes.
static void cancels_are_short_where_the_queue_is_full(void **state) {
    (void)state;
    static struct scene scene;
    enum { ASKED = 50, QUEUE_BYTES = 64 * 1024 };
    for (uint32_t shards = 1; shards <= 2; shards++) {
        struct world_options options;
        world_defaults(&options, 3, shards);
        options.limits.queue_bytes_max = QUEUE_BYTES;
        scene_open(&scene, &options);
        struct party *agent = join_as(&scene, "good"), *source = party_join(&scene);
        agent->silent = true;
        for (unsigned number = 0; number < ASKED; number++)
            party_ask(source, "work", 0, "\"targetAgent\":\"good\"");
        scene_settle(&scene);
        assert_int_equal(agent->heard, ASKED);
        agent->deaf = true;
        for (unsigned number = 0; number < 4; number++) // what the kernel takes, and more than the queue does
            party_tell(source, "work", MEBIBYTE, "\"targetAgent\":\"good\"");
        scene_settle(&scene);
        assert_true(counted(&scene, COUNT_DROP_OVERLOADED) > 0);
        uint64_t before = held(&scene);
        for (unsigned number = 0; number < ASKED; number++) {
            char id[128];
            party_id(id, sizeof id, number);
            party_tell(source, "$/cancelRequest", 100 * 1000, "\"id\":%s", id);
            scene_settle(&scene);
        }
        assert_in_range(held(&scene), before, before + 200 * 1000);
        assert_int_equal(counted(&scene, COUNT_CANCELS_FORWARDED), ASKED);
        unsigned heard = agent->heard + 4 - (unsigned)counted(&scene, COUNT_DROP_OVERLOADED);
        agent->deaf = false;
        scene_settle(&scene);
        assert_int_equal(agent->heard, heard + ASKED);
        party_leave(agent);
        scene_settle(&scene);
        scene_check(&scene);
        scene_close(&scene);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_times_out_together_is_not_ended_at_once),
        cmocka_unit_test(cancels_are_short_where_the_queue_is_full),
        cmocka_unit_test(the_slowest_reader_goes_first),
        cmocka_unit_test(answers_that_nobody_reads_count),
        cmocka_unit_test(a_large_frame_waits_for_memory),
        cmocka_unit_test(a_frame_does_not_wait_for_ever),
        cmocka_unit_test(a_frame_that_trickles_gives_way),
        cmocka_unit_test(frames_that_trickle_do_not_stop_the_hub),
        cmocka_unit_test(senders_of_one_pace_come_to_an_end),
        cmocka_unit_test(a_frame_whose_rest_never_comes_is_let_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
