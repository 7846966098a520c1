#include "router/features/cluster/name_conflict.h"

#include <assert.h>
#include <string.h>

#include "router/engine/send/send.h"
#include "router/features/cluster/nats_publish.h"
#include "router/registry/claim_table.h"
#include "router/registry/registry.h"

enum {
    PART_BYTES_MAX = 64 << 10,
    PART_HEAD_BYTES = 256, // its head counts against what a server lets pass
    RUN_MS_MIN = 1000,     // from the begin of one time to that of the next
    LINE_BYTES_MAX = 16 + 1 + AGENT_ID_BYTES_MAX + 1,
};

static bool is_lesser(const struct link *link, const char hub[HUB_NAME_BYTES]) {
    return memcmp(link->hub, hub, HUB_NAME_BYTES) < 0;
}

// --- Asking

void name_conflict_begin(struct link *link, struct cluster_member *remote) {
    uint64_t now_ms = shard_now_ms(link->shard);
    assert(remote->asked_ms <= now_ms);
    bool again = remote->unsettled || (remote->asked_ms && now_ms - remote->asked_ms < RUN_MS_MIN);
    remote->unsettled = true;
    remote->disputed = false;
    remote->claimed = 0;
    if (again) // once a second
        return;
    remote->asked_ms = 0;
    link->unsettled = true;
}

static void pull(struct link *link, struct cluster_member *remote) {
    struct said_number numbers[] = {{"claim", remote->claimed + 1}, {NULL, 0}};
    assert(remote->unsettled && is_lesser(link, remote->name));
    remote->asked_ms = shard_now_ms(link->shard);
    nats_publish_numbers(link, remote->name, numbers, NULL);
}

void name_conflict_follow(struct link *link) {
    struct list *all = &link->inflight.cluster_members.all;
    if (!link->unsettled || link->state != LINK_UP)
        return;
    link->unsettled = false;
    for (struct list *node = all->next; node != all; node = node->next) {
        struct cluster_member *remote = list_entry(node, struct cluster_member, link);
        if (remote->unsettled && !remote->asked_ms && is_lesser(link, remote->name))
            pull(link, remote);
    }
}

// The greater one can but ask to be asked: who has just come is, without that.
void name_conflict_beat(struct link *link) {
    static const struct said_number settle[] = {{"settle", 1}, {NULL, 0}};
    struct list *all = &link->inflight.cluster_members.all;
    uint64_t now_ms = shard_now_ms(link->shard);
    assert(link->state == LINK_UP);
    for (struct list *node = all->next; node != all; node = node->next) {
        struct cluster_member *remote = list_entry(node, struct cluster_member, link);
        if (!remote->unsettled || now_ms - remote->asked_ms < RUN_MS_MIN)
            continue;
        if (is_lesser(link, remote->name)) {
            pull(link, remote);
            continue;
        }
        if (remote->asked_ms)
            nats_publish_numbers(link, remote->name, settle, NULL);
        remote->asked_ms = now_ms;
    }
}

// --- Telling

static void put_line(struct text *body, const struct shard *shard, const struct agent *agent) {
    char digits[16];
    assert(agent->held_since_ms <= shard_now_ms(shard));
    if (agent->child)
        text_put(body, "c");
    else
        text_add(body, digits, hub_header_digits(digits, shard_now_ms(shard) - agent->held_since_ms));
    text_put(body, " ");
    text_add(body, agent->id, agent->id_bytes);
    text_put(body, "\n");
}

// The link is no agent, and instances of a child have one name together.
static bool is_told(const struct agent *agent) {
    return !agent_is_link(agent) && (!agent->pool_bytes || agent->pool_bytes == agent->id_bytes);
}

// Agents stand in the order of their serials, so that whoever asks on finds where the part before ended, as long as that agent is
// there.
static const struct list *begin_of(const struct shard *shard, const struct cluster_member *remote,
                                   uint64_t serial) {
    const struct claimed_name *told = remote ? &remote->told : NULL;
    const struct agent *last = told && told->serial && told->serial < serial
                                   ? agents_find(&shard->agents, told->id, told->id_bytes)
                                   : NULL;
    return last && last->serial == told->serial ? last->link.next : shard->agents.all.next;
}

static void note_told(struct cluster_member *remote, const struct agent *agent) {
    if (!remote || !agent)
        return;
    remote->told.serial = agent->serial;
    remote->told.id_bytes = (uint32_t)agent->id_bytes;
    memcpy(remote->told.id, agent->id, agent->id_bytes);
}

// What finds no room in the link's queue is asked for again.
static void tell(struct link *link, struct cluster_member *remote, const struct hub_header *header) {
    const struct shard *shard = link->shard;
    const struct list *all = &shard->agents.all;
    uint64_t max = atomic_load_explicit(&shard->hub->link_payload_bytes_max, memory_order_relaxed);
    uint64_t room = max < PART_BYTES_MAX ? max : PART_BYTES_MAX, last = header->claim;
    struct text body;
    const struct agent *told = NULL;
    bool more = false;
    assert(header->claim);
    if (!send_has_room(shard, link->peer))
        return;
    text_init(&body);
    for (const struct list *node = begin_of(shard, remote, header->claim); node != all; node = node->next) {
        const struct agent *agent = list_entry(node, struct agent, link);
        if (agent->serial < header->claim || !is_told(agent))
            continue;
        more = body.length + LINE_BYTES_MAX + PART_HEAD_BYTES > room && body.length;
        if (more)
            break;
        put_line(&body, shard, agent);
        told = agent;
        last = agent->serial;
    }
    struct said_number numbers[] = {
        {"claims", header->claim}, {"last", last}, {more ? "more" : NULL, 1}, {NULL, 0}};
    nats_publish_numbers(link, header->hub, numbers, &body);
    note_told(remote, told);
    text_deinit(&body);
}

