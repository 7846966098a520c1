// Keeps the clients that outlast a request: sessions, which are found by their ids, and users of servers with an
// instance for each user. Shard 0 keeps all clients.
#pragma once

#include "core/base/hash_table.h"
#include "core/base/siphash.h"
#include "router/engine/shard/shard.h"
#include "router/features/feature_list.h"
#include "router/features/mcp_http/mcp_client_types.h"

// The feature's own options (mcp_endpoint.c).
enum mcp_option {
    MCP_OPTION_SESSIONS_MAX, // one user may have a quarter of the sessions
    MCP_OPTION_SESSION_IDLE_NS,
    MCP_OPTION_KEEP_ALIVE_NS,
    MCP_OPTION_PREFIX,    // not 0: names of tools and prompts always have a prefix
    MCP_OPTION_GATHER_NS, // the time in which all servers must answer one question
    MCP_OPTION_HISTORY
};

static inline uint64_t mcp_option(const struct shard *shard, enum mcp_option option) {
    return shard->settings->own[FEATURE_MCP_HTTP][option];
}

enum mcp_http_gauge { MCP_HTTP_GAUGE_CLIENTS, MCP_HTTP_GAUGE_SESSIONS, MCP_HTTP_GAUGES };

struct mcp_http {
    struct list clients;      // struct mcp_client.link
    struct hash_table by_id;  // struct mcp_client.by_id
    struct list servers;      // struct mcp_server.link
    struct siphash_key names; // the key from which session ids are made
    struct list events;       // struct mcp_event.by_age, of all sessions (mcp_history.h)
    uint64_t history_bytes;   // memory that these events take
    uint64_t made;            // how many session ids were made
    uint64_t server_set;      // a hash of all servers' names, in their order
    uint32_t count;           // the length of `clients`
};

// The feature's state on a shard.
struct mcp_http_shard {
    struct mcp_http *table; // on shard 0; NULL: another shard, or MCP isn't served
    uint32_t exchanges_out; // requests of this shard's connections that aren't answered
};

static inline struct mcp_http_shard *mcp_http_shard(const struct shard *shard) {
    return shard->states[FEATURE_MCP_HTTP];
}
static inline struct mcp_http *mcp_http_of(const struct shard *shard) {
    return mcp_http_shard(shard)->table;
}

// Makes the table. Returns false without memory.
bool mcp_table_open(struct shard *shard);
// Frees the table. All clients must have gone.
void mcp_table_free(struct shard *shard);
// Returns whether the table has room for one more client of this user.
bool mcp_table_has_room(const struct shard *shard, const struct user *user);
// Adds a client. A session gets its id, by which mcp_table_find finds the session. Returns false without memory.
bool mcp_table_add(struct shard *shard, struct mcp_client *client);
// Ends a client and all of its calls. The turn frees the client with its seat (peer_teardown.h).
void mcp_table_close(struct shard *shard, struct mcp_client *client);
// Returns the line of a head with a session's id, in memory of its own; NULL without memory.
char *mcp_table_line(const struct mcp_client *session);
// Removes a client if it was added.
void mcp_table_remove(struct shard *shard, struct mcp_client *client);
// Returns the session with this id; NULL: there is none.
struct mcp_client *mcp_table_find(const struct shard *shard, const uint8_t *id, size_t bytes);
// Returns the client for all modern requests of a user at a server; NULL: there is none.
struct mcp_client *mcp_table_find_user(const struct shard *shard, const struct user *user, const char *name,
                                       size_t bytes);
