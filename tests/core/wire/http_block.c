// Heads that become framed header blocks, and the fields that pass out of one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/wire/frame.h"
#include "core/wire/http.h"
#include "core/wire/http_block.h"

static const struct unit_limits usual_limits = {.header_bytes_max = 8192, .body_bytes_max = 1 << 24};

#define CHUNKED "Transfer-Encoding: chunked\r\n"

static void rewrites_heads(void **state) {
    (void)state;
    static const struct {
        const char *text, *block, *body;
    } rows[] = {
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}", "Content-Length: 2\r\n\r\n", "{}"},
        {"X / HTTP/1.1\r\nHost:a\r\ncontent-length:0002\r\n\r\n{}", "Content-Length: 2\r\n\r\n", "{}"},
        {"X / HTTP/1.1\r\nHost:a\r\n" CHUNKED "\r\n1\r\n{\r\n1;a\r\n}\r\n0\r\nA: b\r\n\r\n",
         "Content-Length: 2\r\n\r\n", "{}"},
        {"\r\nPOST / HTTP/1.1\r\nRequest-Id: 1\r\nCookie: c\r\nCustom-A:b\r\nContent-Length: 2\r\n"
         "custom-: \t\r\nHost: a\r\nREQUEST-ID: 2 \r\nAuthorization: d\r\nGovernance-Level: manual\r\n"
         "HugAI-Version: 2.0.0\r\nCustoms: e\r\n\r\n{}",
         "Content-Length: 2\r\nRequest-Id: 1\r\nCustom-A:b\r\ncustom-: \t\r\nREQUEST-ID: 2 \r\n"
         "Governance-Level: manual\r\nHugAI-Version: 2.0.0\r\n\r\n",
         "{}"},
        {"X / HTTP/1.1\r\nCustom-A:b\r\nHost:a\r\nContent-Length:2\r\n\r\n[]",
         "Content-Length: 2\r\nCustom-A:b\r\n\r\n", "[]"},
        {"X / HTTP/1.1\r\nHost:a\r\nContent-Length:2\r\nCustom-Timeout-Ms: 5\r\n\r\n[]",
         "Content-Length: 2\r\nCustom-Timeout-Ms: 5\r\n\r\n", "[]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t bytes[600];
        char wanted[600];
        size_t count = strlen(rows[i].text);
        struct unit unit, framed;
        memcpy(bytes, rows[i].text, count);
        unit_begin(&unit);
        assert_int_equal(http_scan(&unit, bytes, count, &usual_limits), UNIT_WHOLE);
        uint32_t body_at = unit.body_at, from = http_make_framed(bytes, &unit);
        snprintf(wanted, sizeof wanted, "%s%s", rows[i].block, rows[i].body);
        assert_true(from > 0 && from + unit.body_at == body_at);
        assert_int_equal(unit.bytes, strlen(wanted));
        assert_memory_equal(bytes + from, wanted, unit.bytes);
        // The framed wire reads it so, too.
        unit_begin(&framed);
        assert_int_equal(frame_scan(&framed, bytes + from, unit.bytes, &usual_limits), UNIT_WHOLE);
        assert_int_equal(framed.body_at, unit.body_at);
        assert_int_equal(framed.body_bytes, unit.body_bytes);
        assert_int_equal(framed.length_line_at, unit.length_line_at);
        assert_int_equal(framed.length_line_bytes, unit.length_line_bytes);
        assert_true(framed.canonical && unit.canonical && unit.length_known);
        assert_memory_equal(&framed.directives, &unit.directives, sizeof unit.directives);
    }
}

// The shortest heads that there are, with lengths of all sizes: there is always room.
static void always_has_room(void **state) {
    (void)state;
    static uint8_t bytes[(1 << 24) + 100];
    for (uint32_t length = 1; length <= 1 << 24; length = length * 10 + 7) {
        int head =
            snprintf((char *)bytes, 100, "X / HTTP/1.1\r\nHost:a\r\nContent-Length:%u\r\n\r\n", length);
        struct unit unit;
        unit_begin(&unit);
        assert_int_equal(http_scan(&unit, bytes, (size_t)head + length, &usual_limits), UNIT_WHOLE);
        assert_true(http_make_framed(bytes, &unit) > 0);
        assert_int_equal(unit.body_bytes, length);
    }
}

static void finds_what_passes(void **state) {
    (void)state;
    static const char block[] = "Request-Id: 1\r\nContent-Length: 2\r\nSet-Cookie: a\r\nCustom-A: b\r\n"
                                "Patchbay-User: c\r\nGOVERNANCE-LEVEL: x\r\nHugAI-Version:2\r\n"
                                "Request-Id: 2\r\nContent-Type: a\r\n\r\n";
    static const char *const lines[] = {"Request-Id: 1\r\n", "Custom-A: b\r\n", "GOVERNANCE-LEVEL: x\r\n",
                                        "HugAI-Version:2\r\n", "Request-Id: 2\r\n"};
    struct span line;
    uint32_t at = 0, end = sizeof block - 1;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_true(http_next_passing((const uint8_t *)block, end, &at, &line));
        assert_int_equal(line.bytes, strlen(lines[i]));
        assert_memory_equal(block + line.at, lines[i], line.bytes);
    }
    assert_false(http_next_passing((const uint8_t *)block, end, &at, &line));
    assert_false(http_next_passing((const uint8_t *)block, end, &at, &line));
    at = 0;
    assert_false(http_next_passing((const uint8_t *)"\r\n", 2, &at, &line));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rewrites_heads),
        cmocka_unit_test(always_has_room),
        cmocka_unit_test(finds_what_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
