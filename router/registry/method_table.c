#include "router/registry/method_table.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} methods[METHODS_COUNT] = {
#define X(method, name, answer, before_initialize, grows, lasts) [method] = {name, sizeof name - 1},
    METHODS(X)
#undef X
};

// A bit by first letter and length: of a name whose bit no method has, nothing more is looked at.
static uint64_t bit_of(char first, size_t bytes) {
    return UINT64_C(1) << (((size_t)(unsigned char)first * 7 + bytes) & 63);
}

static bool may_be_a_method(const char *name, size_t bytes) {
#define X(method, text, answer, before_initialize, grows, lasts) | bit_of((text)[0], sizeof(text) - 1)
    const uint64_t bits = 0 METHODS(X);
#undef X
    return bytes && bits & bit_of(name[0], bytes);
}

enum method method_table_find(const char *name, size_t bytes) {
    enum method method = 0;
    assert(name);
    if (!may_be_a_method(name, bytes))
        return METHODS_COUNT;
    while (method < METHODS_COUNT &&
           (methods[method].bytes != bytes || memcmp(methods[method].name, name, bytes) != 0))
        method++;
    return method;
}

static bool begins(const char *text, size_t bytes, const char *prefix) {
    return bytes >= strlen(prefix) && memcmp(text, prefix, strlen(prefix)) == 0;
}

bool method_table_is_of_hub(const char *name, size_t bytes) {
    return begins(name, bytes, METHOD_TABLE_HUB_PREFIX);
}

bool method_table_may_be_offered(const char *name, size_t bytes) {
    return bytes && method_table_find(name, bytes) == METHODS_COUNT && !method_table_is_of_hub(name, bytes) &&
           !begins(name, bytes, "$/") && !begins(name, bytes, "rpc.");
}
