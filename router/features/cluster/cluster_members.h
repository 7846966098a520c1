// The other hubs of the cluster from which this hub has heard over the current link. On shard 0.
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
    // Requests that the member has taken (struct outbound_request.link), and requests that the member has sent here
    // (struct inbound_request.by_hub).
    struct list outbound, inbound;
    struct hub_name hub;
    uint64_t serial;               // numbers members in the order in which they were added, from 1 on
    struct answer_subject answers; // the subject on which the member takes answers
    uint64_t received_ms;
    bool is_served;                  // the member speaks this hub's protocol and has its REALM
    bool has_beaten;                 // a beat has come, so the member's protocol is known
    bool is_strict;                  // the member says that it validates strictly
    bool is_new;                     // its names must be compared with this hub's
    bool listens;                    // the member says that a client there is subscribed to presence
    uint64_t served_since;           // the number of the last claim or list when the member became served
    uint64_t protocol;               // the protocol's number, from its beats
    struct realm realm;              // from its beats
    uint64_t dropped;                // events that the member couldn't publish, from its beats
    uint64_t logged_ms;              // when the log last told that the member isn't served; 0: never
    struct remote_presence presence; // presence of its agents
    uint8_t name_bytes;
    char name[CLUSTER_MEMBER_NAME_BYTES_MAX]; // the member's --hub-name
};

struct cluster_members {
    struct name_map by_node;
    // The member found last, since many messages in a row are from one hub; or NULL
    struct cluster_member *found;
    const char *cluster; // the cluster's name
    uint64_t serials;    // the last member's serial
    struct list all;     // ordered by received_ms, oldest first
    uint32_t served, unserved, listeners, strict;
    struct quota *quota;
};

void cluster_members_init(struct cluster_members *members, const char *cluster, const struct siphash_key *key,
                          struct quota *quota);
// Frees the table. All members must have been removed.
void cluster_members_deinit(struct cluster_members *members);
// Returns the member with the NODE of `hub`, whatever the number of its link; or NULL.
struct cluster_member *cluster_members_find(struct cluster_members *members, const struct hub_name *hub);
// Adds a new member. Returns NULL without memory, or if there are CLUSTER_MEMBERS_MAX members.
struct cluster_member *cluster_members_add(struct cluster_members *members, const struct hub_name *hub,
                                           uint64_t now_ms);
// Notes that a message of the member has come.
void cluster_members_seen(struct cluster_members *members, struct cluster_member *member, uint64_t now_ms);
// Counts again which members are served, and which have beaten and aren't served.
void cluster_members_count(struct cluster_members *members);
// Removes a member that has neither taken nor sent requests, and none of whose agents is known.
void cluster_members_remove(struct cluster_members *members, struct cluster_member *member);
