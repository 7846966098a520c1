// Children among what an operator sets: [child NAME] sections of a file, and --extension.
#pragma once

#include <stdbool.h>

#include "core/child/child_settings.h"

struct config_children {
    struct child_settings *first; // linked
    struct child_settings *child; // whose section is being read
};

// A section begins, takes a key, and ends. NULL when all is well, else what was expected: static text. One whose key was faulty
// must be dropped instead of ended.
const char *config_children_begin(struct config_children *children, const char *name);
const char *config_children_set(struct config_children *children, const char *key, const char *value);
const char *config_children_end(struct config_children *children);
void config_children_drop(struct config_children *children);
// NAME=COMMAND of --extension: a section of its own.
const char *config_children_extend(struct config_children *children, const char *text);
// Gives all of them back.
void config_children_deinit(struct config_children *children);
