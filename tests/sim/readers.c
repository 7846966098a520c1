// Peers that read slowly get all that is due to them, as long as they go on; those that take nothing don't.
#include "router/engine/shard/peer.h"
#include "tests/sim/tell.h"

enum { MS = 1000000, QUEUE_BYTES = 1000, PADDING = 3000 };

static void open_narrow(struct world *world, uint32_t shards) {
    struct world_options options;
    world_defaults(&options, 7, shards);
    options.limits.queue_bytes_max = QUEUE_BYTES;
    options.faults.window_bytes = 1000;
    world_open(world, &options);
}

// Asks for an answer of a little more than PADDING bytes.
static void ask_back(struct cable *cable, unsigned id) {
    char body[PADDING + 200], filler[PADDING];
    memset(filler, 'x', sizeof filler);
    snprintf(body, sizeof body, "{\"id\":%u,\"method\":\"hub/ping\",\"params\":{\"x\":\"%.*s\"}}", id,
             PADDING, filler);
    say(cable, body);
}

static void ask_much(struct world *world, struct cable *cable, unsigned count) {
    for (unsigned id = 1; id <= count; id++)
        ask_back(cable, id);
    world_settle(world);
}

static uint64_t slow_readers(const struct world *world) {
    uint64_t sum = 0;
    for (uint32_t shard = 0; shard < world->shard_count; shard++)
        sum += stats_read(&world->shards[shard]->stats, COUNT_CLOSED_SLOW_READER);
    return sum;
}

// A hub, a peer that reads or doesn't, and another peer, which is there to the end.
struct setting {
    struct world world;
    struct cable *cable, *other;
};

static void open_stage(struct setting *stage, uint32_t shards, unsigned asked) {
    open_narrow(&stage->world, shards);
    stage->cable = join(&stage->world, NULL);
    stage->other = join(&stage->world, NULL);
    ask_much(&stage->world, stage->cable, asked);
}

static void close_stage(struct setting *stage) {
    cable_close(stage->cable);
    finish(&stage->world, &stage->other, 1);
}

// The reader is closed within `more_ms` from `ms` on, and not before.
static void want_closed(struct setting *stage, uint64_t ms, uint64_t more_ms) {
    world_pass(&stage->world, ms * MS);
    assert_false(cable_hub_closed(stage->cable));
    world_pass(&stage->world, more_ms * MS);
    assert_true(cable_hub_closed(stage->cable));
    assert_int_equal(slow_readers(&stage->world), 1);
}

// Reads so many bytes each `pause_ms` until nothing comes any more; how many came, of whole frames alone.
static unsigned read_steadily(struct world *world, struct cable *cable, size_t piece, uint64_t pause_ms) {
    static uint8_t bytes[1024 * 1024];
    size_t count = 0, got;
    for (; (got = cable_read(cable, bytes + count, piece)); world_pass(world, pause_ms * MS)) {
        count += got;
        assert_true(count + piece <= sizeof bytes);
    }
    unsigned frames = 0;
    struct naive_frame frame;
    for (size_t at = 0; at < count; at += frame.bytes, frames++)
        assert_int_equal(naive_frame(&frame, bytes + at, count - at), NAIVE_WHOLE);
    return frames;
}

static void who_goes_on_reading_is_waited_for(void **state) {
    (void)state;
    for (uint32_t shards = 1; shards <= 2; shards++) {
        struct world world;
        open_narrow(&world, shards);
        struct cable *cable = join(&world, NULL);
        ask_much(&world, cable, 20);
        assert_int_equal(read_steadily(&world, cable, 200, 100), 20);
        assert_int_equal(slow_readers(&world), 0);
        finish(&world, &cable, 1);
    }
}

static void open_wide(struct world *world, uint32_t window_bytes) {
    struct world_options options;
    world_defaults(&options, 7, 1);
    options.limits.queue_bytes_max = QUEUE_BYTES;
    options.faults.window_bytes = window_bytes;
    world_open(world, &options);
}

