// Sets of patterns against a reader that asks each pattern in turn, over all sets and names of a small alphabet that
// chance brings together.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/rights/patterns.h"

enum { PATTERNS = 8, NAME_BYTES = 4 };

static uint64_t state_of_chance = 1;

static uint32_t chance(uint32_t below) {
    state_of_chance = state_of_chance * UINT64_C(6364136223846793005) + 1;
    return (uint32_t)(state_of_chance >> 33) % below;
}

static bool begins(const char *text, size_t bytes, const char *with, size_t with_bytes) {
    return with_bytes <= bytes && strncmp(text, with, with_bytes) == 0;
}

static bool matches(const struct pattern *pattern, const char *name, size_t bytes) {
    return pattern->prefix ? begins(name, bytes, pattern->text, pattern->bytes)
                           : pattern->bytes == bytes && begins(name, bytes, pattern->text, pattern->bytes);
}

static size_t make_name(char *out) {
    size_t bytes = chance(NAME_BYTES);
    for (size_t at = 0; at < bytes; at++)
        out[at] = (char)('a' + chance(2));
    return bytes;
}

static void judge(const struct pattern *naive, size_t count, const struct pattern *compiled,
                  const struct pattern_set *set, const char *name, size_t bytes) {
    bool match = false, cover = false, meet = false;
    for (size_t at = 0; at < count; at++) {
        const struct pattern *one = &naive[at];
        match |= matches(one, name, bytes);
        cover |= one->prefix && matches(one, name, bytes);
        meet |= begins(one->text, one->bytes, name, bytes);
    }
    meet |= cover;
    const struct pattern *found = patterns_match(compiled, set, name, bytes);
    assert_int_equal(found != NULL, match);
    assert_true(!found || matches(found, name, bytes));
    assert_int_equal(patterns_cover(compiled, set, name, bytes) != NULL, cover);
    assert_int_equal(patterns_intersect(compiled, set, name, bytes) != NULL, meet);
}

static void as_one_by_one(void **state) {
    (void)state;
    static char texts[PATTERNS][NAME_BYTES];
    for (int round = 0; round < 20000; round++) {
        struct pattern naive[PATTERNS], compiled[PATTERNS + 1];
        size_t count = chance(PATTERNS + 1);
        for (size_t at = 0; at < count; at++)
            naive[at] = (struct pattern){.text = texts[at],
                                         .bytes = (uint32_t)make_name(texts[at]),
                                         .line = (at + 1) & 15,
                                         .prefix = chance(3) == 0};
        compiled[0] = (struct pattern){.text = "never looked at", .bytes = 15};
        memcpy(compiled + 1, naive, count * sizeof *naive);
        struct pattern_set set = patterns_compile(compiled + 1, count);
        assert_int_equal(set.first, 0);
        set.first = 1;
        for (int asked = 0; asked < 20; asked++) {
            char name[NAME_BYTES];
            size_t bytes = make_name(name);
            judge(naive, count, compiled, &set, name, bytes);
        }
    }
}

static void what_is_superfluous_goes(void **state) {
    (void)state;
    struct pattern patterns[] = {
        {.text = "ab", .bytes = 2, .line = 1},
        {.text = "b", .bytes = 1, .line = 2},
        {.text = "b", .bytes = 1, .line = 3},
        {.text = "a", .bytes = 1, .line = 4, .prefix = 1},
        {.text = "a", .bytes = 1, .line = 5, .prefix = 1},
        {.text = "ac", .bytes = 2, .line = 6, .prefix = 1},
    };
    struct pattern_set set = patterns_compile(patterns, sizeof patterns / sizeof *patterns);
    assert_int_equal(set.prefix_count, 1);
    assert_int_equal(set.exact_count, 1);
    assert_int_equal(patterns_match(patterns, &set, "ab", 2)->line, 4);
    assert_int_equal(patterns_match(patterns, &set, "b", 1)->line, 2);
    assert_null(patterns_match(patterns, &set, "bb", 2));
}

static void a_name_that_is_too_long(void **state) {
    (void)state;
    struct pattern patterns[] = {{.text = "a", .bytes = 1, .line = 1, .prefix = 1},
                                 {.text = "", .bytes = 0, .line = 2, .prefix = 1}};
    struct pattern_set some = patterns_compile(patterns, 1);
    assert_null(patterns_match(patterns, &some, NULL, 0));
    struct pattern_set all = patterns_compile(patterns, 2);
    assert_int_equal(patterns_match(patterns, &all, NULL, 0)->line, 2);
    struct pattern_set none = patterns_compile(patterns, 0);
    assert_null(patterns_match(patterns, &none, NULL, 0));
    assert_null(patterns_match(patterns, &none, "", 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_one_by_one),
                                       cmocka_unit_test(what_is_superfluous_goes),
                                       cmocka_unit_test(a_name_that_is_too_long)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
