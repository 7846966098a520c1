// Texts that a case sends and expects, in which <placeholders> stand for bytes. README.md lists them.
#pragma once

#include <stdbool.h>

#include "core/base/text.h"
#include "tests/sim/naive.h"

enum { VARIABLES_MAX = 64, VARIABLE_NAME_MAX = 32 };

// JSON values that were captured, by name.
struct variables {
    struct {
        char name[VARIABLE_NAME_MAX];
        char *value;
    } items[VARIABLES_MAX];
    unsigned count;
};

void variables_forget(struct variables *variables);

// Appends the bytes that `text` stands for. `raw`: backslash escapes (\r \n \t \\) count too. False when it
// names a variable that has no value.
bool match_bytes(struct text *out, const char *text, const struct variables *variables, bool raw);

// Returns whether the bytes are those of the pattern, a variable without a value standing for any one JSON value, which
// it takes.
bool match_exactly(const char *pattern, struct bit bytes, struct variables *variables);

// Returns whether the JSON text has in it all that the pattern has: members in any order and among others, arrays
// element by element, anything else byte for byte.
bool match_like(const char *pattern, struct bit text, struct variables *variables);

// Returns whether the body is what the hub may say itself: a JSON-RPC 2.0 message, or an array of such, in which an
// error bears the name of its code.
bool match_hub_says(struct bit body);
