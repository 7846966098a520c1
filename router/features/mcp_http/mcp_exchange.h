// One request of HTTP to an MCP path, from its arrival to the end of its answer. Shard 0 serves the request, because
// MCP's servers and clients are there. If another shard has the connection, the exchange is sent to shard 0 as mail,
// and sent back with its answer. Events of a stream are sent before the answer, each as a parcel.
#pragma once

#include "core/send/parcel.h"
#include "core/wire/http_request.h"
#include "router/engine/shard/hub.h"
#include "router/features/http/http_response.h"

struct mcp_call;
struct mcp_client;
struct mcp_wait;
struct user;

struct mcp_exchange {
    struct mail mail;      // carries the exchange to shard 0, and back
    struct mail gone_mail; // tells shard 0 that the connection is being closed
    // Used by the connection's shard.
    struct exchange *exchange; // NULL: the connection is gone
    bool gone_is_out;          // gone_mail was sent and isn't back
    bool is_home;              // the exchange is back with its answer, and waits for gone_mail alone
    // Constant.
    uint64_t connection;
    const struct user *user; // of the request; NULL without a users file
    bool is_1_0;
    struct unit unit;       // of the request
    struct parcel *request; // the request's bytes, until shard 0 has copied them
    // Used by shard 0.
    bool is_gone;                // the connection has gone
    bool is_answered;            // the exchange was sent back
    bool streams;                // the answer is a stream of events
    uint64_t sent_ms;            // when a part of the answer last went out, else when the request arrived
    struct mcp_call *call;       // the call that answers the exchange; or NULL
    struct mcp_client *listener; // the client whose stream of GET this is; or NULL
    struct mcp_wait *wait;       // set while the server's era or tools are unknown; or NULL
    uint8_t tool_waits;          // how often the exchange has waited for tools
    char *stream_lines;          // more lines of a stream's head, in memory of their own; or NULL
    // The answer, for the connection's shard.
    uint16_t status;
    const char *fields;     // more lines of the head, static; or NULL
    char *lines;            // the same, in memory of their own
    struct parcel *content; // or NULL
};

// A request that shard 0 serves.
struct mcp_arrival {
    struct mcp_exchange *exchange;
    const struct frame *frame;
    const uint8_t *head; // the first byte of the unit
    struct http_request request;
};

// Called on shard 0 with each arrival.
typedef void mcp_exchange_serve(struct shard *shard, struct mcp_arrival *arrival);
// Called on shard 0 when the connection has gone before the exchange's end. The callee ends the exchange.
typedef void mcp_exchange_gone(struct shard *shard, struct mcp_exchange *exchange);
// Sets both functions. Called once, before any shard runs.
void mcp_exchange_set(mcp_exchange_serve *serve, mcp_exchange_gone *gone);

// Takes a request of HTTP, and has shard 0 serve the request. The `serve` of the feature's routes.
void mcp_exchange_take(struct shard *shard, struct http_call *call);
// Handles the feature's mail.
void mcp_exchange_take_mail(struct shard *shard, struct mail *mail, unsigned kind);

// --- On shard 0. A function that ends an exchange frees the exchange, or sends it back to its shard. The caller must
// not use the exchange any more.

// Sends an event with this body, which is taken. The first event begins the stream. `id` may be NULL. A notification is
// dropped and counted if the connection's queue is full.
void mcp_exchange_send(struct shard *shard, struct mcp_exchange *exchange, struct parcel *body,
                       const char *id, bool is_notification);
// Sends a comment on the stream. A comment may begin the stream, as an event does.
void mcp_exchange_comment(struct shard *shard, struct mcp_exchange *exchange);
// Sends an empty event with this id.
void mcp_exchange_mark(struct shard *shard, struct mcp_exchange *exchange, const char *id);
// Ends the stream, and the exchange.
void mcp_exchange_end(struct shard *shard, struct mcp_exchange *exchange);
// Answers with a status, lines of the head and content, and ends the exchange. `fields`, `lines` and `content` may be
// NULL. Takes `lines` and `content`.
void mcp_exchange_answer(struct shard *shard, struct mcp_exchange *exchange, unsigned status,
                         const char *fields, char *lines, struct parcel *content);
