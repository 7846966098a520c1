// Frames that come in slowly near the bound of memory: whose make way, and whose don't.
#include "router/engine/receive/receive.h"
#include "tests/sim/scarce.h"

// A frame that waits longer than it may take is closed, as is one that could never fit. The bytes of the frame before
// the wait may count as progress once. Peers that hold the memory meanwhile go on at a good pace: each of their frames
// takes 4 s, and the next one begins in the same write.
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
        assert_true(cable_hub_closed(huge->cable));
        party_ask(source, "work", 11 * MEBIBYTE, "\"targetAgent\":\"good\"");
        for (unsigned tenth = 9; tenth < 210; tenth++) {
            for (unsigned index = 0; index < 4; index++) {
                go_on(holders[index], 100000);
                if ((tenth + index * 10) % 40 == 7)
                    begin_frame(holders[index], 4000 * 1000, 0);
            }
            scene_pass(&scene, 100 * (uint64_t)MILLISECOND);
        }
        assert_true(cable_hub_closed(source->cable));
        for (unsigned index = 0; index < 4; index++)
            assert_false(cable_hub_closed(holders[index]->cable));
        assert_int_equal(counted(&scene, COUNT_CLOSED_NO_MEMORY), 2);
        scene_close(&scene);
    }
}

// Frames that trickle in hold memory that another one waits for. The slowest gives way, whichever shard it is
// on. A peer that sends at a good pace doesn't, however little of its frame has come, nor does one whose
// frame is small.
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
            assert_true(cable_hub_closed(holders[slowest]->cable));
            assert_false(cable_hub_closed(good->cable) || cable_hub_closed(small->cable));
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
    cable_shut(source->cable);
    scene_settle(&scene);
    assert_false(cable_hub_closed(source->cable));
    assert_true(held(&scene) < before + MEBIBYTE);
    party_leave(silent);
    scene_settle(&scene);
    assert_int_equal(source->errors, 1);
    scene_check(&scene);
    scene_close(&scene);
}

// Many frames of middle size that trickle in hold so much that nobody can receive any more. Some of these frames make
// way. A peer that says little is served, as is one that sends a frame of that size at a good pace.
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
                if (!cable_hub_closed(holders[index]->cable))
                    go_on(holders[index], 150);
            if (second < 4)
                go_on(steady, 1000);
            scene_pass(&scene, 100 * (uint64_t)MILLISECOND);
        }
    }
    assert_int_equal(source->results, 10);
    assert_true(cable_hub_closed(holders[SLOWEST]->cable));
    assert_false(cable_hub_closed(steady->cable));
    assert_int_equal(counted(&scene, COUNT_FRAMES_RECEIVED), 22); // that, and what good and source sent
    assert_in_range(counted(&scene, COUNT_CLOSED_NO_MEMORY), 1, HOLDERS / 2);
    scene_close(&scene);
}

// Holds so many sixteenths of the memory, as if by connections that can't be closed.
static void hold_elsewhere(struct scene *scene, int64_t *more, unsigned sixteenths) {
    int64_t before = *more;
    *more = sixteenths ? (int64_t)MEMORY_BYTES / 16 * sixteenths - ((int64_t)held(scene) - before) : 0;
    atomic_fetch_add(&scene->world.hub->budget.bytes, (uint64_t)(*more - before));
}

// A few of them are nobody's trouble, and many neither, as long as there is enough.
static void small_frames_that_trickle_may_stay(void **state) {
    (void)state;
    static struct scene scene;
    enum { MANY = 60, FEW = 5 };
    static const struct { unsigned holders, sixteenths; } rows[] = {{FEW, 14}, {MANY, 12}};
    for (unsigned row = 0; row < 2; row++) {
        open_small(&scene, 1);
        struct party *holders[MANY], *source = party_join(&scene);
        int64_t more = 0;
        for (unsigned index = 0; index < rows[row].holders; index++) {
            holders[index] = party_join(&scene);
            begin_frame(holders[index], 48000, 600);
        }
        scene_settle(&scene);
        hold_elsewhere(&scene, &more, rows[row].sixteenths);
        begin_frame(source, 8 * MEBIBYTE, 1000); // has the hub look for memory in vain
        for (unsigned tenth = 0; tenth < 30; tenth++) {
            for (unsigned index = 0; index < rows[row].holders; index++)
                go_on(holders[index], 150);
            scene_pass(&scene, 100 * (uint64_t)MILLISECOND);
        }
        for (unsigned index = 0; index < rows[row].holders; index++)
            assert_false(cable_hub_closed(holders[index]->cable));
        hold_elsewhere(&scene, &more, 0);
        scene_close(&scene);
    }
}

