// Reads patterns and names as the users file and questions in words spell them.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/rights/users.h"

// Removes `@`, `tool:`, `method:`, or for RIGHT_HOLD `event:`, from the beginning of a text. Returns the kind of the
// name in a list of that right.
enum right_kind pattern_syntax_kind(enum right right, const char **text, size_t *bytes);
// Returns the text before a name of that kind; static.
const char *pattern_syntax_begin(enum right right, enum right_kind kind);

// Reads one pattern. Sets *kind and *pattern, except the pattern's line. Returns NULL, or the expected text; then
// nothing is set.
const char *pattern_syntax_pattern(enum right right, const char *text, size_t bytes, enum right_kind *kind,
                                   struct pattern *pattern);
// Returns whether a user or a role may have that name.
bool pattern_syntax_is_name(const char *text, size_t bytes);
