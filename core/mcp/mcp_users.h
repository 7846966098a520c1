// The users of a shared server of the Model Context Protocol, by their connections: their requests in
// progress, and the resources to which they are subscribed. The module tells to which user a message of the
// server belongs that names none.
//
// The table belongs to one shard. All memory is taken on the account of the quota, and where there is none
// nothing changes.
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
    MCP_ABANDONED_MS = 60000, // so long a request that was given up counts as in progress, at most
    MCP_ABANDONED_MAX = 1024, // so many are known apart; past that all are until that time is over
};

struct mcp_users {
    struct quota *quota;
    struct list users;               // struct mcp_user.link
    struct list by_requests;         // struct mcp_user.asking
    struct list logging;             // struct mcp_user.logging
    struct hash_table by_connection; // struct mcp_user.by_connection
    struct hash_table by_request;    // struct mcp_request.by_id
    struct name_map resources;       // struct mcp_resource by uri
    struct list all;                 // of them
    struct list abandoned;           // struct mcp_request.by_user, the oldest first
    uint32_t abandoned_count;        // of them
    uint64_t crowded_until_ms;       // one that isn't among them may be in progress until then; 0: none is
    uint64_t levels;                 // how often a user has said from which level on the server is to log
};

enum { MCP_LEVEL_BYTES = 24 }; // with a zero byte

struct mcp_user {
    struct home home; // where it is asked by the server; it has no agents there
    struct list link;
    struct hash_node by_connection;
    struct list by_requests;      // in the sharing's list while a request of it is in progress
    struct list logging;          // likewise one that asks for log messages
    uint32_t request_count, logs; // how many
    uint32_t listens;             // how many others, which only listen
    struct list requests;         // struct mcp_request.by_user
    struct list subscriptions;    // struct mcp_subscription.by_user
    uint32_t subscribed;          // how many
    uint64_t levelled;            // when it said so last, as levels count; 0: never
    char level[MCP_LEVEL_BYTES];
    uint64_t served;   // the caller's: the connection of an instance of its own; 0: none yet
    bool answers_only; // likewise: it is told and asked nothing
    bool informed;     // likewise: it has heard from the server what that offers
    bool exits;        // likewise: it has told its instance to exit
    bool has_session;  // likewise: that instance has been asked something of the legacy era
};

// Kinds of requests in progress. A request that only listens doesn't count as in progress.
enum mcp_request_kind { MCP_REQUEST, MCP_REQUEST_WITH_LOG, MCP_REQUEST_DISCOVER, MCP_REQUEST_LISTEN };

void mcp_users_init(struct mcp_users *users, const struct siphash_key *key, struct quota *quota);
void mcp_users_deinit(struct mcp_users *users);

// The user at a connection, made if it is none yet; NULL without memory.
struct mcp_user *mcp_user_take(struct mcp_users *users, uint64_t connection);
// Returns the user at a connection, or NULL where the connection is no user.
struct mcp_user *mcp_user_find(const struct mcp_users *users, uint64_t connection);
// Is told of a resource.
typedef void mcp_visit_uri(void *context, const char *uri, size_t bytes);
// Forgets a user and its requests. `orphan`, unless it is NULL, is told each resource to which nobody is subscribed any more.
void mcp_user_leave(struct mcp_users *users, struct mcp_user *user, mcp_visit_uri *orphan, void *context);

// A request has gone to the server under this id, which no other one in progress has. False without memory.
bool mcp_request_begin(struct mcp_users *users, struct mcp_user *user, uint64_t id,
                       enum mcp_request_kind kind);
// Begins a request that listens: its user's own id, JSON, is kept to name the events. False without memory.
bool mcp_listen_begin(struct mcp_users *users, struct mcp_user *user, uint64_t id, const void *own,
                      size_t bytes);
// Returns that id, as long as the request is in progress; NULL: no listening request has this id.
const char *mcp_listener(const struct mcp_users *users, uint64_t id, size_t *bytes);
// Notes that the request has ended, in whatever way. False: there is none with this id.
bool mcp_request_end(struct mcp_users *users, uint64_t id);
// Notes that the request's client gives it up, or leaves, though the request has gone to the server: the
// server may ask something for its sake. Until mcp_abandoned_end, for MCP_ABANDONED_MS at most, the request
// counts as in progress, and is nobody's. A request that only listens ends. False: there is none with this
// id, or it was given up before.
bool mcp_request_abandon(struct mcp_users *users, uint64_t id, uint64_t now_ms);
// The server has answered one that was given up. False: this is the id of none.
bool mcp_abandoned_end(struct mcp_users *users, uint64_t id);
// Whether one that was given up is in progress.
bool mcp_abandoned_any(struct mcp_users *users, uint64_t now_ms);
// The server's process has ended, and all of them with it.
void mcp_abandoned_forget(struct mcp_users *users);
// Whose it is; NULL: there is none with this id, or it was given up.
struct mcp_user *mcp_request_user(const struct mcp_users *users, uint64_t id);
// How it counts; MCP_REQUEST for none.
enum mcp_request_kind mcp_request_kind_of(const struct mcp_users *users, uint64_t id);
// Calls `visit` with each request of a user. `visit` may end that request. Requests that begin meanwhile aren't visited.
typedef void mcp_visit_request(void *context, uint64_t id);
void mcp_visit_requests(const struct mcp_user *user, mcp_visit_request *visit, void *context);
// The one user that has something in progress (or, that asks for log messages); NULL: none has, or several
// have.
struct mcp_user *mcp_only_requester(const struct mcp_users *users);
struct mcp_user *mcp_only_log_reader(const struct mcp_users *users);

// The user is subscribed to a resource, once however often it says so. False without memory, for a URI that is too
// long, or one that is too many (SUBSCRIPTIONS_PER_CONNECTION_MAX).
bool mcp_subscribe(struct mcp_users *users, struct mcp_user *user, const char *uri, size_t bytes);
// Subscribes the user as a request in progress asks. The subscription ends if the request is refused; it stays if the
// request ends without an answer, as the server may have subscribed.
bool mcp_request_subscribe(struct mcp_users *users, uint64_t id, const char *uri, size_t bytes);
// Notes that a subscription was refused. `orphan` is called with the resource in one case: nobody is subscribed to the
// resource any more, and the server wasn't told of somebody else's unsubscription for the sake of this subscription.
void mcp_request_refused(struct mcp_users *users, uint64_t id, mcp_visit_uri *orphan, void *context);
// Notes that the user is subscribed no longer. True: other users are, so the server must not be told.
bool mcp_unsubscribe(struct mcp_users *users, const struct mcp_user *user, const char *uri, size_t bytes);
// A user has the server log from this level on.
void mcp_level_set(struct mcp_users *users, struct mcp_user *user, const char *level);
// The level that was said last by one that is still here; "": nobody has.
const char *mcp_level(const struct mcp_users *users);
// The user is subscribed to nothing any more.
void mcp_unsubscribe_all(struct mcp_users *users, struct mcp_user *user);
// Tells each resource to which a user is subscribed, or anybody.
void mcp_visit_subscriptions(const struct mcp_user *user, mcp_visit_uri *visit, void *context);
void mcp_visit_resources(const struct mcp_users *users, mcp_visit_uri *visit, void *context);
