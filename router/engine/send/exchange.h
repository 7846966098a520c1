// The answers that are due to one arrival: to a JSON-RPC batch (JSON-RPC 2.0 section 6), or to a request of
// HTTP. They are held until all have come. Answers to a batch are then one array, in the order in which they
// came. The peer's transport decides how an exchange is sent (transport.h), and most send an array.
//
// One answer is due for each JSON-RPC request, and one for each body, or member of an array, that can't be read. Each due
// answer ends in exchange_answer or in exchange_miss. Answers are a chain of parcels, so that no body is copied but those
// so small that holding their buffer would cost more.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/base/list.h"
#include "core/send/outbox.h"
#include "router/engine/shard/peer.h"

// How a request of HTTP is answered (features/http/http_response.c). The texts are static, but for the origin, which
// the settings have.
struct http_note {
    const char *type;   // of the content, where it isn't JSON-RPC; else NULL
    const char *fields; // more of the head, whole lines; or NULL
    const char *origin; // that is told that it may read this; or NULL
    char *lines;        // more of the head, likewise, in memory of the exchange's own (memory_take); or NULL
    uint16_t status;    // 0: what the answers come to
    bool head_only;     // the request was HEAD
    bool closes;        // nothing is read behind it, and the connection is closed
    bool is_1_0;        // no chunks may be sent
    bool uses_bearer;   // its route's credentials are bearer tokens, which a 401 says
    bool streams;       // the answer is a stream of events (features/http/http_stream.h)
    bool is_begun;      // then: its head was sent
    // The connection is being closed before this request of it was answered: lets go, and ends the exchange. NULL: the
    // exchange ends with its answers.
    void (*gone)(struct shard *shard, struct exchange *exchange);
};

struct exchange {
    struct list link;    // in shard.exchanges, oldest first
    struct list by_peer; // the transport's: in the order in which they came
    uint64_t opened_ms;
    uint64_t connection;        // whose it is
    struct parcel_list answers; // undressed
    size_t bytes;               // of them
    uint32_t count;
    uint32_t parcels;     // that it holds: each takes something besides its bytes
    uint32_t answers_due; // and one while what came is still being routed
    bool is_array;        // what came was a batch
    bool is_error;        // the answer that came last is an error (parcel->mail.detail)
    bool is_bad;          // what came, as a whole, was no message
    bool is_mcp;          // what came is MCP's, over HTTP: the hub's own codes are others (error_code_mcp)
    bool is_limited;      // it was refused for a limit of its user's
    bool lacks_tool;      // it was refused as its target's section leaves out the tool that it names
    uint8_t error;        // enum error, by which the hub itself has answered last; 0: it hasn't
    uint32_t wait_ms;     // when such a one would pass; 0: nobody knows
    bool is_ended;        // nothing is due any more
    bool exits;           // a member of it was an exit, for when all of it has been routed
    uint64_t hub_id;      // of the request that was forwarded last of what came; 0: none was
    void *
        inbound; // of its peer's transport: who asked, of what came from another hub, or of MCP over HTTP; or NULL
    struct http_note http;
};

// Opens one for what a peer sent; NULL when memory is used up. The peer isn't closed in good order before it
// has ended and was freed.
struct exchange *exchange_open(struct shard *shard, struct peer *peer);
// Counts a parcel's bytes among those that the exchange holds for its peer, which may be NULL: the parcel is the caller's to
// append. Closes the peer where too much waits (queue_limit_close).
void exchange_hold(struct shard *shard, struct peer *peer, struct exchange *exchange, size_t bytes);
// Notes that the parcels have moved elsewhere and count there.
void exchange_let_go(struct peer *peer, struct exchange *exchange);
// All of it has been routed.
void exchange_close(struct shard *shard, struct exchange *exchange);

// One more answer is due.
void exchange_expect(struct exchange *exchange);
// Returns whether an answer of so many bytes still fits: all together may be as large as a frame that comes
// in. An error always fits.
bool exchange_has_room(const struct shard *shard, const struct exchange *exchange, size_t bytes);
// How many bytes that are.
size_t exchange_room(const struct shard *shard, const struct exchange *exchange);
// An answer that was due came: a parcel that is taken, undressed.
void exchange_answer(struct shard *shard, struct exchange *exchange, struct parcel *parcel);
// An answer that was due won't come.
void exchange_miss(struct shard *shard, struct exchange *exchange);

// Makes the answers of an ended exchange one frame for a receiver of this wire: a chain, with the brackets and
// commas of an array where they are one. There is one answer at least.
void exchange_dress(struct exchange *exchange, const struct wire *wire);
// How many bytes that frame's body has.
size_t exchange_body_bytes(const struct exchange *exchange);
// Ends it for good, with the answers that were not sent.
void exchange_free(struct shard *shard, struct exchange *exchange);

// Returns the peer with an exchange since `opened_ms` or before whose exchanges' answers hold most, and
// `bytes_min` at least; NULL when there is none.
struct peer *exchange_holder(const struct shard *shard, uint64_t opened_ms, uint64_t bytes_min);
