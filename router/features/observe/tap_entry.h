// An entry of a tap: one message as JSON, in `hub/tapped` and in recordings.
#pragma once

#include "core/base/text.h"
#include "router/features/observe/observation.h"

// Adds the entry of a message that has ended. `body`: its first bytes as they are shown, or NULL.
void tap_entry_put(struct text *out, const struct observation *observation, const char *body, size_t bytes);
// The same of a request that was taken in.
void tap_entry_put_begun(struct text *out, const struct observation *observation, const char *body,
                         size_t bytes);
