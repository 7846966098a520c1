// The operator's settings: options of the command line, and keys of the same names in an INI file.
#pragma once

#include "router/main/config_types.h"

enum config_result { CONFIG_RUN, CONFIG_SHOWN, CONFIG_BAD };

// Reads the command line into `config`, on top of the defaults. Names each fault on standard error (CONFIG_BAD), or
// shows help or the version on standard output if an argument asks (CONFIG_SHOWN). If two sources set an option (the
// command line, or a file that it names), the later source counts; its listeners replace all earlier listeners. `cores`
// is the default number of shards. The caller must call config_deinit, whatever the result.
enum config_result config_read(struct config *config, int argc, char **argv, uint32_t cores);
// Frees what features have made for their settings. No hub may use the settings any more.
void config_drop(struct config *config);
// Frees the contents of `config`. A caller that keeps the children must set config->settings.children to NULL.
void config_deinit(struct config *config);
// Names on standard error each option that `fresh` changes and a running hub can't change.
void config_mention_fixed(const struct config *now, const struct config *fresh);
// Prints that the settings are in effect (hub_settings.in_effect).
void config_mention_in_effect(void *context);

// --- Files
//
// A file of options has keys before the first section, and sections of children.

// Reads a file, and names each fault with its line. Returns false if there is a fault, or if the file can't be read.
bool config_read_file(struct config *config, const char *path);
// Records that an option was given, with its value, at the current place of reading. Returns false without memory.
bool config_note(struct config *config, const struct option *option, const char *value);

// --- The configuration in force
//
// --print-config writes the configuration in force as a file that --config reads again.

// Writes every key to standard output, followed by `;` and the source of its value, and the sections of children. A key
// without a value is a comment. `***` stands for secrets; no file may have `***` as a value.
void config_print(const struct config *config);
