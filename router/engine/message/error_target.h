// The address that other hubs were asked for, as errors tell it. The source's shard remembers it with the
// request, since its registry knows the link alone.
#pragma once

#include "core/base/text.h"
#include "core/cluster/subject.h"
#include "core/requests/pending.h"

// Keeps it; `token` as in the subject. False: there is no memory.
bool error_target_save(struct pending_table *table, struct pending *pending, enum subject_kind kind,
                       const char *token, size_t bytes);
// Puts it into an error's data, under what that kind is called; of a group it isn't known which one of it was asked.
void error_target_put(struct text *data, enum subject_kind kind, const char *token, size_t bytes);
// Puts the target that was saved with a request into an error's data; nothing where none was saved.
void error_target_put_saved(struct text *data, const struct pending *pending);
// Returns the kind of the saved name; SUBJECT_KINDS_COUNT: none was saved.
enum subject_kind error_target_kind(const struct pending *pending);
// The name that was kept, decoded; SIZE_MAX where it is longer than any name.
size_t error_target_name(const struct pending *pending, char out[METHOD_BYTES_MAX]);
