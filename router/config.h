// What an operator sets: options of the command line, and the same names as keys of an INI file.
#pragma once

#include "router/config_types.h"

enum config_result { CONFIG_RUN, CONFIG_SHOWN, CONFIG_BAD };

// Reads the command line over the defaults. Shows help or the version on standard output (CONFIG_SHOWN), or names each fault on
// standard error (CONFIG_BAD). Of two sources that set an option (the command line and the files that it names) the one that
// says so later counts, for all of its listeners. `cores` is how many shards there are by default. What `config` has is given back
// by config_deinit, whatever the result.
enum config_result config_read(struct config *config, int argc, char **argv, uint32_t cores);
// Gives back what the configuration still has. Who takes the children sets config->children.first to NULL.
void config_deinit(struct config *config);
// What can't be changed in a hub that runs is said on standard error, option by option, if `fresh` changes it.
void config_mention_fixed(const struct config *now, const struct config *fresh);
// As hub_settings.in_effect: says so.
void config_mention_in_effect(void *context);
