// Rows of options: of the program (config_options.c), and of features (feature.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "router/engine/shard/hub.h"

enum option_kind {
    OPTION_LISTEN,
    OPTION_ADDRESS, // of the transport that names the option (transport.h), or off
    OPTION_CHOICE,  // one of a closed set of words
    OPTION_TEXT,
    OPTION_NATS,
    OPTION_CLUSTER,
    OPTION_PARSED, // a text that the feature itself reads (feature.read_option)
    OPTION_SPIN,   // a time of any number of nanoseconds
    OPTION_FLAG,
    OPTION_FRACTION, // from 0 to 1, in billionths
    OPTION_COUNT,
    OPTION_SIZE,
    OPTION_TIME, // of whole milliseconds, as timers count these
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
    OPTION_REPEATS = 1,  // several add up within one source
    OPTION_RELOADS = 2,  // SIGHUP takes it up
    OPTION_ARGUMENT = 4, // of the command line alone: it is no key of a file
    OPTION_SECRET = 8,   // its value may hold a credential, and must not be shown
    OPTION_ADDS = 32,    // several add up over all sources
    OPTION_COMMAND = 64, // its value has a command, whose credentials are not shown
    OPTION_SHOWN = 16, // of OPTION_PARSED: a value at fault is shown, as nobody would put a credential there
};

struct option {
    const char *name;
    enum option_kind kind;
    enum option_group group;
    unsigned traits;
    size_t offset,
        bytes; // of the field in struct config, or for a feature in struct hub_settings; where the kind has one
    uint64_t min, max;
    const char *const *choices; // of OPTION_CHOICE, ended by NULL
    const char *value;          // what stands for it in texts: "FILE"; NULL for a flag
    const char *preset;   // the default as it would be written; NULL: none, or one that depends (`computed`)
    const char *computed; // what such a default is, in words, or NULL
    const char *help;     // a sentence without its end
};

// Bounds of times, in nanoseconds.
#define OPTION_MS   UINT64_C(1000000)
#define OPTION_HOUR UINT64_C(3600000000000)

// The field of a feature's option: one of struct hub_settings; or a value of the feature's own, by its place among those.
#define OPTION_FIELD(member)                                                                                 \
    offsetof(struct hub_settings, member), sizeof(((struct hub_settings *)NULL)->member)
#define OPTION_OWN(number, place) OPTION_FIELD(own[number][place])

// Whether the option is a number, a time, a size, a flag or a word.
bool option_is_value(const struct option *option);
// Reads such a one. A word's value is its place. False: the text is none, or it is out of bounds.
bool option_read(const struct option *option, const char *text, uint64_t *value);
// Puts a value into the option's field, of 8 or 4 bytes or a bool, in what begins at `base`.
void option_store(const struct option *option, void *base, uint64_t value);
// Sets such options of features (by number; NULL: there are none) to their defaults.
void option_set_presets(const struct feature *const *features, struct hub_settings *settings);
