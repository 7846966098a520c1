// How a child comes to run.
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "io/keeper.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/annex.h"
#include "router/features/children/child.h"
#include "router/features/children/child_registration.h"

enum { KEEPER_PAUSE_MS = 20 };

static void begin_afresh(struct shard *shard, struct child *child) {
    wheel_disarm(&child->seat->annex->timer);
    child->serial++;
    child->after = CHILD_AFTER_END;
    child->running_ms = 0;
    child->fault = CHILD_FAULT_NONE;
    child->has_status = child->had_requests = child->shutdown_requested = child->is_wanted =
        child->era_probed = false;
    child->is_reading = child->input_gone = child->is_shut = false;
    own_requests_forget(&child->own);
    unit_begin(&child->seat->unit);
    assert(!child->seat->partial && child->seat->connection.held);
    assert(outbox_empty(&child->hub_outbox));
    child_set_state(child, CHILD_STARTING);
    stats_count(&shard->stats, COUNT_CHILDREN_STARTED);
}

// Instances of one user each are bounded; an instance that ends is one of them until all of it is gone.
static bool has_place(const struct child *child) {
    assert(!child->has_process);
    return !child->of || child->modern || child->of->processes < child->settings->instances_max;
}

void child_start(struct shard *shard, struct child *child) {
    int in, out;
    assert(child->seat->connection.socket < 0 && !child->orders);
    if (shard->phase != HUB_SERVING || !has_place(child))
        return;
    begin_afresh(shard, child);
    int failed = child_launch(shard, child, &in, &out);
    if (failed == -EAGAIN) { // so many at a time
        child_set_state(child, CHILD_WAITING);
        child->is_wanted = true; // still, by whatever has it start
        child_wake_after(shard, child, KEEPER_PAUSE_MS);
        return;
    }
    if (failed) {
        child_fail(shard, child, CHILD_FAULT_START, -failed);
        return;
    }
    child_note_process(child, true);
    connection_plug(&child->seat->connection, out, in);
    child_wake_after(shard, child, child->settings->start_ms);
}

void child_begin(struct shard *shard, struct child *child) {
    assert(!child->orders && !child->has_process);
    child_set_state(child, CHILD_IDLE);
    if (!child_is_on_demand(child) || child->is_wanted || !outbox_empty(&child->seat->connection.outbox))
        child_start(shard, child);
}

void child_wanted(struct shard *shard, struct peer *seat) {
    struct child *child = seat->annex->child;
    assert(seat->connection.held);
    if (child)
        child_touch(child);
    if (child && child->state == CHILD_IDLE && !child->orders)
        child_start(shard, child);
}

void child_started(struct shard *shard, struct child *child, int32_t process) {
    assert(process > 0);
    atomic_store_explicit(&child->record->process, process, memory_order_relaxed);
    if (child->state != CHILD_STARTING)
        return;
    connection_receive(&child->seat->connection, shard->io); // not before: what it says would come too early
    bool is_hermes = child->of ? child->settings->protocol == CHILD_HERMES || child->reopens
                               : child->settings->protocol != CHILD_PLAIN;
    if (is_hermes)
        child_initialize(shard, child);
    else
        child_ready(shard, child, NULL, NULL);
}

// Registers the name of those of which each user has an instance, as one that runs: the first instance is ready, and has said
// nothing that would change what the name offers.
static bool show_first(struct shard *shard, struct child *child) {
    struct child *stand_in = child->of;
    if (!stand_in || child->modern)
        return true;
    const char *name = stand_in->record->name;
    const struct agent *agent = agents_find(&shard->agents, name, strlen(name));
    if (!agent || !agent->child || agent->absent || !agent->resting || stand_in->orders)
        return true;
    struct piece now = {agent->capabilities->text, agent->capabilities->bytes}, answer;
    if (agent->answer)
        answer = (struct piece){agent->answer->text, agent->answer->bytes};
    return child_register(shard, stand_in, &now, agent->answer ? &answer : NULL, false);
}

void child_ready(struct shard *shard, struct child *child, const struct piece *capabilities,
                 const struct piece *answer) {
    struct peer *seat = child->seat;
    assert(child->state == CHILD_STARTING || child->state == CHILD_GREETING);
    bool is_offer = child->of && capabilities; // made for all of its name
    if (!child_register(shard, is_offer ? child->of : child, capabilities, answer, false) ||
        !show_first(shard, child)) {
        child_fail(shard, child, CHILD_FAULT_MEMORY, 0);
        return;
    }
    wheel_disarm(&seat->annex->timer);
    child_set_state(child, CHILD_RUNNING);
    child->running_ms = shard_now_ms(shard);
    seat->connection.held = false;
    if (list_empty(&seat->to_send) && !outbox_empty(&seat->connection.outbox))
        list_append(&shard->to_send, &seat->to_send);
    if (child->settings->idle_ms && child_is_on_demand(child))
        child_wake_after(shard, child, child->settings->idle_ms);
}
