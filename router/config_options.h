// The table of options: of the command line, and keys of an INI file. Help, bounds, defaults and what SIGHUP takes up come from this
// one table. The lines of --help, `  --NAME VALUE  TEXT (DEFAULT)`, are what man pages, completions and the sample are made from.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_LISTEN,
    OPTION_HTTP,
    OPTION_ALLOW,
    OPTION_CHOICE, // one of a closed set of words
    OPTION_TEXT,
    OPTION_NATS,
    OPTION_CLUSTER,
    OPTION_EXTENSION,
    OPTION_SPIN, // a time of any number of nanoseconds
    OPTION_FLAG,
    OPTION_COUNT,
    OPTION_SIZE,
    OPTION_TIME, // of whole milliseconds, as timers count these
    OPTION_CONFIG
};

enum option_group {
    OPTIONS_ADDRESSES,
    OPTIONS_TLS,
    OPTIONS_RIGHTS,
    OPTIONS_ROUTING,
    OPTIONS_CHILDREN,
    OPTIONS_CLUSTER,
    OPTIONS_LIMITS,
    OPTIONS_STREAMS,
    OPTIONS_PROCESS,
    OPTION_GROUPS
};

// Properties of an option besides its kind.
enum {
    OPTION_REPEATS = 1,  // several add up within one source
    OPTION_RELOADS = 2,  // SIGHUP takes it up
    OPTION_ARGUMENT = 4, // of the command line alone: it is no key of a file
    OPTION_SECRET = 8,   // its value may hold a credential, and must not be shown
};

// The sanitizers' run time does what no hub does: asks for memory in its own ways, reads /proc, traces its own threads.
#ifdef PATCHBAY_SANITIZED
#define SANDBOX_DEFAULT_NAME "off"
#else
#define SANDBOX_DEFAULT_NAME "on"
#endif

struct option {
    const char *name;
    enum option_kind kind;
    enum option_group group;
    unsigned traits;
    size_t offset, bytes; // of the field in struct config, where the kind has one
    uint64_t min, max;
    const char *const *choices; // of OPTION_CHOICE, ended by NULL
    const char *value;          // what stands for it in texts: "FILE"; NULL for a flag
    const char *preset;   // the default as it would be written; NULL: none, or one that depends (`computed`)
    const char *computed; // what such a default is, in words, or NULL
    const char *help;     // a sentence without its end
};

// All options, in the order of help and reference.
const struct option *options_all(size_t *count);
// NULL when there is none of this name.
const struct option *option_find(const char *name);
// Writes what a value must be, with its bounds: "a size from 64 to 1M". Returns `out`.
const char *option_expected(const struct option *option, char *out, size_t capacity);
// One line an option, as --help has it, without a line feed: what it is, and its default in parentheses.
void option_describe(const struct option *option, char *out, size_t capacity);
