// Decrypts arrivals on TLS connections and hands the plaintext to receive.c.
//
// A handshake takes long, so a turn does a few handshakes, and the others wait in order.
#pragma once

#include "io/io.h"
#include "router/engine/shard/peer.h"

// Reads an IO_RECEIVED event of a peer with TLS. Returns 0 when all is read. Otherwise reading stopped as in
// receive_arrival: *event is the plaintext, and the caller must go on by tls_receive_rest before other events of the
// peer.
uint32_t tls_receive_event(struct shard *shard, struct peer *peer, struct io_event *event);
// Goes on with the plaintext from `at` on in its buffer, then with the records behind it. Returns as tls_receive_event.
uint32_t tls_receive_rest(struct shard *shard, struct peer *peer, struct io_event *event, uint32_t at);
// Goes on with handshakes that wait, as many as one turn may do. Called when a turn begins.
void tls_receive_resume_handshakes(struct shard *shard);
