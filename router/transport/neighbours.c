#include "router/transport/neighbours.h"

#include <assert.h>
#include <string.h>

void neighbours_init(struct neighbours *neighbours, const struct siphash_key *key, struct quota *kept) {
    *neighbours = (struct neighbours){.kept = kept};
    neighbours->key = *key;
    name_map_init(&neighbours->by_name, key, kept);
    list_init(&neighbours->all);
}

void neighbours_deinit(struct neighbours *neighbours) {
    assert(list_empty(&neighbours->all) && neighbours->by_name.count == 0);
    name_map_deinit(&neighbours->by_name);
}

// The count comes last: who sees that somebody is there sees what that one doesn't take, too.
static void publish(const struct neighbours *neighbours) {
    const struct neighbours_told *told = &neighbours->told;
    assert(!told->count == !told->unfenced && !told->count == !told->unbundled);
    if (!told->count)
        return;
    atomic_store_explicit(told->unbundled, neighbours->unbundled + neighbours->has_single,
                          memory_order_relaxed);
    atomic_store_explicit(told->unfenced, neighbours->unfenced + neighbours->has_stranger,
                          memory_order_relaxed);
    atomic_store_explicit(told->count, (uint32_t)neighbours->by_name.count, memory_order_release);
}

void neighbours_tell(struct neighbours *neighbours, const struct neighbours_told *told) {
    neighbours->told = *told;
    publish(neighbours);
}

struct neighbour *neighbours_find(struct neighbours *neighbours, const char name[HUB_NAME_BYTES]) {
    if (!neighbours->found || memcmp(neighbours->found->name, name, HUB_NAME_BYTES) != 0)
        neighbours->found = name_map_get(&neighbours->by_name, name, HUB_NAME_BYTES);
    return neighbours->found;
}

// NEIGHBOURS_MAX: there is none.
static uint32_t free_place(const struct neighbours *neighbours) {
    for (uint32_t word = 0; word < NEIGHBOUR_WORDS; word++)
        if (~neighbours->places[word])
            return 64 * word + (uint32_t)__builtin_ctzll(~neighbours->places[word]);
    return NEIGHBOURS_MAX;
}

static struct neighbour *neighbours_add(struct neighbours *neighbours, const char name[HUB_NAME_BYTES],
                                        uint64_t now_ms, bool needed, bool heeds) {
    uint32_t place = free_place(neighbours);
    struct neighbour *fresh =
        place < NEIGHBOURS_MAX || needed ? quota_take(neighbours->kept, sizeof *fresh) : NULL;
    if (!fresh)
        return NULL;
    *fresh = (struct neighbour){.place = place, .known_ms = now_ms, .unsettled = true, .is_unfenced = !heeds};
    memcpy(fresh->name, name, HUB_NAME_BYTES);
    fresh->secret = siphash_table(&neighbours->key, name, HUB_NAME_BYTES);
    if (!name_map_add(&neighbours->by_name, fresh->name, HUB_NAME_BYTES, fresh)) {
        quota_give(neighbours->kept, fresh);
        return NULL;
    }
    list_init(&fresh->owes);
    list_init(&fresh->asked);
    list_init(&fresh->link);
    neighbours->any_new = true;
    neighbours->unfenced += fresh->is_unfenced;
    neighbours->unbundled++;
    publish(neighbours);
    return fresh;
}

static void learn(struct neighbours *neighbours, struct neighbour *neighbour) {
    assert(neighbour->is_unfenced && neighbours->unfenced > 0);
    neighbour->is_unfenced = false;
    neighbours->unfenced--;
    publish(neighbours);
}

void neighbours_learn_bundles(struct neighbours *neighbours, struct neighbour *neighbour) {
    if (neighbour->takes_bundles)
        return;
    assert(neighbours->unbundled > 0);
    neighbour->takes_bundles = true;
    neighbours->unbundled--;
    publish(neighbours);
}