// Two peers read so often, so much each time.
static void read_both(struct world *world, struct cable *cables[2], size_t piece, uint64_t pause_ms,
                      unsigned times) {
    char bytes[1000];
    assert_true(piece <= sizeof bytes);
    for (unsigned turn = 0; turn < times; turn++) {
        world_pass(world, pause_ms * MS);
        for (unsigned index = 0; index < 2; index++)
            assert_int_equal(cable_read(cables[index], bytes, piece), piece);
    }
}

// The kernel shows a reader in steps: of half a window from a Unix socket, of a sixteenth from TCP.
static void steps_are_waited_for(void **state) {
    (void)state;
    enum { WINDOW = 16000, STEP = WINDOW / 2 };
    struct world world;
    open_wide(&world, WINDOW);
    struct cable *cables[2] = {join(&world, NULL), join(&world, NULL)}, *other = join(&world, NULL);
    for (unsigned index = 0; index < 2; index++)
        ask_much(&world, cables[index], 20);
    read_both(&world, cables, STEP / 8, 100, 16);
    read_both(&world, cables, STEP / 8, 500, 16);
    assert_int_equal(slow_readers(&world), 0);
    for (unsigned index = 0; index < 2; index++) {
        assert_false(cable_hub_closed(cables[index]));
        cable_close(cables[index]);
    }
    finish(&world, &other, 1);
}

// Near the bound of memory, too. One send lasts all the time, so the kernel alone can tell that the peer reads.
static void who_reads_near_the_bound_is_waited_for(void **state) {
    (void)state;
    enum { WINDOW = 16000, PIECE = 1000, ANSWERS = 40 };
    struct world world;
    struct world_options options;
    char bytes[PIECE];
    world_defaults(&options, 7, 1);
    options.faults.window_bytes = WINDOW;
    world_open(&world, &options);
    struct cable *cable = join(&world, NULL), *other = join(&world, NULL);
    ask_much(&world, cable, ANSWERS);
    struct buffer_budget *budget = &world.hub->budget;
    uint64_t more = atomic_load(&budget->bytes_max) / 16 * 15 - atomic_load(&budget->bytes);
    atomic_fetch_add(&budget->bytes, more);
    say(other, "{\"id\":1,\"method\":\"hub/ping\"}"); // waits for a buffer, so that the hub looks for memory
    for (unsigned piece = 0; piece < ANSWERS * PADDING / PIECE / 2; piece++) {
        assert_int_equal(cable_read(cable, bytes, PIECE), PIECE);
        world_pass(&world, 20 * MS);
        assert_false(cable_hub_closed(cable));
    }
    atomic_fetch_sub(&budget->bytes, more);
    assert_int_equal(slow_readers(&world), 0);
    world_pass(&world, 20 * MS);
    assert_true(bit_is(of(hear(other), "id"), "1"));
    cable_close(cable);
    finish(&world, &other, 1);
}

// Nothing comes for it meanwhile that could make the hub look.
static void who_never_reads_is_closed(void **state) {
    (void)state;
    struct setting stage;
    open_stage(&stage, 1, 20);
    want_closed(&stage, 900, 200);
    close_stage(&stage);
}

// A reader that was seen to read after a pause has more time, and no more than that.
static void who_stops_reading_is_closed(void **state) {
    (void)state;
    struct setting stage;
    char bytes[600];
    open_stage(&stage, 1, 20);
    for (unsigned turn = 0; turn < 4; turn++) {
        world_pass(&stage.world, 700 * MS);
        assert_int_equal(cable_read(stage.cable, bytes, sizeof bytes), sizeof bytes);
    }
    want_closed(&stage, 4800, 400);
    close_stage(&stage);
}

// Under twice the bound nobody is in a hurry.
static void who_has_little_waiting_may_rest(void **state) {
    (void)state;
    struct world world;
    open_narrow(&world, 1);
    struct cable *cable = join(&world, NULL);
    ask_much(&world, cable, 1);
    world_pass(&world, 5 * (uint64_t)SECOND);
    assert_int_equal(read_steadily(&world, cable, 200, 100), 1);
    finish(&world, &cable, 1);
}

