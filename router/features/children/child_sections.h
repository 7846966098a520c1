// Children among what an operator sets: [child NAME] sections of a file, and --extension, which is a section by itself.
#pragma once

#include "core/child/child_settings.h"
#include "router/engine/shard/hub.h"

// Functions return NULL when all is well, else what was expected: static text.

// Begins a section behind those that were read: *section is made, and the caller's to end or to drop (child_settings_drop).
const char *child_section_begin(const struct child_settings *all, const char *name,
                                struct child_settings **section);
// Sets a key of a section.
const char *child_section_set(struct child_settings *section, const char *key, const char *value);
// Ends a section whose keys were all set: appends it to *all, or drops it.
const char *child_section_end(struct child_settings **all, struct child_settings *section);
// Reads NAME=COMMAND of --extension, as feature.read_option.
const char *child_section_read_option(struct hub_settings *settings, const char *name, const char *text);
