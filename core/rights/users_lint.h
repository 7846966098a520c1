// Lines of a users file without effect: none keeps a hub from starting, but hardly any was meant.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/rights/users.h"

// Tells each line that says something without effect, and what it is, in the order of lines. The file has been read by
// users_read without a fault. False when memory is used up; then nothing was told.
bool users_lint(const char *text, size_t bytes, users_complain *complain, void *context);
