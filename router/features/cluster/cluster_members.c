#include "router/features/cluster/cluster_members.h"

#include <assert.h>
#include <string.h>

void cluster_members_init(struct cluster_members *cluster_members, const struct siphash_key *key,
                          struct quota *quota) {
    *cluster_members = (struct cluster_members){.quota = quota};
    cluster_members->key = *key;
    name_map_init(&cluster_members->by_name, key, quota);
    list_init(&cluster_members->all);
}

void cluster_members_deinit(struct cluster_members *cluster_members) {
    assert(list_empty(&cluster_members->all) && cluster_members->by_name.count == 0);
    name_map_deinit(&cluster_members->by_name);
}

// The count comes last: who sees that somebody is there sees what that one doesn't take, too.
static void publish(const struct cluster_members *cluster_members) {
    const struct cluster_members_shared *told = &cluster_members->told;
    assert(!told->count == !told->unfenced);
    if (!told->count)
        return;
    atomic_store_explicit(told->unfenced, cluster_members->unfenced + cluster_members->has_stranger,
                          memory_order_relaxed);
    atomic_store_explicit(told->count, (uint32_t)cluster_members->by_name.count, memory_order_release);
}

void cluster_members_tell(struct cluster_members *cluster_members,
                          const struct cluster_members_shared *told) {
    cluster_members->told = *told;
    publish(cluster_members);
}

struct cluster_member *cluster_members_find(struct cluster_members *cluster_members,
                                            const char name[HUB_NAME_BYTES]) {
    if (!cluster_members->found || memcmp(cluster_members->found->name, name, HUB_NAME_BYTES) != 0)
        cluster_members->found = name_map_get(&cluster_members->by_name, name, HUB_NAME_BYTES);
    return cluster_members->found;
}

// CLUSTER_MEMBERS_MAX: there is none.
static uint32_t free_place(const struct cluster_members *cluster_members) {
    for (uint32_t word = 0; word < CLUSTER_MEMBER_WORDS; word++)
        if (~cluster_members->places[word])
            return 64 * word + (uint32_t)__builtin_ctzll(~cluster_members->places[word]);
    return CLUSTER_MEMBERS_MAX;
}

static struct cluster_member *cluster_members_add(struct cluster_members *cluster_members,
                                                  const char name[HUB_NAME_BYTES], uint64_t now_ms,
                                                  bool needed, bool heeds) {
    uint32_t place = free_place(cluster_members);
    struct cluster_member *fresh =
        place < CLUSTER_MEMBERS_MAX || needed ? quota_take(cluster_members->quota, sizeof *fresh) : NULL;
    if (!fresh)
        return NULL;
    *fresh =
        (struct cluster_member){.place = place, .known_ms = now_ms, .unsettled = true, .is_unfenced = !heeds};
    memcpy(fresh->name, name, HUB_NAME_BYTES);
    fresh->secret = siphash_table(&cluster_members->key, name, HUB_NAME_BYTES);
    if (!name_map_add(&cluster_members->by_name, fresh->name, HUB_NAME_BYTES, fresh)) {
        quota_give(cluster_members->quota, fresh);
        return NULL;
    }
    list_init(&fresh->owes);
    list_init(&fresh->asked);
    list_init(&fresh->link);
    cluster_members->any_new = true;
    cluster_members->unfenced += fresh->is_unfenced;
    publish(cluster_members);
    return fresh;
}

static void learn(struct cluster_members *cluster_members, struct cluster_member *remote) {
    assert(remote->is_unfenced && cluster_members->unfenced > 0);
    remote->is_unfenced = false;
    cluster_members->unfenced--;
    publish(cluster_members);
}

