// The users of a shared MCP server by their connections: the users' requests in progress and subscriptions to
// resources. The module finds the user of a server's message that names none.
//
// The table belongs to one shard. All memory is taken from the quota. A function that gets no memory changes nothing.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/agents/agent.h"
#include "core/agents/name_map.h"
#include "core/base/hash_table.h"
#include "core/base/list.h"

enum {
    MCP_URI_BYTES_MAX = 8 << 10,
    MCP_ABANDONED_MS = 60000, // how long an abandoned request counts as in progress, at most
    // Abandoned requests with a record; beyond that, mcp_abandoned_any is true until MCP_ABANDONED_MS have
    // passed
    MCP_ABANDONED_MAX = 1024,
};

struct mcp_users {
    struct quota *quota;
    struct list users;               // struct mcp_user.link
    struct list by_requests;         // struct mcp_user.by_requests
    struct list logging;             // struct mcp_user.logging
    struct hash_table by_connection; // struct mcp_user.by_connection
    struct hash_table by_request;    // struct mcp_request.by_id
    struct name_map resources;       // struct mcp_resource by uri
    struct list all;                 // the same resources; struct mcp_resource.link
    struct list abandoned;           // struct mcp_request.by_user, the oldest first
    uint32_t abandoned_count;        // length of `abandoned`
    // Until when an abandoned request without a record may be in progress; 0: none is
    uint64_t crowded_until_ms;
    uint64_t levels; // how many times mcp_level_set was called
};

enum { MCP_LEVEL_BYTES = 24 }; // with a zero byte

struct mcp_user {
    struct registrant registrant; // where the server's requests to the user are pending; has no agents
    struct list link;
    struct hash_node by_connection;
    struct list by_requests;      // in mcp_users.by_requests while a request of the user is in progress
    struct list logging;          // in mcp_users.logging while a request in progress asks for log messages
    uint32_t request_count, logs; // lengths: requests in progress, and requests that ask for log messages
    uint32_t listens;             // requests that only listen
    struct list requests;         // struct mcp_request.by_user
    struct list subscriptions;    // struct mcp_subscription.by_user
    uint32_t subscribed;          // number of subscriptions
    uint64_t levelled;            // mcp_users.levels at the user's last mcp_level_set; 0: never
    char level[MCP_LEVEL_BYTES];
    uint64_t served;   // the caller's: connection of the user's own instance; 0: none yet
    bool answers_only; // the caller's: the peer can receive nothing but responses
    bool informed;     // the caller's: the user knows the server's offer
    bool exits;        // the caller's: the user has told the instance to exit
    bool has_session;  // the caller's: the user has sent that instance a request of the legacy era
};

// Kinds of requests in progress. A request that only listens doesn't count as in progress.
enum mcp_request_kind { MCP_REQUEST, MCP_REQUEST_WITH_LOG, MCP_REQUEST_DISCOVER, MCP_REQUEST_LISTEN };

void mcp_users_init(struct mcp_users *users, const struct siphash_key *key, struct quota *quota);
void mcp_users_deinit(struct mcp_users *users);

// Returns the user at a connection, and makes the user if there is none. Returns NULL without memory.
struct mcp_user *mcp_user_take(struct mcp_users *users, uint64_t connection);
// Returns the user at a connection, or NULL.
struct mcp_user *mcp_user_find(const struct mcp_users *users, uint64_t connection);
// Receives a resource's URI.
typedef void mcp_visit_uri(void *context, const char *uri, size_t bytes);
// Removes a user and the user's requests. Calls `orphan`, unless NULL, with each resource that has no subscribers any
// more.
void mcp_user_leave(struct mcp_users *users, struct mcp_user *user, mcp_visit_uri *orphan, void *context);

// Notes a request that was sent to the server under this id. No other request in progress may have the id. Returns
// false without memory.
bool mcp_request_begin(struct mcp_users *users, struct mcp_user *user, uint64_t id,
                       enum mcp_request_kind kind);
