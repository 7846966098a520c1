// Ends children.
#include <assert.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "io/keeper.h"
#include "io/log.h"
#include "router/engine/request/completion.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/peer_cold.h"
#include "router/features/children/child.h"
#include "router/features/children/child_registration.h"
#include "router/features/hcs/hcs.h"
#include "router/registry/orders.h"
#include "router/registry/subscribe.h"

// --- The stub

static void drop_queue(struct shard *shard, struct peer *stub) {
    for (struct parcel *parcel; (parcel = outbox_take(&stub->connection.outbox));) {
        drop_several(shard, COUNT_DROP_TARGET_GONE, stub->connection_id, parcel->bytes, parcel->frames);
        send_release(shard, parcel);
    }
    assert(outbox_empty(&stub->connection.outbox));
}

// Drops queued parcels that were meant for the program that has ended: responses to its requests, and cancels of
// requests to it. All others wait for the next process.
static void drop_bound(struct shard *shard, struct peer *stub) {
    struct outbox *outbox = &stub->connection.outbox;
    struct parcel_list parcels;
    assert(stub->connection.paused && !stub->connection.send_op);
    parcel_list_init(&parcels);
    for (struct parcel *parcel; (parcel = outbox_take(outbox));) {
        if (!parcel->process_only) {
            parcel_list_append(&parcels, parcel);
            continue;
        }
        drop_several(shard, COUNT_DROP_ANSWER_SOURCE_GONE, stub->connection_id, parcel->bytes,
                     parcel->frames);
        send_release(shard, parcel);
    }
    for (struct parcel *parcel; (parcel = parcel_list_take(&parcels));)
        outbox_add(outbox, parcel); // no more parcels than before
}

static void forget_partial(struct peer *stub) {
    assert(stub->partial || stub->partial_bytes == 0);
    if (stub->partial)
        buffer_drop(stub->partial);
    stub->partial = NULL;
    stub->partial_bytes = stub->partial_checked = 0;
    unit_begin(&stub->unit);
    connection_want(&stub->connection, NULL, 0);
}

// Abandons the program's requests, and removes its subscriptions and registrations. The child's name stays registered.
static void leave(struct shard *shard, struct peer *stub) {
    assert(stub->state != PEER_OPEN);
    completion_abandon_all(shard, stub);
    hcs_leave(shard, stub);
    subscribe_leave(shard, stub);
    admission_leave(shard, stub);
    wheel_disarm(&stub->timer);
    list_remove(&stub->by_receive_wait);
    list_remove(&stub->by_lifecycle);
    stub->missed = 0;
}

// Ends the requests that an instance owes, because the registry doesn't know them.
static void end_for_user(struct shard *shard, struct child *child) {
    assert(child_of_stub(child->stub) == child);
    if (child->of)
        child->ops->rest(shard, child->stub);
}

static bool has_pending(const struct shard *shard, const struct child *child) {
    uint32_t waiting_count = child->other ? child->other->pending_count : 0; // hub_pending counts these, too
    return child->of ? child->pending_count > 0
                     : hub_pending(shard->hub, child->stub->connection_id) > waiting_count;
}

enum { RESEND_MS = 10 };

// Tells the keeper to end the rest of the child's process group.
static void end_group(struct shard *shard, struct child *child) {
    assert(child->state == CHILD_ENDING);
    if (!child_command(shard, child, KEEPER_END, (uint32_t)child->settings->end_ms))
        child_wake_after(shard, child, RESEND_MS);
}

static void detach_stub(struct shard *shard, struct child *child) {
    assert(child_is_up(child) && child_of_stub(child->stub) == child);
    struct peer *stub = child->stub;
    child->had_requests = child->of && child->pending_count >
                                           0; // for other children ORDER_CHILD_STOPPED sets this (child_rest)
    child->keeps_queue =
        child->state == CHILD_STOPPING &&
        (child->after == CHILD_AFTER_FRESH || child->after == CHILD_AFTER_IDLE || child->removed);
    stub->connection.paused = true;
    child_withdraw(shard, child);
    leave(shard, stub);
    connection_end(&stub->connection, shard->io);
    if (stub->connection.receiving != RECEIVING_DIRECT)
        forget_partial(stub);
    child_set_state(child, CHILD_ENDING);
    wheel_disarm(&stub->cold->timer);
    end_group(shard, child);
    child->rest_due = !child_rest(shard, child, child->keeps_queue);
    end_for_user(shard, child);
}