static struct cluster_member *take_notice(struct cluster_members *cluster_members,
                                          const char name[HUB_NAME_BYTES], uint64_t now_ms, bool needed,
                                          bool heeds) {
    struct cluster_member *remote = cluster_members_find(cluster_members, name);
    if (!remote)
        remote = cluster_members_add(cluster_members, name, now_ms, needed, heeds);
    if (!remote)
        return NULL;
    assert(remote->heard_ms <= now_ms);
    remote->heard_ms = now_ms;
    if (remote->is_unfenced && heeds)
        learn(cluster_members, remote);
    if (cluster_members->all.prev != &remote->link) {
        list_remove(&remote->link);
        list_append(&cluster_members->all, &remote->link);
    }
    if (remote->place == CLUSTER_MEMBERS_MAX)
        remote->place = free_place(cluster_members);
    if (remote->place < CLUSTER_MEMBERS_MAX)
        cluster_members->places[remote->place / 64] |= UINT64_C(1) << remote->place % 64;
    return remote;
}

struct cluster_member *cluster_members_hear(struct cluster_members *cluster_members,
                                            const char name[HUB_NAME_BYTES], uint64_t now_ms, bool needed) {
    return take_notice(cluster_members, name, now_ms, needed, false);
}

struct cluster_member *cluster_members_hear_of(struct cluster_members *cluster_members,
                                               const char name[HUB_NAME_BYTES], uint64_t now_ms, bool heeds) {
    return take_notice(cluster_members, name, now_ms, false, heeds);
}

void cluster_members_meet_stranger(struct cluster_members *cluster_members, uint64_t now_ms) {
    assert(cluster_members->stranger_ms <= now_ms);
    cluster_members->has_stranger = true;
    cluster_members->stranger_ms = now_ms;
    publish(cluster_members);
}

void cluster_members_forget_strangers(struct cluster_members *cluster_members, uint64_t heard_ms) {
    if (!cluster_members->has_stranger || cluster_members->stranger_ms > heard_ms)
        return;
    cluster_members->has_stranger = false;
    publish(cluster_members);
}

void cluster_members_displace(struct cluster_members *cluster_members, struct cluster_member *remote) {
    assert(remote->place <= CLUSTER_MEMBERS_MAX);
    if (remote->place < CLUSTER_MEMBERS_MAX)
        cluster_members->places[remote->place / 64] &= ~(UINT64_C(1) << remote->place % 64);
    remote->place = CLUSTER_MEMBERS_MAX;
}

void cluster_members_remove(struct cluster_members *cluster_members, struct cluster_member *remote) {
    assert(list_empty(&remote->owes) && list_empty(&remote->asked));
    cluster_members_displace(cluster_members, remote);
    if (cluster_members->found == remote)
        cluster_members->found = NULL;
    name_map_remove(&cluster_members->by_name, remote->name, HUB_NAME_BYTES);
    list_remove(&remote->link);
    cluster_members->named_changed |= remote->named_count > 0;
    assert(cluster_members->unfenced >= remote->is_unfenced);
    cluster_members->unfenced -= remote->is_unfenced;
    publish(cluster_members);
    quota_give(cluster_members->quota, remote->named);
    quota_give(cluster_members->quota, remote);
}

static bool has_named(const struct cluster_member *remote, uint64_t named) {
    for (uint32_t at = 0; at < remote->named_count; at++)
        if (remote->named[at] == named)
            return true;
    return false;
}

bool cluster_members_is_least(const struct cluster_members *cluster_members, const char name[HUB_NAME_BYTES],
                              const uint64_t *named) {
    const struct list *all = &cluster_members->all;
    for (const struct list *node = all->next; node != all; node = node->next) {
        const struct cluster_member *remote = list_entry(node, struct cluster_member, link);
        if (remote->is_joint && (!named || has_named(remote, *named)) &&
            memcmp(remote->name, name, HUB_NAME_BYTES) < 0)
            return false;
    }
    return true;
}

bool cluster_members_all(const struct cluster_members *cluster_members,
                         const uint64_t places[CLUSTER_MEMBER_WORDS]) {
    uint64_t taken = 0, missing = 0;
    for (uint32_t word = 0; word < CLUSTER_MEMBER_WORDS; word++) {
        taken |= cluster_members->places[word];
        missing |= cluster_members->places[word] & ~places[word];
    }
    return taken && !missing;
}
