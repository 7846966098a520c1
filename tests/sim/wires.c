// Messages between peers that speak frames and peers that speak lines. Also a transport that hands its peer on, and
// lines that come in parts near the bound of memory.
#include "router/engine/receive/receive.h"
#include "router/engine/shard/peer.h"
#include "tests/sim/tell.h"

enum { MEBIBYTE = 1 << 20, MILLISECOND = 1000000 };

// --- Lines

static void write_text(struct cable *cable, const char *text) {
    assert_true(cable_write(cable, text, strlen(text)));
}

static struct cable *join_lines(struct world *world) {
    struct cable *cable = world_dial_lines(world);
    assert_non_null(cable);
    world_settle(world);
    return cable;
}

// Takes exactly one line off the cable; without its line feed it stays until the next call.
static const char *hear_line(struct cable *cable) {
    static char line[TEXT_BYTES_MAX];
    size_t count = 0;
    struct naive_frame frame;
    enum naive_result result = NAIVE_PARTIAL;
    while (result == NAIVE_PARTIAL && cable_read(cable, line + count, 1))
        result = naive_line(&frame, (const uint8_t *)line, ++count);
    assert_int_equal(result, NAIVE_WHOLE);
    line[frame.body.count] = '\0';
    return line;
}

static void hear_error(const char *body, int64_t code, const char *fault) {
    assert_int_equal(bit_integer(of(body, "error.code")), code);
    assert_true(bit_is(of(body, "id"), "null"));
    if (fault)
        assert_true(bit_is(of(body, "error.data.fault"), fault));
}

static void one_body_goes_over_both(void **state) {
    (void)state;
    static const char note[] =
        "{\"method\":\"note\",\r\n\"params\":{\"targetAgent\":\"a\",\"x\":\"1\n2\"}}\r\n",
                      flat[] = "{\"method\":\"note\",  \"params\":{\"targetAgent\":\"a\",\"x\":\"1 2\"}}  ",
                      back[] = "{\"method\":\"note\",\r\"params\":{\"targetAgent\":\"b\"}}\r";
    for (uint32_t shards = 1; shards <= 2; shards++) {
        struct world world;
        char text[512];
        open_world(&world, shards);
        struct cable *cables[] = {join_lines(&world), join(&world, "b")};
        write_text(cables[0],
                   "\n \r\n{\"id\":0,\"method\":\"agent/register\",\"params\":{\"agentId\":\"a\"}}\r\n");
        world_settle(&world);
        assert_true(bit_is(of(hear_line(cables[0]), "result.registered"), "true"));
        cable_write(cables[1], text, frame_of(text, "Request-Id: 7\r\n", note));
        world_settle(&world);
        assert_string_equal(hear_line(cables[0]), flat);
        write_text(cables[0], back);
        write_text(cables[0], "\r\n"); // of two CRs the first one is the body's
        world_settle(&world);
        assert_string_equal(hear(cables[1]), back);
        finish(&world, cables, 2);
    }
}

// A line that is no JSON is answered, and the next line is read. So is a last line without a line feed.
static void what_is_no_json_ends_no_connection_of_lines(void **state) {
    (void)state;
    struct world world;
    open_world(&world, 1);
    struct cable *cable = join_lines(&world);
    write_text(cable, "Content-Length: 2\r\n\r\n{\"id\":1,\"method\":\"hub/ping\"}\n{\"id\":");
    cable_shut(cable);
    world_settle(&world);
    hear_error(hear_line(cable), -32700, NULL);
    assert_true(bit_is(of(hear_line(cable), "id"), "1"));
    hear_error(hear_line(cable), -32700, NULL);
    finish(&world, &cable, 1);
}

static void a_line_over_the_limit_ends_the_connection(void **state) {
    (void)state;
    enum { LIMIT = 5000 };
    struct world world;
    struct world_options options;
    char text[LIMIT + 100];
    world_defaults(&options, 7, 1);
    options.limits.frame_bytes_max = LIMIT;
    world_open(&world, &options);
    for (unsigned over = 0; over < 2; over++) {
        struct cable *cable = join_lines(&world);
        int count =
            snprintf(text, sizeof text, "{\"id\":1,\"method\":\"hub/ping\",\"params\":{\"x\":\"%0*d\"}}",
                     LIMIT - 100, 0);
        for (; count < LIMIT + (int)over; count++)
            memcpy(text + count, " ", 1);
        memcpy(text + count, "\r\n", 3);
        write_text(cable, text);
        world_settle(&world);
        if (over)
            hear_error(hear_line(cable), -32055, "\"the body is over the limit\"");
        else
            assert_true(bit_is(of(hear_line(cable), "id"), "1"));
        assert_int_equal(cable_at_end(cable), over);
        cable_close(cable);
    }
    world_stop(&world);
    world_close(&world);
}