// Stops sending to a child that has closed its input, or has ended. Its last output is still read.
static void lose_input(struct shard *shard, struct child *child) {
    assert(!child->stub->connection.ending);
    child->stub->connection.paused = true;
    child->input_gone = true;
    child_wake_after(shard, child, child->settings->end_ms);
}

void child_stub_ended(struct shard *shard, struct peer *stub) {
    struct child *child = child_of_stub(stub);
    struct connection *connection = &stub->connection;
    bool reads = connection->broken && !connection->ended && !connection->ending && !child->input_gone &&
                 child->fault == CHILD_FAULT_NONE;
    assert(child->stub == stub && stub->state != PEER_OPEN && !stub->ending);
    if (child_is_up(child) && reads) {
        lose_input(shard, child);
    } else if (child_is_up(child)) {
        detach_stub(shard, child);
    } else if (connection->socket < 0) { // closed for its memory, without a process
        leave(shard, stub);
        end_for_user(shard, child);
        drop_queue(shard, stub);
        child->rest_due |= !child_rest(shard, child, child->keeps_queue);
        child_touch(child);
    }
    stub->state = PEER_OPEN;
}

// Ends the output behind its last bytes, though other processes of the group may hold it open.
void child_exited(struct shard *shard, struct child *child) {
    assert(shard->index == 0);
    if (!child_is_up(child))
        return;
    lose_input(shard, child);
    io_shutdown(shard->io, child->stub->connection.socket, SHUT_RD);
}

// --- Stopping

static void stop_running(struct shard *shard, struct child *child, const char *reason) {
    assert(child_is_up(child) && child->state != CHILD_STOPPING);
    bool was_running = child->state == CHILD_RUNNING;
    child_set_state(child, CHILD_STOPPING);
    if (!was_running) { // the program has been given no work yet
        child_fail(shard, child, CHILD_FAULT_NONE, 0);
        return;
    }
    child->stub->connection.paused = true;
    if (child->settings->protocol == CHILD_HERMES) {
        child_wake_after(shard, child, child->settings->stop_ms);
        child_request_shutdown(shard, child, reason);
        return;
    }
    child->is_reading = true;
    child_wake_after(shard, child, child->settings->end_ms);
    child_send_on(shard, child);
}

void child_stop(struct shard *shard, struct child *child, enum child_after after, const char *reason) {
    assert(after != CHILD_AFTER_END && reason);
    // The operator's last order counts
    bool again = after == CHILD_AFTER_FRESH && child->after == CHILD_AFTER_STOP;
    bool overrules = after > child->after || again || !child_is_up(child);
    if (overrules && child->after != CHILD_AFTER_FREE)
        child->after = after;
    if (child_is_up(child) && child->state != CHILD_STOPPING)
        stop_running(shard, child, reason);
    else if (child->state != CHILD_STOPPING && child->state != CHILD_ENDING)
        child_set_state(child, CHILD_ENDING); // child_settle goes on from there
}

// --- After the end of the process

static void note_fault(struct child *child) {
    assert(child->fault < CHILD_FAULTS_COUNT);
    bool by_us = WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGTERM;
    if (child->fault == CHILD_FAULT_NONE && child->has_status) {
        child->fault = WIFSIGNALED(child->status) ? CHILD_FAULT_SIGNAL : CHILD_FAULT_STATUS;
        child->fault_number =
            WIFSIGNALED(child->status) ? WTERMSIG(child->status) : WEXITSTATUS(child->status);
        if (by_us)
            child->fault = CHILD_FAULT_OUTPUT;
    }
    uint64_t fault = (uint64_t)child->fault << 32 | (uint32_t)child->fault_number;
    atomic_store_explicit(&child->record->fault, fault, memory_order_relaxed);
}