// Notes a request that listens. `own`, the id that the client chose (JSON), is kept to name the events. Returns false
// without memory.
bool mcp_listen_begin(struct mcp_users *users, struct mcp_user *user, uint64_t id, const void *own,
                      size_t bytes);
// Returns the `own` of a listening request in progress, or NULL.
const char *mcp_listener(const struct mcp_users *users, uint64_t id, size_t *bytes);
// Notes that a request has ended. Returns false if no request has this id, or the request was abandoned.
bool mcp_request_end(struct mcp_users *users, uint64_t id);
// Notes that the client cancels the request or disconnects, although the server has the request. The server may still
// send requests on its behalf. Until mcp_abandoned_end, at most for MCP_ABANDONED_MS, the request counts as in progress
// and has no user. A request that only listens ends at once. Returns false if no request has this id, or the request
// was abandoned before.
bool mcp_request_abandon(struct mcp_users *users, uint64_t id, uint64_t now_ms);
// Notes that the server has answered an abandoned request. Returns false if no abandoned request has this id.
bool mcp_abandoned_end(struct mcp_users *users, uint64_t id);
// Returns whether an abandoned request is in progress.
bool mcp_abandoned_any(struct mcp_users *users, uint64_t now_ms);
// Forgets all abandoned requests, because the server's process has ended.
void mcp_abandoned_forget(struct mcp_users *users);
// Returns the request's user; NULL: no request has this id, or the request was abandoned.
struct mcp_user *mcp_request_user(const struct mcp_users *users, uint64_t id);
// Returns the request's kind; MCP_REQUEST if there is no such request.
enum mcp_request_kind mcp_request_kind_of(const struct mcp_users *users, uint64_t id);
// Calls `visit` with each request of a user. `visit` may end that request. Requests that begin meanwhile aren't
// visited.
typedef void mcp_visit_request(void *context, uint64_t id);
void mcp_visit_requests(const struct mcp_user *user, mcp_visit_request *visit, void *context);
// Returns the only user with a request in progress (or with a request for log messages). Returns NULL if there are none
// or several.
struct mcp_user *mcp_only_requester(const struct mcp_users *users);
struct mcp_user *mcp_only_log_reader(const struct mcp_users *users);

// Subscribes the user to a resource; does nothing the second time. Returns false without memory, if the URI is too
// long, or at SUBSCRIPTIONS_PER_CONNECTION_MAX.
bool mcp_subscribe(struct mcp_users *users, struct mcp_user *user, const char *uri, size_t bytes);
// Subscribes the user for a request in progress. The subscription ends if the request is refused. The subscription
// stays if the request ends without a response, as the server may have subscribed.
bool mcp_request_subscribe(struct mcp_users *users, uint64_t id, const char *uri, size_t bytes);
// Removes a refused subscription. Calls `orphan` with the resource if the resource has no subscribers any more, but the
// server wasn't told so. That happens if another user unsubscribed while this subscription was under way.
void mcp_request_refused(struct mcp_users *users, uint64_t id, mcp_visit_uri *orphan, void *context);
// Removes the user's subscription. Returns true if there are other subscribers, so that the server must not be told.
bool mcp_unsubscribe(struct mcp_users *users, const struct mcp_user *user, const char *uri, size_t bytes);
// Notes the level from which the user wants the server to log.
void mcp_level_set(struct mcp_users *users, struct mcp_user *user, const char *level);
// Returns the level of the present user who set a level last; "": none.
const char *mcp_level(const struct mcp_users *users);
// Removes all of the user's subscriptions.
void mcp_unsubscribe_all(struct mcp_users *users, struct mcp_user *user);
// Visits each resource with a subscription of this user, or of any user.
void mcp_visit_subscriptions(const struct mcp_user *user, mcp_visit_uri *visit, void *context);
void mcp_visit_resources(const struct mcp_users *users, mcp_visit_uri *visit, void *context);
