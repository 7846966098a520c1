// How NATS servers are written.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/cluster/nats_server.h"

static enum nats_url_fault read_url(const char *text, struct nats_url *out) {
    return nats_url_read(text, strlen(text), out);
}

static void servers_are_read(void **state) {
    static const struct {
        const char *text;
        struct nats_url is;
    } good[] = {
        {"nats://127.0.0.1:4222", {.host = "127.0.0.1", .port = 4222}},
        {"tls://nats-1.example_x.net:1", {.secure = true, .host = "nats-1.example_x.net", .port = 1}},
        {"tls://[::1]:65535", {.secure = true, .is_v6 = true, .host = "::1", .port = 65535}},
        {"nats://hub:secret@h:4222", {.host = "h", .port = 4222, .user = "hub", .password = "secret"}},
        {"nats://s3cr3t@h:4222", {.host = "h", .port = 4222, .token = "s3cr3t"}},
        {"nats://a%3Ab:c%40%2Cd:e@h:4222", {.host = "h", .port = 4222, .user = "a:b", .password = "c@,d:e"}},
        {"nats://u:p@ss@h:4222", {.host = "h", .port = 4222, .user = "u", .password = "p@ss"}},
    };
    struct nats_url url;
    (void)state;
    for (size_t at = 0; at < sizeof good / sizeof *good; at++) {
        assert_int_equal(read_url(good[at].text, &url), NATS_URL_GOOD);
        assert_string_equal(url.host, good[at].is.host);
        assert_string_equal(url.user, good[at].is.user);
        assert_string_equal(url.password, good[at].is.password);
        assert_string_equal(url.token, good[at].is.token);
        assert_int_equal(url.port, good[at].is.port);
        assert_true(url.secure == good[at].is.secure && url.is_v6 == good[at].is.is_v6);
    }
}

static void one_without_a_scheme_has_that_of_the_one_before_it(void **state) {
    static const char text[] = "u:p@h:4222";
    struct nats_url url;
    (void)state;
    for (int secure = 0; secure < 2; secure++) {
        assert_int_equal(nats_url_read_as(text, sizeof text - 1, secure, &url), NATS_URL_GOOD);
        assert_true(url.secure == (bool)secure && url.port == 4222);
        assert_string_equal(url.host, "h");
        assert_string_equal(url.password, "p");
    }
    assert_int_equal(nats_url_read_as("tls://h:1", 9, false, &url), NATS_URL_BAD_PLACE);
    assert_int_equal(nats_url_read_as("", 0, false, &url), NATS_URL_BAD_PLACE);
}

static void what_is_none_is_told_and_keeps_no_secret(void **state) {
    static const struct {
        const char *text;
        enum nats_url_fault fault;
    } bad[] = {
        {"", NATS_URL_BAD_SCHEME},
        {"127.0.0.1:4222", NATS_URL_BAD_SCHEME},
        {"http://h:1", NATS_URL_BAD_SCHEME},
        {"TLS://h:1", NATS_URL_BAD_SCHEME},
        {"nats://@h:1", NATS_URL_BAD_CREDENTIAL},
        {"nats://:p@h:1", NATS_URL_BAD_CREDENTIAL},
        {"nats://u:@h:1", NATS_URL_BAD_CREDENTIAL},
        {"nats://u:%@h:1", NATS_URL_BAD_CREDENTIAL},
        {"nats://u:%4@h:1", NATS_URL_BAD_CREDENTIAL},
        {"nats://u:%4g@h:1", NATS_URL_BAD_CREDENTIAL},
        {"nats://u:a%00@h:1", NATS_URL_BAD_CREDENTIAL},
        {"nats://u:p@", NATS_URL_BAD_PLACE},
        {"nats://u:p@h", NATS_URL_BAD_PLACE},
        {"nats://h", NATS_URL_BAD_PLACE},
        {"nats://h:", NATS_URL_BAD_PLACE},
        {"nats://:1", NATS_URL_BAD_PLACE},
        {"nats://h:0", NATS_URL_BAD_PLACE},
        {"nats://h:65536", NATS_URL_BAD_PLACE},
        {"nats://h:123456", NATS_URL_BAD_PLACE},
        {"nats://h:1/", NATS_URL_BAD_PLACE},
        {"nats://h h:1", NATS_URL_BAD_PLACE},
        {"nats://[::1]", NATS_URL_BAD_PLACE},
        {"nats://[::1:1", NATS_URL_BAD_PLACE},
        {"nats://[]:1", NATS_URL_BAD_PLACE},
        {"nats://[h]:1", NATS_URL_BAD_PLACE},
        {"nats://[::1]x:1", NATS_URL_BAD_PLACE},
        {"nats://::1:1", NATS_URL_BAD_PLACE},
    };
    struct nats_url url;
    (void)state;
    for (size_t at = 0; at < sizeof bad / sizeof *bad; at++) {
        assert_int_equal(read_url(bad[at].text, &url), bad[at].fault);
        assert_true(!url.user[0] && !url.password[0] && !url.token[0]);
    }
}

static void a_zero_byte_is_in_none(void **state) {
    static const char texts[][13] = {"nats://a\0@h:1", "nats://\0@h:12"};
    struct nats_url url;
    (void)state;
    assert_int_equal(nats_url_read(texts[0], 13, &url), NATS_URL_BAD_CREDENTIAL);
    assert_int_equal(nats_url_read(texts[1], 13, &url), NATS_URL_BAD_CREDENTIAL);
}

static void parts_are_bounded(void **state) {
    char text[1024] = "nats://";
    struct nats_url url;
    (void)state;
    memset(text + 7, 'a', 300);
    for (size_t count = 254; count <= 256; count++) {
        strcpy(text + 7 + count, "@h:1");
        assert_int_equal(read_url(text, &url),
                         count > NATS_URL_CREDENTIAL_BYTES_MAX ? NATS_URL_BAD_CREDENTIAL : NATS_URL_GOOD);
        memset(text + 7, 'a', 300);
    }
    for (size_t count = 252; count <= 254; count++) {
        strcpy(text + 7 + count, ":1");
        assert_int_equal(read_url(text, &url),
                         count > NATS_URL_HOST_BYTES_MAX ? NATS_URL_BAD_PLACE : NATS_URL_GOOD);
        memset(text + 7, 'a', 300);
    }
}

static void a_place_leaves_the_rest(void **state) {
    struct nats_url url;
    (void)state;
    assert_int_equal(read_url("tls://u:p@h:1", &url), NATS_URL_GOOD);
    assert_true(nats_url_place("10.0.0.1:4223", 13, &url));
    assert_string_equal(url.host, "10.0.0.1");
    assert_string_equal(url.password, "p");
    assert_true(url.secure && url.port == 4223);
    assert_false(nats_url_place("u:p@h:1", 7, &url));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_are_read),
        cmocka_unit_test(one_without_a_scheme_has_that_of_the_one_before_it),
        cmocka_unit_test(what_is_none_is_told_and_keeps_no_secret),
        cmocka_unit_test(a_zero_byte_is_in_none),
        cmocka_unit_test(parts_are_bounded),
        cmocka_unit_test(a_place_leaves_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
