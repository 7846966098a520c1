// The times that peers may take to send, to read and to complete a frame. Also what a configuration that is read again
// does to waiting peers.
#include <signal.h>

#include "tests/sim/scarce.h"

#define SECOND_NS UINT64_C(1000000000)

// The settings that the hub reads with each SIGHUP; tests change them.
static struct hub_settings file;

static bool read_file(void *context, struct hub_settings *fresh) {
    (void)context;
    fresh->limits = file.limits;
    return true;
}

static void open_with(struct scene *scene, struct world_options *options, uint64_t idle_ns,
                      uint64_t frame_ns) {
    file = (struct hub_settings){.limits = options->limits, .read_again = read_file};
    file.limits.idle_timeout_ns = idle_ns;
    file.limits.frame_timeout_ns = frame_ns;
    options->settings = &file;
    scene_open(scene, options);
}

static void open_timed(struct scene *scene, uint32_t shards, uint64_t idle_ns, uint64_t frame_ns) {
    struct world_options options;
    world_defaults(&options, 3, shards);
    open_with(scene, &options, idle_ns, frame_ns);
}

static void reload(struct scene *scene, uint64_t idle_ns, uint64_t frame_ns) {
    file.limits.idle_timeout_ns = idle_ns;
    file.limits.frame_timeout_ns = frame_ns;
    kernel_signal(scene->world.kernel, SIGHUP);
    scene_settle(scene);
}

// Returns how many of `count` parties the hub has closed.
static unsigned closed(struct party **parties, unsigned count) {
    unsigned sum = 0;
    for (unsigned index = 0; index < count; index++)
        sum += cable_hub_closed(parties[index]->cable);
    return sum;
}

enum { PEERS = 5 };

static void idle_is_what_the_configuration_says_now(void **state) {
    (void)state;
    static struct scene scene;
    static const struct {
        unsigned before, after, silent;
        bool closes;
    } rows[] = {
        // In seconds; how long they have been silent when it is read.
        {2, 0, 1, false}, {0, 1, 5, true}, {0, 2, 1, true}, {3600, 1, 5, true}, {2, 4, 1, false},
    };
    for (unsigned row = 0; row < sizeof rows / sizeof *rows; row++)
        for (uint32_t shards = 1; shards <= 3; shards++) {
            open_timed(&scene, shards, rows[row].before * SECOND_NS, 10 * SECOND_NS);
            struct party *peers[PEERS];
            for (unsigned index = 0; index < PEERS; index++)
                party_ask(peers[index] = party_join(&scene), "hub/ping", 0, "%s", "");
            scene_pass(&scene, rows[row].silent * SECOND_NS);
            assert_int_equal(closed(peers, PEERS), 0);
            reload(&scene, rows[row].after * SECOND_NS, 10 * SECOND_NS);
            scene_pass(&scene, 2 * SECOND_NS - SECOND_NS / 2 * (rows[row].silent == 1));
            assert_int_equal(closed(peers, PEERS), rows[row].closes ? PEERS : 0);
            assert_int_equal(counted(&scene, COUNT_CLOSED_IDLE), closed(peers, PEERS));
            scene_close(&scene);
        }
}

// At 10 KB/s, whose window is made longer and shorter on the way.
static void a_frame_is_judged_by_the_time_that_holds_now(void **state) {
    (void)state;
    static struct scene scene;
    enum { STEP = 1000, BYTES = 100 * STEP };
    open_timed(&scene, 2, 0, 2 * SECOND_NS);
    struct party *good = party_join(&scene), *stalled = party_join(&scene), *block = party_join(&scene);
    good->rude = stalled->rude = block->rude = true;
    begin_frame(good, BYTES, 0);
    begin_frame(stalled, BYTES, 10);
    party_write(block, "Content-", 8);
    scene_settle(&scene);
    for (unsigned tenth = 0; tenth < BYTES / STEP; tenth++) {
        scene_pass(&scene, SECOND_NS / 10);
        go_on(good, STEP);
        if (tenth == 10)
            reload(&scene, 0, 60 * SECOND_NS);
        if (tenth == 80)
            reload(&scene, 0, 5 * SECOND_NS);
        assert_false(cable_hub_closed(good->cable));
        assert_int_equal(cable_at_end(stalled->cable), tenth >= 80);
        assert_int_equal(cable_at_end(block->cable), tenth >= 80);
    }
    assert_int_equal(counted(&scene, COUNT_CLOSED_SLOW_SENDER), 2);
    scene_close(&scene);
}

