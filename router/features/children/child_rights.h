// Judges capabilities of a Hermes extension, and the events that it wants, by the rights of the user in its
// section.
#pragma once

#include "router/features/children/child.h"

// Returns the part of the capabilities, a valid object or array, that its user may offer and get: they themselves where
// that is all, else a text that is written to `kept`. A list of methods or tools of which nothing stays is the
// section's. Names that are left out are counted, and noted in the journal and the log.
struct piece child_rights_filter(struct shard *shard, struct child *child, const struct piece *capabilities,
                                 struct text *filtered);
// Rights may have changed: what it has answered is judged anew.
void child_rights_review(struct shard *shard, struct child *child);
