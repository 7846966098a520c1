#include "router/events/publication.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "router/registry/presence.h"

void audience_find(const struct shard *shard, struct audience *audience) {
    audience->count = 0;
    for (uint32_t index = 0; index < shard->hub->settings.shard_count; index++)
        if (atomic_load_explicit(&shard->hub->subscriptions[index], memory_order_acquire))
            audience->shards[audience->count++] = (uint8_t)index;
}

// Copies, frame ends and heads, id and name lie one behind the other.
static size_t bytes_of(const struct event *event, uint32_t copies, uint32_t line_ends) {
    return sizeof(struct publication) + copies * sizeof(struct copy) + 2 * line_ends * sizeof(uint32_t) +
           event->to.id_bytes + event->name_bytes;
}

static void init(struct publication *publication, const struct event *event, uint32_t copies,
                 uint32_t line_ends) {
    assert(event->count > 0 && event->name_bytes <= EVENT_BYTES_MAX && (!line_ends || event->run));
    char *tail = (char *)&publication->copies[copies];
    size_t line_ends_bytes = line_ends * sizeof(uint32_t); // and those of their heads
    *publication = (struct publication){
        .observation = event->observation,
        .source = event->source,
        .user = event->user,
        .fanout = event->fanout,
        .foreseen = event->expected,
        .required = event->required,
        .missed_as = COUNT_DROP_EVENT_NO_MEMORY,
        .is_request = event->to.id != NULL,
        .guarded = event->guarded,
        .guarded_from = event->guarded_from,
        .presence = event->presence ? presence_hold(event->presence) : NULL,
        .exchange = event->to.exchange,
        .id = tail + 2 * line_ends_bytes,
        .id_bytes = event->to.id_bytes,
        .count = event->count,
        .ends = line_ends ? (uint32_t *)tail : NULL,
        .heads = line_ends ? (uint32_t *)(tail + line_ends_bytes) : NULL,
        .name_bytes = event->name_bytes,
        .name = tail + 2 * line_ends_bytes + event->to.id_bytes,
    };
    if (line_ends) {
        publication->tail = event->run->tail;
        publication->canonical = event->run->canonical;
        memcpy(publication->ends, event->run->ends, line_ends_bytes);
        memcpy(publication->heads, event->run->heads, line_ends_bytes);
    }
    if (event->to.id_bytes)
        memcpy(publication->id, event->to.id, event->to.id_bytes);
    memcpy(publication->name, event->name, event->name_bytes);
}

static struct publication *take_publication(struct shard *shard, const struct event *event, uint32_t copies,
                                            uint32_t line_ends) {
    size_t bytes = bytes_of(event, copies, line_ends), counted = memory_bytes_for(bytes);
    struct publication *publication = memory_take(bytes);
    if (!publication)
        return NULL;
    init(publication, event, copies, line_ends);
    publication->bytes = (uint32_t)counted;
    parcel_pool_count(&shard->parcels, (int64_t)counted);
    return publication;
}

struct publication *publication_take(struct shard *shard, const struct event *event, uint32_t copies) {
    assert(copies <= shard->hub->settings.shard_count && connection_shard(event->source) == shard->index);
    uint32_t line_ends = event->run ? event->count : 0;
    if (!buffer_budget_has_room(&shard->hub->budget, bytes_of(event, copies, line_ends), BUDGET_PLENTY))
        return NULL;
    return take_publication(shard, event, copies, line_ends);
}

struct publication *publication_take_missed(struct shard *shard, const struct event *event) {
    return take_publication(shard, event, shard->hub->settings.shard_count, 0);
}

struct publication *publication_spare(struct shard *shard, const struct event *event) {
    struct publication *publication = shard->reserve;
    if (!publication)
        return NULL;
    shard->reserve = publication->next;
    init(publication, event, shard->hub->settings.shard_count, 0);
    return publication;
}

void publication_give(struct shard *shard, struct publication *publication) {
    assert(publication->awaited == 0 && connection_shard(publication->source) == shard->index);
    if (publication->presence)
        presence_drop(shard, publication->presence);
    publication->presence = NULL;
    if (!publication->bytes) {
        publication->next = shard->reserve;
        shard->reserve = publication;
        return;
    }
    parcel_pool_count(&shard->parcels, -(int64_t)publication->bytes);
    memory_give(publication);
}

void publication_add(struct publication *publication, uint32_t shard, struct parcel *parcel) {
    assert(shard < SHARDS_MAX && publication->copy_count <= shard && publication->awaited == 0);
    publication->copies[publication->copy_count++] =
        (struct copy){.publication = publication, .parcel = parcel, .shard = shard};
}

// --- Missed events

enum {
    LOOKED_AT_MAX = 16, // of those noted last, for one that it can be added to
    NOTED_MAX = 1024,
};

static bool is_same(const struct publication *missed, const struct event *event, enum counter counter) {
    return missed->source == event->source && missed->required == event->required &&
           missed->missed_as == counter && missed->presence == event->presence &&
           missed->name_bytes == event->name_bytes &&
           memcmp(missed->name, event->name, event->name_bytes) == 0;
}

static struct publication *missed_events_find(const struct shard *shard, const struct event *event,
                                              enum counter counter) {
    struct publication *missed = shard->misses;
    for (unsigned remaining = LOOKED_AT_MAX; missed && remaining > 0; remaining--, missed = missed->next)
        if (is_same(missed, event, counter))
            return missed;
    return NULL;
}

static struct publication *note(struct shard *shard, const struct event *event) {
    struct publication *missed =
        shard->misses_count < NOTED_MAX ? publication_take_missed(shard, event) : NULL;
    return missed ? missed : publication_spare(shard, event);
}

void missed_events_add(struct shard *shard, const struct event *event, enum counter counter) {
    struct publication *missed = missed_events_find(shard, event, counter);
    if (missed) {
        missed->count += event->count;
        return;
    }
    assert(event->count > 0 && connection_shard(event->source) == shard->index);
    missed = note(shard, event);
    if (!missed) {
        shard->missed_unnamed += event->count;
        return;
    }
    assert(missed->copy_count == 0 && missed->awaited == 0);
    missed->missed_as = counter;
    missed->next = shard->misses;
    shard->misses = missed;
    shard->misses_count++;
}

static struct publication *take_unnamed(struct shard *shard) {
    struct event event = {
        .source = hub_connection(shard->index, 0, 0),
        .count = shard->missed_unnamed,
        .name = "",
    };
    struct publication *missed = event.count ? note(shard, &event) : NULL;
    if (!missed)
        return NULL;
    missed->any_name = true;
    shard->missed_unnamed = 0;
    return missed;
}

struct publication *missed_events_take(struct shard *shard) {
    struct publication *missed = shard->misses;
    if (!missed)
        return take_unnamed(shard);
    shard->misses = missed->next;
    assert(shard->misses_count > 0);
    shard->misses_count--;
    return missed;
}
