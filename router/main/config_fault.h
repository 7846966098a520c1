// Faults of what an operator has set, each named by its place: `FILE:LINE: KEY: what is expected`, or `--OPTION: …`.
#pragma once

#include "router/main/config_types.h"

// What --print-config puts in the place of a secret.
#define CONFIG_HIDDEN "***"

// Whether a value has that, so that the hub can't read the value again.
bool config_is_hidden(const char *value);

struct config_place {
    const char *file; // NULL: the command line
    uint32_t line;    // 0: of no line
    const char *key;  // without dashes; NULL: of none
};

// Names a fault on standard error. The text must hold no secret.
void config_fault(const struct config_place *place, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Names what the hub can do without, or until it is mended.
void config_warn(const struct config_place *place, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Names and counts a fault of the option that is being read. Returns false.
bool config_complain(struct config *config, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Likewise: `expected`, and the value that stands there instead, where the value may be shown; NULL: it may not.
bool config_complain_of_value(struct config *config, const char *key, const char *value,
                              const char *expected);
// Names and counts a fault of an option that has been read, at the place where that option was given last. Returns
// false.
bool config_complain_of(struct config *config, const char *option, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Whether an option was given at all.
bool config_is_given(const struct config *config, const char *option);
// Where an option was given last: the command line where it wasn't.
struct config_place config_place_of(const struct config *config, const char *option);
// Where a child's key was given: its section, or the option that keeps the child, where it wasn't.
struct config_place config_place_of_child(const struct config *config, const char *child, const char *key);
