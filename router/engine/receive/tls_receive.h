// Arrivals on secure connections: they are opened, and receive.c gets the plaintext.
//
// Handshakes take long: a turn has a few of them, and the others wait, in their order.
#pragma once

#include "io/io.h"
#include "router/engine/shard/peer.h"

// An IO_RECEIVED event came for this peer, whose connection is secure. Returns 0, or as receive_arrival where what was
// opened was cut short: then *event is that plaintext's, to be handed in by tls_receive_rest before anything else of the
// peer, and more may wait to be opened.
uint32_t tls_receive_event(struct shard *shard, struct peer *peer, struct io_event *event);
// Goes on with plaintext from `at` on in its buffer, and with what waits to be opened behind it. Returns the same.
uint32_t tls_receive_rest(struct shard *shard, struct peer *peer, struct io_event *event, uint32_t at);
// A turn begins: those go on whose handshakes wait, as many as it has room for.
void tls_receive_shake(struct shard *shard);
