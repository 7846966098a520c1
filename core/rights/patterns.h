// Patterns of the users file, exact or with a trailing `*`, and sets of them that are made once and asked often.
// A set is sorted: a question costs two binary searches, whatever the names are, and allocates nothing.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pattern {
    const char *text; // without the `*`; not terminated
    uint32_t bytes;
    uint32_t line : 31; // of the file, from 1
    uint32_t prefix : 1;
    uint64_t head; // its first eight bytes as a number that sorts as they do; patterns_compile makes it
};

// A run of one array of patterns: prefixes, then exact ones. Both are sorted, nothing stands twice, and none begins
// with a prefix that is there; of equal patterns the first line counts.
struct pattern_set {
    uint32_t first;
    uint32_t prefix_count;
    uint32_t exact_count;
};

static inline bool pattern_set_is_empty(const struct pattern_set *set) {
    return (set->prefix_count | set->exact_count) == 0;
}

// Sorts `count` patterns in place and drops those that others make superfluous. The remaining patterns lie at
// the beginning; the set's `first` is 0.
struct pattern_set patterns_compile(struct pattern *patterns, size_t count);

// The pattern that matches the name, or NULL. `name` may be NULL: then it is
// longer than any that can be, and only `*` alone matches it.
const struct pattern *patterns_match(const struct pattern *patterns, const struct pattern_set *set,
                                     const char *name, size_t bytes);
// The prefix within which all names lie that begin with `prefix`, or NULL.
const struct pattern *patterns_cover(const struct pattern *patterns, const struct pattern_set *set,
                                     const char *prefix, size_t bytes);
// A pattern that matches any name that begins with `prefix`, or NULL.
const struct pattern *patterns_meet(const struct pattern *patterns, const struct pattern_set *set,
                                    const char *prefix, size_t bytes);
