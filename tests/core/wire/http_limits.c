// The limits of a request, each just kept and passed by one byte. Also what is told when a body is waited for, and the
// status of each fault.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/limits.h"
#include "core/wire/http.h"

#define LINE    "POST / HTTP/1.1\r\n"
#define HEAD    LINE "Host: a\r\n"
#define CHUNKED HEAD "Transfer-Encoding: chunked\r\n\r\n"

enum { HEADER_MAX = 100, BODY_MAX = 5000 };
static const struct unit_limits limits = {.header_bytes_max = HEADER_MAX, .body_bytes_max = BODY_MAX};
static struct unit unit;

// In memory of just its size. The whole text and the text but for its last byte must agree, as far as that went.
static enum unit_result scan(const char *text) {
    size_t bytes = strlen(text);
    uint8_t *copy = malloc(bytes);
    memcpy(copy, text, bytes);
    unit_begin(&unit);
    enum unit_result result = http_scan(&unit, copy, bytes, &limits);
    struct unit before;
    unit_begin(&before);
    memcpy(copy, text, bytes);
    http_scan(&before, copy, bytes - 1, &limits);
    assert_int_equal(http_scan(&before, copy, bytes, &limits), result);
    assert_int_equal(before.fault, unit.fault);
    assert_int_equal(before.fault_at, unit.fault_at);
    free(copy);
    return result;
}

// `before`, so many times `filling`, `behind`.
static enum unit_result scan_filled(const char *before, size_t count, char filling, const char *behind) {
    char *text = malloc(strlen(before) + count + strlen(behind) + 1);
    char *at = stpcpy(text, before);
    memset(at, filling, count);
    strcpy(at + count, behind);
    enum unit_result result = scan(text);
    free(text);
    return result;
}

static void assert_bad(enum unit_result result, enum unit_fault fault, size_t at) {
    assert_int_equal(result, UNIT_BAD);
    assert_int_equal(unit.fault, fault);
    assert_int_equal(unit.fault_at, at);
}

static void holds_the_request_line(void **state) {
    (void)state;
    size_t filled = HTTP_LINE_BYTES_MAX - strlen("POST / HTTP/1.1");
    const char *behind = " HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_int_equal(scan_filled("POST /", filled, 'a', behind), UNIT_WHOLE);
    assert_int_equal(scan_filled("\r\nPOST /", filled, 'a', behind), UNIT_WHOLE);
    enum unit_fault fault = UNIT_FAULT_REQUEST_LINE_TOO_LONG;
    assert_bad(scan_filled("POST /", filled + 1, 'a', behind), fault, HTTP_LINE_BYTES_MAX);
    assert_bad(scan_filled("\r\nPOST /", filled + 1, 'a', behind), fault, HTTP_LINE_BYTES_MAX + 2);
    assert_int_equal(scan_filled("", HTTP_LINE_BYTES_MAX, 'a', ""), UNIT_OPEN);
    assert_bad(scan_filled("", HTTP_LINE_BYTES_MAX, 'a', "a"), fault, HTTP_LINE_BYTES_MAX);
    assert_bad(scan_filled("", HTTP_LINE_BYTES_MAX, 'a', "\n"), fault, HTTP_LINE_BYTES_MAX);
}

static void holds_the_fields(void **state) {
    (void)state;
    size_t filled = HEADER_MAX - strlen("Host: a\r\nA: \r\n\r\n"), end = strlen(LINE) + HEADER_MAX;
    assert_int_equal(scan_filled(HEAD "A: ", filled, 'a', "\r\n\r\n"), UNIT_WHOLE);
    assert_int_equal(unit.bytes, end);
    assert_int_equal(scan_filled(HEAD "A: ", filled, 'a', "\r\n\r\nGET"), UNIT_WHOLE);
    assert_bad(scan_filled(HEAD "A: ", filled + 1, 'a', "\r\n\r\n"), UNIT_FAULT_HEADER_TOO_LARGE, end);
    assert_bad(scan_filled(HEAD "A: ", filled + 200, 'a', ""), UNIT_FAULT_HEADER_TOO_LARGE, end);
    assert_bad(scan_filled(HEAD "A: ", filled + 3, 'a', "\x01"), UNIT_FAULT_VALUE, end - 1);
    assert_bad(scan_filled(HEAD "A: ", filled + 4, 'a', "\x01"), UNIT_FAULT_HEADER_TOO_LARGE, end);
}

