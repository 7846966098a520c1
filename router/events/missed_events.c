#include "router/events/missed_events.h"

#include <assert.h>
#include <string.h>

enum {
    LOOKED_AT_MAX = 16, // of those noted last, for one that it can be added to
    NOTED_MAX = 1024,
};

static bool is_same(const struct publication *missed, const struct event *event, enum counter counter) {
    return missed->source == event->source && missed->required == event->required &&
           missed->missed_as == counter && missed->name_bytes == event->name_bytes &&
           memcmp(missed->name, event->name, event->name_bytes) == 0;
}

static struct publication *missed_events_find(const struct shard *shard, const struct event *event,
                                              enum counter counter) {
    struct publication *missed = shard->misses;
    for (unsigned left = LOOKED_AT_MAX; missed && left > 0; left--, missed = missed->next)
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