static struct neighbour *take_notice(struct neighbours *neighbours, const char name[HUB_NAME_BYTES],
                                     uint64_t now_ms, bool needed, bool heeds) {
    struct neighbour *neighbour = neighbours_find(neighbours, name);
    if (!neighbour)
        neighbour = neighbours_add(neighbours, name, now_ms, needed, heeds);
    if (!neighbour)
        return NULL;
    assert(neighbour->heard_ms <= now_ms);
    neighbour->heard_ms = now_ms;
    if (neighbour->is_unfenced && heeds)
        learn(neighbours, neighbour);
    if (neighbours->all.prev != &neighbour->link) {
        list_remove(&neighbour->link);
        list_append(&neighbours->all, &neighbour->link);
    }
    if (neighbour->place == NEIGHBOURS_MAX)
        neighbour->place = free_place(neighbours);
    if (neighbour->place < NEIGHBOURS_MAX)
        neighbours->places[neighbour->place / 64] |= UINT64_C(1) << neighbour->place % 64;
    return neighbour;
}

struct neighbour *neighbours_hear(struct neighbours *neighbours, const char name[HUB_NAME_BYTES],
                                  uint64_t now_ms, bool needed) {
    return take_notice(neighbours, name, now_ms, needed, false);
}

struct neighbour *neighbours_hear_of(struct neighbours *neighbours, const char name[HUB_NAME_BYTES],
                                     uint64_t now_ms, bool heeds) {
    return take_notice(neighbours, name, now_ms, false, heeds);
}

void neighbours_meet_stranger(struct neighbours *neighbours, uint64_t now_ms, bool heeds,
                              bool takes_bundles) {
    assert(neighbours->stranger_ms <= now_ms && neighbours->single_ms <= now_ms);
    if (!heeds) {
        neighbours->has_stranger = true;
        neighbours->stranger_ms = now_ms;
    }
    if (!takes_bundles) {
        neighbours->has_single = true;
        neighbours->single_ms = now_ms;
    }
    publish(neighbours);
}

void neighbours_forget_strangers(struct neighbours *neighbours, uint64_t heard_ms) {
    bool stays = neighbours->has_stranger && neighbours->stranger_ms > heard_ms;
    bool stays_single = neighbours->has_single && neighbours->single_ms > heard_ms;
    if (stays == neighbours->has_stranger && stays_single == neighbours->has_single)
        return;
    neighbours->has_stranger = stays;
    neighbours->has_single = stays_single;
    publish(neighbours);
}

void neighbours_displace(struct neighbours *neighbours, struct neighbour *neighbour) {
    assert(neighbour->place <= NEIGHBOURS_MAX);
    if (neighbour->place < NEIGHBOURS_MAX)
        neighbours->places[neighbour->place / 64] &= ~(UINT64_C(1) << neighbour->place % 64);
    neighbour->place = NEIGHBOURS_MAX;
}

void neighbours_remove(struct neighbours *neighbours, struct neighbour *neighbour) {
    assert(list_empty(&neighbour->owes) && list_empty(&neighbour->asked));
    neighbours_displace(neighbours, neighbour);
    if (neighbours->found == neighbour)
        neighbours->found = NULL;
    name_map_remove(&neighbours->by_name, neighbour->name, HUB_NAME_BYTES);
    list_remove(&neighbour->link);
    neighbours->named_changed |= neighbour->named_count > 0;
    assert(neighbours->unfenced >= neighbour->is_unfenced);
    assert(neighbours->unbundled >= !neighbour->takes_bundles);
    neighbours->unfenced -= neighbour->is_unfenced;
    neighbours->unbundled -= !neighbour->takes_bundles;
    publish(neighbours);
    quota_give(neighbours->kept, neighbour->named);
    quota_give(neighbours->kept, neighbour);
}

static bool has_named(const struct neighbour *neighbour, uint64_t named) {
    for (uint32_t at = 0; at < neighbour->named_count; at++)
        if (neighbour->named[at] == named)
            return true;
    return false;
}

bool neighbours_is_least(const struct neighbours *neighbours, const char name[HUB_NAME_BYTES],
                         const uint64_t *named) {
    const struct list *all = &neighbours->all;
    for (const struct list *node = all->next; node != all; node = node->next) {
        const struct neighbour *neighbour = list_entry(node, struct neighbour, link);
        if (neighbour->is_joint && (!named || has_named(neighbour, *named)) &&
            memcmp(neighbour->name, name, HUB_NAME_BYTES) < 0)
            return false;
    }
    return true;
}

bool neighbours_all(const struct neighbours *neighbours, const uint64_t places[NEIGHBOUR_WORDS]) {
    uint64_t taken = 0, missing = 0;
    for (uint32_t word = 0; word < NEIGHBOUR_WORDS; word++) {
        taken |= neighbours->places[word];
        missing |= neighbours->places[word] & ~places[word];
    }
    return taken && !missing;
}
