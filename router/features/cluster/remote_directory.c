#include "router/features/cluster/remote_directory.h"

#include <assert.h>
#include <string.h>

#include "router/engine/send/send.h"
#include "router/features/cluster/inbound_identity.h"
#include "router/features/cluster/nats_publish.h"
#include "router/registry/directory.h"

enum {
    INQUIRIES_MAX = 16,         // at a time
    PART_BYTES_MAX = 256 << 10, // of one message
    PART_HEAD_BYTES = 256,      // its head counts against what a server lets pass
};

static struct directory_query *inquiry_at(struct list *node) {
    return list_entry(node, struct directory_query, link);
}

// --- Asking

static void finish(struct link *link, struct directory_query *inquiry, bool partial) {
    inquiry->partial |= partial;
    assert(!list_empty(&link->shard->inquiries));
    directory_inquiry_over(link->shard, inquiry);
}

static bool is_answered(const struct directory_query *inquiry) {
    uint64_t left = 0;
    for (uint32_t word = 0; word < DIRECTORY_QUERY_WORDS; word++)
        left |= inquiry->awaited[word];
    return !left;
}

static void inquire(struct link *link, struct directory_query *inquiry) {
    static_assert((int)DIRECTORY_QUERY_WORDS == (int)CLUSTER_MEMBER_WORDS,
                  "there is a place for each neighbour");
    char token[SUBJECT_NAME_BYTES_MAX];
    size_t bytes = subject_escape(token, directory_query_capability(inquiry), inquiry->capability_bytes);
    inquiry->number = ++link->inquiries;
    inquiry->asked_ms = shard_now_ms(link->shard);
    memcpy(inquiry->awaited, link->inflight.cluster_members.places, sizeof inquiry->awaited);
    memcpy(inquiry->hub, link->hub, sizeof inquiry->hub);
    inquiry->has_hub = true;
    if (is_answered(inquiry) || (inquiry->capability_bytes && !bytes)) // a name that exists here alone
        finish(link, inquiry, false);
    else
        nats_publish_inquiry(link, inquiry, token, bytes);
}

void remote_directory_follow(struct link *link) {
    struct list *all = &link->shard->inquiries;
    bool up = link->state == LINK_UP && link->peer->state == PEER_OPEN;
    unsigned count = 0;
    for (struct list *node = all->next, *next; node != all; node = next) {
        struct directory_query *inquiry = inquiry_at(node);
        next = node->next;
        if (!up) {
            finish(link, inquiry, true);
        } else if (++count > INQUIRIES_MAX) {
            inquiry->overloaded = true;
            finish(link, inquiry, true);
        } else if (!inquiry->number) {
            inquire(link, inquiry);
        }
    }
}

void remote_directory_expire(struct link *link) {
    struct list *all = &link->shard->inquiries;
    uint64_t now_ms = shard_now_ms(link->shard);
    for (struct list *node = all->next, *next; node != all; node = next) {
        struct directory_query *inquiry = inquiry_at(node);
        next = node->next;
        if (inquiry->number && now_ms - inquiry->asked_ms >= LINK_INQUIRE_MS)
            finish(link, inquiry, true);
    }
}

uint64_t remote_directory_due_ms(const struct link *link) {
    const struct list *all = &link->shard->inquiries;
    const struct directory_query *oldest = list_empty(all) ? NULL : inquiry_at(all->next);
    return oldest && oldest->number ? oldest->asked_ms + LINK_INQUIRE_MS : UINT64_MAX;
}

bool remote_directory_take(struct link *link, const struct hub_header *header, const uint8_t *body,
                           uint32_t bytes) {
    struct list *all = &link->shard->inquiries, *node = all->next;
    const struct cluster_member *remote = cluster_members_find(&link->inflight.cluster_members, header->hub);
    bool good = bytes >= 2 && body[0] == '[' && body[bytes - 1] == ']' && json_valid(body, bytes);
    assert(header->given && header->part);
    while (node != all && inquiry_at(node)->number != header->part)
        node = node->next;
    if (!good || !remote || node == all)
        return good; // what comes too late is no fault
    struct directory_query *inquiry = inquiry_at(node);
    directory_inquiry_add(link->shard, inquiry, body, bytes);
    inquiry->partial |= header->cut;
    if (!header->more && remote->place < CLUSTER_MEMBERS_MAX)
        inquiry->awaited[remote->place / 64] &= ~(UINT64_C(1) << remote->place % 64);
    if (is_answered(inquiry) || inquiry->too_large || inquiry->overloaded)
        finish(link, inquiry, false);
    return true;
}

// --- Answering

struct answering {
    struct link *link;
    const struct hub_header *header;
    struct text part;
    size_t bytes_max;
    bool cut;
};

static void send_part(struct answering *answering, bool more) {
    struct text *part = &answering->part;
    text_put(part, part->length ? "]" : "[]");
    nats_publish_part(answering->link, answering->header->hub, answering->header->inquired, more,
                      answering->cut, part);
    text_deinit(part);
    text_init(part);
}

// Lists have half of what may wait for the server: how many are asked for others choose.
static bool has_share(const struct link *link) {
    size_t waiting = outbox_footprint(&link->peer->connection.outbox);
    assert(link->shard->index == 0);
    return link->peer->state == PEER_OPEN && waiting < shard_limits(link->shard)->queue_bytes_max / 2;
}

// False: the link takes no more, and the rest is left out.
static bool put_one(void *context, const struct text *agent) {
    struct answering *answering = context;
    struct link *link = answering->link;
    assert(!agent->failed);
    if (answering->part.length + agent->length + 2 > answering->bytes_max && answering->part.length)
        send_part(answering, true);
    answering->cut |= agent->length + 2 > answering->bytes_max;
    if (agent->length + 2 <= answering->bytes_max) {
        text_put(&answering->part, answering->part.length ? "," : "[");
        text_add(&answering->part, agent->bytes, agent->length);
    }
    return has_share(link);
}

void remote_directory_answer(struct link *link, const uint8_t *bytes, const struct hub_header *header) {
    struct shard *shard = link->shard;
    char capability[METHOD_BYTES_MAX];
    uint64_t max = atomic_load_explicit(&shard->hub->link_payload_bytes_max, memory_order_relaxed);
    struct answering answering = {.link = link, .header = header};
    bool is_known;
    assert(header->inquired);
    answering.bytes_max = max <= PART_HEAD_BYTES                   ? 0
                          : max - PART_HEAD_BYTES < PART_BYTES_MAX ? max - PART_HEAD_BYTES
                                                                   : PART_BYTES_MAX;
    text_init(&answering.part);
    size_t count = subject_unescape(capability, sizeof capability, bytes + header->capability.at,
                                    header->capability.bytes);
    const struct user *user = inbound_identity_user(shard, bytes, header, &is_known);
    bool has_room = has_share(link);
    answering.cut = !has_room;
    if (count != SIZE_MAX && is_known && has_room) // else nobody here can have it, or may be seen
        answering.cut |= !directory_each(shard, user, capability, count, link->hub, put_one, &answering);
    if (link->peer->state == PEER_OPEN)
        send_part(&answering, false);
    text_deinit(&answering.part);
}
