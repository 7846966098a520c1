#include "core/rights/patterns.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

// A text that is searched for.
struct needle {
    const char *text;
    size_t bytes;
    uint64_t head;
};

static uint64_t load_4(const char *text) {
    uint32_t word;
    memcpy(&word, text, sizeof word);
    return be32toh(word);
}

// Returns the first eight bytes as a number. A shorter text is padded with zeros, and so sorts before each text that
// begins with it.
static uint64_t head_of(const char *text, size_t bytes) {
    if (bytes >= 8)
        return load_4(text) << 32 | load_4(text + 4);
    if (bytes >= 4)
        return load_4(text) << 32 | load_4(text + bytes - 4) << (8 * (8 - bytes));
    uint64_t head = 0;
    for (size_t at = 0; at < bytes; at++)
        head |= (uint64_t)(uint8_t)text[at] << (56 - 8 * at);
    return head;
}

static struct needle needle_of(const char *text, size_t bytes) {
    assert(text || bytes == 0);
    return (struct needle){text, bytes, head_of(text, bytes)};
}

// Compares the bytes behind the heads, which must be equal.
static int compare_rest(const struct pattern *one, const struct needle *other) {
    assert(one->head == other->head);
    size_t common = one->bytes < other->bytes ? one->bytes : other->bytes;
    int order = common > 8 ? memcmp(one->text + 8, other->text + 8, common - 8) : 0;
    return order ? order : (one->bytes > other->bytes) - (one->bytes < other->bytes);
}

static int compare_texts(const struct pattern *one, const struct needle *other) {
    if (one->head != other->head)
        return one->head < other->head ? -1 : 1;
    return compare_rest(one, other);
}

static bool begins_with(const struct needle *needle, const struct pattern *pattern) {
    size_t bytes = pattern->bytes;
    if (bytes > needle->bytes)
        return false;
    if (bytes < 8)
        return bytes == 0 || (needle->head ^ pattern->head) >> (64 - 8 * bytes) == 0;
    return needle->head == pattern->head && memcmp(needle->text + 8, pattern->text + 8, bytes - 8) == 0;
}

static struct needle needle_in(const struct pattern *pattern) {
    return (struct needle){pattern->text, pattern->bytes, pattern->head};
}

// --- Making a set

static int compare(const void *left, const void *right) {
    const struct pattern *one = left, *other = right;
    if (one->prefix != other->prefix)
        return one->prefix ? -1 : 1;
    struct needle needle = needle_in(other);
    int order = compare_texts(one, &needle);
    return order ? order : (one->line > other->line) - (one->line < other->line);
}

static const struct pattern *find_cover(const struct pattern *prefixes, uint32_t count,
                                        const struct needle *needle);

struct pattern_set patterns_compile(struct pattern *patterns, size_t count) {
    struct pattern_set set = {0};
    for (size_t at = 0; at < count; at++)
        patterns[at].head = head_of(patterns[at].text, patterns[at].bytes);
    if (count > 0)
        qsort(patterns, count, sizeof *patterns, compare);
    for (size_t at = 0; at < count; at++) {
        struct pattern pattern = patterns[at];
        struct needle needle = needle_in(&pattern);
        uint32_t kept = set.prefix_count + set.exact_count;
        bool again = set.exact_count > 0 && compare_texts(&patterns[kept - 1], &needle) == 0;
        if (again || find_cover(patterns, set.prefix_count, &needle))
            continue;
        patterns[kept] = pattern;
        *(pattern.prefix ? &set.prefix_count : &set.exact_count) += 1;
    }
    assert(set.prefix_count + set.exact_count <= count);
    return set;
}

// --- Lookups

// Returns the index of the first of `count` sorted patterns that is not less than the needle, or `count`.
static uint32_t lower_bound(const struct pattern *sorted, uint32_t count, const struct needle *needle) {
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_texts(&sorted[middle], needle) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    assert(low <= count);
    return low;
}

// Returns the prefix that the needle begins with, or NULL. No prefix begins with another one, so there is at most one:
// the last prefix that is not greater than the needle. Any text between a prefix and a text that begins with that
// prefix begins with the prefix, too.
static const struct pattern *find_cover(const struct pattern *prefixes, uint32_t count,
                                        const struct needle *needle) {
    assert(count == 0 || prefixes->prefix);
    if (count == 0)
        return NULL;
    uint32_t at = lower_bound(prefixes, count, needle);
    if (at < count && begins_with(needle, &prefixes[at]))
        return &prefixes[at];
    return at > 0 && begins_with(needle, &prefixes[at - 1]) ? &prefixes[at - 1] : NULL;
}

const struct pattern *patterns_cover(const struct pattern *patterns, const struct pattern_set *set,
                                     const char *prefix, size_t bytes) {
    struct needle needle = needle_of(prefix, bytes);
    return find_cover(patterns + set->first, set->prefix_count, &needle);
}

const struct pattern *patterns_match(const struct pattern *patterns, const struct pattern_set *set,
                                     const char *name, size_t bytes) {
    if (!name) {
        const struct pattern *all = set->prefix_count ? &patterns[set->first] : NULL;
        return all && all->bytes == 0 ? all : NULL;
    }
    struct needle needle = needle_of(name, bytes);
    const struct pattern *prefixes = patterns + set->first, *exact = prefixes + set->prefix_count;
    const struct pattern *prefix = find_cover(prefixes, set->prefix_count, &needle);
    if (prefix || set->exact_count == 0)
        return prefix;
    uint32_t at = lower_bound(exact, set->exact_count, &needle);
    return at < set->exact_count && compare_texts(&exact[at], &needle) == 0 ? &exact[at] : NULL;
}

static const struct pattern *first_beginning_with(const struct pattern *sorted, uint32_t count,
                                                  const struct needle *needle) {
    uint32_t at = lower_bound(sorted, count, needle);
    bool found = at < count && sorted[at].bytes >= needle->bytes &&
                 memcmp(sorted[at].text, needle->text, needle->bytes) == 0;
    return found ? &sorted[at] : NULL;
}

const struct pattern *patterns_intersect(const struct pattern *patterns, const struct pattern_set *set,
                                         const char *prefix, size_t bytes) {
    struct needle needle = needle_of(prefix, bytes);
    const struct pattern *prefixes = patterns + set->first;
    const struct pattern *met = find_cover(prefixes, set->prefix_count, &needle);
    if (!met)
        met = first_beginning_with(prefixes, set->prefix_count, &needle);
    if (!met)
        met = first_beginning_with(prefixes + set->prefix_count, set->exact_count, &needle);
    return met;
}
