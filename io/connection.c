#include "io/connection.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>

#include "core/base/memory.h"

// Shipments at rest beyond this many go back to the allocator.
enum { FREE_COUNT_MAX = 256 };

void sender_init(struct sender *sender, struct buffer_pool *pool) {
    *sender = (struct sender){0};
    stage_init(&sender->stage, pool);
}

void sender_deinit(struct sender *sender) {
    assert(sender->free_count == sender->made);
    stage_deinit(&sender->stage);
    while (sender->free) {
        struct shipment *shipment = sender->free;
        sender->free = shipment->next;
        memory_give(shipment);
    }
    sender->free_count = sender->made = 0;
}

static struct shipment *shipment_take(struct sender *sender) {
    struct shipment *shipment = sender->free;
    if (shipment) {
        sender->free = shipment->next;
        sender->free_count--;
        return shipment;
    }
    shipment = memory_take(sizeof *shipment);
    if (shipment)
        sender->made++;
    return shipment;
}

static void shipment_give(struct sender *sender, struct shipment *shipment) {
    if (sender->free_count >= FREE_COUNT_MAX) {
        sender->made--;
        memory_give(shipment);
        return;
    }
    shipment->next = sender->free;
    sender->free = shipment;
    sender->free_count++;
}

void connection_open(struct connection *connection, int socket, uint64_t token) {
    *connection = (struct connection){.socket = socket, .token = token};
    outbox_init(&connection->outbox);
}

// --- Receiving

void connection_want(struct connection *connection, uint8_t *memory, size_t bytes) {
    connection->direct = memory;
    connection->direct_bytes = (uint32_t)bytes;
    if (memory)
        connection->large = true;
}

void connection_receive(struct connection *connection, struct io *io) {
    if (connection->ended || connection->ending)
        return;
    if (connection->receiving == RECEIVING_STREAM && connection->direct)
        connection_pause(connection, io);
    if (connection->receiving != RECEIVING_NOTHING)
        return;
    if (connection->direct) {
        connection->receiving = RECEIVING_DIRECT;
        io_receive_into(io, connection->socket, connection->token, connection->direct,
                        connection->direct_bytes);
        return;
    }
    connection->receiving = connection->large ? RECEIVING_ONCE : RECEIVING_STREAM;
    io_receive(io, connection->socket, connection->token, connection->large);
}

void connection_pause(struct connection *connection, struct io *io) {
    if (connection->receiving == RECEIVING_NOTHING || connection->cancelling)
        return;
    connection->cancelling = true;
    io_cancel(io, connection->socket, connection->token);
}

bool connection_received(struct connection *connection, const struct io_event *event) {
    // An arrival that begins no large frame (connection_want would say so again) ends the large mode.
    if (event->buffer)
        connection->large = false;
    if (!event->more) {
        connection->receiving = RECEIVING_NOTHING;
        connection->cancelling = false;
    }
    if (event->result > 0)
        return true;
    if (event->result != -ENOBUFS && event->result != -ECANCELED && event->result != -EINTR)
        connection->ended = true;
    return false;
}

void connection_watch(struct connection *connection, struct io *io) {
    if (connection->watching || connection->ending)
        return;
    connection->watching = true;
    io_watch(io, connection->socket, connection->token);
}

bool connection_watched(struct connection *connection, struct io *io, const struct io_event *event) {
    connection->watching = event->more;
    if (event->result == -EAGAIN)
        connection_watch(connection, io);
    return event->result == 0;
}

// --- Sending

static void ship(struct connection *connection, struct io *io) {
    struct shipment *shipment = connection->shipment;
    unsigned count = shipment_part(shipment, SEND_BYTES_MAX);
    io_send(io, connection->socket, connection->token, shipment->vectors + shipment->first, count);
}

enum sending connection_send(struct connection *connection, struct io *io, struct sender *sender,
                             struct parcel_list *done) {
    if (connection->shipment)
        return SENDING_BUSY;
    if (outbox_empty(&connection->outbox))
        return SENDING_IDLE;
    if (connection->broken || connection->ending)
        return SENDING_FAILED;
    connection->shipment = shipment_take(sender);
    if (!connection->shipment)
        return SENDING_FAILED;
    outbox_gather(&connection->outbox, &sender->stage, connection->shipment, done);
    ship(connection, io);
    return SENDING_BUSY;
}

enum sending connection_sent(struct connection *connection, struct io *io, struct sender *sender,
                             int32_t result, struct parcel_list *done) {
    struct shipment *shipment = connection->shipment;
    assert(shipment);
    if (result == -EINTR || result == -EAGAIN)
        result = 0;
    else if (result <= 0)
        connection->broken = true;
    bool whole = !connection->broken && shipment_advance(shipment, (size_t)result);
    if (!whole && !connection->broken && !connection->ending) {
        ship(connection, io);
        return SENDING_BUSY;
    }
    shipment_clear(shipment, done);
    shipment_give(sender, shipment);
    connection->shipment = NULL;
    return connection->broken || connection->ending ? SENDING_FAILED : SENDING_IDLE;
}

// --- Ending

void connection_end(struct connection *connection, struct io *io) {
    if (connection->ending)
        return;
    connection->ending = true;
    connection_pause(connection, io);
    if (connection->watching)
        io_unwatch(io, connection->socket, connection->token);
    if (connection->shipment)
        io_shutdown(io, connection->socket, SHUT_RDWR);
}

bool connection_at_rest(const struct connection *connection) {
    return connection->receiving == RECEIVING_NOTHING && !connection->watching && !connection->shipment;
}
