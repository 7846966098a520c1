// The address that other hubs were asked for, as errors tell it. The source's shard remembers it with the
// request, since its registry knows the link alone.
#pragma once

#include "core/base/text.h"
#include "core/cluster/subject.h"
#include "core/requests/pending.h"

// Keeps it; `token` as in the subject. False: there is no memory.
bool error_target_keep(struct pending_table *table, struct pending *pending, enum subject_kind kind,
                       const char *token, size_t bytes);
// Puts it into an error's data, under what that kind is called; of a group it isn't known which one of it was asked.
void error_target_put(struct text *data, enum subject_kind kind, const char *token, size_t bytes);
// The same of one that was kept; where nothing was, nothing.
void error_target_put_kept(struct text *data, const struct pending *pending);
