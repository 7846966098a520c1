// Transports: how peers speak. Each is a row: its name, which stands behind the scheme's in a listener's URI,
// its wire, and its policy, which is mostly none. A peer's transport may be another one from the next unit on
// (feed_switch).
#pragma once

#include "core/send/parcel.h"
#include "core/wire/wire.h"

struct peer;
struct shard;

struct transport {
    const char *name;
    const struct wire *wire; // in both directions
    // What a unit that came means, in place of a message that is to be routed. NULL: it is one.
    void (*take)(struct shard *shard, struct peer *peer, const struct frame *frame);
};

// Content-Length blocks, and one JSON text a line.
extern const struct transport transport_framed, transport_lines;

// The transport that a listener's URI names; NULL: there is none. The empty name is the framed one's.
const struct transport *transport_find(const char *name);