// With the queue's own bound, of which four times are PEER_BYTES_LEAST.
static void open_deep(struct world *world, uint32_t window_bytes) {
    struct world_options options;
    world_defaults(&options, 7, 1);
    options.faults.window_bytes = window_bytes;
    world_open(world, &options);
}

// How much waits for the peer for which most does.
static size_t most_waiting(const struct world *world) {
    const struct peer_slots *peers = &world->shards[0]->peers;
    size_t most = 0;
    for (uint32_t slot = 0; slot < peers->capacity; slot++)
        if (peers->slots[slot] && connection_waiting(&peers->slots[slot]->connection) > most)
            most = connection_waiting(&peers->slots[slot]->connection);
    return most;
}

// Asks an agent, which answers each request with a little more than PADDING bytes.
static void ask_agent(struct world *world, struct cable *cable, struct cable *agent, unsigned count) {
    static char filler[PADDING];
    char body[PADDING + 200];
    memset(filler, 'x', sizeof filler);
    for (unsigned id = 0; id < count; id++)
        say(cable, "{\"id\":1,\"method\":\"m\",\"params\":{\"targetAgent\":\"agent\"}}");
    world_settle(world);
    for (unsigned index = 0; index < count; index++) {
        struct bit id = of(hear(agent), "id");
        snprintf(body, sizeof body, "{\"id\":%.*s,\"result\":\"%.*s\"}", (int)id.count,
                 (const char *)id.bytes, PADDING, filler);
        say(agent, body);
    }
    world_settle(world);
}

// The hub owes the peer more than the peer reads. Yet the peer reads within milliseconds all that the kernel is handed
// at a time.
static void who_trickles_for_ever_is_closed_at_the_bound(void **state) {
    (void)state;
    enum {
        WINDOW = 64 * 1024,
        STEP_MS = 5,
        ANSWERS = 8,
        PIECE = 6000,
        STEPS = 2000,
        SLACK_BYTES = 64 * 1024
    };
    static char bytes[PIECE];
    struct world world;
    size_t most = 0;
    open_deep(&world, WINDOW);
    struct cable *cable = join(&world, NULL), *agent = join(&world, "agent");
    for (unsigned step = 0; step < STEPS && !cable_hub_closed(cable); step++) {
        ask_agent(&world, cable, agent, ANSWERS);
        most = most_waiting(&world) > most ? most_waiting(&world) : most;
        cable_read(cable, bytes, sizeof bytes);
        world_pass(&world, STEP_MS * MS);
    }
    assert_true(cable_hub_closed(cable));
    assert_int_equal(slow_readers(&world), 1);
    assert_true(most >= PEER_BYTES_LEAST - SLACK_BYTES);
    assert_true(most < PEER_BYTES_LEAST + SLACK_BYTES);
    cable_close(cable);
    world_settle(&world);
    while (cable_read(agent, bytes, sizeof bytes)) // what the one that has gone asked last
        ;
    finish(&world, &agent, 1);
}

// Many answers that become ready at once may pass the bound, for a moment, if their reader takes them.
static void a_burst_may_pass_the_bound(void **state) {
    (void)state;
    enum { WINDOW = 4 << 20, ANSWERS = 6000 };
    struct world world;
    open_deep(&world, WINDOW);
    struct cable *cable = join(&world, NULL), *agent = join(&world, "agent");
    ask_agent(&world, cable, agent, ANSWERS);
    assert_true(most_waiting(&world) > PEER_BYTES_LEAST - WINDOW);
    for (unsigned answer = 0; answer < ANSWERS; answer++) {
        assert_true(bit_is(of(hear(cable), "id"), "1"));
        if (answer % 100 == 0)
            world_pass(&world, MS);
    }
    assert_int_equal(slow_readers(&world), 0);
    struct cable *cables[] = {cable, agent};
    finish(&world, cables, 2);
}

