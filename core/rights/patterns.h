// Patterns of the users file, exact or with a trailing `*`, and sets of patterns that are made once and read often. A
// set is sorted: a lookup costs two binary searches for any names, and allocates nothing.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pattern {
    const char *text; // without the `*`; not terminated
    uint32_t bytes;
    uint32_t line : 31; // line of the file, from 1
    uint32_t prefix : 1;
    // The first eight bytes of `text` as a number in the same order; patterns_compile sets this
    uint64_t head;
};

// A run of one array of patterns: prefixes, then exact patterns. Both parts are sorted, no pattern occurs twice, and no
// pattern begins with a prefix of the set. Of equal patterns the one with the lowest line is kept.
struct pattern_set {
    uint32_t first;
    uint32_t prefix_count;
    uint32_t exact_count;
};

static inline bool pattern_set_is_empty(const struct pattern_set *set) {
    return (set->prefix_count | set->exact_count) == 0;
}

// Sorts `count` patterns in place, and removes those that other patterns cover. The remaining patterns lie at the
// beginning; the set's `first` is 0.
struct pattern_set patterns_compile(struct pattern *patterns, size_t count);

// Returns the pattern that matches the name, or NULL. `name` NULL stands for a name that is longer than any may be;
// only `*` alone matches such a name.
const struct pattern *patterns_match(const struct pattern *patterns, const struct pattern_set *set,
                                     const char *name, size_t bytes);
// Returns the pattern that matches all names that begin with `prefix`, or NULL.
const struct pattern *patterns_cover(const struct pattern *patterns, const struct pattern_set *set,
                                     const char *prefix, size_t bytes);
// Returns a pattern that matches at least one name that begins with `prefix`, or NULL.
const struct pattern *patterns_intersect(const struct pattern *patterns, const struct pattern_set *set,
                                         const char *prefix, size_t bytes);
