// Cancels on the simulated kernel, told step by step: a target is told to cancel only what it has got.
#include "tests/sim/tell.h"

enum {
    QUEUE_BYTES = 60000,
    WINDOW_BYTES = 2000,
    NOTE_BYTES = 40000,
    REFUSED = 300,
    TOLD = 1500,
    HEARD_BYTES_MAX = 1 << 20
};

// An agent and a source, on a shard each if there are two.
static void open_small(struct world *world, uint32_t shards, struct cable *cables[2]) {
    struct world_options options;
    world_defaults(&options, 7, shards);
    options.limits.queue_bytes_max = QUEUE_BYTES;
    options.faults.window_bytes = WINDOW_BYTES;
    world_open(world, &options);
    cables[0] = join(world, "agent");
    cables[1] = join(world, NULL);
}

// More than the queue of the agent, which doesn't read, can take.
static void fill_queue(struct world *world, struct cable *cables[2]) {
    static char note[TEXT_BYTES_MAX], filler[NOTE_BYTES];
    memset(filler, 'x', sizeof filler);
    snprintf(
        note, sizeof note,
        "{\"jsonrpc\":\"2.0\",\"method\":\"note\",\"params\":{\"targetAgent\":\"agent\",\"x\":\"%.*s\"}}",
        (int)sizeof filler, filler);
    for (unsigned count = 0; count < 3; count++) { // one fills the window, the others wait
        say(cables[1], note);
        world_settle(world);
    }
}

static size_t put_ask(char *out, unsigned id) {
    char body[256];
    snprintf(body, sizeof body,
             "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"work\",\"params\":{\"targetAgent\":\"agent\"}}",
             id);
    return frame_of(out, "", body);
}

static size_t put_cancel(char *out, unsigned id) {
    char body[256];
    snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":%u}}",
             id);
    return frame_of(out, "", body);
}

// Reads all that comes for a peer, and takes the next frame of it.
struct hearing {
    uint8_t bytes[HEARD_BYTES_MAX];
    size_t count, at;
};

static void hear_all(struct hearing *hearing, struct world *world, struct cable *cable) {
    hearing->count = hearing->at = 0;
    world_settle(world);
    for (size_t more;
         (more = cable_read(cable, hearing->bytes + hearing->count, sizeof hearing->bytes - hearing->count));
         hearing->count += more)
        world_settle(world);
}

static bool next_body(struct hearing *hearing, struct bit *body) {
    struct naive_frame frame;
    if (hearing->at == hearing->count)
        return false;
    enum naive_result result =
        naive_frame(&frame, hearing->bytes + hearing->at, hearing->count - hearing->at);
    assert_int_equal(result, NAIVE_WHOLE);
    hearing->at += frame.bytes;
    *body = frame.body;
    return true;
}

// The agent reads on, and hears nothing but the notes.
static void hears_notes_alone(struct world *world, struct cable *agent) {
    static struct hearing hearing;
    struct bit body;
    hear_all(&hearing, world, agent);
    assert_true(hearing.count > 0);
    while (next_body(&hearing, &body))
        assert_true(bit_is(naive_find(body, "method"), "\"note\""));
}

// The source hears that each of its requests ended so, and nothing else.
static void hears_errors(struct world *world, struct cable *source, unsigned count, int64_t code) {
    static struct hearing hearing;
    struct bit body;
    hear_all(&hearing, world, source);
    for (; count > 0; count--) {
        assert_true(next_body(&hearing, &body));
        assert_int_equal(bit_integer(naive_find(body, "error.code")), code);
    }
    assert_false(next_body(&hearing, &body));
}

// Request and cancel come in one read: the cancel is on its way before the refusal can be.
static void what_a_full_queue_did_not_take_is_not_cancelled(void **state) {
    (void)state;
    static char text[2 * REFUSED * 256];
    struct world world;
    struct cable *cables[2];
    open_small(&world, 2, cables);
    fill_queue(&world, cables);
    for (unsigned round = 0; round < 3; round++) {
        size_t bytes = 0;
        for (unsigned id = 0; id < REFUSED; id++) {
            bytes += put_ask(text + bytes, id);
            if (id % 3 != round)
                bytes += put_cancel(text + bytes, id);
        }
        assert_true(cable_write(cables[1], text, bytes));
        world_settle(&world);
        hears_errors(&world, cables[1], REFUSED, -32052);
    }
    assert_int_equal(world.shards[0]->rejects.count, 0);
    hears_notes_alone(&world, cables[0]);
    finish(&world, cables, 2);
}

// The same, where the hub cancels for a source that left.
static void what_a_leaver_asked_of_a_full_queue_is_not_cancelled(void **state) {
    (void)state;
    struct world world;
    struct cable *cables[2];
    char text[1024];
    open_small(&world, 2, cables);
    fill_queue(&world, cables);
    size_t bytes = put_ask(text, 1);
    bytes += frame_of(text + bytes, "", "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}");
    assert_true(cable_write(cables[1], text, bytes));
    world_settle(&world);
    assert_true(cable_at_end(cables[1]));
    cable_close(cables[1]);
    hears_notes_alone(&world, cables[0]);
    finish(&world, cables, 1);
}

// The agent owes much, reads nothing, and all of it is cancelled, for one that asked and one that leaves.
static void play_many_cancels(uint32_t shards, bool leaves) {
    static char text[TOLD * 256];
    static struct hearing hearing;
    struct world world;
    struct cable *cables[2];
    open_small(&world, shards, cables);
    for (unsigned id = 0; id < TOLD; id++) {
        assert_true(cable_write(cables[1], text, put_ask(text, id)));
        hear_all(&hearing, &world, cables[0]);
    }
    fill_queue(&world, cables);
    size_t bytes = leaves ? frame_of(text, "", "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}") : 0;
    for (unsigned id = 0; id < TOLD && !leaves; id++)
        bytes += put_cancel(text + bytes, id);
    assert_true(cable_write(cables[1], text, bytes));
    world_settle(&world);
    const struct stats *stats = &world.shards[0]->stats;
    uint64_t forwarded = stats_read(stats, COUNT_CANCELS_FORWARDED), told = 0;
    assert_in_range(forwarded, 50, TOLD / 2);
    assert_true(stats_read(stats, COUNT_DROP_OVERLOADED) >= TOLD - forwarded);
    hear_all(&hearing, &world, cables[0]);
    for (struct bit body; next_body(&hearing, &body);)
        told += bit_is(naive_find(body, "method"), "\"$/cancelRequest\"");
    assert_int_equal(told, forwarded);
    cable_close(cables[1]);
    cable_close(cables[0]);
    finish(&world, NULL, 0);
}

static void cancels_do_not_fill_a_queue_without_bound(void **state) {
    (void)state;
    for (uint32_t shards = 1; shards <= 2; shards++) {
        play_many_cancels(shards, false);
        play_many_cancels(shards, true);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_full_queue_did_not_take_is_not_cancelled),
        cmocka_unit_test(what_a_leaver_asked_of_a_full_queue_is_not_cancelled),
        cmocka_unit_test(cancels_do_not_fill_a_queue_without_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