static void holds_the_body(void **state) {
    (void)state;
    assert_int_equal(scan_filled(HEAD "Content-Length: 5000\r\n\r\n", BODY_MAX, 'a', ""), UNIT_WHOLE);
    assert_bad(scan(HEAD "Content-Length: 5001\r\n"), UNIT_FAULT_BODY_TOO_LARGE,
               strlen(HEAD "Content-Length: "));
    size_t body = strlen(CHUNKED);
    assert_int_equal(scan_filled(CHUNKED "1388\r\n", BODY_MAX, 'a', "\r\n0\r\n\r\n"), UNIT_WHOLE);
    assert_int_equal(unit.body_bytes, BODY_MAX);
    assert_bad(scan(CHUNKED "1389"), UNIT_FAULT_BODY_TOO_LARGE, body);
    assert_bad(scan(CHUNKED "FFFFFFFFFFFFFFFFF"), UNIT_FAULT_BODY_TOO_LARGE, body);
    assert_int_equal(scan_filled(CHUNKED "1387\r\n", BODY_MAX - 1, 'a', "\r\n1\r\na\r\n0\r\n\r\n"),
                     UNIT_WHOLE);
    assert_bad(scan_filled(CHUNKED "1387\r\n", BODY_MAX - 1, 'a', "\r\n2"), UNIT_FAULT_BODY_TOO_LARGE,
               body + BODY_MAX - 1);
    assert_bad(scan_filled(CHUNKED "1388\r\n", BODY_MAX, 'a', "\r\n0001"), UNIT_FAULT_BODY_TOO_LARGE,
               body + BODY_MAX);
}

static void holds_what_chunks_take(void **state) {
    (void)state;
    size_t body = strlen(CHUNKED);
    const char *behind = "\r\na\r\n0\r\n\r\n";
    assert_int_equal(scan_filled(CHUNKED "1;", HTTP_CHUNK_LINE_BYTES_MAX - 2, 'a', behind), UNIT_WHOLE);
    assert_bad(scan_filled(CHUNKED "1;", HTTP_CHUNK_LINE_BYTES_MAX - 1, 'a', behind), UNIT_FAULT_CHUNK, body);
    assert_bad(scan_filled(CHUNKED "1;", HTTP_CHUNK_LINE_BYTES_MAX - 1, 'a', ""), UNIT_FAULT_CHUNK, body);
    assert_int_equal(scan_filled(CHUNKED, HTTP_CHUNK_LINE_BYTES_MAX - 1, '0', "1"), UNIT_OPEN);
    assert_bad(scan_filled(CHUNKED, HTTP_CHUNK_LINE_BYTES_MAX, '0', "1"), UNIT_FAULT_CHUNK, body);
    size_t filled = HEADER_MAX - strlen("A: \r\n\r\n");
    assert_int_equal(scan_filled(CHUNKED "0\r\nA: ", filled, 'a', "\r\n\r\n"), UNIT_WHOLE);
    assert_int_equal(scan_filled(CHUNKED "0\r\nA: ", filled, 'a', "\r\n\r\nGET"), UNIT_WHOLE);
    enum unit_fault fault = UNIT_FAULT_HEADER_TOO_LARGE;
    assert_bad(scan_filled(CHUNKED "0\r\nA: ", filled + 1, 'a', "\r\n\r\n"), fault, body);
    assert_bad(scan_filled(CHUNKED "0\r\nA: ", filled + 300, 'a', ""), fault, body);
}

// The limits are lowered while a request comes in.
static void bears_lower_limits(void **state) {
    (void)state;
    static const struct unit_limits lower = {.header_bytes_max = 10, .body_bytes_max = 3};
    static char text[] = CHUNKED "5\r\n12345\r\n0\r\nA: b\r\nA: b\r\n\r\n";
    const size_t size_at = strlen(CHUNKED "5\r\n12345\r\n"); // of the last chunk
    for (size_t first = 0; first < sizeof text; first++) {
        uint8_t copy[sizeof text];
        memcpy(copy, text, sizeof text);
        unit_begin(&unit);
        http_scan(&unit, copy, first, &limits);
        enum unit_result result = http_scan(&unit, copy, sizeof text - 1, &lower);
        enum unit_fault fault = first < strlen(CHUNKED) ? UNIT_FAULT_HEADER_TOO_LARGE
                                : first <= size_at      ? UNIT_FAULT_BODY_TOO_LARGE
                                : first < strlen(text)  ? UNIT_FAULT_HEADER_TOO_LARGE
                                                        : UNIT_FAULT_NONE;
        assert_int_equal(unit.fault, fault);
        assert_int_equal(result, fault ? UNIT_BAD : UNIT_WHOLE);
    }
}

