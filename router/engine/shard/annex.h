// State that few peers need, beyond struct peer: taken with the first use, given back with the peer. The
// annex knows no peer, so that its parts needn't, either.
#pragma once

#include <stdint.h>

#include "core/base/list.h"
#include "core/base/quota.h"
#include "core/base/wheel.h"
#include "core/wire/unit.h"

struct peer;

// The agent to which all goes that a peer says without a target (hub/attach).
struct attachment {
    uint32_t bytes;
    char agent[];
};

// HTTP: a request that is whole, and holds its buffer.
struct http_deferred {
    struct buffer *buffer; // one reference
    uint32_t at;
    struct unit unit;
    uint32_t frames; // that the peer had said when it came, itself included
};

// The member of a pool that has served the peer (router/features/children/child_mux.h).
struct pool_affinity {
    struct pool_affinity *next;
    uint64_t connection;
};

struct child;
struct per_client;
struct identity;
struct mail;
struct mcp;
struct mcp_client;
struct hcs_viewer;

struct annex {
    struct peer *peer;                // whose it is
    uint64_t origin;                  // where it comes from, as a hash; 0: nobody has asked
    uint64_t quota_holder;            // whose its subscriptions are (core/base/quota.h)
    uint64_t quota_bytes;             // of these, as they are counted
    struct attachment *attachment;    // NULL: none
    bool end_detaches;                // the end of its stream is its leaving, as it has said in hub/attach
    struct identity *identity;        // where users are on (identity.h); else NULL
    struct pool_affinity *affinities; // one for each pool that it has used
    struct child *child;              // whose seat it is (router/features/children); or NULL
    struct mcp *mcp;                  // of such a seat (router/features/mcp/mcp.h); or NULL
    struct per_client *each;          // likewise (router/features/mcp/per_client.h)
    struct mcp_client *mcp_client; // of MCP over HTTP, whose seat it is (router/features/mcp_http); or NULL
    bool ends_when_idle;           // what such a seat asks has ended when it is cancelled, as MCP has it
    struct mail *departure;  // that tells shard 0 that it has gone, of a user of shared servers; or NULL
    struct timer timer;      // of the transport's own (transport.h, expire)
    struct list exchanges;   // struct exchange.by_peer: of a transport that answers in order
    uint32_t exchange_count; // there
    struct http_deferred *deferred; // a request that waits for the answers to all before it; or NULL
    bool expects;                   // of HTTP: waits to be told that it may send a body
    // Of WebSocket.
    bool is_pinged;
    bool is_closed;               // a close frame was queued
    bool is_denied;               // it showed no right credential: its close frame says so
    uint32_t pinged_ms;           // when; a tick
    struct directives directives; // of the request for the upgrade: they hold for each message
    struct hcs_viewer *viewer;    // of HCS sessions (hcs_shard.h); NULL: of none yet
    struct list held;             // struct held_message.by_source: what it has sent that waits for approval
    uint32_t held_count;
    uint64_t held_bytes; // of these
};

// Makes one for a peer; its timer is of this kind. NULL without memory.
struct annex *annex_take(struct quota *places, struct peer *peer, uint8_t timer_kind);
// Gives back all that is in it; NULL is allowed. Nothing may be in its lists, and its timer not be armed.
void annex_give(struct quota *quota, struct quota *places, struct annex *annex);
// Puts another attachment in the place of the one that there is. False where there is no room: then that stays.
bool annex_attach(struct quota *quota, struct annex *annex, const char *agent, size_t bytes);