// A burst that nobody reads is over at twice the bound, at once, however fast the burst comes.
static void a_burst_that_nobody_reads_is_over_at_twice_the_bound(void **state) {
    (void)state;
    enum { WINDOW = 64 * 1024, ANSWERS = 250, TIMES = 60, SLACK_BYTES = 5 * WINDOW };
    struct world world;
    char bytes[1000];
    size_t most = 0;
    open_deep(&world, WINDOW);
    struct cable *cable = join(&world, NULL), *agent = join(&world, "agent");
    for (unsigned times = 0; times < TIMES && !cable_hub_closed(cable); times++) {
        ask_agent(&world, cable, agent, ANSWERS);
        most = most_waiting(&world) > most ? most_waiting(&world) : most;
    }
    assert_true(cable_hub_closed(cable));
    assert_int_equal(slow_readers(&world), 1);
    assert_true(most >= 2 * PEER_BYTES_LEAST - ANSWERS * (PADDING + 500));
    assert_true(most < 2 * PEER_BYTES_LEAST + SLACK_BYTES);
    cable_close(cable);
    world_settle(&world);
    while (cable_read(agent, bytes, sizeof bytes)) // cancels of what the one that has gone asked last
        ;
    finish(&world, &agent, 1);
}

static const char leave[] = "{\"method\":\"exit\"}";

static void want_all(struct setting *stage, unsigned answers) {
    assert_int_equal(read_steadily(&stage->world, stage->cable, 200, 100), answers);
    assert_true(cable_at_end(stage->cable) && !cable_was_reset(stage->cable));
    assert_int_equal(slow_readers(&stage->world), 0);
}

static void exit_sends_all_to_who_reads(void **state) {
    (void)state;
    for (uint32_t shards = 1; shards <= 2; shards++) {
        struct setting stage;
        open_stage(&stage, shards, 5);
        say(stage.cable, leave);
        world_settle(&stage.world);
        want_all(&stage, 5);
        close_stage(&stage);
    }
}

static void exit_does_not_wait_for_who_takes_nothing(void **state) {
    (void)state;
    struct setting stage;
    open_stage(&stage, 1, 1);
    world_pass(&stage.world, SECOND);
    say(stage.cable, leave);
    want_closed(&stage, 900, 200);
    close_stage(&stage);
}

// When the hub ends, one who has said exit before gets no more time than others.
static void the_end_of_the_hub_waits_for_nobody(void **state) {
    (void)state;
    struct world world;
    char bytes[10];
    open_narrow(&world, 1);
    struct cable *cable = join(&world, NULL);
    ask_much(&world, cable, 5);
    say(cable, leave);
    world_settle(&world);
    kernel_signal(world.kernel, 15);
    for (unsigned tenth = 0; tenth < 70; tenth++) {
        cable_read(cable, bytes, sizeof bytes);
        world_pass(&world, 100 * MS);
    }
    assert_true(world_stopped(&world));
    cable_close(cable);
    world_close(&world);
}

static void half_closed_readers_get_all(void **state) {
    (void)state;
    struct setting stage;
    open_stage(&stage, 2, 20);
    cable_shut(stage.cable);
    world_settle(&stage.world);
    want_all(&stage, 20);
    close_stage(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_goes_on_reading_is_waited_for),
        cmocka_unit_test(steps_are_waited_for),
        cmocka_unit_test(who_reads_near_the_bound_is_waited_for),
        cmocka_unit_test(who_never_reads_is_closed),
        cmocka_unit_test(who_stops_reading_is_closed),
        cmocka_unit_test(who_has_little_waiting_may_rest),
        cmocka_unit_test(who_trickles_for_ever_is_closed_at_the_bound),
        cmocka_unit_test(a_burst_may_pass_the_bound),
        cmocka_unit_test(a_burst_that_nobody_reads_is_over_at_twice_the_bound),
        cmocka_unit_test(exit_sends_all_to_who_reads),
        cmocka_unit_test(exit_does_not_wait_for_who_takes_nothing),
        cmocka_unit_test(the_end_of_the_hub_waits_for_nobody),
        cmocka_unit_test(half_closed_readers_get_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