// --- Judging

// The next line; false: there is none that is whole.
static bool next_line(const uint8_t *body, uint32_t bytes, uint32_t *at, struct span *line) {
    const uint8_t *feed = *at < bytes ? memchr(body + *at, '\n', bytes - *at) : NULL;
    if (!feed)
        return false;
    *line = (struct span){*at, (uint32_t)(feed - body) - *at};
    *at = (uint32_t)(feed - body) + 1;
    return true;
}

static bool name_of(const uint8_t *body, struct span line, uint32_t skip, struct piece *name) {
    if (line.bytes < skip)
        return false;
    *name = (struct piece){(const char *)body + line.at + skip, line.bytes - skip};
    return agent_id_valid(name->bytes, name->count);
}

// Whether it is held here, too; what yields here does, what is to yield there is noted.
static bool judge(struct link *link, const struct piece *name, bool is_child, uint64_t age_ms,
                  struct text *yields) {
    struct shard *shard = link->shard;
    struct order *order = claim_table_find(shard->asking, name->bytes, name->count);
    const struct agent *agent = agents_find(&shard->agents, name->bytes, name->count);
    if (order &&
        (is_child || !shard->settings->takeover)) // else it may be given: the question itself is answered
        registry_asked(shard, order, true);
    if (!agent || agent_is_link(agent) || (is_child && agent->child))
        return false;
    if (!is_child && (agent->child || shard_now_ms(shard) - agent->held_since_ms >= age_ms)) {
        text_add(yields, name->bytes, name->count);
        text_put(yields, "\n");
    } else {
        registry_yield(shard, link->peer->name, agent);
    }
    return true;
}

static bool judge_all(struct link *link, struct cluster_member *remote, const uint8_t *body, uint32_t bytes,
                      struct text *yields) {
    uint32_t at = 0;
    for (struct span line; next_line(body, bytes, &at, &line);) {
        const uint8_t *blank = memchr(body + line.at, ' ', line.bytes);
        uint32_t count = blank ? (uint32_t)(blank - body) - line.at : 0;
        bool is_child = count == 1 && body[line.at] == 'c';
        uint64_t age_ms = 0;
        struct piece name;
        if (!blank || !name_of(body, line, count + 1, &name) ||
            (!is_child && !hub_header_read_digits(body, (struct span){line.at, count}, &age_ms)))
            return false;
        remote->disputed |= judge(link, &name, is_child, age_ms, yields);
    }
    return at == bytes;
}

// What yields may not hear of it, so it is asked once more until nothing has to.
static void go_on(struct link *link, struct cluster_member *remote, const struct hub_header *header) {
    assert(remote->unsettled);
    if (header->more && header->last > remote->claimed) {
        remote->claimed = header->last;
        pull(link, remote);
        return;
    }
    remote->claimed = 0;
    remote->unsettled = remote->disputed;
    remote->disputed = false;
}

static bool hear_claims(struct link *link, const struct hub_header *header, const uint8_t *body,
                        uint32_t bytes) {
    static const struct said_number yield[] = {{"yield", 1}, {NULL, 0}};
    struct cluster_member *remote = cluster_members_find(&link->inflight.cluster_members, header->hub);
    struct text yields;
    if (!remote || !remote->unsettled || header->claims != remote->claimed + 1 ||
        !is_lesser(link, header->hub))
        return true;
    text_init(&yields);
    bool good = judge_all(link, remote, body, bytes, &yields);
    if (yields.length)
        nats_publish_numbers(link, header->hub, yield, &yields);
    text_deinit(&yields);
    go_on(link, remote, header);
    return good;
}

static bool hear_yields(struct link *link, const uint8_t *body, uint32_t bytes) {
    struct shard *shard = link->shard;
    uint32_t at = 0;
    assert(body || !bytes);
    for (struct span line; next_line(body, bytes, &at, &line);) {
        struct piece name;
        if (!name_of(body, line, 0, &name))
            return false;
        const struct agent *agent = agents_find(&shard->agents, name.bytes, name.count);
        if (agent && !agent->child && !agent_is_link(agent))
            registry_yield(shard, link->peer->name, agent);
    }
    return at == bytes;
}

bool name_conflict_take(struct link *link, const struct hub_header *header, const uint8_t *body,
                        uint32_t bytes) {
    struct cluster_member *remote = cluster_members_find(&link->inflight.cluster_members, header->hub);
    assert(header->given && header->has_hub);
    if (remote && header->settle && is_lesser(link, header->hub))
        name_conflict_begin(link, remote);
    if (remote && header->claim == 1)
        remote->unsettled = false; // it asks by itself
    if (header->claim)
        tell(link, remote, header);
    if (header->claims)
        return hear_claims(link, header, body, bytes);
    return !header->yields || is_lesser(link, header->hub) || hear_yields(link, body, bytes);
}
