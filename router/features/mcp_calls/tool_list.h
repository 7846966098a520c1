// Lists of a server's tools, as a user sees them: without those that the server's section leaves out, or that the user may
// not call.
#pragma once

#include "core/base/text.h"
#include "core/send/parcel.h"
#include "router/engine/shard/shard.h"

struct user;

// Whether a tool of a server is shown to a user (NULL: users aren't on): it is there, and the user may call it.
bool tool_list_shows(const struct shard *shard, const struct user *user, const char *server,
                     size_t server_bytes, const char *tool, size_t bytes);
// Whether there may be a tool of a server that a user isn't shown.
bool tool_list_may_hide(const struct shard *shard, const struct user *user, const char *server, size_t bytes);
// Writes a body that lists a server's tools with those alone that are shown. False: all of them are, or it is no such list;
// nothing was written.
bool tool_list_sift(struct shard *shard, const struct user *user, const char *server, size_t server_bytes,
                    const struct parcel *answer, struct text *out);
