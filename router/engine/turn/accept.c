#include "router/engine/turn/accept.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/memory.h"
#include "io/log.h"
#include "router/engine/shard/credential.h"
#include "router/engine/shard/peer.h"
#include "router/engine/shard/post.h"

enum { ACCEPT_PAUSE_MS = 100, WAIT_PAUSE_MS = 10, EVICT_RETRY_MS = 100, WAIT_PATIENCE_MS = 2000 };

// The mail that brings a socket to its shard.
struct adoption {
    struct mail mail;
    int socket;
    const struct transport *transport;
    bool secure;
};

// Returns whether connections of this transport are accepted in this phase.
static bool accepts(const struct shard *shard, const struct transport *transport) {
    return shard->phase == HUB_SERVING || (shard->phase == HUB_DRAINING && transport->serves_drain);
}

// Returns whether connections of this listener are accepted.
static bool listens(const struct shard *shard, uint32_t index) {
    assert(index < shard->listener_count);
    bool is_left = shard->passed[index] && (shard->handed_over || shard->phase != HUB_SERVING);
    return !is_left && accepts(shard, shard->transports[index]);
}

void accept_arm(struct shard *shard) {
    assert(shard->index == 0);
    for (uint32_t index = 0; index < shard->listener_count; index++) {
        if (shard->listening[index] || !listens(shard, index))
            continue;
        shard->listening[index] = true;
        io_accept(shard->io, shard->listeners[index], TOKEN_LISTENER | index);
    }
}

void accept_listen(struct shard *shard, const struct accept_socket *sockets, uint32_t count) {
    assert(count <= LISTENERS_MAX);
    assert(shard->index == 0 && shard->listener_count == 0);
    for (uint32_t index = 0; index < count; index++) {
        assert(sockets[index].transport);
        shard->listeners[index] = sockets[index].socket;
        shard->transports[index] = sockets[index].transport;
        shard->secure[index] = sockets[index].secure;
        shard->passed[index] = sockets[index].passed;
    }
    shard->listener_count = count;
    accept_arm(shard);
    io_signals(shard->io, TOKEN_SIGNALS);
}

bool accept_has_passed(const struct shard *shard) {
    assert(shard->index == 0);
    for (uint32_t index = 0; index < shard->listener_count; index++)
        if (shard->passed[index])
            return true;
    return false;
}

void accept_hand_over(struct shard *shard) {
    assert(shard->phase == HUB_SERVING);
    shard->handed_over = true;
    for (uint32_t index = 0; index < shard->listener_count; index++) {
        if (!shard->passed[index] && shard->hub->start_settings.share_addresses)
            io_yield_listener(shard->io, shard->listeners[index]);
        if (shard->passed[index] && shard->listening[index])
            io_cancel(shard->io, shard->listeners[index], TOKEN_LISTENER | index);
    }
}

static void refuse_socket(struct shard *shard, int socket) {
    assert(socket >= 0);
    stats_count(&shard->stats, COUNT_CONNECTIONS_REFUSED);
    io_close_socket(shard->io, socket);
}

// Refuses a connection, as there are --max-connections. Logs the first of a row of these.
static void refuse_for_place(struct shard *shard, int socket) {
    if (!shard->lacks_places)
        log_write(
            LOG_CONNECTIONS_EXHAUSTED, LOG_NO_FIELDS,
            "there are as many connections as --max-connections allows, %u: more are refused until one ends",
            shard_limits(shard)->connections_max);
    shard->lacks_places = true;
    refuse_socket(shard, socket);
}

void accept_stop(struct shard *shard) {
    assert(shard->phase != HUB_SERVING);
    while (shard->accept_wait_count > 0)
        refuse_socket(shard, shard->accept_waits[--shard->accept_wait_count].socket);
    for (uint32_t index = 0; index < shard->listener_count; index++) {
        if (listens(shard, index))
            continue;
        if (!shard->passed[index])
            io_shutdown(shard->io, shard->listeners[index], SHUT_RDWR);
        if (shard->listening[index])
            io_cancel(shard->io, shard->listeners[index], TOKEN_LISTENER | index);
    }
}

bool accept_is_listening(const struct shard *shard) {
    for (uint32_t index = 0; index < shard->listener_count; index++)
        if (shard->listening[index])
            return true;
    return false;
}

