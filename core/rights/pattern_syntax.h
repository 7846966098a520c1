// How patterns and names are spelled in the users file, and asked about in words.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/rights/users.h"

// Takes `@`, `tool:`, `method:`, and for RIGHT_HOLD `event:`, from the beginning of a text: what kind it is of where
// it stands in a list of that right.
enum right_kind pattern_syntax_kind(enum right right, const char **text, size_t *bytes);
// How a kind begins; static.
const char *pattern_syntax_begin(enum right right, enum right_kind kind);

// Reads one pattern. NULL, or what was expected; `*kind` and `*pattern` but for its line are then not set.
const char *pattern_syntax_pattern(enum right right, const char *text, size_t bytes, enum right_kind *kind,
                                   struct pattern *pattern);
// Whether a user or a role may be called so.
bool pattern_syntax_is_name(const char *text, size_t bytes);
