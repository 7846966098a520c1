// Answers of HTTP to the hub, by length, in chunks and to the connection's end: each is read alike whole and byte by
// byte. Also what is no answer, the limits, and when to come again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
// cmocka wants these before it
#include <cmocka.h>

#include "core/wire/http_answer.h"

static const struct unit_limits limits = {.header_bytes_max = 100, .body_bytes_max = 30};

enum { TEXT_BYTES = 2048 };

struct result {
    enum http_answer_step step;
    unsigned status;
    bool is_head_whole;
    char body[64];
};

// Scans a text in parts of so many bytes, up to its end or to what decides; `discards`: what has come of the body is
// taken each time.
static struct result scan_so(const char *text, size_t part, bool ends, bool discards) {
    static uint8_t bytes[TEXT_BYTES];
    struct http_answer answer = {.status = 0};
    struct result result = {.step = HTTP_ANSWER_OPEN};
    size_t count = strlen(text), came = 0, body_bytes = 0;
    uint32_t held = 0;
    assert_true(count <= sizeof bytes);
    for (bool is_over = false; !is_over && result.step == HTTP_ANSWER_OPEN;) {
        size_t more = count - came < part ? count - came : part;
        is_over = more == 0;
        if (is_over && !ends)
            break;
        memcpy(bytes + held, text + came, more);
        came += more;
        held += (uint32_t)more;
        result.step = http_answer_scan(&answer, bytes, held, is_over, &limits);
        struct span body = http_answer_body(&answer, held);
        if ((discards || result.step == HTTP_ANSWER_WHOLE) && body_bytes + body.bytes < sizeof result.body) {
            memcpy(result.body + body_bytes, bytes + body.at, body.bytes);
            body_bytes += body.bytes;
        }
        if (discards && result.step == HTTP_ANSWER_OPEN)
            held = http_answer_discard(&answer, bytes, held);
    }
    result.is_head_whole = answer.unit.body_at > 0;
    result.status = result.is_head_whole ? answer.status : 0;
    return result;
}

static struct result scan(const char *text, size_t part, bool ends) {
    return scan_so(text, part, ends, false);
}

static void answers_are_read(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool ends; // the connection does
        enum http_answer_step step;
        unsigned status; // 0: the head isn't whole
        const char *body;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", false, HTTP_ANSWER_WHOLE, 200, "{}"},
        {"HTTP/1.1 200\r\ncontent-LENGTH:  002 \r\n\r\n{}more", false, HTTP_ANSWER_WHOLE, 200, "{}"},
        {"HTTP/1.0 503 \r\nContent-Length: 0\r\n\r\n", false, HTTP_ANSWER_WHOLE, 503, ""},
        {"HTTP/1.1 204 No Content\r\n\r\n", false, HTTP_ANSWER_WHOLE, 204, ""},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: "
         "1\r\n\r\nx",
         false, HTTP_ANSWER_WHOLE, 200, "x"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n{\"\r\n1\r\n}\r\n0\r\nA: b\r\n\r\n",
         false, HTTP_ANSWER_WHOLE, 200, "{\"}"},
        {"HTTP/1.1 200 OK\r\n\r\nto the end", true, HTTP_ANSWER_WHOLE, 200, "to the end"},
        {"HTTP/1.1 200 OK\r\n\r\n", false, HTTP_ANSWER_OPEN, 200, ""},
        {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", true, HTTP_ANSWER_BAD, 200, ""},
        {"HTTP/1.1 200 OK\r\nContent-Le", true, HTTP_ANSWER_BAD, 0, ""},
        {"HTTP/1.1 20", false, HTTP_ANSWER_OPEN, 0, ""},
        {"", true, HTTP_ANSWER_BAD, 0, ""},
        // A body of any stated length over the limit isn't waited for.
        {"HTTP/1.1 200 OK\r\nContent-Length: 31\r\n\r\n", false, HTTP_ANSWER_WHOLE, 200, ""},
        {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n", false, HTTP_ANSWER_WHOLE, 200, ""},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1f\r\n", false, HTTP_ANSWER_BAD, 200, ""},
        {"HTTP/1.1 200 OK\r\n\r\n0123456789012345678901234567890", false, HTTP_ANSWER_BAD, 200, ""},
        {"HTTP/2 200 OK\r\n\r\n", false, HTTP_ANSWER_BAD, 0, ""},
        {"HTTP/1.1 2000\r\n\r\n", false, HTTP_ANSWER_BAD, 0, ""},
        {"HTTP/1.1 99 x\r\n\r\n", false, HTTP_ANSWER_BAD, 0, ""},
        {"HTTP/1.1 099 x\r\n\r\n", false, HTTP_ANSWER_BAD, 0, ""},
        {"HTTP/1.1 600 x\r\n\r\n", false, HTTP_ANSWER_BAD, 0, ""},
        {"HTTP/1.1 101 Switching Protocols\r\n\r\n", false, HTTP_ANSWER_BAD, 0, ""},
        {"HTTP/1.1 2 0 OK\r\n\r\n", false, HTTP_ANSWER_BAD, 0, ""},
        {"SSH-2.0-OpenSSH\r\n", false, HTTP_ANSWER_BAD, 0, ""},
        {"HTTP/1.1 200 OK\n\n", false, HTTP_ANSWER_BAD, 0, ""},
        {"HTTP/1.1 200 OK\r\nA b\r\n\r\n", false, HTTP_ANSWER_BAD, 0, ""},
        {"HTTP/1.1 200 OK\r\nA: \x01\r\n\r\n", false, HTTP_ANSWER_BAD, 0, ""},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", false, HTTP_ANSWER_BAD, 0, ""},
        {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx", false, HTTP_ANSWER_BAD, 0, ""},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx", false, HTTP_ANSWER_BAD, 0, ""},
        {"HTTP/1.1 200 OK\r\nA: "
         "01234567890123456789012345678901234567890123456789012345678901234567890123456789"
         "01234567890123456789\r\n\r\n",
         false, HTTP_ANSWER_BAD, 0, ""},
    };
    for (size_t at = 0; at < sizeof rows / sizeof *rows; at++) {
        for (size_t part = 1; part < TEXT_BYTES; part = part < 8 ? part + 1 : 2 * part) {
            struct result result = scan(rows[at].text, part, rows[at].ends);
            assert_int_equal(result.step, rows[at].step);
            assert_int_equal(result.status, rows[at].status);
            if (result.step != HTTP_ANSWER_WHOLE)
                continue;
            assert_string_equal(result.body, rows[at].body);
            result = scan_so(rows[at].text, part, rows[at].ends, true);
            assert_int_equal(result.step, HTTP_ANSWER_WHOLE);
            assert_string_equal(result.body, rows[at].body);
        }
    }
}

