// Transports: how peers speak. Each transport is a row: its name, which follows the scheme's name in a listener's URI,
// its codec, and functions for the events of a peer. A peer may change to another transport between two units
// (receive_switch).
#pragma once

#include "core/send/parcel.h"
#include "core/wire/wire.h"
#include "router/engine/shard/stats.h"

struct exchange;
struct message;
struct peer;
struct pending;
struct shard;

// Turns bytes into units, and units into bytes, for the peers of one transport.
struct codec {
    const struct wire *wire; // format of the bytes, in both directions
    const char *missed_head; // the text before hub/dropped, instead of the wire's head; NULL: the wire's head
    // Takes a unit that isn't routed as a message. NULL: all units are messages.
    void (*take)(struct shard *shard, struct peer *peer, struct frame *frame);
    // Takes a part of a unit that the wire found beside the message (UNIT_CONTROL). `bytes` is the unit's first byte.
    // NULL: the wire has no such parts.
    void (*take_control)(struct shard *shard, struct peer *peer, const uint8_t *bytes);
    // Reports the fault of the unit that is coming in (peer->unit.fault). Then either sends nothing more to the peer,
    // or discards the rest of the unit (reassembly_skip). NULL: the hub sends a JSON-RPC error.
    void (*refuse)(struct shard *shard, struct peer *peer);
    // Sends the answers of an exchange that has ended, and frees the exchange. NULL: the answers are sent as an array
    // (exchange.h).
    void (*respond)(struct shard *shard, struct peer *peer, struct exchange *exchange);
    // Handles a member of an array from the peer, before the member is routed; answers go to the exchange. Returns true
    // if the member needs no routing. NULL: each member is routed.
    bool (*member)(struct shard *shard, struct peer *peer, const struct frame *frame,
                   struct exchange *exchange);
    // Handles a body that is no message, or can't be read. NULL: the peer gets an error.
    void (*unreadable)(struct shard *shard, struct peer *peer, const uint8_t *body, uint32_t bytes);
    // Decides whether a unit with a large body may come in from a peer whose user isn't known yet. Called when the head
    // is whole, from the first byte at `bytes`, and the body isn't. Returns false if the body must not be large; the
    // function may have answered and closed the peer then. NULL: large bodies may come in.
    bool (*admits)(struct shard *shard, struct peer *peer, const uint8_t *bytes);
};

// Why the hub ends a peer.
enum peer_end_reason {
    PEER_END_NO_MEMORY,       // the hub has no memory for what the peer sends
    PEER_END_UNAUTHENTICATED, // the peer has shown no right credential in time, or a wrong one
    PEER_END_REVOKED,         // the credential by which the peer was known is gone; the peer is open
    PEER_END_RECORDS          // the peer's records over TLS can't be opened
};

// What a transport does when a peer begins, ends, or waits, and with parcels for the peer.
struct peer_ops {
    // Begins a peer with this transport. Returns false without memory: then the peer is closed. NULL: nothing is done.
    bool (*enter)(struct shard *shard, struct peer *peer);
    // Ends a peer in the transport's own way, for example after a message that tells why. Returns false if the
    // transport has no way of its own for this end: the peer is untouched, and the caller ends the peer. NULL: always
    // false.
    bool (*end)(struct shard *shard, struct peer *peer, enum peer_end_reason why);
    // Handles the end of a marked peer. Returns true if the transport has opened the peer again. NULL: the peer ends.
    bool (*ended)(struct shard *shard, struct peer *peer);
    // Frees the transport's state of a peer that is being closed. NULL: there is no such state.
    void (*leave)(struct shard *shard, struct peer *peer);
    // Sends the transport's last message to a peer, behind all queued messages, before the peer is half-closed. NULL:
    // there is no last message.
    void (*goodbye)(struct shard *shard, struct peer *peer);
    // Handles the transport's own timer (peer_cold.timer).
    void (*expire)(struct shard *shard, struct peer *peer);
    // Takes a parcel for a peer before the parcel is queued. Returns true if the parcel was taken. NULL: all parcels
    // are queued.
    bool (*divert)(struct shard *shard, struct peer *peer, struct parcel *parcel);
    // Notes a request that was packed for a peer (core/send/pack.h), under this id. Returns false without memory: then
    // the request is removed from the pack. Must not be NULL if requests are packed with an envelope.
    bool (*note_packed)(struct shard *shard, struct peer *peer, uint64_t hub_id);
    // Packs an answer for an exchange of the peer, with the arguments of pack_add. Returns false if the answer must
    // come as a parcel. NULL: no answer is packed.
    bool (*pack_answer)(struct shard *shard, struct peer *peer, struct exchange *exchange,
                        const struct frame *frame, struct span id, struct piece text, bool is_error);
    // Handles a cancel of a request that the peer was asked, under parcel->hub_id. `source_waits`: the source still
    // waits for the answer. Returns true if the request was removed from the queue: the caller answers the source and keeps the
    // parcel. Returns false if the parcel was taken. NULL: cancel_in_queue_or_forward handles the cancel.
    bool (*cancel)(struct shard *shard, struct peer *peer, struct parcel *parcel, bool source_waits);
    // Called when a message waits for a peer to which the hub sends nothing (connection.paused). Must not be NULL if
    // such peers exist.
    void (*wanted)(struct shard *shard, struct peer *peer);
    // Takes a progress report on a request of the peer, instead of the queue. The parcel has the peer's own token
    // again. NULL: the report is queued.
    void (*report)(struct shard *shard, struct peer *peer, const struct pending *pending,
                   struct parcel *parcel);
};

struct transport {
    const char *name;
    // The option that gives the address of this transport's listener; NULL: any address of --listen may name the
    // transport
    const char *option;
    unsigned gauge; // the gauge that counts the connections of this transport (stats.h)
    struct codec codec;
    struct peer_ops ops;
    bool end_is_leaving; // a peer whose stream ends has left, whatever the settings say
    bool serves_drain;   // connections are accepted also while the hub drains
    bool receives_only; // a peer only receives what it has subscribed to, and ends with its last subscription
    // Every message of a peer is for the agent to which the peer is attached, whatever the method and params say
    bool is_attached;
    bool filters_lists; // lists that a peer gets were filtered before
    bool answers_only;  // a peer gets answers only: the transport can't send other messages
};

// One Content-Length block a message, and one line of JSON a message.
extern const struct transport transport_framed, transport_lines;

// Returns the transport that a listener's URI names: one of the two above, or one of a feature. `features` is an array
// by number, or NULL for none. The empty name means transport_framed. Returns NULL if there is no such transport.
const struct transport *transport_find(const struct feature *const *features, const char *name);