// A header block, and a line, of which more has come than may come now, in steps that leave its memory full or
// not.
static void what_is_over_the_limit_that_holds_now_is_refused(void **state) {
    (void)state;
    static struct scene scene;
    enum { NOW = 100, WAY = 2000 };
    static uint8_t filler[WAY];
    memset(filler, 'a', sizeof filler);
    for (unsigned step = 100; step <= WAY; step += 100) {
        open_timed(&scene, 1, 0, 10 * SECOND_NS);
        struct party *parties[] = {party_join(&scene), party_join_lines(&scene)};
        for (unsigned index = 0; index < 2; index++) {
            parties[index]->rude = true;
            party_write(parties[index], index ? "{\"a\":\"" : "X-A: a", 6);
        }
        for (unsigned sent = 0; sent < WAY; sent += step) {
            scene_settle(&scene);
            party_write(parties[0], filler, step);
            party_write(parties[1], filler, step);
        }
        scene_settle(&scene);
        file.limits.header_bytes_max = file.limits.frame_bytes_max = NOW;
        reload(&scene, 0, 10 * SECOND_NS);
        party_write(parties[0], filler, WAY);
        party_write(parties[1], filler, WAY);
        scene_settle(&scene);
        assert_true(cable_at_end(parties[0]->cable) && cable_at_end(parties[1]->cable));
        assert_int_equal(counted(&scene, COUNT_FRAMING_ERRORS), 2);
        scene_close(&scene);
    }
}

// A peer that reads what comes isn't idle, though it sends nothing. A peer that doesn't read is, also when it
// has half-closed; but not one that waits for an answer.
static void idle_is_who_neither_sends_nor_reads(void **state) {
    (void)state;
    static struct scene scene;
    enum { LARGE = 1000 * 1000 };
    for (uint32_t shards = 1; shards <= 3; shards++) {
        open_timed(&scene, shards, 2 * SECOND_NS, 10 * SECOND_NS);
        struct party *target = join_as(&scene, "target"), *subscriber = party_join(&scene);
        struct party *deaf = party_join(&scene), *shut = party_join(&scene), *patient = party_join(&scene);
        target->silent = true;
        party_ask(subscriber, "hub/subscribe", 0, "\"events\":[\"e\"]");
        party_ask(patient, "work", 0, "\"targetAgent\":\"target\"");
        deaf->deaf = shut->deaf = true;
        scene_settle(&scene);
        party_ask(deaf, "hub/ping", LARGE, "%s", "");
        party_ask(shut, "hub/ping", LARGE, "%s", "");
        cable_shut(shut->cable);
        cable_shut(patient->cable);
        scene_settle(&scene);
        for (unsigned half = 1; half < 20; half++) {
            scene_pass(&scene, SECOND_NS / 2);
            party_tell(target, "event", 10, "\"event\":\"e\"");
            scene_settle(&scene);
            // The kernel is asked four times in that time; the first answer says nothing.
            assert_int_equal(cable_hub_closed(deaf->cable), half >= 5);
            assert_int_equal(cable_hub_closed(shut->cable), half >= 5);
            assert_false(cable_hub_closed(patient->cable) || cable_hub_closed(subscriber->cable));
        }
        assert_int_equal(subscriber->heard, 19);
        assert_int_equal(counted(&scene, COUNT_CLOSED_IDLE), 2);
        party_leave(target);
        scene_settle(&scene);
        assert_int_equal(patient->errors, 1);
        scene_close(&scene);
    }
}

// A send lasts for much longer than the time, and the kernel tells of the send only when it is over. In the beginning
// the time is off, or long enough, or not; it changes while the send lasts.
static void who_reads_slowly_is_not_idle(void **state) {
    (void)state;
    static struct scene scene;
    enum { LARGE = 400 * 1000, PIECE = 4000, STEPS = 20 };
    static const unsigned before[] = {0, 2, 60};
    for (unsigned row = 0; row < 3; row++)
        for (uint32_t shards = 1; shards <= 3; shards++) {
            static uint8_t bytes[PIECE];
            struct world_options options;
            world_defaults(&options, 3, shards);
            options.faults.window_bytes = 16 * PIECE; // TCP shows a piece
            open_with(&scene, &options, before[row] * SECOND_NS, 10 * SECOND_NS);
            struct party *deaf = party_join(&scene), *slow = party_join(&scene);
            slow->deaf = deaf->deaf = true;
            party_ask(slow, "hub/ping", LARGE, "%s", "");
            party_ask(deaf, "hub/ping", LARGE, "%s", "");
            scene_settle(&scene);
            for (unsigned step = 1; step <= STEPS; step++) {
                scene_pass(&scene, SECOND_NS);
                cable_read(slow->cable, bytes, sizeof bytes);
                scene_settle(&scene);
                if (step == 1)
                    reload(&scene, 2 * SECOND_NS, 10 * SECOND_NS);
                assert_false(cable_hub_closed(slow->cable));
            }
            assert_true(cable_hub_closed(deaf->cable));
            assert_int_equal(counted(&scene, COUNT_CLOSED_IDLE), 1);
            scene_pass(&scene, 3 * SECOND_NS);
            assert_true(cable_hub_closed(slow->cable));
            while (cable_read(slow->cable, bytes, sizeof bytes)) {
            }
            scene_close(&scene);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_is_what_the_configuration_says_now),
        cmocka_unit_test(a_frame_is_judged_by_the_time_that_holds_now),
        cmocka_unit_test(what_is_over_the_limit_that_holds_now_is_refused),
        cmocka_unit_test(idle_is_who_neither_sends_nor_reads),
        cmocka_unit_test(who_reads_slowly_is_not_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
