// Whether the lookup finds the same at each level of vector code as at the portable one, which takes a member after
// the other.
#pragma once

#include "core/lookup/lookup.h"
#include "tests/core/base/placed.h"

enum { ID_BYTES_MAX = 16 };

static const enum json_level vector_levels[] = {JSON_LEVEL_AVX2, JSON_LEVEL_AVX512};
enum { VECTOR_LEVELS_COUNT = sizeof vector_levels / sizeof *vector_levels };

static void assert_same(const struct lookup *left, const struct lookup *right, const char *body) {
    bool same = left->verdict == right->verdict && left->kind == right->kind &&
                left->fault_at == right->fault_at && left->fault_key == right->fault_key &&
                left->present == right->present;
    for (enum lookup_key key = 0; key < LOOKUP_KEYS_COUNT; key++)
        if (lookup_has(left, key))
            same = same && left->type[key] == right->type[key] &&
                   left->value[key].at == right->value[key].at &&
                   left->value[key].bytes == right->value[key].bytes;
    if (!same)
        print_error("%s: verdicts %d and %d, faults at %u and %u\n", body, (int)left->verdict,
                    (int)right->verdict, left->fault_at, right->fault_at);
    assert_true(same);
}

static void assert_levels_agree(const char *body, uint32_t bytes) {
    struct lookup portable, vector;
    const uint8_t *text = placed(body, bytes);
    json_level_use(JSON_LEVEL_PORTABLE);
    lookup_body(&portable, text, bytes, ID_BYTES_MAX);
    for (unsigned index = 0; index < VECTOR_LEVELS_COUNT; index++)
        if (json_level_use(vector_levels[index])) {
            lookup_body(&vector, text, bytes, ID_BYTES_MAX);
            assert_same(&portable, &vector, body);
        }
}
