#include "router/features/cluster/cluster_members.h"

#include <assert.h>
#include <string.h>

void cluster_members_init(struct cluster_members *members, const char *cluster, const struct siphash_key *key,
                          struct quota *quota) {
    *members = (struct cluster_members){.cluster = cluster, .quota = quota};
    name_map_init(&members->by_node, key, quota);
    list_init(&members->all);
}

void cluster_members_deinit(struct cluster_members *members) {
    assert(list_empty(&members->all) && members->by_node.count == 0);
    name_map_deinit(&members->by_node);
}

struct cluster_member *cluster_members_find(struct cluster_members *members, const struct hub_name *hub) {
    assert(hub->bytes);
    if (!members->found || hub_name_compare_nodes(&members->found->hub, hub) != 0)
        members->found = name_map_get(&members->by_node, hub->text, NODE_BYTES);
    return members->found;
}

struct cluster_member *cluster_members_add(struct cluster_members *members, const struct hub_name *hub,
                                           uint64_t now_ms) {
    assert(!cluster_members_find(members, hub));
    bool has_place = members->by_node.count < CLUSTER_MEMBERS_MAX;
    struct cluster_member *fresh = has_place ? quota_take_zeroed(members->quota, 1, sizeof *fresh) : NULL;
    if (!fresh)
        return NULL;
    fresh->hub = *hub;
    fresh->serial = ++members->serials;
    answer_subject_write(&fresh->answers, members->cluster, hub);
    fresh->received_ms = now_ms;
    fresh->is_new = true;
    if (!name_map_add(&members->by_node, fresh->hub.text, NODE_BYTES, fresh)) {
        quota_give(members->quota, fresh);
        return NULL;
    }
    remote_presence_init(&fresh->presence, &members->by_node.hash_key, members->quota);
    list_init(&fresh->outbound);
    list_init(&fresh->inbound);
    list_append(&members->all, &fresh->link);
    return fresh;
}

void cluster_members_seen(struct cluster_members *members, struct cluster_member *member, uint64_t now_ms) {
    assert(member->received_ms <= now_ms);
    member->received_ms = now_ms;
    if (members->all.prev == &member->link)
        return;
    list_remove(&member->link);
    list_append(&members->all, &member->link);
}

void cluster_members_count(struct cluster_members *members) {
    members->served = members->unserved = members->listeners = members->strict = 0;
    LIST_EACH (const struct cluster_member, member, &members->all, link) {
        members->served += member->is_served;
        members->strict += member->is_strict;
        members->listeners += member->listens && (member->is_served || !member->has_beaten);
        members->unserved += member->has_beaten && !member->is_served;
    }
}

void cluster_members_remove(struct cluster_members *members, struct cluster_member *member) {
    assert(list_empty(&member->outbound) && list_empty(&member->inbound));
    members->found = NULL;
    name_map_remove(&members->by_node, member->hub.text, NODE_BYTES);
    list_remove(&member->link);
    quota_give(members->quota, member);
}
