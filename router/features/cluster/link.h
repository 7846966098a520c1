// The link to other hubs, on shard 0: which server is dialled when, and how it stands.
//
//     RESTING ──its time──▶ (RESOLVING ─▶) DIALLING ──connected──▶ GREETING ──INFO──▶ (SECURING ─▶) JOINING ──PONG──▶ UP
//        ▲                          │        │                        │                            │               │
//        └──────────────────────────┴────────┴──── failed, or lost ───┴────────────────────────────┴───────────────┘
//
// From GREETING on the link is a peer (nats_receive.c); lost is when that peer is closed. Where a server says that it will
// go, its link is dropped at once.
#pragma once

#include "router/features/cluster/link_state.h"

// Begins to dial, where there are other hubs. False when memory is used up.
bool link_open(struct shard *shard, const struct transport *transport);
// Lets go of all that it has, after the last turn. NULL is allowed.
void link_end(struct shard *shard);
// IO_RECEIVED with CLUSTER_TOKEN_RESOLVER, whose buffer is dropped.
void link_resolved(struct shard *shard, const struct io_event *event);
// IO_CONNECTED with CLUSTER_TOKEN_LINK.
void link_connected(struct shard *shard, const struct io_event *event);
// Dials the next server, once the pause is over. Gives up the server that is being dialled.
void link_dial(struct link *link);
void link_give_up(struct link *link);
// The server can't be dialled: the next one has its turn.
void link_fail(struct link *link);
// The hub ends: nobody is dialled any more.
void link_stop(struct shard *shard);
// Whether it has nothing under way but its peer.
bool link_at_rest(const struct shard *shard);

// The peer's transport says: it has come, its server has said that it knows the hub, it is being closed.
void link_entered(struct link *link, struct peer *peer);
void link_welcomed(struct link *link);
void link_lost(struct link *link);

// Log a fault: of each server the same one once a minute, and none more often than once a second. link_note_error takes the
// server's words (-ERR) and counts them, link_note_fault takes what the hub has found.
void link_note_error(struct link *link, const uint8_t *bytes, uint32_t count);
void link_note_fault(struct link *link, const char *what);
