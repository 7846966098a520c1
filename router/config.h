// What an operator sets: options of the command line, and the same names as keys of an INI file.
#pragma once

#include "router/config_options.h"

enum config_result { CONFIG_RUN, CONFIG_SHOWN, CONFIG_BAD };

// Reads the command line over the defaults. Shows help or the version on standard output (CONFIG_SHOWN), or
// says on standard error in one line what is wrong (CONFIG_BAD). Of two sources that set an option (the
// command line and the files that it names) the one that says so later counts, for all of its listeners.
// `cores` is how many shards there are by default.
enum config_result config_read(struct config *config, int argc, char **argv, uint32_t cores);
// What can't be changed in a hub that runs is said on standard error, if `fresh` changes something of it.
void config_mention_fixed(const struct config *now, const struct config *fresh);
// As hub_settings.in_effect: says so.
void config_mention_in_effect(void *context);
