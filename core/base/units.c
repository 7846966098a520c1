#include "core/base/units.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *suffix;
    uint64_t factor;
};

static bool parse(const char *text, const struct unit *units, uint64_t *out) {
    assert(text && units->suffix);
    char *rest = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &rest, 10);
    uint64_t product;
    if (errno || rest == text || text[0] < '0' || text[0] > '9')
        return false;
    for (; units->suffix; units++) {
        if (strcmp(rest, units->suffix) != 0)
            continue;
        if (__builtin_mul_overflow((uint64_t)number, units->factor, &product))
            return false;
        *out = product;
        return true;
    }
    return false;
}

bool units_time(const char *text, uint64_t *out_ns) {
    static const struct unit times[] = {
        {"us", UINT64_C(1000)},       {"ms", UINT64_C(1000000)},      {"s", UINT64_C(1000000000)},
        {"m", UINT64_C(60000000000)}, {"h", UINT64_C(3600000000000)}, {NULL, 0},
    };
    return parse(text, times, out_ns);
}

bool units_size(const char *text, uint64_t *out_bytes) {
    static const struct unit sizes[] = {
        {"", 1}, {"K", 1u << 10}, {"M", 1u << 20}, {"G", 1u << 30}, {NULL, 0}};
    return parse(text, sizes, out_bytes);
}

bool units_count(const char *text, uint64_t *out) {
    static const struct unit counts[] = {{"", 1}, {NULL, 0}};
    return parse(text, counts, out);
}
