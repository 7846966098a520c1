#include "router/features/children/child_registration.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "router/features/hcs/hcs_dispatch.h"
#include "router/registry/registry.h"

bool child_prepare_leave(struct shard *shard, struct peer *stub) {
    assert(stub->state == PEER_OPEN);
    if (!stub->leave_order)
        stub->leave_order = order_create(shard, ORDER_LEAVE, stub->connection_id);
    return stub->leave_order != NULL;
}

void child_leave_order(struct child *child) {
    uint32_t *leaving = &child->record->leaving;
    struct order *leave_order = child->stub->leave_order;
    assert(leave_order && !leave_order->awaiting_count);
    ++*leaving;
    leave_order->awaiting_count = leaving;
    leave_order->removed = child->removed;
}

static void submit(struct shard *shard, struct child *child, struct order *order) {
    assert(order->mail.connection == child->stub->connection_id);
    child->orders++;
    order->awaiting_count = &child->orders;
    registry_submit(shard, order);
}

static struct capabilities *own_capabilities(struct shard *shard, const struct child *child) {
    assert(child->settings);
    struct text text;
    text_init(&text);
    child_settings_capabilities(child->settings, &text);
    struct capabilities *capabilities =
        text.failed ? NULL : capabilities_create(&shard->quota, text.bytes, text.length);
    text_deinit(&text);
    return capabilities;
}

static struct order *order_of(struct shard *shard, struct child *child) {
    assert(child_of_stub(child->stub) == child);
    size_t bytes = strlen(child->record->name);
    struct order *order = order_create(shard, ORDER_REGISTER, child->stub->connection_id);
    if (!order)
        return NULL;
    memcpy(order->agent_id, child->record->name, bytes);
    order->agent_id_bytes = (uint32_t)bytes;
    order->governance = child->settings->level;
    order->child = child->record;
    if (child->settings->instances > 1)
        order->pool_bytes = (uint32_t)strlen(child->settings->name);
    order->hermes = child->settings->protocol == CHILD_HERMES;
    order->local_only =
        child_is_stand_in(child); // users at another hub can't be told apart: they have one link
    order->connected_since_ms = io_wall_ms(shard->io);
    return order;
}

bool child_register(struct shard *shard, struct child *child, const struct piece *capabilities,
                    const struct piece *answer, bool resting) {
    assert(!capabilities || capabilities->count >= 2);
    if (child->of) // only its user finds an instance
        return true;
    struct order *order = order_of(shard, child);
    if (!order)
        return false;
    order->resting = resting;
    order->capabilities = capabilities
                              ? capabilities_create(&shard->quota, capabilities->bytes, capabilities->count)
                              : own_capabilities(shard, child);
    if (answer)
        order->answer = capabilities_create(&shard->quota, answer->bytes, answer->count);
    if (!order->capabilities || (answer && !order->answer)) {
        order_destroy(shard, order);
        return false;
    }
    submit(shard, child, order);
    return true;
}

bool child_register_absent(struct shard *shard, struct child *child) {
    assert(!child_is_up(child));
    if (child->of)
        return true;
    struct order *order = order_of(shard, child);
    if (!order)
        return false;
    order->resting = order->absent = true;
    order->hermes = false;
    order->capabilities = capabilities_create(&shard->quota, "{}", 2);
    if (!order->capabilities) {
        order_destroy(shard, order);
        return false;
    }
    submit(shard, child, order);
    return true;
}

static int compare(const void *one, const void *other) {
    uint64_t left = *(const uint64_t *)one, right = *(const uint64_t *)other;
    return (left > right) - (left < right);
}

// Returns whether another process has the requests of the modern era. That is so unless this process has refused a
// session.
static bool has_sessions_alone(const struct child *child) {
    bool is_shared = child->settings->protocol == CHILD_MCP && !child->settings->each && !child->of;
    return is_shared && atomic_load_explicit(&child->record->era, memory_order_relaxed) != MCP_MODERN;
}

static bool is_down(const struct child *child) {
    return child->state == CHILD_DOWN || child->state == CHILD_STOPPED;
}

// Returns the id by which shards know the request or session of a queued parcel. Returns 0 if there is none, or if it
// may end.
static uint64_t target_of(const struct child *child, const struct parcel *parcel, bool waiting) {
    if (parcel->of_stream && hcs_open_is_id(parcel->stream))
        return is_down(child) ? 0 : parcel->stream;
    return waiting ? parcel->hub_id : 0;
}

// Notes in an order which requests are exempt: with `waiting` those of queued parcels, and always those that another
// process has. Starts of sessions are exempt as long as there will be a next process. Without memory none is exempt.
static void save_pending(const struct child *child, bool waiting, struct order *order) {
    const struct child_ops *ops = child->ops;
    const struct peer *stub = child->stub;
    const struct outbox *outbox = &stub->connection.outbox;
    size_t others = ops->others(stub, waiting, NULL, 0);
    size_t room = others + outbox->count;
    order->exempt_ids = room ? memory_take(room * sizeof *order->exempt_ids) : NULL;
    if (!order->exempt_ids)
        return;
    order->exempt_count = others ? ops->others(stub, waiting, order->exempt_ids, others) : 0;
    for (unsigned lane = 0; lane < LANES_COUNT; lane++)
        for (const struct parcel *parcel = outbox->lanes[lane].first; parcel; parcel = parcel->next)
            if (target_of(child, parcel, waiting))
                order->exempt_ids[order->exempt_count++] = target_of(child, parcel, waiting);
    assert(order->exempt_count <= room);
    qsort(order->exempt_ids, order->exempt_count, sizeof *order->exempt_ids, compare);
}

// Notes in an order which requests are exempt at this time. The child is still there: it isn't freed before its orders
// have come back.
static void save_pending_now(struct shard *shard, struct order *order) {
    // Also while the stub ends
    const struct peer *stub = shard->peers.slots[connection_slot(order->mail.connection)];
    assert(stub->connection_id == order->mail.connection && child_of_stub(stub) && stub->connection.paused);
    save_pending(child_of_stub(stub), order->requests_wait, order);
}

// Submits the ORDER_CHILD_STOPPED of a child. If the child doesn't start again, no message finds it any more, and all
// requests end, whenever they came.
bool child_rest(struct shard *shard, struct child *child, bool waiting) {
    assert(child->stub->connection.paused);
    struct order *order = order_create(shard, ORDER_CHILD_STOPPED, child->stub->connection_id);
    if (!order)
        return false;
    order->others_wait = has_sessions_alone(child);
    order->requests_wait = waiting;
    order->down = is_down(child);
    order->on_marked = is_down(child) ? NULL : save_pending_now;
    order->had_requests = &child->had_requests;
    if (!order->on_marked)
        save_pending_now(shard, order);
    submit(shard, child, order);
    return true;
}
