// Bodies of the usual shape, which vector code walks from quote to quote, and bodies that differ from the shape by a
// byte. Fields are found, refused and located as by the portable walk over any body.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/lookup/lookup.h"
#include "tests/core/base/placed.h"
#include "tests/core/lookup/levels_agree.h"

enum { BODY_BYTES_MAX = 65536, QUICK_BYTES_MAX = 32768 };

static const char *const bodies[] = {
    "{\"jsonrpc\":\"2.0\",\"id\":1234567890123456,\"method\":\"agent/"
    "request\",\"params\":{\"targetAgent\":\"a\","
    "\"context\":{\"b\":[\"}\",{}]},\"_meta\":{\"progressToken\":12345678},\"partialResultToken\":\"t\"}}",
    "{\"jsonrpc\": \"2.0\", \"result\": \"a\\n\\\"b\\\\\", \"id\": \"x\"} ",
    "{\"method\":\"m\",\"params\":{},\"type\":true,\"a\":{\"\\\\\":\"\\\"\"},\"id\":0}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"jsonrpc\":\"2.0\"}",
    "{\"jsonrpc\":\"2.0\"}",
    // closed where no quote is near, and once more
    ("{\"a\":[0                                                                   ]"
     "                                                                            "
     ",\"b\":1],\"method\":\"m\"}"),
    "{\"jsonrpc\":\"2.0\",\"id\":12345678901234567,\"result\":0}",
    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-1,\"message\":\"\xc3\xa9\"},\"id\":null}",
};
enum { BODIES_COUNT = sizeof bodies / sizeof *bodies };

static void levels_agree_whatever_is_changed(void **state) {
    (void)state;
    static char body[BODY_BYTES_MAX];
    for (size_t index = 0; index < BODIES_COUNT; index++) {
        uint32_t bytes = (uint32_t)strlen(strcpy(body, bodies[index]));
        for (uint32_t at = 0; at < bytes; at++)
            for (const char *byte = "\"\\:,{}[] \n01-.etn\x01\x1f\x7f\xc3"; *byte != '\0'; byte++) {
                char was = body[at];
                body[at] = *byte;
                assert_levels_agree(body, bytes);
                body[at] = was;
            }
    }
}

static void levels_agree_wherever_it_is_cut(void **state) {
    (void)state;
    for (size_t index = 0; index < BODIES_COUNT; index++)
        for (uint32_t bytes = 1; bytes <= strlen(bodies[index]); bytes++)
            assert_levels_agree(bodies[index], bytes);
}

static void assert_levels_agree_behind(const char *before, const char *behind, int pad, const char *body) {
    static char all[BODY_BYTES_MAX];
    int bytes = snprintf(all, sizeof all, "{\"fill\":%s%0*d%s,%s", before, pad, 0, behind, body + 1);
    assert_levels_agree(all, (uint32_t)bytes);
}

// Puts a member before all others that moves them through the blocks, and past the longest body that is
// walked so. The member is a string, or one within a container, in which there is another one behind it.
static void levels_agree_wherever_it_lies(void **state) {
    (void)state;
    static const char *const around[][2] = {{"\"", "\""}, {"[\"", "\",\"]\"]"}, {"{\"a\\\"\":\"", "\\\"\"}"}};
    for (size_t index = 0; index < BODIES_COUNT; index++)
        for (size_t kind = 0; kind < sizeof around / sizeof *around; kind++) {
            int most = QUICK_BYTES_MAX - (int)strlen(bodies[index]);
            for (int pad = 0; pad < 2 * 64; pad++) {
                assert_levels_agree_behind(around[kind][0], around[kind][1], pad, bodies[index]);
                assert_levels_agree_behind(around[kind][0], around[kind][1], 2000 + pad, bodies[index]);
                assert_levels_agree_behind(around[kind][0], around[kind][1], most - pad, bodies[index]);
            }
        }
}

// Each key of each level twice, the second time with something else between.
static void levels_agree_on_keys_that_come_twice(void **state) {
    (void)state;
    static const char *const heads[] = {"{", "{\"params\":{", "{\"params\":{\"_meta\":{"};
    static const char *const tails[] = {"", "}", "}}"};
    static char body[BODY_BYTES_MAX];
    for (enum lookup_key key = 0; key < LOOKUP_KEYS_COUNT; key++)
        for (unsigned level = 0; level < 3; level++)
            for (unsigned times = 1; times <= 2; times++) {
                const char *name = lookup_key_text(key);
                int bytes = snprintf(body, sizeof body, "%s\"%s\":1", heads[level], name);
                if (times == 2)
                    bytes +=
                        snprintf(body + bytes, sizeof body - (size_t)bytes, ",\"x\":2,\"%s\":\"\"", name);
                bytes += snprintf(body + bytes, sizeof body - (size_t)bytes, "%s}", tails[level]);
                assert_levels_agree(body, (uint32_t)bytes);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_agree_whatever_is_changed),
        cmocka_unit_test(levels_agree_wherever_it_is_cut),
        cmocka_unit_test(levels_agree_wherever_it_lies),
        cmocka_unit_test(levels_agree_on_keys_that_come_twice),
    };
    return cmocka_run_group_tests(tests, placed_map, placed_unmap);
}
