#include "router/turn/accept.h"

#include <assert.h>
#include <sys/socket.h>

#include "core/base/memory.h"
#include "router/shard/peer.h"
#include "router/shard/post.h"

enum { ACCEPT_PAUSE_MS = 100 };

// A socket on its way to its shard.
struct adoption {
    struct mail mail;
    int socket;
    const struct transport *transport;
};

void accept_arm(struct shard *shard) {
    assert(shard->index == 0);
    for (uint32_t index = 0; shard->phase == HUB_SERVING && index < shard->listener_count; index++) {
        if (shard->listening[index])
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
    }
    shard->listener_count = count;
    accept_arm(shard);
    io_signals(shard->io, TOKEN_SIGNALS);
}

void accept_step_aside(struct shard *shard) {
    assert(shard->phase == HUB_SERVING);
    for (uint32_t index = 0; index < shard->listener_count; index++)
        io_step_aside(shard->io, shard->listeners[index]);
}

void accept_stop(struct shard *shard) {
    assert(shard->phase != HUB_SERVING);
    for (uint32_t index = 0; index < shard->listener_count; index++) {
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
    peer_open(shard, adoption->socket, adoption->transport);
    memory_give(adoption);
}

static void refuse_socket(struct shard *shard, int socket) {
    assert(socket >= 0);
    stats_count(&shard->stats, COUNT_CONNECTIONS_REFUSED);
    io_close_socket(shard->io, socket);
}

// Connections are spread by how many each shard has, not by chance.
static void accept_place(struct shard *shard, int socket, const struct transport *transport) {
    struct hub *hub = shard->hub;
    uint32_t to = hub_emptiest_shard(hub);
    struct adoption *adoption = NULL;
    assert(shard->index == 0 && to < hub->settings.shard_count && transport);
    bool full = hub_connection_count(hub) >= shard_limits(shard)->connections_max;
    if (!full && to != shard->index)
        adoption = memory_take_zeroed(1, sizeof *adoption);
    if (full || shard->phase != HUB_SERVING || (to != shard->index && !adoption)) {
        memory_give(adoption);
        refuse_socket(shard, socket);
        return;
    }
    atomic_fetch_add_explicit(&hub->connections[to], 1, memory_order_relaxed);
    if (to == shard->index) {
        peer_open(shard, socket, transport);
        return;
    }
    adoption->socket = socket;
    adoption->transport = transport;
    adoption->mail.kind = MAIL_ADOPT;
    mailbox_post(hub_mailbox(hub, shard->index, to), &adoption->mail);
}

void accept_event(struct shard *shard, const struct io_event *event) {
    uint32_t index = (uint32_t)(event->token & ~TOKEN_LISTENER);
    assert(index < shard->listener_count && shard->listening[index]);
    shard->listening[index] = event->more;
    if (event->result >= 0)
        accept_place(shard, event->result, shard->transports[index]);
    else if (shard->phase == HUB_SERVING)
        stats_count(&shard->stats, COUNT_ACCEPT_FAILED);
    if (event->more || shard->phase != HUB_SERVING)
        return;
    // Out of descriptors or memory: trying again at once would fail again.
    if (event->result < 0)
        wheel_arm(&shard->wheel, &shard->accept_timer, shard_now_ms(shard) + ACCEPT_PAUSE_MS);
    else
        accept_arm(shard);
}
