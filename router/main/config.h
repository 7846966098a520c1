// The operator's settings: options of the command line, and the same names as keys of an INI file.
#pragma once

#include "router/main/config_types.h"

enum config_result { CONFIG_RUN, CONFIG_SHOWN, CONFIG_BAD };

// Reads the command line over the defaults. Shows help or the version on standard output (CONFIG_SHOWN), or names each
// fault on standard error (CONFIG_BAD). Where two sources (the command line and the files that it names) set an option,
// the later source counts, for all of its listeners. `cores` is the number of shards by default. config_deinit gives
// back the contents of `config`, whatever the result.
enum config_result config_read(struct config *config, int argc, char **argv, uint32_t cores);
// The option by which a listener was given: static text.
const char *config_option_of_listener(const struct config *config, uint32_t index);
// Gives back what the configuration still has. A caller that takes the children sets config->settings.children to NULL.
void config_deinit(struct config *config);
// Names on standard error each option that `fresh` changes and a running hub can't change.
void config_mention_fixed(const struct config *now, const struct config *fresh);
// Prints that the settings are in effect (hub_settings.in_effect).
void config_mention_in_effect(void *context);

// --- Files
//
// A file of options: keys before the first section, and sections of children.

// Reads a file, of which every fault is named with its line. False when there is one, or it can't be read.
bool config_read_file(struct config *config, const char *path);
// Notes that an option was given, with its value, at the place that is being read. False when memory is used up.
bool config_note(struct config *config, const struct option *option, const char *value);

// --- The configuration in force
//
// --print-config writes the configuration in force as a file that --config reads again.

// Writes every key to standard output, with where each value is from behind `;`, and the sections of children. A key without a
// value is commented out. Secrets are `***`, which no file may have.
void config_print(const struct config *config);
