#include "router/features/children/child_turn.h"

#include <assert.h>

#include "core/base/memory.h"

static bool may_listen(const struct shard *shard) {
    const struct children *children = shard->children;
    return !atomic_load(&shard->hub->failed) && !(children->closing && !children->first);
}

static void obey(struct shard *shard, struct child *child) {
    uint32_t orders = atomic_exchange_explicit(&child->record->orders, 0, memory_order_relaxed);
    if (orders & CHILD_ORDER_STOP)
        child_stop(shard, child, CHILD_AFTER_STOP, "disabled");
    if (orders & CHILD_ORDER_RESTART)
        child_stop(shard, child, CHILD_AFTER_FRESH, "reload");
}

static void count_states(struct shard *shard) {
    uint32_t running = 0, down = 0, other = 0;
    assert(shard->children);
    for (const struct child *child = shard->children->first; child; child = child->next)
        if (!child_is_stand_in(child))
            ++*(child->state == CHILD_RUNNING ? &running : child->state == CHILD_DOWN ? &down : &other);
    stats_gauge(&shard->stats, GAUGE_CHILDREN_RUNNING, running);
    stats_gauge(&shard->stats, GAUGE_CHILDREN_DOWN, down);
    stats_gauge(&shard->stats, GAUGE_CHILDREN_OTHER, other);
}

// Obeys restarts and stops by hand.
static void obey_all(struct shard *shard) {
    struct children *children = shard->children;
    if (!atomic_load_explicit(&shard->hub->child_orders, memory_order_relaxed))
        return;
    atomic_store(&shard->hub->child_orders, false);
    for (struct child *child = children->first; child && !children->closing; child = child->next)
        if (atomic_load_explicit(&child->record->orders, memory_order_relaxed))
            obey(shard, child);
}

static void forget(struct children *children, struct child *child) {
    struct child **link = &children->first;
    while (*link != child)
        link = &(*link)->next;
    *link = child->next;
    list_remove(&child->due);
    memory_give(child);
}

// Follows children that have something to do; children may be many, but few of them have. Returns whether one
// has gone.
static bool follow_due(struct shard *shard) {
    struct children *children = shard->children;
    struct list due;
    bool freed = false;
    list_init(&due);
    for (struct list *node; (node = list_take(&children->due));)
        list_append(&due, node);
    for (struct list *node; (node = list_take(&due));) {
        struct child *child = list_entry(node, struct child, due);
        child_say_on(shard, child);
        if (!child_settle(shard, child)) {
            forget(children, child);
            freed = true;
        } else if (!child_is_quiet(child)) {
            child_touch(child);
        }
    }
    return freed;
}

void child_turn_all(struct shard *shard) {
    assert(shard->index == 0);
    struct children *children = shard->children;
    obey_all(shard);
    bool any = !list_empty(&children->due), freed = any && follow_due(shard);
    bool has_place = children->lacks_place && child_record_has_place(shard->hub);
    children->lacks_place &= !has_place;
    if ((freed || has_place) && !children->closing)
        children_add_missing(shard);
    if (any)
        count_states(shard);
    const struct keeper *keeper = shard->hub->settings.keeper;
    if (!children->listening && may_listen(shard)) {
        children->listening = true;
        io_receive(shard->io, keeper->reports, TOKEN_KEEPER, false);
    } else if (children->listening && children->closing && !children->first && !children->cancelling) {
        children->cancelling = true;
        io_cancel(shard->io, keeper->reports, TOKEN_KEEPER);
    }
}
