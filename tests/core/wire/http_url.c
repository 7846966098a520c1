// Addresses of servers that the hub asks by HTTP: their parts, and all that is none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// cmocka wants these before it
#include <cmocka.h>

#include "core/wire/http_url.h"

#define LONG_50 "01234567890123456789012345678901234567890123456789"

static void urls_have_parts(void **state) {
    (void)state;
    static const struct {
        const char *text, *host, *path;
        uint16_t port;
        bool is_v6;
    } rows[] = {
        {"http://127.0.0.1:4318", "127.0.0.1", "/usual", 4318, false},
        {"http://[::1]:65535", "::1", "/usual", 65535, true},
        {"http://otel.example:1/", "otel.example", "/", 1, false},
        {"http://a_b-c:4318/v1/traces?x=1&y", "a_b-c", "/v1/traces?x=1&y", 4318, false},
    };
    for (size_t at = 0; at < sizeof rows / sizeof *rows; at++) {
        struct http_url url;
        assert_true(http_url_read(rows[at].text, "/usual", &url));
        assert_string_equal(url.host, rows[at].host);
        assert_string_equal(url.path, rows[at].path);
        assert_int_equal(url.port, rows[at].port);
        assert_int_equal(url.is_v6, rows[at].is_v6);
    }
}

static void all_else_is_none(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "http://",
        "http://a",
        "http://a:",
        "http://a:0",
        "http://a:65536",
        "http://:4318",
        "https://a:4318",
        "HTTP://a:4318",
        "a:4318",
        "http://user:password@a:4318",
        "http://token@a:4318",
        "http://a:4318?x",
        "http://a:4318#x",
        "http://a:4318/x#y",
        "http://a:4318/x y",
        "http://a:4318/x\ny",
        "http://a:4318/\xc3\xa4",
        "http://a%41:4318",
        "http://[::1:4318",
        "http://[]:4318",
        "http://a:4318/" LONG_50 LONG_50 LONG_50 LONG_50 LONG_50 "12345",
        "http://" LONG_50 LONG_50 LONG_50 LONG_50 LONG_50 "1234:4318",
    };
    struct http_url url;
    for (size_t at = 0; at < sizeof bad / sizeof *bad; at++)
        assert_false(http_url_read(bad[at], "/usual", &url));
    assert_true(http_url_read("http://" LONG_50 LONG_50 LONG_50 LONG_50 LONG_50
                              "123:4318/" LONG_50 LONG_50 LONG_50 LONG_50 LONG_50 "1234",
                              "/usual", &url));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(urls_have_parts), cmocka_unit_test(all_else_is_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
