#include "router/main/features.h"

#include <assert.h>
#include <stddef.h>

#include "router/engine/shard/feature.h"
#include "router/features/feature_list.h"

static_assert((int)FEATURE_NUMBERS_COUNT <= (int)FEATURES_MAX,
              "each has kinds of mail and timers of its own");

const struct feature *const features_all[FEATURES_MAX] = {
#define X(number, registration) [number] = &registration,
    FEATURE_LIST(X)
#undef X
};
