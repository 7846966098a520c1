#include "core/base/governance.h"

#include <assert.h>
#include <string.h>

static const char *const names[GOVERNANCE_COUNT] = {"autonomous", "supervised", "human-in-the-loop",
                                                    "manual"};

enum governance governance_parse(const char *text, size_t bytes) {
    assert(text || bytes == 0);
    for (enum governance level = 0; level < GOVERNANCE_COUNT; level++)
        if (strlen(names[level]) == bytes && memcmp(names[level], text, bytes) == 0)
            return level;
    return GOVERNANCE_COUNT;
}

const char *governance_text(enum governance level) {
    assert(level < GOVERNANCE_COUNT);
    return names[level];
}
