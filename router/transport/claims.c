#include "router/transport/claims.h"

#include <assert.h>
#include <string.h>

#include "router/engine/send/send.h"
#include "router/registry/claim_table.h"
#include "router/registry/registry.h"
#include "router/transport/nats_say.h"

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

void claims_begin(struct link *link, struct neighbour *neighbour) {
    uint64_t now_ms = shard_now_ms(link->shard);
    assert(neighbour->asked_ms <= now_ms);
    bool again = neighbour->unsettled || (neighbour->asked_ms && now_ms - neighbour->asked_ms < RUN_MS_MIN);
    neighbour->unsettled = true;
    neighbour->disputed = false;
    neighbour->claimed = 0;
    if (again) // once a second
        return;
    neighbour->asked_ms = 0;
    link->unsettled = true;
}

static void pull(struct link *link, struct neighbour *neighbour) {
    struct said_number numbers[] = {{"claim", neighbour->claimed + 1}, {NULL, 0}};
    assert(neighbour->unsettled && is_lesser(link, neighbour->name));
    neighbour->asked_ms = shard_now_ms(link->shard);
    nats_say_numbers(link, neighbour->name, numbers, NULL);
}

void claims_follow(struct link *link) {
    struct list *all = &link->crossings.neighbours.all;
    if (!link->unsettled || link->state != LINK_UP)
        return;
    link->unsettled = false;
    for (struct list *node = all->next; node != all; node = node->next) {
        struct neighbour *neighbour = list_entry(node, struct neighbour, link);
        if (neighbour->unsettled && !neighbour->asked_ms && is_lesser(link, neighbour->name))
            pull(link, neighbour);
    }
}

// The greater one can but ask to be asked: who has just come is, without that.
void claims_beat(struct link *link) {
    static const struct said_number settle[] = {{"settle", 1}, {NULL, 0}};
    struct list *all = &link->crossings.neighbours.all;
    uint64_t now_ms = shard_now_ms(link->shard);
    assert(link->state == LINK_UP);
    for (struct list *node = all->next; node != all; node = node->next) {
        struct neighbour *neighbour = list_entry(node, struct neighbour, link);
        if (!neighbour->unsettled || now_ms - neighbour->asked_ms < RUN_MS_MIN)
            continue;
        if (is_lesser(link, neighbour->name)) {
            pull(link, neighbour);
            continue;
        }
        if (neighbour->asked_ms)
            nats_say_numbers(link, neighbour->name, settle, NULL);
        neighbour->asked_ms = now_ms;
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
static const struct list *begin_of(const struct shard *shard, const struct neighbour *neighbour,
                                   uint64_t serial) {
    const struct claimed *told = neighbour ? &neighbour->told : NULL;
    const struct agent *last = told && told->serial && told->serial < serial
                                   ? agents_find(&shard->agents, told->id, told->id_bytes)
                                   : NULL;
    return last && last->serial == told->serial ? last->link.next : shard->agents.all.next;
}

static void note_told(struct neighbour *neighbour, const struct agent *agent) {
    if (!neighbour || !agent)
        return;
    neighbour->told.serial = agent->serial;
    neighbour->told.id_bytes = (uint32_t)agent->id_bytes;
    memcpy(neighbour->told.id, agent->id, agent->id_bytes);
}

// What finds no room in the link's queue is asked for again.
static void tell(struct link *link, struct neighbour *neighbour, const struct hub_header *mark) {
    const struct shard *shard = link->shard;
    const struct list *all = &shard->agents.all;
    uint64_t max = atomic_load_explicit(&shard->hub->link_payload_bytes_max, memory_order_relaxed);
    uint64_t room = max < PART_BYTES_MAX ? max : PART_BYTES_MAX, last = mark->claim;
    struct text body;
    const struct agent *told = NULL;
    bool more = false;
    assert(mark->claim);
    if (!send_has_room(shard, link->peer))
        return;
    text_init(&body);
    for (const struct list *node = begin_of(shard, neighbour, mark->claim); node != all; node = node->next) {
        const struct agent *agent = list_entry(node, struct agent, link);
        if (agent->serial < mark->claim || !is_told(agent))
            continue;
        more = body.length + LINE_BYTES_MAX + PART_HEAD_BYTES > room && body.length;
        if (more)
            break;
        put_line(&body, shard, agent);
        told = agent;
        last = agent->serial;
    }
    struct said_number numbers[] = {
        {"claims", mark->claim}, {"last", last}, {more ? "more" : NULL, 1}, {NULL, 0}};
    nats_say_numbers(link, mark->hub, numbers, &body);
    note_told(neighbour, told);
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

static bool judge_all(struct link *link, struct neighbour *neighbour, const uint8_t *body, uint32_t bytes,
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
        neighbour->disputed |= judge(link, &name, is_child, age_ms, yields);
    }
    return at == bytes;
}

// What yields may not hear of it, so it is asked once more until nothing has to.
static void go_on(struct link *link, struct neighbour *neighbour, const struct hub_header *mark) {
    assert(neighbour->unsettled);
    if (mark->more && mark->last > neighbour->claimed) {
        neighbour->claimed = mark->last;
        pull(link, neighbour);
        return;
    }
    neighbour->claimed = 0;
    neighbour->unsettled = neighbour->disputed;
    neighbour->disputed = false;
}

static bool hear_claims(struct link *link, const struct hub_header *mark, const uint8_t *body,
                        uint32_t bytes) {
    static const struct said_number yield[] = {{"yield", 1}, {NULL, 0}};
    struct neighbour *neighbour = neighbours_find(&link->crossings.neighbours, mark->hub);
    struct text yields;
    if (!neighbour || !neighbour->unsettled || mark->claims != neighbour->claimed + 1 ||
        !is_lesser(link, mark->hub))
        return true;
    text_init(&yields);
    bool good = judge_all(link, neighbour, body, bytes, &yields);
    if (yields.length)
        nats_say_numbers(link, mark->hub, yield, &yields);
    text_deinit(&yields);
    go_on(link, neighbour, mark);
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

bool claims_take(struct link *link, const struct hub_header *mark, const uint8_t *body, uint32_t bytes) {
    struct neighbour *neighbour = neighbours_find(&link->crossings.neighbours, mark->hub);
    assert(mark->given && mark->has_hub);
    if (neighbour && mark->settle && is_lesser(link, mark->hub))
        claims_begin(link, neighbour);
    if (neighbour && mark->claim == 1)
        neighbour->unsettled = false; // it asks by itself
    if (mark->claim)
        tell(link, neighbour, mark);
    if (mark->claims)
        return hear_claims(link, mark, body, bytes);
    return !mark->yields || is_lesser(link, mark->hub) || hear_yields(link, body, bytes);
}
