// Lists of a server's tools, as a user sees them: without those that the server's section leaves out, or that the user may
// not call.
#pragma once

#include "core/base/text.h"
#include "core/send/parcel.h"
#include "router/engine/shard/shard.h"

struct user;

// Whether a tool of a server is shown to a user (NULL: users aren't on): the section has the tool, and the user may call it.
bool tool_list_shows(const struct shard *shard, const struct user *user, const char *server,
                     size_t server_bytes, const char *tool, size_t bytes);
// Whether there may be a tool of a server that a user isn't shown.
bool tool_list_may_hide(const struct shard *shard, const struct user *user, const char *server, size_t bytes);
// Writes an answer's body with those tools alone that are shown. False: all tools are shown, or the answer is no list of
// tools, or there is no memory to read the answer; then nothing was written.
bool tool_list_sift(struct shard *shard, const struct user *user, const char *server, size_t server_bytes,
                    const struct parcel *answer, struct text *out);
