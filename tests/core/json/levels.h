// Tests of vector code run once at each level that the processor has.
#pragma once

#include <stdio.h>

#include "core/json/json.h"

// As cmocka_run_group_tests, but how many failed at all levels.
#define levels_run_group_tests(tests, setup, teardown)                                                       \
    levels_run(tests, sizeof(tests) / sizeof *(tests), setup, teardown)

static int levels_run(const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup,
                      CMFixtureFunction teardown) {
    static const char *const names[JSON_LEVELS_COUNT] = {"portable", "AVX2", "AVX-512"};
    int failed = 0;
    for (int level = 0; level < JSON_LEVELS_COUNT; level++)
        if (json_level_use((enum json_level)level))
            failed += _cmocka_run_group_tests(names[level], tests, count, setup, teardown);
        else
            printf("%s: not on this processor\n", names[level]);
    return failed;
}
