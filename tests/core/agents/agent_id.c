// The syntax of an agentId: every byte at every place of a part, the dots, and the length at its limit.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/agents/agent.h"

static bool valid(const char *text) {
    return agent_id_valid(text, strlen(text));
}

static void takes_names(void **state) {
    (void)state;
    static const char *const good[] = {"a",   "0",     "-",          "_",  ":",  "/",   "test-agent",
                                       "a.b", "a.b.c", "A_z:0/9-.x", "//", "::", "a/.b"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(valid(good[i]));
}

static void refuses_empty_parts(void **state) {
    (void)state;
    static const char *const bad[] = {"", ".", "..", ".a", "a.", "a..b", "a.b.", ".a.b", "a.b..c"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(valid(bad[i]));
    assert_false(agent_id_valid(NULL, 0));
}

static void every_byte_at_every_place(void **state) {
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        bool good = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                    (byte >= 'a' && byte <= 'z') || (byte && strchr("-_:/", (int)byte));
        for (size_t at = 0; at < 3; at++) {
            char text[] = "abc";
            text[at] = (char)byte;
            assert_int_equal(agent_id_valid(text, 3), good || (byte == '.' && at == 1));
        }
    }
}

static void holds_the_length(void **state) {
    (void)state;
    char text[257];
    memset(text, 'a', sizeof text);
    assert_true(agent_id_valid(text, 254));
    assert_true(agent_id_valid(text, 255));
    assert_false(agent_id_valid(text, 256));
    assert_false(agent_id_valid(text, 257));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_names),
        cmocka_unit_test(refuses_empty_parts),
        cmocka_unit_test(every_byte_at_every_place),
        cmocka_unit_test(holds_the_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