static void says_once_that_a_body_is_waited_for(void **state) {
    (void)state;
    static const struct {
        const char *head;
        bool waits;
        enum unit_result then;
    } rows[] = {
        {HEAD "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n", true, UNIT_PARTIAL},
        {HEAD "Content-Length: 2\r\nEXPECT:100-CONTINUE \r\n\r\n", true, UNIT_PARTIAL},
        {HEAD "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n", true, UNIT_OPEN},
        {HEAD "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n", false, UNIT_WHOLE},
        {HEAD "Expect: 100-continue\r\n\r\n", false, UNIT_WHOLE},
        {HEAD "Content-Length: 2\r\n\r\n", false, UNIT_PARTIAL},
        {CHUNKED, false, UNIT_OPEN},
        {"POST / HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n", false,
         UNIT_PARTIAL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t bytes[200];
        size_t head = strlen(rows[i].head);
        memcpy(bytes, rows[i].head, head);
        bytes[head] = '1';
        unit_begin(&unit);
        assert_int_equal(http_scan(&unit, bytes, head - 1, &limits), UNIT_OPEN);
        assert_int_equal(http_scan(&unit, bytes, head, &limits), rows[i].waits ? UNIT_CONTROL : rows[i].then);
        assert_int_equal(http_scan(&unit, bytes, head, &limits), rows[i].then);
        assert_int_equal(unit.control_bytes, 0);
        assert_int_equal(http_scan(&unit, bytes, head + 1, &limits), rows[i].then);
        // The body comes without being waited for.
        unit_begin(&unit);
        assert_int_equal(http_scan(&unit, bytes, head + 1, &limits), rows[i].then);
    }
}

// Chunks of one byte, as much around them as may be, and trailers, arrive a byte at a time: no more than
// http_open_max is ever held.
static void needs_no_memory_for_what_is_dead(void **state) {
    (void)state;
    static const struct unit_limits small = {.header_bytes_max = HEADER_MAX, .body_bytes_max = 3};
    static const char text[] =
        CHUNKED "001;aaaaaaaa\r\n1\r\n1;b\r\n2\r\n1\r\n3\r\n0;cccc\r\nA: b\r\nB: c\r\n\r\n";
    uint8_t bytes[sizeof CHUNKED - 1 + 3 + 1];
    size_t count = 0;
    enum unit_result result = UNIT_OPEN;
    unit_begin(&unit);
    for (size_t at = 0; at < sizeof text - 1; at++) {
        assert_int_equal(result, UNIT_OPEN);
        assert_true(count < sizeof bytes && sizeof bytes < http_open_max(&small));
        bytes[count++] = (uint8_t)text[at];
        result = http_scan(&unit, bytes, count, &small);
        if (result == UNIT_OPEN) {
            count -= unit_gap(&unit);
            unit_close_gap(&unit);
        }
    }
    assert_int_equal(result, UNIT_WHOLE);
    assert_int_equal(unit.bytes, count);
    assert_int_equal(unit.body_bytes, 3);
    assert_memory_equal(bytes + unit.body_at, "123", 3);
}

// A request that is scanned where it arrived is scanned again, and no less of it, where it is kept.
static void keeps_all_that_arrives_at_once(void **state) {
    (void)state;
    static const struct unit_limits small = {.header_bytes_max = 64, .body_bytes_max = 1};
    assert_true(http_open_max(&small) >= ARRIVAL_BYTES_MAX);
    assert_true(http_open_max(&limits) >= strlen(LINE) + HEADER_MAX + BODY_MAX + ARRIVAL_BYTES_MAX);
}

static void has_a_status_for_each_fault(void **state) {
    (void)state;
    static const struct {
        enum unit_fault fault;
        unsigned status;
    } rows[] = {
        {UNIT_FAULT_NAME, 400},           {UNIT_FAULT_LENGTH, 400},
        {UNIT_FAULT_REQUEST_LINE, 400},   {UNIT_FAULT_CODING, 400},
        {UNIT_FAULT_HOST, 400},           {UNIT_FAULT_LATE, 408},
        {UNIT_FAULT_BODY_TOO_LARGE, 413}, {UNIT_FAULT_REQUEST_LINE_TOO_LONG, 414},
        {UNIT_FAULT_EXPECT, 417},         {UNIT_FAULT_HEADER_TOO_LARGE, 431},
        {UNIT_FAULT_HTTP_VERSION, 505},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(http_status_of(rows[i].fault), rows[i].status);
    for (enum unit_fault fault = 1; fault < UNIT_FAULTS_COUNT; fault++)
        assert_in_range(http_status_of(fault), 400, 505);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_the_request_line),
        cmocka_unit_test(holds_the_fields),
        cmocka_unit_test(holds_the_body),
        cmocka_unit_test(holds_what_chunks_take),
        cmocka_unit_test(bears_lower_limits),
        cmocka_unit_test(says_once_that_a_body_is_waited_for),
        cmocka_unit_test(needs_no_memory_for_what_is_dead),
        cmocka_unit_test(keeps_all_that_arrives_at_once),
        cmocka_unit_test(has_a_status_for_each_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
