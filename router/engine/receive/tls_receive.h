// Arrivals on secure connections: they are opened, and receive.c gets the plaintext.
//
// Handshakes take long: a turn has a few of them, and the others wait, in their order.
#pragma once

#include "io/io.h"
#include "router/engine/shard/peer.h"

// An IO_RECEIVED event came for this peer, whose connection is secure.
void tls_receive_event(struct shard *shard, struct peer *peer, const struct io_event *event);
// A turn begins: those go on whose handshakes wait, as many as it has room for.
void tls_receive_shake(struct shard *shard);
