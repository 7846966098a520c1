// What an operator sets: options of the command line, and the same names as keys of an INI file.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "io/address.h"
#include "router/shard/hub.h"

struct config {
    struct hub_settings settings;
    struct address listeners[LISTENERS_MAX];
    uint32_t listener_count;
    uint32_t listeners_from; // the source (below) that named them
    uint32_t source;         // what is being read: 0 the command line, n the n-th file
    uint32_t files;          // that were begun
    char journal[PATH_MAX];  // where settings.journal points
    bool io_fixed;           // settings.io was asked for by name
    bool insecure;           // serve TCP addresses that other machines can reach
};

enum config_result { CONFIG_RUN, CONFIG_SHOWN, CONFIG_BAD };

// Reads the command line over the defaults. Shows help or the version on standard output (CONFIG_SHOWN), or
// says on standard error in one line what is wrong (CONFIG_BAD). Of two sources that set an option (the
// command line and the files that it names) the one that says so later counts, for all of its listeners.
// `cores` is how many shards there are by default.
enum config_result config_read(struct config *config, int argc, char **argv, uint32_t cores);
