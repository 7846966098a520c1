// The table of options: of the command line, and keys of an INI file. Help, bounds, defaults and what SIGHUP takes up come from this
// one table and the rows of features. The lines of --help, `  --NAME VALUE  TEXT (DEFAULT)`, are what man pages, completions and the sample are made from.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "router/engine/shard/option.h"

// The sanitizers' run time does what no hub does: asks for memory in its own ways, reads /proc, traces its own threads.
#ifdef PATCHBAY_SANITIZED
#define SANDBOX_DEFAULT_NAME "off"
#else
#define SANDBOX_DEFAULT_NAME "on"
#endif

// All options, in the order of help and reference.
const struct option *options_all(size_t *count);
// NULL when there is none of this name.
const struct option *option_find(const char *name);
// The feature to which the option belongs; NULL: it is the program's own.
const struct feature *option_feature(const struct option *option);
// Writes what a value must be, with its bounds: "a size from 64 to 1M". Returns `out`.
const char *option_expected(const struct option *option, char *out, size_t capacity);
// One line an option, as --help has it, without a line feed: what it is, and its default in parentheses.
void option_describe(const struct option *option, char *out, size_t capacity);
