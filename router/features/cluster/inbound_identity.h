// Whose a message is that comes from another hub, where users are on: its hub has judged it by its own file, and names the user; it is
// judged again by this hub's. A name that isn't known here, or none, is nobody's, and so -32054.
#pragma once

#include "core/cluster/hub_header.h"
#include "router/features/cluster/link.h"

// The link has a peer.
void inbound_identity_enter(struct link *link);
// From now on, what the peer says is that user's.
void inbound_identity_begin(struct link *link, const uint8_t *bytes, const struct hub_header *header);
// It is a hub's own, which reports on what it was asked: that needs no user, and nothing else may be said so.
void inbound_identity_report(struct link *link);
// It has been read.
void inbound_identity_end(struct link *link);
// Who is named; NULL where users aren't on. *known is false where they are, and it is nobody.
const struct user *inbound_identity_user(const struct shard *shard, const uint8_t *bytes,
                                         const struct hub_header *header, bool *known);
