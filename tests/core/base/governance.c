// Governance levels: their names and their order (HugAI v2 headers, table of section 2).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/governance.h"

static void names_and_levels_agree(void **state) {
    (void)state;
    static const char *const names[] = {"autonomous", "supervised", "human-in-the-loop", "manual"};
    assert_int_equal(GOVERNANCE_COUNT, 4);
    for (unsigned level = 0; level < 4; level++) {
        assert_string_equal(governance_text(level), names[level]);
        assert_int_equal(governance_parse(names[level], strlen(names[level])), level);
    }
}

static void anything_else_is_none(void **state) {
    (void)state;
    static const char *const others[] = {"",      "Manual",      "manual ",  "manua",
                                         "human", "autonomouss", "supervise"};
    for (size_t index = 0; index < sizeof others / sizeof *others; index++)
        assert_int_equal(governance_parse(others[index], strlen(others[index])), GOVERNANCE_COUNT);
    assert_int_equal(governance_parse("manual\0", 7), GOVERNANCE_COUNT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_levels_agree),
        cmocka_unit_test(anything_else_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
