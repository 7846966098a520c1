// The protocols of the load: a message is found whole or not at all, wherever what was received is cut, and
// what is none is broken.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "bench/load/load_wire.h"
#include "core/base/limits.h"

static const struct load_name topic = {"bench-topic", 11};

// Returns what the wire makes of the first `bytes`. Their memory ends right behind them, but for the slack.
static enum load_step step(const struct load_wire *wire, const void *text, size_t bytes,
                           struct load_message *message, size_t *body_at) {
    uint8_t *in = calloc(1, bytes + BUFFER_SLACK_BYTES);
    assert_non_null(in);
    memcpy(in, text, bytes);
    enum load_step found = wire->next(in, bytes, message);
    *body_at = found == LOAD_MESSAGE && message->body != NULL ? (size_t)(message->body - in) : 0;
    free(in);
    return found;
}

// `text` is one message with this body, and stays so with others behind it.
static void check_cuts(const struct load_wire *wire, const void *text, size_t bytes, const void *body,
                       size_t body_bytes) {
    struct load_message message;
    size_t body_at;
    for (size_t cut = 1; cut < bytes; cut++) {
        assert_int_equal(step(wire, text, cut, &message, &body_at), LOAD_PARTIAL);
    }
    uint8_t *twice = malloc(2 * bytes);
    assert_non_null(twice);
    memcpy(twice, text, bytes);
    memcpy(twice + bytes, text, bytes);
    for (size_t behind = 0; behind <= bytes; behind++) {
        assert_int_equal(step(wire, twice, bytes + behind, &message, &body_at), LOAD_MESSAGE);
        assert_int_equal(message.bytes, bytes);
        assert_int_equal(message.body_bytes, body_bytes);
        assert_memory_equal(twice + body_at, body, body_bytes);
    }
    free(twice);
}

static void check_control(const struct load_wire *wire, const char *text, const char *answer) {
    struct load_message message;
    size_t body_at;
    for (size_t cut = 1; cut < strlen(text); cut++) {
        assert_int_equal(step(wire, text, cut, &message, &body_at), LOAD_PARTIAL);
    }
    assert_int_equal(step(wire, text, strlen(text), &message, &body_at), LOAD_MESSAGE);
    assert_null(message.body);
    assert_int_equal(message.bytes, strlen(text));
    assert_true(answer == NULL ? message.control_answer == NULL
                               : strcmp(message.control_answer, answer) == 0);
}

static void check_broken(const struct load_wire *wire, const char *text) {
    struct load_message message;
    size_t body_at;
    assert_int_equal(step(wire, text, strlen(text), &message, &body_at), LOAD_BROKEN);
}

// Where what is written is also what is received.
static void check_event(const struct load_wire *wire) {
    struct load_body body = {.bytes = 200};
    struct load_event event = {.topic = &topic, .sequence = 5};
    load_nonce(5, event.nonce);
    size_t body_bytes = load_event_bytes(&body, &topic);
    uint8_t text[400], expected[300];
    load_event_write(&body, &event, expected);
    check_cuts(wire, text, wire->write_event(&body, &event, text), expected, body_bytes);
}

static void check_request(const struct load_wire *wire, uint32_t bytes) {
    struct load_body body = {.bytes = bytes};
    struct load_request request = {.source = &topic, .target = &topic, .id = 5};
    load_nonce(5, request.nonce);
    uint8_t text[500], expected[400];
    load_request_write(&body, &request, expected);
    check_cuts(wire, text, wire->write_request(&body, &request, text), expected,
               load_request_bytes(&body, &request));
}

static void patchbay_frames(void **state) {
    (void)state;
    check_event(&load_wire_patchbay);
    check_request(&load_wire_patchbay, 256);
    check_cuts(&load_wire_patchbay, "Content-Length: 2\r\nRequest-Id: 7\r\n\r\n{}", 38, "{}", 2);
    check_broken(&load_wire_patchbay, "GET / HTTP/1.1\r\n\r\n                       ");
}

