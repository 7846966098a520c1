// The answer to a key is what the standard says, and only to what may be a key.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/wire/websocket.h"

static bool accept(const char *key, char out[WEBSOCKET_ACCEPT_BYTES]) {
    return websocket_accept((const uint8_t *)key, strlen(key), out);
}

static void a_key_is_answered(void **state) {
    (void)state;
    static const struct {
        const char *key, *accept;
    } cases[] = {
        {"dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="}, // RFC 6455 section 1.3
        {"x3JJHMbDL1EzLkh9GBhXDw==", "HSmrc0sMlYUkAGmm5OPpG2HaGWk="},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[WEBSOCKET_ACCEPT_BYTES];
        assert_true(accept(cases[i].key, out));
        assert_memory_equal(out, cases[i].accept, sizeof out);
    }
}

static void what_is_no_key_is_not(void **state) {
    (void)state;
    static const char *const cases[] = {
        "",
        "dGhlIHNhbXBsZSBub25jZQ=",
        "dGhlIHNhbXBsZSBub25jZQ===",
        "dGhlIHNhbXBsZSBub25jZQA=",
        "dGhlIHNhbXBsZSBub25jZQAA",
        "=GhlIHNhbXBsZSBub25jZQ==",
        "dGhlIHNhbXBsZSBub25jZ ==",
        "dGhlIHNhbXBsZSBub25j-_==",
        "@[`{IHNhbXBsZSBub25jZQ==",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[WEBSOCKET_ACCEPT_BYTES];
        assert_false(accept(cases[i], out));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_answered),
        cmocka_unit_test(what_is_no_key_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