// --- A transport that hands its peer on

static void choose(struct shard *shard, struct peer *peer, struct frame *frame) {
    struct bit body = {frame_body(frame), frame->body.bytes};
    if (bit_is(body, "framed"))
        receive_switch(shard, peer, &transport_framed);
    else if (bit_is(body, "lines"))
        receive_switch(shard, peer, &transport_lines);
    else
        peer_close(shard, peer, COUNTER_NONE);
}

static const struct transport choosing[] = {
    {.name = "line first", .codec.wire = &wire_lines, .codec.take = choose},
    {.name = "frame first", .codec.wire = &wire_framed, .codec.take = choose}};

#define PING(id) "{\"id\":" #id ",\"method\":\"hub/ping\"}"

// First units, the transport that each chooses, and the bytes that follow the unit at once.
static const struct choice {
    const struct transport *first;
    const char *bytes;
    bool lines;
} choices[] = {
    {&choosing[0], "\nframed\nContent-Length: 28\r\n\r\n" PING(1) "Content-Length: 28\r\n\r\n" PING(2),
     false},
    {&choosing[0], "lines\r\n" PING(1) "\n\r\n" PING(2) "\n", true},
    {&choosing[1],
     "Content-Length: 6\r\n\r\nframedContent-Length: 28\r\n\r\n" PING(1) "Content-Length: 28\r\n\r\n" PING(2),
     false},
    {&choosing[1], "Content-Length: 5\r\n\r\nlines" PING(1) "\n" PING(2) "\n", true},
};

static void open_choosing(struct world *world, const struct choice *choice) {
    open_world(world, 1);
    assert_ptr_equal(world->shards[0]->transports[1], &transport_lines);
    world->shards[0]->transports[1] = choice->first;
}

// In pieces that end at these places.
static void choose_in_pieces(struct world *world, const struct choice *choice, const size_t *ends,
                             unsigned count) {
    struct cable *cable = join_lines(world);
    size_t at = 0, bytes = strlen(choice->bytes);
    for (unsigned piece = 0; piece <= count; piece++) {
        size_t end = piece < count ? ends[piece] : bytes;
        assert_true(end == at || cable_write(cable, choice->bytes + at, end - at));
        world_settle(world);
        at = end;
    }
    for (unsigned id = 1; id <= 2; id++)
        assert_int_equal(bit_integer(of(choice->lines ? hear_line(cable) : hear(cable), "id")), id);
    assert_int_equal(cable_readable(cable), 0);
    assert_false(cable_at_end(cable));
    cable_close(cable);
    world_settle(world);
}

static void a_transport_hands_its_peer_on(void **state) {
    (void)state;
    for (unsigned index = 0; index < sizeof choices / sizeof *choices; index++) {
        struct world world;
        size_t bytes = strlen(choices[index].bytes), all[256];
        open_choosing(&world, &choices[index]);
        for (size_t first = 0; first < bytes; first++)
            for (size_t second = first; second < bytes; second++)
                choose_in_pieces(&world, &choices[index], (size_t[]){first, second}, 2);
        for (size_t at = 0; at < bytes; at++)
            all[at] = at + 1;
        choose_in_pieces(&world, &choices[index], all, (unsigned)bytes - 1);
        world_stop(&world);
        world_close(&world);
    }
}

// The first unit is the only one, and has no line feed.
static void a_transport_hands_its_peer_on_at_the_end(void **state) {
    (void)state;
    struct world world;
    open_choosing(&world, &choices[1]);
    struct cable *cable = join_lines(&world);
    write_text(cable, "framed");
    cable_shut(cable);
    world_settle(&world);
    assert_true(cable_at_end(cable));
    cable_close(cable);
    world_stop(&world);
    world_close(&world);
}

// --- Memory

enum { SENDERS = 24, LINE_BYTES = 600000, STEP_BYTES = 20000, MEMORY_BYTES = 24 * MEBIBYTE };

static uint64_t counted(const struct world *world, enum counter counter) {
    uint64_t sum = 0;
    for (uint32_t shard = 0; shard < world->shard_count; shard++)
        sum += stats_read(&world->shards[shard]->stats, counter);
    return sum;
}

