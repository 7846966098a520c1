// Finds lines of a users file that have no effect. Such a line is no fault, but is hardly ever intended.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/rights/users.h"

// Reports each line without effect, with the reason, in the order of lines. users_read must have read the file without
// a fault. Returns false without memory; then nothing was reported.
bool users_lint(const char *text, size_t bytes, users_complain *complain, void *context);
