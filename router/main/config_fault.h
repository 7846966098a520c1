// Names faults of the operator's settings by their place: `FILE:LINE: KEY: what is expected`, or `--OPTION: …`.
#pragma once

#include "router/main/config_types.h"

// The text that --print-config writes instead of a secret.
#define CONFIG_HIDDEN "***"

// Returns whether a value contains CONFIG_HIDDEN, so that the hub can't use the value.
bool config_is_hidden(const char *value);

struct config_place {
    const char *file; // NULL: the command line
    uint32_t line;    // 0: the fault has no line
    const char *key;  // without dashes; NULL: the fault has no key
};

// Logs a fault. The text must hold no secret.
void config_fault(const struct config_place *place, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Logs a warning: a fault with which the hub can run, perhaps until the fault is mended.
void config_warn(const struct config_place *place, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Logs and counts a fault of the option that is being read. Returns false.
bool config_complain(struct config *config, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Logs and counts such a fault with `expected`, and with the value found. `value` is NULL if it may not be shown.
// Returns false.
bool config_complain_of_value(struct config *config, const char *key, const char *value,
                              const char *expected);
// Logs and counts a fault of an option that has been read, at the place that gave the option last. Returns false.
bool config_complain_of(struct config *config, const char *option, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Returns whether any source gave the option.
bool config_is_given(const struct config *config, const char *option);
// Returns the place that gave an option last, or the command line if no source gave it.
struct config_place config_place_of(const struct config *config, const char *option);
// Returns the place that gave a child's key. If the key wasn't given: the child's section, or the option that keeps the
// child running.
struct config_place config_place_of_child(const struct config *config, const char *child, const char *key);
