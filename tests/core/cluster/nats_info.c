// What a server says of itself.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/limits.h"
#include "core/cluster/nats_server.h"

static uint8_t text[1024 + BUFFER_SLACK_BYTES];

static bool read_info(const char *argument, struct nats_info *info) {
    size_t bytes = strlen(argument);
    assert_true(bytes <= 1024);
    memcpy(text, argument, bytes);
    return nats_info_read(text, (struct span){0, (uint32_t)bytes}, info);
}

static void what_matters_is_read(void **state) {
    struct nats_info info;
    (void)state;
    assert_true(
        read_info("{\"server_id\":\"X\",\"version\":\"2.9.10\",\"headers\":true,\"max_payload\":1048576,"
                  "\"auth_required\":true,\"ldm\":true,\"nonce\":\"abc\",\"deep\":{\"max_payload\":1},"
                  "\"connect_urls\":[\"10.0.0.1:4222\",\"[::1]:4222\"]} ",
                  &info));
    assert_int_equal(info.payload_bytes_max, 1048576);
    assert_true(info.headers && info.lame_duck && !info.tls_required);
    assert_int_equal(info.nonce.bytes, 5);
    assert_memory_equal(text + info.connect_urls.at, "[\"10.0.0.1:4222\"", 16);
}

static void what_is_no_info_is_refused(void **state) {
    static const char *const bad[] = {"",
                                      "{",
                                      "{}",
                                      "[]",
                                      "{\"max_payload\":0}",
                                      "{\"max_payload\":\"1\"}",
                                      "{\"max_payload\":1,}",
                                      "hello",
                                      "{\"max_payload\":1"};
    struct nats_info info;
    (void)state;
    for (size_t at = 0; at < sizeof bad / sizeof *bad; at++)
        assert_false(read_info(bad[at], &info));
    assert_true(read_info("{\"max_payload\":1}", &info));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_matters_is_read),
        cmocka_unit_test(what_is_no_info_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