void accept_adopt(struct shard *shard, struct mail *mail) {
    struct adoption *adoption = list_entry(mail, struct adoption, mail);
    assert(mail->kind == MAIL_ADOPT && adoption->transport);
    peer_open(shard, adoption->socket, adoption->transport, adoption->secure);
    memory_give(adoption);
}

// --- At the limit

static void close_oldest(struct shard *shard) {
    while (!list_empty(&shard->unauthenticated)) {
        struct identity *identity = list_entry(shard->unauthenticated.next, struct identity, unauthenticated);
        list_remove(&identity->unauthenticated);
        if (identity->peer->state != PEER_CLOSING) {
            peer_close(shard, identity->peer, COUNT_CLOSED_UNAUTHENTICATED);
            return;
        }
    }
}

void accept_evict(struct shard *shard, struct mail *mail) {
    assert(mail->kind == MAIL_EVICT);
    close_oldest(shard);
    memory_give(mail);
}

// Returns the shard with the oldest connection without a credential; the number of shards: there is no such connection.
static uint32_t find_oldest(const struct hub *hub) {
    uint32_t oldest = hub->start_settings.shard_count;
    uint64_t least = UINT64_MAX;
    for (uint32_t index = 0; index < hub->start_settings.shard_count; index++) {
        uint64_t number = atomic_load_explicit(&hub->unauthenticated_oldest[index], memory_order_relaxed);
        if (number && number < least) {
            oldest = index;
            least = number;
        }
    }
    return oldest;
}

// Asks the oldest connection without a credential to close. Returns false if there is none, or without memory.
static bool make_room(struct shard *shard) {
    uint32_t oldest = find_oldest(shard->hub);
    if (oldest == shard->hub->start_settings.shard_count)
        return false;
    atomic_store_explicit(&shard->hub->unauthenticated_oldest[oldest], 0, memory_order_relaxed);
    if (oldest == shard->index) {
        close_oldest(shard);
        identity_publish(shard);
        return true;
    }
    struct mail *mail = memory_take_zeroed(1, sizeof *mail);
    if (!mail)
        return false;
    mail->kind = MAIL_EVICT;
    mailbox_post(hub_mailbox(shard->hub, shard->index, oldest), mail);
    return true;
}

static void arm_wait_timer(struct shard *shard) {
    if (shard->accept_wait_count > 0 && !timer_armed(&shard->accept_timer))
        wheel_arm(&shard->wheel, &shard->accept_timer, shard_now_ms(shard) + WAIT_PAUSE_MS);
}

static bool is_full(const struct shard *shard) {
    return hub_connection_count(shard->hub) >= shard_limits(shard)->connections_max;
}

static void drop_waiting(struct shard *shard, uint32_t count) {
    assert(count <= shard->accept_wait_count);
    shard->accept_wait_count -= count;
    memmove(shard->accept_waits, shard->accept_waits + count,
            shard->accept_wait_count * sizeof *shard->accept_waits);
}

static void request_eviction(struct shard *shard, struct accept_wait *wait) {
    if (!is_full(shard) || !make_room(shard))
        return;
    wait->ask_ms = shard_now_ms(shard) + EVICT_RETRY_MS;
    for (uint32_t index = 0; index < shard->accept_wait_count;
         index++) // as long as somebody goes, their turn comes
        shard->accept_waits[index].until_ms = shard_now_ms(shard) + WAIT_PATIENCE_MS;
}

// Has a connection wait for the place of another one, which is asked to go. Connections without a credential go one
// after the other, and each is known a moment after it came. If more come than may wait, the first that waits is
// refused: no connection that waits has shown a credential either.
static bool queue_socket(struct shard *shard, int socket, const struct transport *transport, bool secure) {
    assert(shard->index == 0 && shard->accept_wait_count <= ACCEPT_WAITS_MAX);
    if (!shard->settings->users || !accepts(shard, transport))
        return false;
    if (shard->accept_wait_count == ACCEPT_WAITS_MAX) {
        refuse_for_place(shard, shard->accept_waits[0].socket);
        drop_waiting(shard, 1);
    }
    struct accept_wait *wait = &shard->accept_waits[shard->accept_wait_count++];
    *wait = (struct accept_wait){socket, secure, transport, shard_now_ms(shard) + EVICT_RETRY_MS, 0};
    request_eviction(shard, wait);
    arm_wait_timer(shard);
    return true;
}

