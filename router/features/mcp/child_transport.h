// The transports of children. A child is a peer on its wire, but begins and ends in its own way
// (router/features/children). Unreadable output is logged, and gets no answer.
#pragma once

#include "router/engine/shard/transport.h"

extern const struct transport transport_child_framed, transport_child_lines;