static uint32_t waiting(const struct world *world) {
    uint32_t count = 0;
    for (uint32_t shard = 0; shard < world->shard_count; shard++)
        for (uint32_t slot = 0; slot < world->shards[shard]->peers.capacity; slot++) {
            const struct peer *peer = world->shards[shard]->peers.slots[slot];
            count += peer && peer_lacks_room(peer);
        }
    return count;
}

// A ping that is one long line.
static void send_part(struct cable *cable, size_t at, size_t end) {
    static char line[LINE_BYTES + 1];
    if (!*line) {
        memset(line, 'x', LINE_BYTES);
        memcpy(line, "{\"id\":1,\"method\":\"hub/agents\",\"params\":{\"x\":\"", 46);
        memcpy(line + LINE_BYTES - 4, "\"}}\n", 4);
    }
    assert_true(cable_write(cable, line + at, end - at));
}

// Lines that have begun find no room to grow, and wait; when there is some again they go on, and none is
// lost.
static void lines_wait_for_room(void **state) {
    (void)state;
    for (uint32_t shards = 1; shards <= 2; shards++) {
        struct world world;
        struct world_options options;
        struct cable *cables[SENDERS];
        world_defaults(&options, 3, shards);
        options.limits.memory_bytes_max = MEMORY_BYTES;
        options.limits.frame_bytes_max = 4 * MEBIBYTE;
        world_open(&world, &options);
        for (unsigned index = 0; index < SENDERS; index++)
            cables[index] = join_lines(&world);
        for (size_t at = 0; at < LINE_BYTES / 2; at += STEP_BYTES)
            for (unsigned index = 0; index < SENDERS; index++) {
                send_part(cables[index], at, at + STEP_BYTES);
                world_settle(&world);
            }
        assert_int_equal(waiting(&world), 0);
        _Atomic uint64_t *budget = &world.hub->budget.bytes;
        assert_true(atomic_load(budget) > SENDERS * LINE_BYTES / 2);
        uint64_t remote_target = MEMORY_BYTES - MEMORY_BYTES / 16 - atomic_load(budget);
        atomic_fetch_add(budget, remote_target);
        for (unsigned index = 0; index < SENDERS; index++)
            send_part(cables[index], LINE_BYTES / 2, LINE_BYTES);
        world_settle(&world);
        world_pass(&world, 500 * (uint64_t)MILLISECOND);
        assert_in_range(waiting(&world), SENDERS / 3, SENDERS);
        assert_in_range(counted(&world, COUNT_FRAMES_RECEIVED), 0, SENDERS / 3);
        atomic_fetch_sub(budget, remote_target);
        world_pass(&world, 400 * (uint64_t)MILLISECOND);
        for (unsigned index = 0; index < SENDERS; index++) {
            assert_true(bit_is(of(hear_line(cables[index]), "id"), "1"));
            assert_int_equal(cable_readable(cables[index]), 0);
        }
        assert_int_equal(counted(&world, COUNT_CLOSED_NO_MEMORY), 0);
        assert_int_equal(counted(&world, COUNT_FRAMES_RECEIVED), SENDERS);
        finish(&world, cables, SENDERS);
    }
}

// More than could ever be there isn't waited for.
static void a_line_that_can_never_fit_is_not_waited_for(void **state) {
    (void)state;
    struct world world;
    struct world_options options;
    static char part[MEBIBYTE];
    world_defaults(&options, 3, 1);
    options.limits.memory_bytes_max = MEMORY_BYTES;
    options.limits.frame_bytes_max = 64 * MEBIBYTE;
    world_open(&world, &options);
    struct cable *cable = join_lines(&world), *other = join_lines(&world);
    memset(part, 'x', sizeof part);
    for (unsigned sent = 0; sent < 2 * MEMORY_BYTES / MEBIBYTE && !cable_hub_closed(cable); sent++) {
        cable_write(cable, part, sizeof part);
        world_pass(&world, MILLISECOND);
    }
    assert_true(cable_hub_closed(cable));
    assert_int_equal(counted(&world, COUNT_CLOSED_NO_MEMORY), 1);
    write_text(other, PING(1) "\n");
    world_settle(&world);
    assert_true(bit_is(of(hear_line(other), "id"), "1"));
    cable_close(cable);
    finish(&world, &other, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_body_goes_over_both),
        cmocka_unit_test(what_is_no_json_ends_no_connection_of_lines),
        cmocka_unit_test(a_line_over_the_limit_ends_the_connection),
        cmocka_unit_test(a_transport_hands_its_peer_on),
        cmocka_unit_test(a_transport_hands_its_peer_on_at_the_end),
        cmocka_unit_test(lines_wait_for_room),
        cmocka_unit_test(a_line_that_can_never_fit_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
