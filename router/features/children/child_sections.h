// Reads children from an operator's settings: [child NAME] sections of a file, and --extension, which is a section by
// itself.
#pragma once

#include "core/child/child_settings.h"
#include "router/engine/shard/hub.h"

// Functions return NULL on success, else what was expected, as static text.

// Begins a section behind the sections that were read. The caller owns *section, and must end it or drop it
// (child_settings_drop).
const char *child_section_begin(const struct child_settings *all, const char *name,
                                struct child_settings **section);
// Sets a key of a section.
const char *child_section_set(struct child_settings *section, const char *key, const char *value);
// Ends a section whose keys were all set: appends the section to *all, or drops it.
const char *child_section_end(struct child_settings **all, struct child_settings *section);
// Reads NAME=COMMAND of --extension. A feature.read_option.
const char *child_section_read_option(struct hub_settings *settings, const char *name, const char *text);
