// Removes tools from a server's lists: tools that the server's section leaves out, or that the user may not call.
#pragma once

#include "core/base/text.h"
#include "core/send/parcel.h"
#include "router/engine/shard/shard.h"

struct user;

// Returns whether a user is shown a tool of a server: the section has the tool, and the user may call the tool. `user`
// is NULL without a users file.
bool tool_list_shows(const struct shard *shard, const struct user *user, const char *server,
                     size_t server_bytes, const char *tool, size_t bytes);
// Returns whether a server may have tools that a user isn't shown.
bool tool_list_may_hide(const struct shard *shard, const struct user *user, const char *server, size_t bytes);
// Writes an answer's body without the tools that the user isn't shown. Returns false, and writes nothing, if all tools
// are shown, if the answer is no list of tools, or without memory.
bool tool_list_filter(struct shard *shard, const struct user *user, const char *server, size_t server_bytes,
                      const struct parcel *answer, struct text *out);
