// Near the bound of memory: slow readers go first, then large frames wait; who reads and says little is
// served all along.
#include "tests/sim/memory.h"
#include "tests/sim/scarce.h"

// An agent that reads nothing is sent megabytes. Another agent, which reads, isn't touched.
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
            assert_true(cable_hub_closed(worse->cable) || !cable_hub_closed(deaf->cable));
        }
        assert_true(cable_hub_closed(worse->cable));
        assert_false(cable_hub_closed(good->cable));
        assert_true(counted(&scene, COUNT_CLOSED_SLOW_READER) <= 2);
        assert_int_equal(counted(&scene, COUNT_CLOSED_NO_MEMORY), 0);
        party_leave(deaf);
        party_leave(worse);
        scene_pass(&scene, 100 * (uint64_t)MILLISECOND);
        scene_check(&scene);
        scene_close(&scene);
    }
}

// Subscribers that read nothing take all the memory; who publishes, and reads, goes on.
static void a_publisher_outlasts_readers_that_take_nothing(void **state) {
    (void)state;
    static struct scene scene;
    enum { READERS = 24, ROUNDS = 60, EVENTS = 60 };
    for (uint32_t shards = 1; shards <= 3; shards++) {
        struct party *readers[READERS];
        open_small(&scene, shards);
        struct party *publisher = party_join(&scene);
        for (unsigned index = 0; index < READERS; index++) {
            readers[index] = party_join(&scene);
            party_ask(readers[index], "hub/subscribe", 0, "\"events\":[\"*\"]");
            scene_settle(&scene);
            readers[index]->deaf = true;
        }
        for (unsigned round = 0; round < ROUNDS; round++) {
            for (unsigned event = 0; event < EVENTS; event++)
                party_tell(publisher, "event", 1000, "\"event\":\"e%u\"", event % 7);
            scene_pass(&scene, 20 * (uint64_t)MILLISECOND);
        }
        assert_false(cable_hub_closed(publisher->cable));
        assert_int_equal(counted(&scene, COUNT_EVENTS_RECEIVED), ROUNDS * EVENTS);
        assert_true(counted(&scene, COUNT_CLOSED_SLOW_READER) > 0);
        assert_int_equal(counted(&scene, COUNT_CLOSED_NO_MEMORY), 0);
        for (unsigned index = 0; index < READERS; index++)
            party_leave(readers[index]);
        scene_check(&scene);
        scene_close(&scene);
    }
}

// Bytes of an unread queue are counted to the last one, be they small frames that were copied or the hub's
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

