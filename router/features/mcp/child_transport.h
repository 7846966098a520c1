// The transport of children: as any peer on its wire, but for its begin and end (router/features/children).
// Unreadable output is shown in the log and answered by nothing.
#pragma once

#include "router/engine/shard/transport.h"

// A peer that may have used some of them has gone: shard 0 is told.
void child_transport_user_left(struct shard *shard, uint64_t connection);

extern const struct transport transport_child_framed, transport_child_lines;
