// Writes entries of taps: one message as JSON, in `hub/tapped` and in recordings.
#pragma once

#include "core/base/text.h"
#include "router/features/observe/observation.h"

// Writes the entry of a message that has ended. `body` is the part of the body that is shown, or NULL.
void tap_entry_put(struct text *out, const struct observation *observation, const char *body, size_t bytes);
// Writes the entry of a request that was taken in, with the same parameters.
void tap_entry_put_begun(struct text *out, const struct observation *observation, const char *body,
                         size_t bytes);
