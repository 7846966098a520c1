#include "router/methods/names.h"

#include <assert.h>
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
    bool before_initialize;
    bool result_grows;
} methods[METHODS_COUNT] = {
#define X(method, name, answer, before_initialize, grows)                                                    \
    [method] = {name, sizeof name - 1, before_initialize, grows},
    METHODS(X)
#undef X
};

enum method names_find(const char *name, size_t bytes) {
    enum method method = 0;
    assert(name);
    while (method < METHODS_COUNT &&
           (methods[method].bytes != bytes || memcmp(methods[method].name, name, bytes) != 0))
        method++;
    return method;
}

bool names_before_initialize(enum method method) {
    assert(method <= METHODS_COUNT);
    return method < METHODS_COUNT && methods[method].before_initialize;
}

bool names_result_grows(enum method method) {
    return method < METHODS_COUNT && methods[method].result_grows;
}

static bool begins(const char *text, size_t bytes, const char *prefix) {
    return bytes >= strlen(prefix) && memcmp(text, prefix, strlen(prefix)) == 0;
}

bool names_is_of_hub(const char *name, size_t bytes) {
    return begins(name, bytes, NAMES_HUB_PREFIX);
}

bool names_may_be_offered(const char *name, size_t bytes) {
    return bytes && names_find(name, bytes) == METHODS_COUNT && !names_is_of_hub(name, bytes) &&
           !begins(name, bytes, "$/") && !begins(name, bytes, "rpc.");
}
