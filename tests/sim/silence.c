// Silent connections. A connection of HTTP that waits for a request is closed. A WebSocket is asked for a sign of life,
// and a stream of SSE gets comments.
#include "tests/sim/tell.h"

#define SECONDS_NS(seconds) ((uint64_t)(seconds)*SECOND)

static const char upgrade[] = "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                              "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
static const char events[] = "GET /events?pattern=* HTTP/1.1\r\nHost: localhost\r\n\r\n";
static const char healthz[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
// Masked with zeros. A ping of the hub's and its close bear none.
static const char pong[] = "\x8a\x80\0\0\0\0";
static const char client_close[] = "\x88\x80\0\0\0\0";

static void tell(struct world *world, struct cable *cable, const void *bytes, size_t count) {
    assert_true(cable_write(cable, bytes, count));
    world_settle(world);
}

// Opens a connection of HTTP, says this, and passes over the answer.
static struct cable *begin(struct world *world, const char *request, const char *answer) {
    char bytes[4096] = {0};
    struct cable *cable = world_dial_http(world);
    world_settle(world);
    tell(world, cable, request, strlen(request));
    assert_true(cable_read(cable, bytes, sizeof bytes - 1) > 0);
    assert_memory_equal(bytes, answer, strlen(answer));
    return cable;
}

// Asserts that exactly this has come.
static void heard(struct cable *cable, const char *wanted, size_t count) {
    char bytes[256];
    assert_int_equal(cable_readable(cable), count);
    assert_int_equal(cable_read(cable, bytes, sizeof bytes), count);
    assert_memory_equal(bytes, wanted, count);
}

static void a_silent_websocket_is_pinged_and_then_closed(void **state) {
    (void)state;
    static struct world world;
    for (uint32_t shards = 1; shards <= 2; shards++) {
        char close[64] = {0};
        open_world(&world, shards);
        struct cable *cable = begin(&world, upgrade, "HTTP/1.1 101 ");
        world_pass(&world, SECONDS_NS(24));
        heard(cable, "", 0);
        world_pass(&world, SECONDS_NS(2));
        heard(cable, "\x89\0", 2);
        world_pass(&world, SECONDS_NS(8));
        heard(cable, "", 0);
        world_pass(&world, SECONDS_NS(3));
        assert_true(cable_read(cable, close, sizeof close) > 4);
        assert_memory_equal(close, "\x88", 1);
        assert_int_equal((uint8_t)close[2] << 8 | (uint8_t)close[3], 1001);
        world_pass(&world, SECONDS_NS(2));
        assert_true(cable_hub_closed(cable));
        finish(&world, &cable, 1);
    }
}

static void a_websocket_that_gives_a_sign_stays(void **state) {
    (void)state;
    static struct world world;
    open_world(&world, 1);
    struct cable *cable = begin(&world, upgrade, "HTTP/1.1 101 ");
    for (unsigned round = 0; round < 5; round++) {
        world_pass(&world, SECONDS_NS(26));
        heard(cable, "\x89\0", 2);
        tell(&world, cable, pong, sizeof pong - 1);
        world_pass(&world, SECONDS_NS(20));
        heard(cable, "", 0);
        tell(&world, cable, pong, sizeof pong - 1); // anything is a sign: no ping within 25 s of it
    }
    assert_false(cable_at_end(cable));
    tell(&world, cable, client_close, sizeof client_close - 1);
    heard(cable, "\x88\0", 2);
    finish(&world, &cable, 1);
}

static void a_stream_is_never_silent_for_longer_than_15_s(void **state) {
    (void)state;
    static struct world world;
    open_world(&world, 1);
    struct cable *cable = begin(&world, events, "HTTP/1.1 200 ");
    for (unsigned round = 0; round < 20; round++) {
        world_pass(&world, SECONDS_NS(14));
        heard(cable, "", 0);
        world_pass(&world, SECONDS_NS(1));
        heard(cable, ":\n\n", 3);
    }
    finish(&world, &cable, 1);
}

static void a_connection_that_waits_for_a_request_is_closed_after_75_s(void **state) {
    (void)state;
    static struct world world;
    open_world(&world, 1);
    struct cable *silent = world_dial_http(&world);
    struct cable *kept = begin(&world, healthz, "HTTP/1.1 200 ");
    world_pass(&world, SECONDS_NS(40));
    tell(&world, kept, healthz, sizeof healthz - 1);
    world_pass(&world, SECONDS_NS(34));
    assert_false(cable_hub_closed(silent));
    world_pass(&world, SECONDS_NS(2));
    assert_true(cable_hub_closed(silent));
    assert_false(cable_hub_closed(kept));
    world_pass(&world, SECONDS_NS(40));
    assert_true(cable_hub_closed(kept));
    cable_close(silent);
    cable_close(kept);
    world_stop(&world);
    world_close(&world);
}

// The time of the request is another one, --request-timeout.
static void one_that_waits_for_an_answer_is_not_idle(void **state) {
    (void)state;
    static struct world world;
    static const char body[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"targetAgent\":\"a\"}}";
    char request[512], answer[64], bytes[1024] = {0};
    open_world(&world, 1);
    struct cable *agent = join(&world, "a"), *client = world_dial_http(&world);
    snprintf(request, sizeof request,
             "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             sizeof body - 1, body);
    world_settle(&world);
    tell(&world, client, request, strlen(request));
    struct bit id = of(hear(agent), "id");
    snprintf(answer, sizeof answer, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":7}", (int)id.count,
             (const char *)id.bytes);
    world_pass(&world, SECONDS_NS(200));
    assert_false(cable_hub_closed(client));
    say(agent, answer);
    world_settle(&world);
    assert_true(cable_read(client, bytes, sizeof bytes - 1) > 0);
    assert_non_null(strstr(bytes, "\"result\":7}"));
    world_pass(&world, SECONDS_NS(74));
    assert_false(cable_hub_closed(client));
    world_pass(&world, SECONDS_NS(2));
    assert_true(cable_hub_closed(client));
    cable_close(client);
    finish(&world, &agent, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_websocket_is_pinged_and_then_closed),
        cmocka_unit_test(a_websocket_that_gives_a_sign_stays),
        cmocka_unit_test(a_stream_is_never_silent_for_longer_than_15_s),
        cmocka_unit_test(a_connection_that_waits_for_a_request_is_closed_after_75_s),
        cmocka_unit_test(one_that_waits_for_an_answer_is_not_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
