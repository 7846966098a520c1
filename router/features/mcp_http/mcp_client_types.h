// A client of MCP over HTTP: a session, one request of the modern era, or all modern requests of a user at a server. To
// servers and routing the client is a peer without a socket on shard 0: the seat (mcp_client.h). Messages of servers to
// the seat go on a stream (mcp_stream.h).
#pragma once

#include <assert.h>

#include "core/base/hash_table.h"
#include "core/base/list.h"
#include "core/send/outbox.h"
#include "router/engine/shard/peer.h"
#include "router/features/feature_list.h"

// X(kind, the method that lists the kind, the result's member with the list, the member that identifies an element)
#define MCP_LISTS(X)                                                                                         \
    X(MCP_TOOLS, "tools/list", "tools", "name")                                                              \
    X(MCP_PROMPTS, "prompts/list", "prompts", "name")                                                        \
    X(MCP_RESOURCES, "resources/list", "resources", "uri")                                                   \
    X(MCP_TEMPLATES, "resources/templates/list", "resourceTemplates", "uriTemplate")

enum mcp_list {
#define X(list, method, member, key) list,
    MCP_LISTS(X)
#undef X
        MCP_LISTS_COUNT
};

struct mcp_list_row {
    const char *method, *member, *key;
};
static inline const struct mcp_list_row *mcp_list_row(enum mcp_list list) {
    static const struct mcp_list_row rows[MCP_LISTS_COUNT] = {
#define X(list, method, member, key) [list] = {method, member, key},
        MCP_LISTS(X)
#undef X
    };
    assert(list < MCP_LISTS_COUNT);
    return &rows[list];
}

struct child_record;
struct exchange;
struct mcp_exchange;
struct mcp_client;
struct mcp_gather;
struct mcp_history_stream;
struct user;

enum mcp_client_kind {
    MCP_CLIENT_SESSION, // of the legacy era
    MCP_CLIENT_REQUEST, // one request of the modern era
    MCP_CLIENT_USER,    // all modern requests of a user at a server with an instance for each user
};

enum { MCP_SESSION_ID_BYTES = 32, MCP_WAITING_BYTES_MAX = 64 * 1024 };

// A request of a client, until the request is answered.
struct mcp_call {
    struct list link; // in mcp_client.calls
    struct mcp_client *client;
    struct exchange *exchange;         // the seat's exchange, which receives the answer
    struct mcp_exchange *http;         // waits for the answer; NULL: the connection is gone, or there is none
    struct mcp_history_stream *stream; // in a session, from the first event on (mcp_history.h); or NULL
    // Takes the answer, and frees the call. NULL: there is no answer.
    void (*answered)(struct shard *shard, struct mcp_call *call, struct parcel *answer);
    // Called once, when --mcp-gather has passed without an answer; or NULL.
    void (*late)(struct shard *shard, struct mcp_call *call);
    uint64_t began_ms;
    bool takes_json, takes_events; // whether the client takes such an answer
    bool is_modern, logs;          // of the modern era; the client asks for log messages
    bool is_listen;                // a subscription, which goes on until it is ended
    bool is_initialize;
    bool is_question;           // the hub's own: `answered` is called without an answer when the client ends
    bool is_parted;             // the hub is ending this subscription
    bool is_list;               // a tools/list
    bool is_first_page;         // the request has no cursor
    struct mcp_gather *gather;  // the questions to servers that this call waits for; or NULL
    struct mcp_gather *part_of; // the gather that has this call as part number `part`; or NULL
    uint32_t part;
};

struct mcp_client {
    struct peer *seat; // the peer that stands for the client; never NULL
    enum mcp_client_kind kind;
    const struct user *user; // NULL without a users file
    struct list calls;       // struct mcp_call.link, oldest first
    // For MCP_CLIENT_SESSION and MCP_CLIENT_USER.
    struct list link;              // in mcp_http.clients
    struct hash_node by_id;        // in mcp_http.by_id, of a session
    struct child_record *record;   // the server's, in which the session is counted; or NULL
    struct mcp_exchange *listener; // the open GET; or NULL
    struct parcel_list waiting;    // messages that wait for a GET
    size_t waiting_bytes;
    // Events that are kept (mcp_history.h).
    struct list streams, events;          // struct mcp_history_stream.link, struct mcp_event.by_session
    struct mcp_history_stream *listening; // of the latest GET, whose connection may be gone; or NULL
    uint64_t streams_made, events_made;
    size_t history_bytes; // bytes of the events' bodies
    bool primes;          // streams begin with an empty event: from version 2025-11-25 on
    uint64_t used_ms;     // when the client last had a request or a stream
    char id[MCP_SESSION_ID_BYTES];
    bool is_named;       // by_id is linked
    bool is_closed;      // the client is being closed
    uint32_t name_bytes; // of the server's name; 0: all servers
    char name[];
};

// Returns the client of a seat; NULL: the peer is no seat, or its client has gone.
static inline struct mcp_client *mcp_client_of_seat(const struct peer *seat) {
    return peer_state(seat, FEATURE_MCP_HTTP);
}
