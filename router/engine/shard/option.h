// Rows of options: options of the program (config_options.c) and of features (feature.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "router/engine/shard/hub.h"

enum option_kind {
    OPTION_LISTEN,
    // A feature's one address, of the transport that names this option (transport.h): HOST:PORT with or without the
    // transport's scheme, or `off`. It has no field.
    OPTION_ADDRESS,
    OPTION_CHOICE, // one word of a closed set
    OPTION_TEXT,
    OPTION_PARSED, // a text that the feature itself reads (feature.read_option)
    OPTION_SPIN,   // a time in whole nanoseconds
    OPTION_FLAG,
    OPTION_FRACTION, // from 0 to 1, in billionths
    OPTION_COUNT,
    OPTION_SIZE,
    OPTION_TIME, // a time in whole milliseconds, as timers count
    OPTION_CONFIG
};

enum option_group {
    OPTIONS_LISTENERS,
    OPTIONS_ADDRESSES,
    OPTIONS_TLS,
    OPTIONS_RIGHTS,
    OPTIONS_ROUTING,
    OPTIONS_CHILDREN,
    OPTIONS_CLUSTER,
    OPTIONS_LIMITS,
    OPTIONS_TIMES,
    OPTIONS_STREAMS,
    OPTIONS_MCP,
    OPTIONS_PROCESS,
    OPTION_GROUPS
};

// Properties of an option besides its kind.
enum {
    // May be given several times. Without OPTION_ADDS, the values of one source (the command line, or a file) replace
    // those of the source before.
    OPTION_REPEATS = 1 << 0,
    OPTION_ADDS = 1 << 1,     // with OPTION_REPEATS: the values of all sources are kept
    OPTION_RELOADS = 1 << 2,  // SIGHUP changes the value
    OPTION_ARGUMENT = 1 << 3, // an argument of the command line alone, and no key of a file
    OPTION_SECRET = 1 << 4,   // the value may hold a credential, and must not be shown
    // With OPTION_PARSED: a fault may show the value, since nobody would put a credential there.
    OPTION_SHOWN = 1 << 5,
    // The value is NAME=COMMAND, and keeps the child NAME running. The command's credentials must not be shown.
    OPTION_CHILD = 1 << 6,
};

struct option {
    const char *name;
    enum option_kind kind;
    enum option_group group;
    unsigned traits;
    // The field's place and size: in struct config, or for a feature in struct hub_settings. Unused for kinds without a
    // field.
    size_t offset, bytes;
    uint64_t min, max;
    const char *const *choices; // the words of OPTION_CHOICE, ended by NULL
    const char *value;          // the value's name in help texts, such as "FILE"; NULL for a flag
    // The default, as the user would write it; NULL: there is none, or it is computed. OPTION_ADDRESS has it only where
    // no option gives an address.
    const char *preset;
    const char *computed; // describes in words a default that is computed, or has a condition; or NULL
    const char *help;     // a sentence without its full stop
};

// Bounds of times, in nanoseconds.
#define OPTION_MS   UINT64_C(1000000)
#define OPTION_HOUR UINT64_C(3600000000000)

// The field of a feature's option: a member of struct hub_settings (OPTION_FIELD), or one of the feature's own values
// by its index (OPTION_OWN).
#define OPTION_FIELD(member)                                                                                 \
    offsetof(struct hub_settings, member), sizeof(((struct hub_settings *)NULL)->member)
#define OPTION_OWN(number, place) OPTION_FIELD(own[number][place])

// Returns whether the option's value is a number, a time, a size, a flag or a word.
bool option_is_value(const struct option *option);
// Reads the value of such an option. A word's value is its index in `choices`. Returns false for a text that can't be
// read or is out of bounds.
bool option_read(const struct option *option, const char *text, uint64_t *value);
// Stores a value in the option's field: 8 bytes, 4 bytes or a bool, in the struct at `base`.
void option_store(const struct option *option, void *base, uint64_t value);
// Sets such options of the features to their defaults. `features` is an array by number, or NULL for none.
void option_set_presets(const struct feature *const *features, struct hub_settings *settings);
