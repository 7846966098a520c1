// The table of options of the command line, which are also the keys of an INI file. Help, bounds, defaults, and which
// options SIGHUP reads again, come from this table and the rows of features. Man pages, completions and the sample are
// made from the lines of --help: `  --NAME VALUE  TEXT (DEFAULT)`.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/address.h"
#include "router/engine/shard/option.h"

// The sandbox is off with sanitizers: their run time takes memory in its own ways, reads /proc, and traces its own
// threads.
#ifdef PATCHBAY_SANITIZED
#define SANDBOX_DEFAULT_NAME "off"
#else
#define SANDBOX_DEFAULT_NAME "on"
#endif

// Returns all options, in the order of help and reference.
const struct option *options_all(size_t *count);
// Returns the option of this name, or NULL.
const struct option *option_find(const char *name);
// Returns the option that gives addresses of this address's transport: a feature's own, or `listen`.
const struct option *option_of_address(const struct address *address);
// Returns the feature of an option; NULL: the option is the program's own.
const struct feature *option_feature(const struct option *option);
// Writes what a value must be, with its bounds: "a size from 64 to 1M". Returns `out`.
const char *option_expected(const struct option *option, char *out, size_t capacity);
// Writes an option's line of --help, without a line feed: its description, and its default in parentheses.
void option_describe(const struct option *option, char *out, size_t capacity);
