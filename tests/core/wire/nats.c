// Words of a NATS server: each text is laid before the scanner at every split, right before an unreadable
// page.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/wire/nats.h"
#include "tests/core/base/placed.h"

static const struct unit_limits limits = {.header_bytes_max = 64, .body_bytes_max = 64};

static enum unit_result go_on(struct unit *unit, const char *text, size_t bytes) {
    memcpy(placed_end - bytes, text, bytes);
    return nats_scan(unit, placed_end - bytes, bytes, &limits);
}

static void put_span(char *out, const char *text, struct span span) {
    size_t length = strlen(out);
    snprintf(out + length, 512 - length, "[%.*s]", (int)span.bytes, text + span.at);
}

// Says what was read of a unit, in words.
static void tell(const struct unit *unit, const char *text, char *out) {
    static const char *const names[] = {"INFO", "MSG", "HMSG", "PING", "PONG", "+OK", "-ERR"};
    struct nats_message message;
    nats_read((const uint8_t *)text, unit, &message);
    strcat(out, names[message.verb]);
    if (message.argument.bytes)
        put_span(out, text, message.argument);
    if (message.verb == NATS_MSG || message.verb == NATS_HMSG) {
        put_span(out, text, message.subject);
        put_span(out, text, message.sid);
        put_span(out, text, message.reply);
        char number[16];
        snprintf(number, sizeof number, "%u", message.headers.bytes);
        strcat(out, number);
        put_span(out, text, (struct span){unit->body_at, unit->body_bytes});
    }
    strcat(out, ";");
}

// Takes a text of which `first` bytes come before the rest; what it says goes to `out`.
static enum unit_result take_all(const char *text, size_t bytes, size_t first, char *out) {
    struct unit unit;
    enum unit_result result = UNIT_OPEN;
    size_t at = 0, come = first;
    unit_begin(&unit);
    *out = 0;
    for (;;) {
        result = go_on(&unit, text + at, come - at);
        if (result == UNIT_BAD)
            return result;
        if (result == UNIT_WHOLE) {
            assert_true(unit.bytes <= come - at && unit.counts_without_body);
            assert_int_equal(go_on(&unit, text + at, come - at), UNIT_WHOLE);
            tell(&unit, text + at, out);
            at += unit.bytes;
            unit_begin(&unit);
        } else if (come == bytes) {
            return result;
        } else {
            come = first == 1 ? come + 1 : bytes;
        }
        if (at == bytes)
            return UNIT_WHOLE;
        if (at == come)
            come = first == 1 ? come + 1 : bytes;
    }
}

static void assert_said(const char *text, enum unit_result expected, const char *said) {
    char out[512];
    size_t bytes = strlen(text);
    for (size_t first = 1; first <= bytes; first++) {
        assert_int_equal(take_all(text, bytes, first, out), expected);
        assert_string_equal(out, said);
    }
}

static void lines_are_found(void **state) {
    (void)state;
    assert_said("PING\r\nPONG\r\n+OK\r\n-ERR 'Slow Consumer'\r\n", UNIT_WHOLE,
                "PING;PONG;+OK;-ERR['Slow Consumer'];");
    assert_said("ping\r\nINFO {\"a\":1} \r\n", UNIT_WHOLE, "PING;INFO[{\"a\":1} ];");
    assert_said("-ERR\r\n", UNIT_WHOLE, "-ERR;");
}

static void payloads_are_found(void **state) {
    (void)state;
    assert_said("MSG a.b 9 5\r\nhello\r\nMSG a.b 9 to.me 0\r\n\r\nPING\r\n", UNIT_WHOLE,
                "MSG[a.b][9][]0[hello];MSG[a.b][9][to.me]0[];PING;");
    assert_said("HMSG a 1 12 14\r\nNATS/1.0\r\n\r\nhi\r\n", UNIT_WHOLE, "HMSG[a][1][]12[hi];");
    assert_said("HMSG a 1 r 16 16\r\nNATS/1.0 503\r\n\r\n\r\n", UNIT_WHOLE, "HMSG[a][1][r]16[];");
    assert_said("msg  a 1   4\r\n\r\n\r\n\r\n", UNIT_WHOLE, "MSG[a][1][]0[\r\n\r\n];");
}

static void what_isnt_whole_is_waited_for(void **state) {
    (void)state;
    assert_said("MSG a 1 5\r\nhel", UNIT_PARTIAL, "");
    assert_said("MSG a 1", UNIT_OPEN, "");
    assert_said("PING\r", UNIT_OPEN, "");
}

static void what_no_server_says_is_refused(void **state) {
    static const char *const bad[] = {"HELLO\r\n",
                                      "\r\n",
                                      "PING\n",
                                      "MSG a 1\r\n",
                                      "MSG a 1 x\r\n",
                                      "MSG a 1 -1\r\n",
                                      "MSG a 1 r s 1\r\n",
                                      "MSG a 1 1234567890\r\n",
                                      "MSG a 1 0000000001\r\n\n\r\n",
                                      "HMSG a 1 5 4\r\n",
                                      "HMSG a 1 4\r\n",
                                      "MSG a 1 1\r\nabc",
                                      "MSG a 1 99999999\r\n",
                                      "GET / HTTP/1.1\r\n"};
    (void)state;
    for (size_t at = 0; at < sizeof bad / sizeof *bad; at++)
        assert_said(bad[at], UNIT_BAD, "");
}

static void a_line_has_its_bound(void **state) {
    static char line[NATS_LINE_BYTES_MAX + 2];
    (void)state;
    memset(line, ' ', sizeof line);
    memcpy(line, "INFO {}", 7);
    memcpy(line + NATS_LINE_BYTES_MAX - 2, "\r\n", 2);
    struct unit unit;
    unit_begin(&unit);
    assert_int_equal(go_on(&unit, line, NATS_LINE_BYTES_MAX - 1), UNIT_OPEN);
    assert_int_equal(go_on(&unit, line, NATS_LINE_BYTES_MAX), UNIT_WHOLE);
    unit_begin(&unit);
    memset(line + NATS_LINE_BYTES_MAX - 2, ' ', 4);
    assert_int_equal(go_on(&unit, line, NATS_LINE_BYTES_MAX), UNIT_BAD);
    assert_int_equal(unit.fault, UNIT_FAULT_HEADER_TOO_LARGE);
    assert_int_equal(nats_open_max(&limits), NATS_LINE_BYTES_MAX);
}

static uint32_t status_of(const char *headers) {
    size_t bytes = strlen(headers);
    memcpy(placed_end - bytes, headers, bytes);
    return nats_status(placed_end - bytes, (struct span){0, (uint32_t)bytes});
}

static void a_status_is_read(void **state) {
    (void)state;
    assert_int_equal(status_of("NATS/1.0 503\r\n\r\n"), 503);
    assert_int_equal(status_of("NATS/1.0 100 Idle\r\n\r\n"), 100);
    assert_int_equal(status_of("NATS/1.0\r\n\r\n"), 0);
    assert_int_equal(status_of("NATS/1.0 5033\r\n\r\n"), 0);
    assert_int_equal(status_of("NATS/1.0 5x3\r\n\r\n"), 0);
    assert_int_equal(status_of("NATS/1.0 503"), 0);
    assert_int_equal(status_of(""), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_found),
        cmocka_unit_test(payloads_are_found),
        cmocka_unit_test(what_isnt_whole_is_waited_for),
        cmocka_unit_test(what_no_server_says_is_refused),
        cmocka_unit_test(a_line_has_its_bound),
        cmocka_unit_test(a_status_is_read),
    };
    return cmocka_run_group_tests(tests, placed_map, placed_unmap);
}
