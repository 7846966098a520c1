// The target that other hubs were asked for, as errors tell it. The source's shard keeps the target with the request,
// since its registry knows the link alone.
#pragma once

#include "core/base/text.h"
#include "core/cluster/subject.h"
#include "core/requests/pending.h"

// Keeps the target; `token` as in the subject. Returns false without memory.
bool error_target_save(struct pending_table *table, struct pending *pending, enum subject_kind kind,
                       const char *token, size_t bytes);
// Puts the target into an error's data, under the name of its kind. Of a group, the member that was asked isn't known.
void error_target_put(struct text *data, enum subject_kind kind, const char *token, size_t bytes);
// Puts the target that was saved with a request into an error's data; nothing where none was saved.
void error_target_put_saved(struct text *data, const struct pending *pending);
// Returns the kind of the saved target; SUBJECT_KINDS_COUNT: none was saved.
enum subject_kind error_target_kind(const struct pending *pending);
// Writes the saved target's name, decoded, and returns its length; SIZE_MAX: the name is longer than any valid name.
size_t error_target_name(const struct pending *pending, char out[METHOD_BYTES_MAX]);