// Takes a child out of service. First no message finds the child any more, then the requests for the child end. Queued
// messages are dropped when all shards know both (child_settle).
static void go_down(struct shard *shard, struct child *child, enum child_state state) {
    assert(state == CHILD_DOWN || state == CHILD_STOPPED);
    child_set_state(child, state);
    bool is_new_fault = child->settings->protocol == CHILD_MCP && !child->settings->each &&
                        !child->no_modern && child->settings->instances == 1;
    // For messages of the modern era, which another process has
    bool is_found = state == CHILD_DOWN && is_new_fault;
    if (!is_found && !child_register_absent(shard, child))
        child_log(child, "memory is used up");
    child->keeps_queue = false;
    child->rest_due = !child_rest(shard, child, false);
    end_for_user(shard, child);
}

static void restart_by_policy(struct shard *shard, struct child *child) {
    assert(!child->has_process && child->after == CHILD_AFTER_END);
    uint64_t ran = child->running_ms ? shard_now_ms(shard) - child->running_ms : 0, delay = 0;
    bool clean = child->era_probed ||
                 (child->fault == CHILD_FAULT_STATUS && child->fault_number == 0 && !child->had_requests);
    bool again = restart_ended(&child->restart, &child->settings->restart, ran, !clean, &delay);
    stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_CHILDREN, CHILDREN_COUNT_ENDED));
    if (!clean)
        stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_CHILDREN, CHILDREN_COUNT_FAILED));
    atomic_store_explicit(&child->record->failures, child->restart.failures, memory_order_relaxed);
    if (!again) {
        log_write(LOG_CHILD_DOWN, LOG_FIELDS(log_text(child->record->name)),
                  "child %s: it has failed %u times in a row and stays down until patchbay child restart %s, "
                  "or SIGHUP",
                  child->record->name, child->restart.failures, child->record->name);
        go_down(shard, child, CHILD_DOWN);
        return;
    }
    atomic_fetch_add_explicit(&child->record->restarts, 1, memory_order_relaxed);
    child_set_state(child, CHILD_WAITING);
    child_wake_after(shard, child, delay);
}

// Removes a child. Its stub is closed as any peer is.
static void free_child(struct shard *shard, struct child *child) {
    assert(child->after == CHILD_AFTER_FREE && child_of_stub(child->stub) == child);
    struct peer *stub = child->stub;
    end_for_user(shard, child);
    if (child->of)
        atomic_store_explicit(&child->of->record->instances, --child->of->instances, memory_order_relaxed);
    if (child->modern)
        child->of->other = NULL;
    child_peer_of(stub)->child = NULL;
    drop_queue(shard, stub);
    child_set_state(child, CHILD_REMOVED);
    child_leave_order(child);
    peer_close(shard, stub, COUNTER_NONE);
}

static void begin_as_configured(struct shard *shard, struct child *child) {
    assert(!child->has_process && child->after == CHILD_AFTER_FRESH);
    if (child->newest) {
        child->replaced |= !child_settings_same(child->settings, child->newest);
        child_settings_drop(child->settings);
        child->settings = child_settings_hold(child->newest);
    }
    child->restart = (struct restart){0};
    child->era_is_known = child->no_modern = false;
    child->reopens &= child->settings->protocol == CHILD_MCP;
    atomic_store_explicit(&child->record->failures, 0, memory_order_relaxed);
    if (!child_register(shard, child, NULL, NULL, true))
        child_log(child, "memory is used up");
    child->after = CHILD_AFTER_END;
    child_set_state(child, CHILD_WAITING); // until the order has come back
    child_wake_after(shard, child, 0);
}

static void settle_ended(struct shard *shard, struct child *child) {
    assert(shard->index == 0);
    enum child_after after = child->after;
    if (after == CHILD_AFTER_FRESH) {
        begin_as_configured(shard, child);
    } else if (after == CHILD_AFTER_STOP) {
        go_down(shard, child, CHILD_STOPPED);
    } else if (after == CHILD_AFTER_IDLE) {
        child_set_state(child, CHILD_WAITING);
        child_wake_after(shard, child, 0);
    } else {
        restart_by_policy(shard, child);
    }
}

static void close_sockets(struct shard *shard, struct peer *stub) {
    assert(connection_at_rest(&stub->connection) && stub->connection.paused);
    forget_partial(stub);
    list_remove(&stub->by_receive_wait);
    if (stub->connection.socket >= 0)
        peer_close_sockets(shard, stub);
    drop_bound(shard, stub);
    connection_set_sockets(&stub->connection, -1, -1);
}

