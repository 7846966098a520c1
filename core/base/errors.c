#include "core/base/errors.h"

#include <assert.h>

static const struct {
    int32_t code;
    const char *text;
} table[ERRORS_COUNT] = {
#define X(name, number, words) [name] = {.code = (number), .text = (words)},
    ERRORS(X)
#undef X
};

int32_t error_code(enum error error) {
    assert(error > ERROR_NONE && error < ERRORS_COUNT);
    return table[error].code;
}

int32_t error_code_mcp(enum error error) {
    int32_t code = error_code(error);
    assert(code < 0);
    return code >= -32099 && code <= -32000 ? code + 1000 : code;
}

const char *error_text(enum error error) {
    assert(error > ERROR_NONE && error < ERRORS_COUNT);
    return table[error].text;
}
