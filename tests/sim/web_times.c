// The times of the web: the wait for a connection's next request, and for the rest of a head. Also the silence of a
// WebSocket and of a stream of events. Each connection must also be told of the hub's end.
#include "tests/sim/tell.h"

#define MS  UINT64_C(1000000)
#define ASK "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"

static void write_text(struct cable *cable, const char *text) {
    assert_true(cable_write(cable, text, strlen(text)));
}

// All that has come, as a string.
static const char *read_all(struct world *world, struct cable *cable) {
    static char text[TEXT_BYTES_MAX];
    world_settle(world);
    size_t count = cable_read(cable, text, sizeof text - 1);
    text[count] = '\0';
    world_settle(world);
    return text;
}

static void expect(struct world *world, struct cable *cable, const char *text, size_t count) {
    const char *came = read_all(world, cable);
    assert_memory_equal(came, text, count);
    assert_int_equal(cable_readable(cable), 0);
}

static struct cable *join_web(struct world *world, const char *request) {
    struct cable *cable = world_dial_http(world);
    assert_non_null(cable);
    if (request)
        write_text(cable, request);
    world_settle(world);
    return cable;
}

static struct cable *join_socket(struct world *world) {
    struct cable *cable =
        join_web(world, "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    assert_non_null(strstr(read_all(world, cable), "HTTP/1.1 101 "));
    return cable;
}

static void who_has_been_answered_may_wait_for_long(void **state) {
    (void)state;
    struct world world;
    open_world(&world, 2);
    struct cable *cable = join_web(&world, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    struct cable *fresh = join_web(&world, NULL);
    assert_non_null(strstr(read_all(&world, cable), "HTTP/1.1 200 "));
    world_pass(&world, 74900 * MS);
    assert_false(cable_at_end(cable) || cable_at_end(fresh));
    world_pass(&world, 200 * MS);
    assert_true(cable_at_end(cable) && cable_at_end(fresh));
    finish(&world, (struct cable *[]){cable, fresh}, 2);
}

static void a_head_has_its_time(void **state) {
    (void)state;
    struct world world;
    open_world(&world, 1);
    struct cable *cable = join_web(&world, "POST /rpc HTTP/1.1\r\nHo");
    world_pass(&world, 9900 * MS);
    assert_int_equal(cable_readable(cable), 0);
    world_pass(&world, 200 * MS);
    assert_non_null(strstr(read_all(&world, cable), "HTTP/1.1 408 "));
    world_pass(&world, 2000 * MS);
    finish(&world, &cable, 1);
}

static void a_silent_socket_is_asked_for_a_sign_of_life(void **state) {
    (void)state;
    struct world world;
    open_world(&world, 2);
    struct cable *alive = join_socket(&world), *silent = join_socket(&world);
    for (unsigned round = 0; round < 4; round++) {
        world_pass(&world, 24900 * MS);
        assert_int_equal(cable_readable(alive), 0);
        world_pass(&world, 200 * MS);
        expect(&world, alive, "\x89\0", 3);
        cable_write(alive, "\x8a\x80\0\0\0\0", 6); // at once
        world_settle(&world);
        if (round == 0)
            expect(&world, silent, "\x89\0", 3);
        else if (round == 1)
            expect(&world, silent, "\x88\x11\x03\xe9no sign of life", 19);
    }
    assert_true(cable_at_end(silent) && !cable_at_end(alive));
    cable_close(silent);
    kernel_signal(world.kernel, 15);
    world_settle(&world);
    expect(&world, alive, "\x88\x0e\x03\xe9the hub ends", 17);
    finish(&world, &alive, 1);
}

static void a_stream_says_something_now_and_then(void **state) {
    (void)state;
    struct world world;
    open_world(&world, 1);
    struct cable *cable = join_web(&world, "GET /events?pattern=* HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_non_null(strstr(read_all(&world, cable), "text/event-stream"));
    for (unsigned round = 0; round < 8; round++) {
        world_pass(&world, 14900 * MS);
        assert_int_equal(cable_readable(cable), 0);
        world_pass(&world, 100 * MS);
        expect(&world, cable, ":\n\n", 4);
    }
    finish(&world, &cable, 1);
}

// While something is still awaited.
static void a_hub_that_drains_says_so(void **state) {
    (void)state;
    static const struct {
        const char *path, *answer;
    } rows[] = {{"/healthz", "HTTP/1.1 200 "},
                {"/readyz", "HTTP/1.1 503 "},
                {"/events?pattern=*", "HTTP/1.1 503 "},
                {"/ws", "HTTP/1.1 503 "}};
    struct world world;
    open_world(&world, 2);
    struct cable *agent = join(&world, "agent"), *source = join(&world, NULL), *socket = join_socket(&world);
    say(source, "{\"id\":1,\"method\":\"work\",\"params\":{\"targetAgent\":\"agent\"}}");
    world_settle(&world);
    kernel_signal(world.kernel, 15);
    world_settle(&world);
    for (unsigned row = 0; row < sizeof rows / sizeof *rows; row++) {
        char text[128];
        snprintf(text, sizeof text, ASK, rows[row].path);
        struct cable *cable = join_web(&world, text);
        assert_non_null(strstr(read_all(&world, cable), rows[row].answer));
        cable_close(cable);
        world_settle(&world);
    }
    assert_int_equal(cable_readable(socket), 0);
    world_pass(&world, 5100 * MS);
    expect(&world, socket, "\x88\x0e\x03\xe9the hub ends", 17);
    assert_true(bit_is(of(hear(source), "error.code"), "-32050"));
    read_all(&world, agent);
    finish(&world, (struct cable *[]){agent, source, socket}, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_been_answered_may_wait_for_long),
        cmocka_unit_test(a_head_has_its_time),
        cmocka_unit_test(a_silent_socket_is_asked_for_a_sign_of_life),
        cmocka_unit_test(a_stream_says_something_now_and_then),
        cmocka_unit_test(a_hub_that_drains_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
