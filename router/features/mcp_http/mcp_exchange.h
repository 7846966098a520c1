// One request of HTTP to an MCP path, from its arrival to the end of its answer. Shard 0, where MCP's servers and clients are,
// serves it. If its connection is another shard's, the exchange travels to shard 0 as mail, and returns as mail with its
// answer. Events of a stream go ahead of the answer, each as a parcel.
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
    struct mail mail;      // on the way to shard 0, and home
    struct mail gone_mail; // to shard 0: the connection is being closed
    // Of the connection's shard.
    struct exchange *exchange; // NULL: the connection is gone
    bool gone_is_out;          // gone_mail is on its way
    bool is_home;              // it was answered, and waits for gone_mail alone
    // Constant on the way.
    uint64_t connection;
    const struct user *user; // of the request; NULL: users aren't on
    bool is_1_0;
    struct unit unit;       // of the request
    struct parcel *request; // its bytes, on the way to shard 0
    // Of shard 0.
    bool is_gone;                // the connection is
    bool is_answered;            // the exchange returns, or has returned
    bool streams;                // the answer is a stream of events
    uint64_t sent_ms;            // when a part of the answer last went out, else when the request arrived
    struct mcp_call *call;       // that waits for it; or NULL
    struct mcp_client *listener; // the client whose stream of GET this is; or NULL
    struct mcp_wait *wait;       // while the server's era or tools are unknown; or NULL
    uint8_t tool_waits;          // how often it has waited for the latter
    char *stream_lines; // more of a stream's head, in memory of its own, set before its first event; or NULL
    // The answer, on the way home.
    uint16_t status;
    const char *fields;     // more of the head, static; or NULL
    char *lines;            // likewise, in memory of its own
    struct parcel *content; // or NULL
};

// A request that shard 0 serves.
struct mcp_arrival {
    struct mcp_exchange *exchange;
    const struct frame *frame;
    const uint8_t *head; // from the unit's start
    struct http_request request;
};

// Called on shard 0 with each; set once, before any shard runs.
typedef void mcp_exchange_serve(struct shard *shard, struct mcp_arrival *arrival);
// Called on shard 0 when the connection has gone before the exchange's end. The callee ends the exchange.
typedef void mcp_exchange_gone(struct shard *shard, struct mcp_exchange *exchange);
void mcp_exchange_set(mcp_exchange_serve *serve, mcp_exchange_gone *gone);

// The route's serve.
void mcp_exchange_take(struct shard *shard, struct http_call *call);
// The feature's mail.
void mcp_exchange_take_mail(struct shard *shard, struct mail *mail, unsigned kind);

// --- On shard 0. A function that ends an exchange frees it, or returns it to its shard: the caller must not use it any more.

// Sends an event with this body, which is taken. The first event begins the stream. `id` may be NULL. A notification that finds the
// connection's queue full is dropped and counted there.
void mcp_exchange_send(struct shard *shard, struct mcp_exchange *exchange, struct parcel *body,
                       const char *id, bool is_notification);
// Sends a comment, or an empty event with an id, likewise.
void mcp_exchange_comment(struct shard *shard, struct mcp_exchange *exchange);
void mcp_exchange_mark(struct shard *shard, struct mcp_exchange *exchange, const char *id);
// Ends the stream.
void mcp_exchange_end(struct shard *shard, struct mcp_exchange *exchange);
// Answers with a status, `fields`, `lines` and content, of which the last two are taken, and each may be NULL.
void mcp_exchange_answer(struct shard *shard, struct mcp_exchange *exchange, unsigned status,
                         const char *fields, char *lines, struct parcel *content);
