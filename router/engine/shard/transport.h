// Transports: how peers speak. Each is a row: its name, which stands behind the scheme's in a listener's URI, its codec,
// and what its peers do, which is mostly nothing of their own. A peer's transport may be another one from the next unit
// on (receive_switch).
#pragma once

#include "core/send/parcel.h"
#include "core/wire/wire.h"
#include "router/engine/shard/stats.h"

struct exchange;
struct message;
struct peer;
struct pending;
struct shard;

// Bytes to units and back, as this kind of peers sends them and is sent them.
struct codec {
    const struct wire *wire; // in both directions
    const char *missed_head; // stands before hub/dropped in place of the wire's head; NULL: nothing does
    // Takes a unit that is no message to be routed. NULL: all units are messages.
    void (*take)(struct shard *shard, struct peer *peer, struct frame *frame);
    // Takes bytes aside of a unit, whose first byte is at `bytes` (UNIT_ASIDE). NULL: nothing comes aside.
    void (*skip)(struct shard *shard, struct peer *peer, const uint8_t *bytes);
    // Says what is wrong with the unit that is coming in (peer->unit.fault), and silences the peer; or goes on behind
    // its end (reassembly_skip). NULL: with a JSON-RPC error.
    void (*refuse)(struct shard *shard, struct peer *peer);
    // Sends the answers of an exchange that has ended, and frees it. NULL: as an array (exchange.h).
    void (*respond)(struct shard *shard, struct peer *peer, struct exchange *exchange);
    // A member of an array that the peer sent, before it is routed; answers go to the exchange. True: it was dealt
    // with. NULL: nothing is.
    bool (*member)(struct shard *shard, struct peer *peer, const struct frame *frame,
                   struct exchange *exchange);
    // A body came that is no message, or can't be read. NULL: it is answered with an error.
    void (*unreadable)(struct shard *shard, struct peer *peer, const uint8_t *body, uint32_t bytes);
    // The head of a unit, from its first byte at `bytes`, is whole, its body isn't, and nobody knows yet who sends it: whether
    // a large one may go on. False: it may not; if the peer isn't open any more, none may, and it was answered. NULL: none is
    // judged.
    bool (*admits)(struct shard *shard, struct peer *peer, const uint8_t *bytes);
};

// Why the hub ends a peer.
enum peer_end_reason {
    PEER_END_NO_MEMORY, // the hub has no memory for what the peer sends
    PEER_END_UNKNOWN,   // the peer has shown no right credential in time, or a wrong one
    PEER_END_REVOKED,   // the credential by which the peer was known is gone; the peer is open
    PEER_END_RECORDS    // the peer's records over TLS can't be opened
};

// What a peer of this kind does at its beginning and its end, when it lags, and with what is for it.
struct peer_ops {
    // A peer that speaks it has come. False: there is no memory for it, and it is closed. NULL: nothing is to be
    // done.
    bool (*enter)(struct shard *shard, struct peer *peer);
    // Ends a peer in the transport's own way, for example behind a farewell that tells why. Returns false if the transport has
    // no way of its own for this end: the peer is untouched, and its caller ends it. NULL: always so.
    bool (*end)(struct shard *shard, struct peer *peer, enum peer_end_reason why);
    // The peer is marked to end. True: the transport has dealt with that, and the peer is open again. NULL: it ends.
    bool (*ended)(struct shard *shard, struct peer *peer);
    // The peer is being closed: lets go of what the transport keeps of it. NULL: that is nothing.
    void (*leave)(struct shard *shard, struct peer *peer);
    // Says the last words to a peer before it is half-closed, behind all else. NULL: nothing.
    void (*goodbye)(struct shard *shard, struct peer *peer);
    // The timer of its own went off (peer_cold.timer).
    void (*expire)(struct shard *shard, struct peer *peer);
    // Each parcel for a peer passes here before it is queued. True: the parcel was dealt with. NULL: none
    // passes.
    bool (*divert)(struct shard *shard, struct peer *peer, struct parcel *parcel);
    // A request was packed for a peer (core/send/pack.h), under this id. False: there is no memory to note the request, and
    // it is taken out of its pack. Never NULL where requests are packed with an envelope.
    bool (*note)(struct shard *shard, struct peer *peer, uint64_t hub_id);
    // Packs the answer to what an exchange of the peer's waits for; arguments as of pack_add. False: the answer must come
    // as a parcel. NULL: none is packed.
    bool (*pack_answer)(struct shard *shard, struct peer *peer, struct exchange *exchange,
                        const struct frame *frame, struct span id, struct piece text, bool is_error);
    // A cancel has come for a request that was asked of the peer, under parcel->hub_id. `lasts`: its source waits for its
    // answer still. True: the request was taken out of the queue, the source is to be answered here, and the parcel is the
    // caller's still. False: the parcel was taken over. NULL: as cancel_at_peer does.
    bool (*cancel)(struct shard *shard, struct peer *peer, struct parcel *parcel, bool lasts);
    // Something waits for a peer to which nothing is sent (connection.paused). Never NULL where one can be so.
    void (*wanted)(struct shard *shard, struct peer *peer);
    // A report on a request of the peer's, its token restored, is about to be queued for it, which is done here
    // instead: the parcel is taken over. NULL: it is queued.
    void (*report)(struct shard *shard, struct peer *peer, const struct pending *pending,
                   struct parcel *parcel);
};

struct transport {
    const char *name;
    const char *option; // that gives the address of its listener; NULL: any address of --listen may name it
    unsigned gauge;     // that counts the connections on which it is spoken (stats.h)
    struct codec codec;
    struct peer_ops ops;
    bool end_is_leaving; // the stream's end means that the peer has left, whatever the settings say
    bool serves_drain;   // connections are taken in also while the hub drains
    bool receives_only;  // it is there for what it has subscribed to, and ends when none of that is left
    bool
        is_attached; // all that it says is for the agent to which it is attached, whatever the method and params are
    bool filters_lists; // what its peers get of lists was filtered already
    bool answers_only;  // it gets nothing that it hasn't asked for: there is no place for it
};

// Content-Length blocks, and one JSON text a line.
extern const struct transport transport_framed, transport_lines;

// The transport that a listener's URI names: one of these two, or of the features (by number; NULL: there are none). The
// empty name is the framed one's. NULL: there is none.
const struct transport *transport_find(const struct feature *const *features, const char *name);