static void patchbay_lines(void **state) {
    (void)state;
    check_event(&load_wire_lines);
    check_request(&load_wire_lines, 256);
    check_cuts(&load_wire_lines, "{}\n", 3, "{}", 2);
    check_broken(&load_wire_lines, "\n");
}

// Wants sent messages to be masked, and so to differ from received ones.
static void check_masked(const struct load_wire *wire, uint32_t bytes, size_t head_bytes) {
    struct load_body body = {.bytes = bytes};
    struct load_request request = {.source = &topic, .target = &topic, .id = 5};
    load_nonce(5, request.nonce);
    uint8_t *text = malloc(bytes + 200), *expected = malloc(bytes + 200);
    assert_true(text != NULL && expected != NULL);
    load_request_write(&body, &request, expected);
    size_t body_bytes = load_request_bytes(&body, &request);
    assert_int_equal(wire->write_request(&body, &request, text), head_bytes + body_bytes);
    assert_int_equal(text[1] & 0x80, 0x80);
    for (size_t at = 0; at < body_bytes; at++) {
        assert_int_equal(text[head_bytes + at] ^ text[head_bytes - 4 + at % 4], expected[at]);
    }
    free(text);
    free(expected);
}

static void websocket_frames(void **state) {
    (void)state;
    const struct load_wire *wire = &load_wire_websocket;
    check_masked(wire, 256, 8);
    check_masked(wire, 70000, 14);
    check_cuts(wire, "\x81\x02{}", 4, "{}", 2);
    char text[4 + 300] = "\x81\x7e\x01\x2c";
    memset(text + 4, 'x', 300);
    check_cuts(wire, text, sizeof text, text + 4, 300);
    struct load_message message;
    size_t body_at;
    assert_int_equal(step(wire, "\x89\x00", 2, &message, &body_at), LOAD_MESSAGE);
    assert_null(message.body);
    assert_string_equal(message.control_answer, "\x8a\x80mask");
    check_broken(wire, "\x01\x02{}");                               // a part of a message
    check_broken(wire, "\x81\x82mask{}");                           // masked
    check_broken(wire, "\x88\x02\x03\xe8");                         // closed
    check_broken(wire, "\x81\x7f\x7f\x01\x01\x01\x01\x01\x01\x01"); // longer than anything can be
}

static void streamed_events(void **state) {
    (void)state;
    const struct load_wire *wire = &load_wire_sse;
    check_cuts(wire, "data: {}\n\n", 10, "{}", 2);
    check_cuts(wire, "event: x\nid: 7\ndata: {}\n\n", 25, "{}", 2);
    check_control(wire, ":\n\n", NULL);
    check_broken(wire, "data: {\ndata: }\n\n");
}

static void posted_requests(void **state) {
    (void)state;
    const struct load_wire *wire = &load_wire_rpc;
    struct load_body body = {.bytes = 256};
    struct load_request request = {.source = &topic, .target = &topic, .id = 5};
    char text[1024] = {0}, expected[400] = {0};
    load_request_write(&body, &request, (uint8_t *)expected);
    size_t bytes = wire->write_request(&body, &request, (uint8_t *)text);
    assert_non_null(strstr(text, "POST /rpc HTTP/1.1\r\n"));
    assert_non_null(strstr(text, "Content-Length: 256\r\n\r\n"));
    assert_string_equal(text + bytes - 256, expected);
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\nDate: x\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nserver: x\r\n\r\n{}",
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        check_cuts(wire, answers[i], strlen(answers[i]), "{}", 2);
    }
    check_broken(wire, "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}");
    check_broken(wire, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n");
}

static void mqtt_packets(void **state) {
    (void)state;
    check_event(&load_wire_mqtt);
    check_broken(&load_wire_mqtt, "\xd0\x05 ping");
    check_broken(&load_wire_mqtt, "\x30\x80\x80\x80\x80\x80");
    check_broken(&load_wire_mqtt, "\x30\x03\x09\x09x");
}

static void relay_blocks(void **state) {
    (void)state;
    check_request(&load_wire_relay, 256);
    check_broken(&load_wire_relay, "\x20\x01\x01\x01\x21\x01\x01\x01");
}