// Of a body that is taken as it comes, the limit holds for what is there at once.
static void a_body_that_is_discarded_may_be_of_any_length(void **state) {
    (void)state;
    enum { PARTS = 100000 };
    static const char *const heads[] = {"HTTP/1.1 200 OK\r\n\r\n",
                                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"};
    for (size_t at = 0; at < 2; at++) {
        uint8_t bytes[256];
        struct http_answer answer = {.status = 0};
        const char *part = at == 0 ? "abcde" : "5;x=y\r\nabcde\r\n";
        uint32_t count = (uint32_t)strlen(heads[at]);
        memcpy(bytes, heads[at], count);
        assert_int_equal(http_answer_scan(&answer, bytes, count, false, &limits), HTTP_ANSWER_OPEN);
        for (unsigned times = 0; times < PARTS; times++) {
            memcpy(bytes + count, part, strlen(part));
            count += (uint32_t)strlen(part);
            assert_int_equal(http_answer_scan(&answer, bytes, count, false, &limits), HTTP_ANSWER_OPEN);
            struct span body = http_answer_body(&answer, count);
            assert_int_equal(body.bytes, 5);
            assert_memory_equal(bytes + body.at, "abcde", 5);
            count = http_answer_discard(&answer, bytes, count);
            assert_true(count == answer.unit.body_at);
        }
    }
}

static void a_status_line_has_an_end(void **state) {
    (void)state;
    char text[HTTP_ANSWER_LINE_BYTES_MAX + 32] = "HTTP/1.1 200 ";
    memset(text + 13, 'x', sizeof text - 14);
    assert_int_equal(scan(text, 1, false).step, HTTP_ANSWER_BAD);
    assert_int_equal(scan(text, sizeof text, false).step, HTTP_ANSWER_BAD);
}

static void an_answer_says_when_to_come_again(void **state) {
    (void)state;
    enum { NONE = -1 };
    static const uint64_t now_ms = UINT64_C(784111777000); // Sun, 06 Nov 1994 08:49:37 GMT
    static const struct {
        const char *value;
        int64_t wait_ms;
    } rows[] = {
        {"Retry-After: 3", 3000},
        {"retry-after:0", 0},
        {"Retry-After: 4294967295", 4294967295000},
        {"Retry-After: Sun, 06 Nov 1994 08:49:39 GMT", 2000},
        {"Retry-After: Mon, 07 Nov 1994 08:49:37 GMT", 86400000},
        {"Retry-After: Sat, 05 Nov 1994 08:49:37 GMT", 0},
        {"Retry-After: Thu, 29 Feb 1996 08:49:37 GMT", INT64_C(480) * 86400000},
        {"Retry-After: 4294967296", NONE},
        {"Retry-After: -1", NONE},
        {"Retry-After: soon", NONE},
        {"Retry-After: Sun, 06 Now 1994 08:49:39 GMT", NONE},
        {"Retry-After: Sun, 06 Nov 1994 08:49:39 CET", NONE},
        {"Retry-After: Sun, 00 Nov 1994 08:49:39 GMT", NONE},
        // The two other forms.
        {"Retry-After: Sunday, 06-Nov-94 08:49:39 GMT", 2000},
        {"Retry-After: Wednesday, 01-Mar-95 08:49:37 GMT", INT64_C(115) * 86400000},
        {"Retry-After: Saturday, 05-Nov-94 08:49:37 GMT", 0},
        {"Retry-After: Sunday, 06-Nov-44 08:49:37 GMT", INT64_C(18263) * 86400000}, // 2044
        {"Retry-After: Sunday, 06-Nov-45 08:49:37 GMT", NONE},                      // 1945
        {"Retry-After: Monday, 01-Jan-70 00:00:00 GMT", 0},
        {"Retry-After: Sun Nov  6 08:49:39 1994", 2000},
        {"Retry-After: Wed Nov 16 08:49:37 1994", 864000000},
        {"Retry-After: Fri Dec 31 23:59:60 1999", INT64_C(162573023000)},
        // What is no date.
        {"Retry-After: Sun, 31 Nov 1994 08:49:39 GMT", NONE},
        {"Retry-After: Wed, 29 Feb 1995 08:49:39 GMT", NONE},
        {"Retry-After: Sun, 06 Nov 1994 24:00:00 GMT", NONE},
        {"Retry-After: Sun, 06 Nov 1994 08:60:00 GMT", NONE},
        {"Retry-After: Sun, 06 Nov 1994 08:49:61 GMT", NONE},
        {"Retry-After: Som, 06 Nov 1994 08:49:39 GMT", NONE},
        {"Retry-After: Sun, 06 Nov 1969 08:49:39 GMT", NONE},
        {"Retry-After: Sun, 06 Nov 1994 08:49:39 GMT.", NONE},
        {"Retry-After: Sun, 06 Nov 1994 08:49:39  GMT", NONE},
        {"Retry-After: Sun, 6 Nov 1994 08:49:39 GMT", NONE},
        {"Retry-After: Sun, +6 Nov 1994 08:49:39 GMT", NONE},
        {"Retry-After: Sun, 06 Nov 19 94 08:49:39 GM", NONE},
        {"Retry-After: Sun, 06-Nov-94 08:49:39 GMT", NONE},
        {"Retry-After: Sunday,06-Nov-94 08:49:39 GMT", NONE},
        {"Retry-After: Sunday, 06-Nov-1994 08:49:39 GMT", NONE},
        {"Retry-After: Sunday, 06-Nov-94 08:49:39 UTC", NONE},
        {"Retry-After: Sunday, 31-Nov-94 08:49:39 GMT", NONE},
        {"Retry-After: , 06-Nov-94 08:49:39 GMT", NONE},
        {"Retry-After: Sunday,", NONE},
        {"Retry-After: Sun Nov 06 08:49:39 1994 GMT", NONE},
        {"Retry-After: Sun Nov 6 08:49:39 1994", NONE},
        {"Retry-After: Sun Nov  0 08:49:39 1994", NONE},
        {"Retry-After: Sun Nov 31 08:49:39 1994", NONE},
        {"Retry-After: Sun Nov  6 08:49:39 94", NONE},
        {"Retry-After: Sunday Nov  6 08:49:39 1994", NONE},
        {"Retry-After: Sun, 06 Nov 1994 08:49:39 GMT, 3", NONE},
        {"Retry-After:", NONE},
        {"Later: 3", NONE},
    };
    for (size_t at = 0; at < sizeof rows / sizeof *rows; at++) {
        uint8_t bytes[256];
        struct http_answer answer = {.status = 0};
        int count = snprintf((char *)bytes, sizeof bytes, "HTTP/1.1 503 x\r\n%s\r\nContent-Length: 0\r\n\r\n",
                             rows[at].value);
        uint64_t wait_ms = 0;
        assert_int_equal(http_answer_scan(&answer, bytes, (uint32_t)count, false, &limits),
                         HTTP_ANSWER_WHOLE);
        bool found = http_answer_retry_ms(&answer, bytes, now_ms, &wait_ms);
        assert_int_equal(found, rows[at].wait_ms != NONE);
        if (found)
            assert_int_equal(wait_ms, rows[at].wait_ms);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_read),
        cmocka_unit_test(a_body_that_is_discarded_may_be_of_any_length),
        cmocka_unit_test(a_status_line_has_an_end),
        cmocka_unit_test(an_answer_says_when_to_come_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