// Frames that come one at a time lie in a receive buffer each. An agent that reads nothing keeps the frames, and not
// their buffers.
static void frames_that_wait_leave_their_buffers(void **state) {
    (void)state;
    static struct scene scene;
    enum { QUEUE_BYTES = MEBIBYTE, FRAME_BYTES = 3000, FRAMES = 2 * QUEUE_BYTES / FRAME_BYTES };
    for (uint32_t shards = 1; shards <= 2; shards++) {
        struct world_options options;
        world_defaults(&options, 3, shards);
        options.limits.queue_bytes_max = QUEUE_BYTES;
        scene_open(&scene, &options);
        struct party *deaf = join_as(&scene, "deaf"), *source = party_join(&scene);
        scene_settle(&scene);
        uint64_t before = held(&scene);
        deaf->deaf = true;
        for (unsigned frame = 0; frame < FRAMES; frame++) {
            party_tell(source, "work", FRAME_BYTES, "\"targetAgent\":\"deaf\"");
            scene_pass(&scene, MILLISECOND);
        }
        assert_in_range(held(&scene) - before, QUEUE_BYTES, 4 * QUEUE_BYTES);
        party_leave(deaf);
        scene_pass(&scene, 100 * (uint64_t)MILLISECOND);
        scene_check(&scene);
        scene_close(&scene);
    }
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
        assert_false(cable_hub_closed(source->cable));
        assert_true(cable_unread(source->cable) > 2 * MEBIBYTE);
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

// Requests that time out together end in several turns, so that others have theirs between.
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

// Texts that a source puts into its cancels don't wait beside a queue that is full, and cost the target
// nothing; each cancel comes.
static void cancels_are_short_where_the_queue_is_full(void **state) {
    (void)state;
    static struct scene scene;
    enum { ASKED = 50, QUEUE_BYTES = 1024 * 1024, FILL_BYTES = 1500 * 1000 };
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
            party_tell(source, "work", FILL_BYTES, "\"targetAgent\":\"good\"");
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

// --- Results that are much larger than what asks for them

enum { LISTED_BYTES = 60 * 1000 };

// By notifications: they say no more than that.
static void register_much(struct scene *scene, unsigned agents) {
    static char frame[LISTED_BYTES + 200], body[LISTED_BYTES + 150], filler[LISTED_BYTES];
    memset(filler, 'x', sizeof filler);
    struct party *holder = party_join(scene);
    for (unsigned number = 0; number < agents; number++) {
        int bytes = snprintf(body, sizeof body,
                             "{\"method\":\"agent/register\",\"params\":{\"agentId\":\"large-%u\","
                             "\"capabilities\":{\"x\":\"%.*s\"}}}",
                             number, LISTED_BYTES, filler);
        int count = snprintf(frame, sizeof frame, "Content-Length: %d\r\n\r\n%s", bytes, body);
        party_write(holder, frame, (size_t)count);
    }
    scene_settle(scene);
    assert_int_equal(scene->world.shards[0]->agents.count, agents);
}

// For a peer that doesn't read the hub makes as many lists as that peer's queue may hold, and no more. Asking costs the
// peer nothing, and others would wait. Alone or in batches that wait for their last answer, it is the same.
static void lists_that_nobody_reads_are_few(void **state) {
    (void)state;
    static struct scene scene;
    enum {
        ASKED = 400,
        AGENTS = 10,
        QUEUE_BYTES = 1024 * 1024,
        MOST = 2 * QUEUE_BYTES / (AGENTS * LISTED_BYTES)
    };
    for (uint32_t shards = 1; shards <= 2; shards++) {
        struct world_options options;
        world_defaults(&options, 3, shards);
        options.limits.queue_bytes_max = QUEUE_BYTES;
        scene_open(&scene, &options);
        register_much(&scene, AGENTS);
        struct party *silent = join_as(&scene, "silent"), *source = party_join(&scene);
        silent->silent = true;
        source->deaf = true;
        uint64_t before = held(&scene), made = counted(&scene, COUNT_ANSWERED_BY_HUB);
        for (unsigned number = 0; number < ASKED; number++)
            party_ask(source, "hub/agents", 0, "\"x\":1");
        scene_settle(&scene);
        assert_in_range(counted(&scene, COUNT_ANSWERED_BY_HUB) - made, MOST, MOST + 2);
        assert_true(held(&scene) - before < 2 * QUEUE_BYTES + 2 * (AGENTS + 1) * LISTED_BYTES + ASKED * 1024);
        source->deaf = false;
        scene_settle(&scene);
        assert_int_equal(source->results + source->errors, ASKED);
        party_ask(source, "hub/agents", 0, "\"x\":1");
        scene_settle(&scene);
        assert_int_equal(source->results + source->errors, ASKED + 1);
        assert_int_equal(source->results, counted(&scene, COUNT_ANSWERED_BY_HUB) - made);
        scene_check(&scene);
        scene_close(&scene);
    }
}

// A list for which there is no memory isn't made to find that out.
static void a_list_without_memory_is_not_made(void **state) {
    (void)state;
    static struct scene scene;
    enum { AGENTS = 32, MORE = MEMORY_BYTES / 64 * 45 };
    open_small(&scene, 1);
    register_much(&scene, AGENTS);
    struct party *source = party_join(&scene);
    scene_settle(&scene);
    _Atomic uint64_t *budget = &scene.world.hub->budget.bytes;
    atomic_fetch_add(budget, MORE);
    size_t before = sim_memory_taken();
    party_ask(source, "hub/agents", 0, "\"x\":1");
    scene_settle(&scene);
    assert_int_equal(source->errors, 1);
    assert_true(sim_memory_taken() - before < AGENTS * LISTED_BYTES / 2);
    atomic_fetch_sub(budget, MORE);
    party_ask(source, "hub/agents", 0, "\"x\":1");
    scene_settle(&scene);
    assert_int_equal(source->results, 1);
    assert_true(sim_memory_taken() - before >= AGENTS * LISTED_BYTES);
    scene_check(&scene);
    scene_close(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_times_out_together_is_not_ended_at_once),
        cmocka_unit_test(cancels_are_short_where_the_queue_is_full),
        cmocka_unit_test(lists_that_nobody_reads_are_few),
        cmocka_unit_test(a_list_without_memory_is_not_made),
        cmocka_unit_test(the_slowest_reader_goes_first),
        cmocka_unit_test(a_publisher_outlasts_readers_that_take_nothing),
        cmocka_unit_test(answers_that_nobody_reads_count),
        cmocka_unit_test(frames_that_wait_leave_their_buffers),
        cmocka_unit_test(a_large_frame_waits_for_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