static void nats_messages(void **state) {
    (void)state;
    static const char plain[] = "MSG bench 1 5\r\nhello\r\n",
                      asked[] = "MSG bench 1 _INBOX.x.7 5\r\nhello\r\n";
    check_cuts(&load_wire_nats, plain, sizeof plain - 1, "hello", 5);
    check_cuts(&load_wire_nats, asked, sizeof asked - 1, "hello", 5);
    struct load_message message;
    size_t body_at;
    step(&load_wire_nats, asked, sizeof asked - 1, &message, &body_at);
    assert_int_equal(message.reply_to_bytes, strlen("_INBOX.x.7"));
    check_control(&load_wire_nats, "PING\r\n", "PONG\r\n");
    check_control(&load_wire_nats, "+OK\r\n", NULL);
    check_broken(&load_wire_nats, "-ERR 'Slow Consumer'\r\n");
    check_broken(&load_wire_nats, "MSG bench 5\r\nhello\r\n");
    check_broken(&load_wire_nats, "MSG bench 1 5x\r\nhello\r\n");
}

static void nats_messages_in_those_of_websocket(void **state) {
    (void)state;
    const struct load_wire *wire = &load_wire_nats_websocket;
    check_cuts(wire, "MSG bench 1 5\r\nhello\r\n", 22, "hello", 5);
    struct load_message message;
    size_t body_at;
    static const char *const heads[] = {"\x82\x16", "\x82\x7e\x01\x01",
                                        "\x82\x7f\x01\x01\x01\x01\x01\x01\x01\x01"};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        check_control(wire, heads[i], NULL);
    }
    assert_int_equal(step(wire, "PING\r\n", 6, &message, &body_at), LOAD_MESSAGE);
    const char *answer = message.control_answer;
    assert_int_equal(strlen(answer), 12);
    for (size_t at = 0; at < 6; at++) {
        assert_int_equal(answer[6 + at] ^ answer[2 + at % 4], "PONG\r\n"[at]);
    }
    check_broken(wire, "\x88\x02");
    check_broken(wire, "\x82\x96mask");
    check_broken(wire, "-ERR 'Slow Consumer'\r\n");
}

static void nchan_messages(void **state) {
    (void)state;
    check_cuts(&load_wire_nchan, "\x81\x02{}", 4, "{}", 2);
    check_control(&load_wire_nchan, "\x81\x12queued messages: 1", NULL);
    check_cuts(&load_wire_nchan_sse, "id: 1:0\ndata: {}\n\n", 18, "{}", 2);
    check_control(&load_wire_nchan_sse, ": hi\n\n", NULL);
}

static void redis_messages(void **state) {
    (void)state;
    static const char message[] = "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$5\r\nhello\r\n";
    check_cuts(&load_wire_redis, message, sizeof message - 1, "hello", 5);
    check_control(&load_wire_redis, ":1000\r\n", NULL);
    check_broken(&load_wire_redis, "-ERR no\r\n");
    check_broken(&load_wire_redis, "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n:5\r\n");
    check_broken(&load_wire_redis, "*3\r\n$-1\r\n");
}

static void each_has_a_name(void **state) {
    (void)state;
    assert_ptr_equal(load_wire_named("patchbay"), &load_wire_patchbay);
    assert_ptr_equal(load_wire_named("patchbay-lines"), &load_wire_lines);
    assert_ptr_equal(load_wire_named("mqtt"), &load_wire_mqtt);
    assert_ptr_equal(load_wire_named("rpc"), &load_wire_rpc);
    assert_null(load_wire_named("nat"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patchbay_frames),
        cmocka_unit_test(patchbay_lines),
        cmocka_unit_test(websocket_frames),
        cmocka_unit_test(streamed_events),
        cmocka_unit_test(posted_requests),
        cmocka_unit_test(mqtt_packets),
        cmocka_unit_test(relay_blocks),
        cmocka_unit_test(nats_messages),
        cmocka_unit_test(nats_messages_in_those_of_websocket),
        cmocka_unit_test(nchan_messages),
        cmocka_unit_test(redis_messages),
        cmocka_unit_test(each_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
