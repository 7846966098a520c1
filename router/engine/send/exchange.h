// Exchanges: the answers to a JSON-RPC batch (JSON-RPC 2.0 section 6) or to an HTTP request. An exchange holds the
// answers until all have come. The answers to a batch are then sent as one array, in the order in which they came. The
// peer's transport decides how an exchange is sent (transport.h).
//
// One answer is due for each JSON-RPC request, and one for each body, or member of an array, that can't be read. Each
// due answer ends in exchange_answer or in exchange_miss. Answers are a chain of parcels, so that no body is copied but
// those so small that holding their buffer would cost more.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/base/list.h"
#include "core/send/outbox.h"
#include "router/engine/shard/peer.h"

// How a request of HTTP is answered (features/http/http_response.c). The texts are static, but for the origin, which
// the settings have.
struct http_note {
    char *lines;        // as `fields`, in memory that the exchange owns (memory_take); or NULL
    const char *type;   // Content-Type, where it isn't JSON-RPC's; else NULL
    const char *fields; // more lines of the head, each with its end; or NULL
    const char *origin; // for Access-Control-Allow-Origin; or NULL
    uint16_t status;    // 0: decided by the answers
    bool head_only;     // the request was HEAD
    bool closes;        // the connection is closed after this answer
    bool is_1_0;        // the request was HTTP/1.0: no chunks may be sent
    bool uses_bearer;   // a 401 asks for a bearer token
    bool streams;       // the answer is a stream of events (features/http/http_stream.h)
    bool is_begun;      // with `streams`: the head was sent
    // Called when the connection closes before this request is answered. Must end the exchange. NULL: the exchange ends
    // with its answers.
    void (*gone)(struct shard *shard, struct exchange *exchange);
};

struct exchange {
    struct list link;    // in shard.exchanges, oldest first
    struct list by_peer; // of the transport: the peer's exchanges in the order in which the requests came
    uint64_t opened_ms;
    // When the MCP request arrived over HTTP, perhaps long before opened_ms; 0: no such request
    uint64_t arrived_ms;
    uint64_t connection;        // of the peer that asked
    struct parcel_list answers; // without the wire's frame (exchange_encode)
    size_t bytes;               // of the answers
    uint32_t count;
    uint32_t parcels;     // that hold the answers
    uint32_t answers_due; // answers that must still come, plus one while the arrival is being routed
    bool is_array;        // the arrival was a batch
    bool is_error;        // the last answer is an error (parcel->mail.detail)
    bool is_bad;          // the arrival as a whole was no message
    bool is_mcp;          // the arrival is MCP over HTTP, where the hub's codes are others (error_code_mcp)
    bool is_limited;      // the message was refused for a limit of its user
    bool is_targets_refusal; // the call was refused in the place of its target, which would have refused it
    uint8_t error;           // enum error of the hub's last own answer; 0: none
    bool is_unsent;   // the hub refused the forwarded request itself: its target's program never got it
    uint32_t wait_ms; // with is_limited: after which time the message would pass; 0: unknown
    bool is_ended;    // all answers have come
    // A member of the batch was `exit`, which takes effect when the whole batch has been routed
    bool exits;
    uint64_t hub_id; // of the last request of the arrival that was forwarded; 0: none
    // Of the peer's transport: the source of a message from another hub, or the call of MCP over HTTP; or NULL.
    void *inbound;
    struct http_note http;
};

// Opens an exchange for an arrival of the peer. Returns NULL without memory. A peer that lingers isn't closed before
// its exchanges have ended.
struct exchange *exchange_open(struct shard *shard, struct peer *peer);
// Counts a parcel's bytes for the exchange and its peer; the peer may be NULL. The caller appends the parcel. Closes
// the peer if too much waits (queue_limit_close).
void exchange_charge(struct shard *shard, struct peer *peer, struct exchange *exchange, size_t bytes);
// Ends the counting for the peer: the parcels have moved elsewhere and count there.
void exchange_let_go(struct peer *peer, struct exchange *exchange);
// Notes that the whole arrival has been routed.
void exchange_close(struct shard *shard, struct exchange *exchange);

// Notes that one more answer is due.
void exchange_expect(struct exchange *exchange);
// Returns whether an answer of so many bytes still fits: all together may be as large as a frame that comes
// in. An error always fits.
bool exchange_has_room(const struct shard *shard, const struct exchange *exchange, size_t bytes);
// Returns how many bytes an answer may still have.
size_t exchange_room(const struct shard *shard, const struct exchange *exchange);
// Adds an answer that was due. Takes the parcel, which has no frame of a wire yet.
void exchange_answer(struct shard *shard, struct exchange *exchange, struct parcel *parcel);
// Notes that an answer that was due won't come.
void exchange_miss(struct shard *shard, struct exchange *exchange);

// Makes the answers of an ended exchange one frame of this wire: a chain of parcels, with the brackets and commas of an
// array for a batch. There must be one answer at least.
void exchange_encode(struct exchange *exchange, const struct wire *wire);
// Returns how many bytes the body of that frame has.
size_t exchange_body_bytes(const struct exchange *exchange);
// Frees the exchange, and the answers that weren't sent.
void exchange_free(struct shard *shard, struct exchange *exchange);

// Returns the peer whose exchanges hold the most bytes of answers: at least `bytes_min`, and one exchange opened at
// `opened_ms` or before. NULL: there is none.
struct peer *exchange_holder(const struct shard *shard, uint64_t opened_ms, uint64_t bytes_min);
