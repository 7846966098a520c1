#include "router/engine/shard/feature.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"

static bool is_under_hub(const struct feature_method *method) {
    assert(method->name);
    return strncmp(method->name, "hub/", 4) == 0;
}

static void add_methods(struct feature_set *set, const struct feature *feature) {
    assert(feature->name);
    unsigned at = 0, claims = 0;
    if (!feature->methods)
        return;
    while (set->methods[at])
        at++;
    set->methods[at] = feature->methods;
    while (set->claims[claims])
        claims++;
    for (const struct feature_method *method = feature->methods; method->name; method++) {
        assert(is_under_hub(method) ? method->answer != NULL : method->take != NULL);
        if (is_under_hub(method))
            continue;
        set->claims_bytes[claims] = strlen(method->name);
        set->claims_lengths |= UINT64_C(1) << set->claims_bytes[claims] % 64;
        set->claims[claims++] = method;
        assert(claims < FEATURES_MAX);
    }
}

struct feature_set *feature_set_create(const struct feature *const *features,
                                       const struct hub_settings *settings, bool watched) {
    struct feature_set *set = memory_take_zeroed(1, sizeof *set);
    for (unsigned number = 0; set && features && number < FEATURES_MAX; number++) {
        const struct feature *feature = features[number];
        if (feature)
            add_methods(set, feature);
        if (!feature || (feature->is_watcher && !watched) || (feature->is_on && !feature->is_on(settings)))
            continue;
        set->by_number[number] = feature;
    }
    if (!set)
        return NULL;
#define COMPILE(function)                                                                                    \
    for (unsigned number = 0, count = 0; number < FEATURES_MAX; number++)                                    \
        if (set->by_number[number] && set->by_number[number]->function)                                      \
            set->function[count++] = set->by_number[number]->function;
#define X(function, parameters, arguments) COMPILE(function)
    FEATURE_HOOKS(X)
    FEATURE_QUESTIONS(X)
#undef X
    FEATURE_STEPS(COMPILE)
    COMPILE(choose)
#undef COMPILE
    return set;
}

void feature_set_destroy(struct feature_set *set) {
    memory_give(set);
}

static bool is_name(const struct feature_method *method, const char *name, size_t bytes) {
    assert(method->name);
    return strlen(method->name) == bytes && memcmp(method->name, name, bytes) == 0;
}

const struct feature_method *feature_set_method(const struct feature_set *set, const char *name,
                                                size_t bytes) {
    for (unsigned at = 0; set->methods[at]; at++)
        for (const struct feature_method *method = set->methods[at]; method->name; method++)
            if (method->answer && is_name(method, name, bytes))
                return method;
    return NULL;
}
