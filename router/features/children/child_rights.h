// What a Hermes extension offers, and which events it wants, is judged by the rights of the user whom its section names.
#pragma once

#include "router/features/children/child.h"

// What of the capabilities, a valid object or array, its user may offer and get: they themselves where that is all, else
// what is written to `kept`; a list of methods or tools of which nothing stays is the section's. What is left out is
// counted, in the journal and in the log.
struct piece child_rights_filter(struct shard *shard, struct child *child, const struct piece *offered,
                                 struct text *kept);
// Rights may have changed: what it has answered is judged anew.
void child_rights_review(struct shard *shard, struct child *child);