// Asks, for each socket that waits, once more for another connection to close: none could be asked before, or none has
// closed yet.
static void retry_evictions(struct shard *shard) {
    for (uint32_t index = 0; index < shard->accept_wait_count; index++)
        if (shard->accept_waits[index].ask_ms <= shard_now_ms(shard))
            request_eviction(shard, &shard->accept_waits[index]);
}

// --- Placing

// Gives a connection to the shard with the fewest connections.
static void assign_socket(struct shard *shard, int socket, const struct transport *transport, bool secure) {
    struct hub *hub = shard->hub;
    uint32_t to = hub_emptiest_shard(hub);
    struct adoption *adoption = NULL;
    assert(shard->index == 0 && to < hub->start_settings.shard_count && transport);
    if (is_full(shard)) {
        refuse_for_place(shard, socket);
        return;
    }
    shard->lacks_places = false;
    if (to != shard->index)
        adoption = memory_take_zeroed(1, sizeof *adoption);
    if (!accepts(shard, transport) || (to != shard->index && !adoption)) {
        memory_give(adoption);
        refuse_socket(shard, socket);
        return;
    }
    atomic_fetch_add_explicit(&hub->connections[to], 1, memory_order_relaxed);
    if (to == shard->index) {
        peer_open(shard, socket, transport, secure);
        return;
    }
    adoption->socket = socket;
    adoption->transport = transport;
    adoption->secure = secure;
    adoption->mail.kind = MAIL_ADOPT;
    mailbox_post(hub_mailbox(hub, shard->index, to), &adoption->mail);
}

// Places the connections that wait, in the order in which they came.
static void assign_queued(struct shard *shard) {
    uint32_t placed = 0, count = shard->accept_wait_count;
    while (placed < count && !is_full(shard)) {
        struct accept_wait wait = shard->accept_waits[placed++];
        assign_socket(shard, wait.socket, wait.transport, wait.secure);
    }
    for (; placed < count && shard->accept_waits[placed].until_ms <= shard_now_ms(shard); placed++)
        refuse_socket(shard, shard->accept_waits[placed].socket);
    assert(shard->accept_wait_count == count);
    drop_waiting(shard, placed);
    retry_evictions(shard);
    arm_wait_timer(shard);
}

// Places a fresh connection, behind those that wait already.
static void accept_new_socket(struct shard *shard, int socket, uint32_t index) {
    const struct transport *transport = shard->transports[index];
    bool waits = shard->accept_wait_count > 0 || is_full(shard);
    if (!waits || !queue_socket(shard, socket, transport, shard->secure[index]))
        assign_socket(shard, socket, transport, shard->secure[index]);
}

void accept_timer_expired(struct shard *shard) {
    assert(shard->index == 0);
    assign_queued(shard);
    accept_arm(shard);
}

// Counts a failed accept. Logs the first of a row of failures for lack of descriptors: connections wait until one is
// free.
static void note_failure(struct shard *shard, int error) {
    stats_count(&shard->stats, COUNT_ACCEPT_FAILED);
    if ((error == EMFILE || error == ENFILE) && !shard->lacks_descriptors) {
        shard->lacks_descriptors = true;
        log_write(LOG_DESCRIPTORS_EXHAUSTED, LOG_NO_FIELDS,
                  "no file descriptor is left: connections wait until one is free; raise ulimit -n, or "
                  "LimitNOFILE of "
                  "the unit");
    }
}

void accept_event(struct shard *shard, const struct io_event *event) {
    uint32_t index = (uint32_t)(event->token & ~TOKEN_LISTENER);
    assert(index < shard->listener_count && shard->listening[index]);
    shard->listening[index] = event->more;
    if (event->result >= 0) {
        shard->lacks_descriptors = false;
        accept_new_socket(shard, event->result, index);
    } else if (listens(shard, index)) {
        note_failure(shard, -event->result);
    }
    if (event->more || !listens(shard, index))
        return;
    // Out of descriptors or memory: trying again at once would fail again.
    if (event->result < 0 && timer_armed(&shard->accept_timer))
        return;
    if (event->result < 0)
        wheel_arm(&shard->wheel, &shard->accept_timer, shard_now_ms(shard) + ACCEPT_PAUSE_MS);
    else
        accept_arm(shard);
}
