// The other hubs of the cluster, as far as they have said something under this link. On shard 0.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/agents/name_map.h"
#include "core/base/list.h"
#include "core/base/quota.h"
#include "core/cluster/subject.h"
#include "router/registry/remote_presence.h"

enum { CLUSTER_MEMBERS_MAX = 1024, CLUSTER_MEMBER_NAME_BYTES_MAX = 64 };

struct cluster_member {
    struct list link; // in cluster_members.all
    struct list outbound,
        inbound; // struct outbound_request.link, inbound_request.by_hub: what it took, what it asked
    struct hub_name hub;
    struct answer_subject answers; // of the hub
    uint64_t received_ms;
    bool is_served;        // it speaks this hub's protocol, and has its REALM
    bool has_beaten;       // and so it is known what it speaks
    bool is_strict;        // it judges bodies wholly, as it says
    bool is_new;           // names are to be compared with it
    bool listens;          // somebody there has subscribed to presence, as it says
    uint64_t served_since; // the number of a claim or list that was given last when it came to be served
    uint64_t protocol;     // as it says
    struct realm realm;    // likewise
    uint64_t dropped;      // events that it could not publish, as it says
    uint64_t logged_ms;    // when it was last said that it isn't served; 0: it wasn't
    struct remote_presence presence; // of its agents
    uint8_t name_bytes;
    char name[CLUSTER_MEMBER_NAME_BYTES_MAX]; // --hub-name
};

struct cluster_members {
    struct name_map by_node;
    struct cluster_member *found; // last: most messages are of the hub that said the one before; or NULL
    const char *cluster;          // its name
    struct list all;              // who was heard longest ago is first
    uint32_t served, unserved, listeners, strict;
    struct quota *quota;
};

void cluster_members_init(struct cluster_members *members, const char *cluster, const struct siphash_key *key,
                          struct quota *quota);
// All of them must have been removed.
void cluster_members_deinit(struct cluster_members *members);
// The member at this hub's node, whatever its link; or NULL.
struct cluster_member *cluster_members_find(struct cluster_members *members, const struct hub_name *hub);
// Adds one that isn't there; NULL without memory, and where there are CLUSTER_MEMBERS_MAX.
struct cluster_member *cluster_members_add(struct cluster_members *members, const struct hub_name *hub,
                                           uint64_t now_ms);
// It was heard.
void cluster_members_seen(struct cluster_members *members, struct cluster_member *member, uint64_t now_ms);
// Counts anew who is served, and who has beaten and isn't.
void cluster_members_count(struct cluster_members *members);
// Removes a member that owes nothing, has asked nothing, and of which no agent is known.
void cluster_members_remove(struct cluster_members *members, struct cluster_member *member);
