#include "router/engine/shard/feature.h"

#include "core/base/memory.h"

struct feature_set *feature_set_create(const struct feature *const *features,
                                       const struct hub_settings *settings) {
    struct feature_set *set = memory_take_zeroed(1, sizeof *set);
    for (unsigned number = 0; set && features && number < FEATURES_MAX; number++) {
        const struct feature *feature = features[number];
        if (!feature || (feature->is_on && !feature->is_on(settings)))
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
#undef COMPILE
    return set;
}

void feature_set_destroy(struct feature_set *set) {
    memory_give(set);
}
