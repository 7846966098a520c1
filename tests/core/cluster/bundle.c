// Answers that come as one body: whoever may publish on a server may write anything there.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/cluster/bundle.h"

static void what_is_written_is_read(void **state) {
    static const uint64_t numbers[] = {1, 0x12a4, UINT64_MAX};
    static const char *const bodies[] = {"x", "{\"id\":1}\r\n", "last"};
    char text[256];
    uint32_t bytes = 0;
    (void)state;
    for (unsigned at = 0; at < 3; at++) {
        bundle_write_head(text + bytes, numbers[at], (uint32_t)strlen(bodies[at]));
        bytes += BUNDLE_HEAD_BYTES;
        bytes +=
            (uint32_t)snprintf(text + bytes, sizeof text - bytes, "%s%s", bodies[at], at < 2 ? "\r\n" : "");
    }
    struct span rest = {0, bytes}, body;
    uint64_t number;
    for (unsigned at = 0; at < 3; at++) {
        assert_true(bundle_next((uint8_t *)text, &rest, &number, &body));
        assert_true(number == numbers[at]);
        assert_int_equal(body.bytes, strlen(bodies[at]));
        assert_memory_equal(text + body.at, bodies[at], body.bytes);
    }
    assert_int_equal(rest.bytes, 0);
    assert_false(bundle_next((uint8_t *)text, &rest, &number, &body));
}

// Of whatever is cut off or spoilt nothing is read past its end, and what is read lies within.
static void other_texts_are_none(void **state) {
    static const char good[] = "000000000000000100000003abc\r\n000000000000000200000001d";
    static const char *const bad[] = {"",
                                      "0000000000000001",
                                      "000000000000000100000003",
                                      "000000000000000100000003ab",
                                      "000000000000000100000000",
                                      "0000000000000001000000000abc",
                                      "000000000000000100000003abc\r",
                                      "000000000000000100000003abc\n\n",
                                      "000000000000000100000003abcd",
                                      "00000000000000010000000gabc",
                                      "0000000000000001ffffffffabc",
                                      "                00000003abc"};
    enum { BYTES = sizeof good - 1 };
    struct span body;
    uint64_t number;
    (void)state;
    for (size_t at = 0; at < sizeof bad / sizeof *bad; at++) {
        uint32_t bytes = (uint32_t)strlen(bad[at]);
        struct span rest = {0, bytes};
        assert_false(bundle_next((const uint8_t *)bad[at], &rest, &number, &body));
        assert_int_equal(rest.bytes, bytes);
    }
    for (uint32_t bytes = 0; bytes <= BYTES; bytes++)
        for (unsigned spoilt = 0; spoilt <= bytes; spoilt++) {
            uint8_t *copy = malloc(bytes + 1), *text = copy + 1; // its end is the memory's
            assert_non_null(copy);
            memcpy(text, good, bytes);
            if (spoilt < bytes)
                text[spoilt] ^= 7;
            struct span rest = {0, bytes};
            for (unsigned left = 4; bundle_next(text, &rest, &number, &body); left--) {
                assert_true(left > 0 && body.bytes > 0 && body.at + body.bytes <= bytes);
                assert_true(rest.at + rest.bytes == bytes);
            }
            free(copy);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(other_texts_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
