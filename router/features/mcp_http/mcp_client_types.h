// A client of MCP's servers over HTTP: a session, or one request of the modern era. Towards servers and routing it is a
// peer without a socket, on shard 0, where its servers are: a seat (mcp_client.h). Messages of servers to the
// peer go on a stream (mcp_stream.h).
#pragma once

#include <assert.h>

#include "core/base/hash_table.h"
#include "core/base/list.h"
#include "core/send/outbox.h"
#include "router/engine/shard/peer.h"
#include "router/features/feature_list.h"

// X(kind, the method that lists it, the list's member of the result, the member by which two elements differ)
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
    MCP_CLIENT_REQUEST, // one of the modern era
    MCP_CLIENT_USER,    // all requests of that era that a user has at a server with an instance for each
};

enum { MCP_SESSION_ID_BYTES = 32, MCP_WAITING_BYTES_MAX = 64 * 1024 };

// A request of a client that a server has.
struct mcp_call {
    struct list link; // in mcp_client.calls
    struct mcp_client *client;
    struct exchange *exchange;         // of the seat, that its answer is due to
    struct mcp_exchange *http;         // that waits for it; NULL: its connection is gone
    struct mcp_history_stream *stream; // of a session, once it has an event (mcp_history.h); or NULL
    // Takes the answer, which may be NULL: there is none, and frees the call. The parcel is taken.
    void (*answered)(struct shard *shard, struct mcp_call *call, struct parcel *answer);
    // Called once, when --mcp-gather has passed without an answer. NULL: nothing is to be done then.
    void (*late)(struct shard *shard, struct mcp_call *call);
    uint64_t began_ms;
    bool takes_json, takes_events; // its client does
    bool is_modern, logs;          // of that era; and asks for what is logged meanwhile
    bool is_listen;                // has no end of its own
    bool is_initialize;
    bool is_question;          // the hub's own (mcp_era.h): the end of its client is an end without an answer
    bool is_parted;            // such a one is being ended
    bool is_list;              // a tools/list
    bool is_first_page;        // and without a cursor
    struct mcp_gather *gather; // the hub's own questions to servers, for which it waits; or NULL
    struct mcp_gather *part_of; // the gather of which this call is a part, with the part's index; or NULL
    uint32_t part;
};

struct mcp_client {
    struct peer *seat; // as long as the client is there
    enum mcp_client_kind kind;
    const struct user *user; // NULL: users aren't on
    struct list calls;       // struct mcp_call.link, oldest first
    // Of a session, and a user's.
    struct list link;              // in mcp_http.clients
    struct hash_node by_id;        // of a session that is open
    struct child_record *record;   // of the server that counts the session; or NULL
    struct mcp_exchange *listener; // the stream of GET; or NULL
    struct parcel_list waiting;    // for such a one
    size_t waiting_bytes;
    // What is kept of streams (mcp_history.h).
    struct list streams, events;          // struct mcp_history_stream.link, struct mcp_event.by_session
    struct mcp_history_stream *listening; // GET's latest, whose connection may be gone; or NULL
    uint64_t streams_made, events_made;
    size_t history_bytes; // of the events' bodies
    bool primes;          // its streams begin with an empty event: from 2025-11-25 on
    uint64_t used_ms;     // when it last had a request or a stream
    char id[MCP_SESSION_ID_BYTES];
    bool is_named;       // by_id is linked
    bool is_closed;      // it goes
    uint32_t name_bytes; // of its server, 0: of all
    char name[];
};

// Returns the client whose seat a peer is; NULL: the peer is no seat, or its client has gone.
static inline struct mcp_client *mcp_client_of_seat(const struct peer *seat) {
    return peer_state(seat, FEATURE_MCP_HTTP);
}