// Handles what waits for a child without a process: drops it when the child is down, and all shards know; starts an
// idle child for it.
static void handle_waiting(struct shard *shard, struct child *child) {
    assert(shard->index == 0);
    if (child->orders)
        return;
    bool is_down = child->state == CHILD_DOWN || child->state == CHILD_STOPPED;
    bool is_wanted = child->is_wanted || !outbox_empty(&child->stub->connection.outbox);
    if (is_down && !child->rest_due)
        drop_queue(shard, child->stub);
    else if (child->state == CHILD_IDLE && is_wanted)
        child_start(shard, child);
}

// Returns whether nothing of the process that ends is under way any more: in the keeper, the registry, the kernel, nor
// on the way of its stub.
static bool has_ended(const struct child *child) {
    const struct peer *stub = child->stub;
    if (child->state != CHILD_ENDING || child->has_process || child->orders || child->rest_due)
        return false;
    if (!connection_at_rest(&stub->connection) || stub->ending)
        return false;
    return child->after != CHILD_AFTER_FREE || child->instances == 0; // instances point to the child
}

bool child_settle(struct shard *shard, struct child *child) {
    assert(shard->index == 0);
    if (child->rest_due)
        child->rest_due = !child_rest(shard, child, child->keeps_queue);
    handle_waiting(shard, child);
    if (!has_ended(child))
        return true;
    close_sockets(shard, child->stub);
    atomic_store_explicit(&child->record->process, 0, memory_order_relaxed);
    if (child->after == CHILD_AFTER_FREE) {
        free_child(shard, child);
        return false;
    }
    if (child->after == CHILD_AFTER_END)
        note_fault(child);
    settle_ended(shard, child);
    return true;
}

bool child_is_quiet(const struct child *child) {
    bool waits = child->is_wanted || !outbox_empty(&child->stub->connection.outbox);
    if (child->rest_due || !outbox_empty(&child->hub_outbox))
        return false;
    switch (child->state) {
    case CHILD_STOPPING:
    case CHILD_ENDING:
        return false;
    case CHILD_IDLE: // messages wait until the child may start
    case CHILD_DOWN: // messages wait until all shards know the state
    case CHILD_STOPPED:
        return !waits;
    default:
        return true;
    }
}

// --- Time

static bool is_idle(const struct shard *shard, const struct child *child) {
    assert(child->settings->idle_ms > 0);
    const struct peer *stub = child->stub;
    uint32_t idle_ms = shard_since(shard, stub->received_ms), still = shard_since(shard, stub->sending_ms);
    return !has_pending(shard, child) && outbox_empty(&stub->connection.outbox) &&
           list_empty(&stub->request_index.requests) && idle_ms >= child->settings->idle_ms &&
           still >= child->settings->idle_ms;
}

void child_expire(struct shard *shard, struct peer *stub) {
    assert(shard->index == 0);
    struct child *child = child_of_stub(stub);
    if (!child)
        return;
    switch (child->state) {
    case CHILD_WAITING:
        if (child->orders)
            child_wake_after(shard, child, 1);
        else
            child_begin(shard, child);
        break;
    case CHILD_STARTING:
    case CHILD_GREETING:
        child_fail(shard, child, CHILD_FAULT_GREETING, 0);
        (void)child_command(shard, child, KEEPER_KILL, SIGKILL);
        break;
    case CHILD_RUNNING:
        if (child->input_gone)
            child_fail(shard, child, child->has_status ? CHILD_FAULT_NONE : CHILD_FAULT_INPUT, 0);
        else if (is_idle(shard, child))
            child_stop(shard, child, CHILD_AFTER_IDLE, "closing");
        else
            child_wake_after(shard, child, child->settings->idle_ms);
        break;
    case CHILD_STOPPING:
        if (child->shutdown_requested && !child->has_status)
            (void)child_command(shard, child, KEEPER_KILL, SIGKILL);
        child_fail(shard, child, CHILD_FAULT_NONE, 0);
        break;
    case CHILD_ENDING:
        end_group(shard, child);
        break;
    default:
        break;
    }
}