// All share a slow link, and more of them are there than have room. A sender that has come far isn't closed
// for one that would not come further, so frames come to their end.
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
            if (senders[index] && cable_hub_closed(senders[index]->cable))
                party_leave(senders[index]);
            if (!senders[index] || !senders[index]->cable) {
                senders[index] = party_join(&scene);
                senders[index]->rude = true;
                begin_frame(senders[index], BYTES, STEP);
                lacking[index] = BYTES - STEP;
            } else if (lacking[index] && cable_unread(senders[index]->cable) < STEP) {
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

static struct peer *first_sender(const struct shard *shard) {
    for (uint32_t slot = 0; slot < shard->peers.capacity; slot++)
        if (shard->peers.slots[slot] && shard->peers.slots[slot]->partial)
            return shard->peers.slots[slot];
    fail_msg("no frame has begun");
    return NULL;
}

// The hub doesn't read a peer that queues for its next receive. That is no slowness of the peer.
static void a_sender_that_queues_is_not_late(void **state) {
    (void)state;
    static struct scene scene;
    open_small(&scene, 1);
    struct party *source = party_join(&scene);
    struct shard *shard = scene.world.shards[0];
    int64_t more = 0;
    source->rude = true;
    begin_frame(source, 45000, 20000);
    scene_settle(&scene);
    struct peer *peer = first_sender(shard);
    struct io_event full = {.result = ARRIVAL_BYTES_MAX, .buffer = peer->partial};
    shard->read_fairness.buffers_reduced = true;
    receive_queue(shard, peer, &full);
    assert_true(receive_is_queued(peer));
    hold_elsewhere(&scene, &more, 15);
    scene_pass(&scene, 30 * 1000 * (uint64_t)MILLISECOND);
    assert_true(receive_is_queued(peer));
    assert_false(cable_hub_closed(source->cable));
    hold_elsewhere(&scene, &more, 0);
    go_on(source, 25000);
    scene_pass(&scene, 100 * (uint64_t)MILLISECOND);
    assert_int_equal(counted(&scene, COUNT_FRAMES_RECEIVED), 1);
    scene_close(&scene);
}

// A full arrival with the begin of a frame of 8 MiB.
static struct io_event full_arrival(struct shard *shard) {
    static const char head[] = "Content-Length: 8388608\r\n\r\n";
    struct buffer *buffer = buffer_take(&shard->buffers);
    assert_non_null(buffer);
    memset(buffer_arrival(buffer), ' ', ARRIVAL_BYTES_MAX);
    memcpy(buffer_arrival(buffer), head, sizeof head - 1);
    return (struct io_event){.buffer = buffer, .result = ARRIVAL_BYTES_MAX, .more = true};
}

// A peer whose frame waits for memory is found by those who look for memory, also if its arrival was full while buffers
// were short.
static void a_sender_that_lacks_memory_does_not_queue(void **state) {
    (void)state;
    static struct scene scene;
    open_small(&scene, 1);
    (void)party_join(&scene);
    scene_settle(&scene);
    struct shard *shard = scene.world.shards[0];
    struct peer *peer = shard->peers.slots[0];
    struct io_event full = full_arrival(shard);
    int64_t more = 0;
    hold_elsewhere(&scene, &more, 14);
    shard->read_fairness.buffers_reduced = true;
    assert_int_equal(receive_arrival(shard, peer, &full, 0), 0);
    assert_true(list_empty(&shard->receive_queue));
    assert_false(list_empty(&shard->starved));
    hold_elsewhere(&scene, &more, 0);
    scene_close(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_does_not_wait_for_ever),
        cmocka_unit_test(a_frame_that_trickles_gives_way),
        cmocka_unit_test(frames_that_trickle_do_not_stop_the_hub),
        cmocka_unit_test(small_frames_that_trickle_may_stay),
        cmocka_unit_test(senders_of_one_pace_come_to_an_end),
        cmocka_unit_test(a_frame_whose_rest_never_comes_is_let_go),
        cmocka_unit_test(a_sender_that_queues_is_not_late),
        cmocka_unit_test(a_sender_that_lacks_memory_does_not_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
