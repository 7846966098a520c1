// Limits the capabilities of a Hermes extension, and the events that it wants, to the rights of its section's user.
#pragma once

#include "router/features/children/child.h"

// Returns the part of the capabilities, a valid object or array, that the child's user may offer and get. That is
// `capabilities` itself if nothing is left out, else a text that is written to `filtered`. A list of methods or tools
// of which nothing stays is replaced by the section's. Names that are left out are counted, and noted in the journal
// and the log.
struct piece child_rights_filter(struct shard *shard, struct child *child, const struct piece *capabilities,
                                 struct text *filtered);
// Limits the child's capabilities anew, after rights may have changed.
void child_rights_review(struct shard *shard, struct child *child);
