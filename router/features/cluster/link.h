// The link to other hubs, on shard 0: when which server is dialled, and the link's states.
//
//     RESTING ──its time──▶ (RESOLVING ─▶) DIALLING ──connected──▶ GREETING ──INFO──▶ (SECURING ─▶) JOINING ──PONG──▶ UP
//        ▲                          │        │                        │                            │               │
//        └──────────────────────────┴────────┴──── failed, or lost ───┴────────────────────────────┴───────────────┘
//
// From GREETING on the link is a peer (nats_receive.c). "Lost" means that this peer is closed. If a server announces
// its shutdown, the hub drops the link at once.
#pragma once

#include "router/features/cluster/link_state.h"

// Begins to dial. Returns false without memory.
bool link_open(struct shard *shard, const struct transport *transport);
// Frees the link after the shard's last turn. Does nothing without a link.
void link_end(struct shard *shard);
// Handles an IO_RECEIVED event with CLUSTER_TOKEN_RESOLVER. Drops the event's buffer.
void link_resolved(struct shard *shard, const struct io_event *event);
// Handles an IO_CONNECTED event with CLUSTER_TOKEN_LINK.
void link_connected(struct shard *shard, const struct io_event *event);
// link_dial dials the next server, once the pause is over. link_give_up gives up the server that is being dialled.
void link_dial(struct link *link);
void link_give_up(struct link *link);
// Notes a failed dial. The next server is dialled after a pause.
void link_fail(struct link *link);
// Stops dialling, because the hub ends.
void link_stop(struct shard *shard);
// Returns whether the link is closed: there is no peer, no dial, and no question to the resolver.
bool link_at_rest(const struct shard *shard);

// Called by the peer's transport when the peer begins, when the server has accepted the hub, and when the peer is being
// closed.
void link_entered(struct link *link, struct peer *peer);
void link_welcomed(struct link *link);
void link_lost(struct link *link);

// Log a fault. The same fault of a server is logged once a minute, and faults of a server once a second at most.
// link_note_error takes the text of the server's -ERR and counts it. link_note_fault takes a fault that the hub has
// found.
void link_note_error(struct link *link, const uint8_t *bytes, uint32_t count);
void link_note_fault(struct link *link, const char *what);
