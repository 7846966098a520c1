#include "router/features/cluster/interest.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "router/engine/send/send.h"
#include "router/features/cluster/nats_publish.h"
#include "router/forwarding/remote_target.h"

enum {
    LIST_BYTES_MAX = 64 << 10,
    LIST_HEAD_BYTES = 256, // its head counts against what a server lets pass
    AGAIN_BEATS = 10,
};

// --- Telling

// NULL: all are told. What doesn't fit isn't told: who names that is told all the same, but so is one who offers it.
static void say_names(struct link *link, const char *hub) {
    struct list *all = &link->presence.all;
    struct shard *shard = link->shard;
    uint64_t max = atomic_load_explicit(&shard->hub->link_payload_bytes_max, memory_order_relaxed);
    uint64_t room = max < LIST_BYTES_MAX ? max : LIST_BYTES_MAX;
    struct text body;
    if (!send_has_room(shard, link->peer))
        return; // they are told again
    text_init(&body);
    for (struct list *node = all->next; node != all; node = node->next) {
        const struct nats_subscription *present = list_entry(node, struct nats_subscription, link);
        uint32_t bytes = present->bytes - present->token_at;
        assert(present->bytes > present->token_at);
        if (present->kind != SUBJECT_NOTICE || body.length + bytes + 1 + LIST_HEAD_BYTES > room)
            continue;
        text_add(&body, present->subject + present->token_at, bytes);
        text_put(&body, "\n");
    }
    link->has_named |= body.length > 0;
    if (link->has_named)
        nats_publish_names(link, hub, &body);
    text_deinit(&body);
}

static void greet(struct link *link) {
    struct list *all = &link->inflight.cluster_members.all;
    for (struct list *node = all->next; node != all; node = node->next) {
        struct cluster_member *remote = list_entry(node, struct cluster_member, link);
        if (!remote->is_told)
            say_names(link, remote->name);
        remote->is_told = true;
    }
}

// --- Knowing

// Other shards may read it meanwhile, and miss what is put back at once.
static void put_together(struct link *link) {
    struct list *all = &link->inflight.cluster_members.all;
    struct hub *hub = link->shard->hub;
    unsigned left = NAMED_PLACES / 2;
    for (unsigned place = 0; place < NAMED_PLACES; place++)
        atomic_store_explicit(&hub->named[place], 0, memory_order_relaxed);
    for (struct list *node = all->next; node != all; node = node->next) {
        const struct cluster_member *remote = list_entry(node, struct cluster_member, link);
        for (uint32_t at = 0; at < remote->named_count && left; at++, left--)
            hub_put_named(hub, remote->named[at]);
    }
}

void interest_follow(struct link *link) {
    struct cluster_members *cluster_members = &link->inflight.cluster_members;
    if (cluster_members->named_changed)
        put_together(link);
    cluster_members->named_changed = false;
    if (link->state != LINK_UP || link->peer->state != PEER_OPEN)
        return;
    if (link->presence.named_changed)
        say_names(link, NULL);
    link->presence.named_changed = false;
    if (cluster_members->any_new)
        greet(link);
    cluster_members->any_new = false;
}

void interest_beat(struct link *link) {
    assert(link->state == LINK_UP);
    if (++link->beats % AGAIN_BEATS == 0)
        say_names(link, NULL);
}

static uint32_t count_lines(const uint8_t *body, uint32_t bytes) {
    uint32_t count = 0;
    for (uint32_t at = 0; at < bytes; at++)
        count += body[at] == '\n';
    return count < NAMED_PLACES / 2 ? count : NAMED_PLACES / 2;
}

// Whether there was room.
static bool keep(struct link *link, struct cluster_member *remote, uint32_t count) {
    quota_give(&link->shard->quota, remote->named);
    remote->named_count = 0;
    remote->named = count ? quota_take(&link->shard->quota, count * sizeof *remote->named) : NULL;
    return count == 0 || remote->named;
}

bool interest_take(struct link *link, const struct hub_header *header, const uint8_t *body, uint32_t bytes) {
    struct cluster_member *remote = cluster_members_find(&link->inflight.cluster_members, header->hub);
    uint32_t count = count_lines(body, bytes), at = 0;
    if (bytes && body[bytes - 1] != '\n')
        return false;
    if (!remote || !keep(link, remote, count))
        return true;
    while (remote->named_count < count) {
        const uint8_t *feed = memchr(body + at, '\n', bytes - at);
        assert(feed);
        uint32_t length = (uint32_t)(feed - body) - at;
        remote->named[remote->named_count++] = hub_named_hash(link->shard->hub, body + at, length);
        at += length + 1;
    }
    link->inflight.cluster_members.named_changed = true;
    return true;
}
