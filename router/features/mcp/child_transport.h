// The transport of children: as any peer on its wire, but for its begin and end (router/features/children).
// Unreadable output is shown in the log and answered by nothing.
#pragma once

#include "router/engine/shard/transport.h"

extern const struct transport transport_child_framed, transport_child_lines;
