#include "io/connection.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>

#include "core/base/memory.h"
#include "core/send/outbox.h"
#include "io/secure.h"

// Bytes of a small send_op's records beside their text.
enum { SECURE_RECORDS_BESIDES_BYTES = 1024 };

// Unused send_ops beyond this many go back to the allocator.
enum { FREE_COUNT_MAX = 256 };

void sender_init(struct sender *sender, struct buffer_pool *pool, const struct turn_bounds *bounds) {
    *sender = (struct sender){.bounds = bounds};
    turn_parts_begin(&sender->parts, bounds);
    stage_init(&sender->stage, pool);
    stage_init(&sender->sealed, pool);
}

void sender_deinit(struct sender *sender) {
    assert(sender->free_count == sender->made);
    stage_deinit(&sender->stage);
    stage_deinit(&sender->sealed);
    memory_give(sender->scratch);
    sender->scratch = NULL;
    while (sender->free) {
        struct send_op *send_op = sender->free;
        sender->free = send_op->next;
        memory_give(send_op);
    }
    sender->free_count = sender->made = 0;
}

static struct send_op *send_op_take(struct sender *sender) {
    struct send_op *send_op = sender->free;
    if (send_op) {
        sender->free = send_op->next;
        sender->free_count--;
        return send_op;
    }
    send_op = memory_take(sizeof *send_op);
    if (send_op)
        sender->made++;
    return send_op;
}

static void send_op_give(struct sender *sender, struct send_op *send_op) {
    if (sender->free_count >= FREE_COUNT_MAX) {
        sender->made--;
        memory_give(send_op);
        return;
    }
    send_op->next = sender->free;
    sender->free = send_op;
    sender->free_count++;
}

void connection_open(struct connection *connection, int socket, uint32_t token) {
    assert(token < 1u << CONNECTION_TOKEN_BITS);
    *connection = (struct connection){
        .socket = socket, .out = socket, .token = token & ((1u << CONNECTION_TOKEN_BITS) - 1)};
    outbox_init(&connection->outbox);
}

void connection_set_sockets(struct connection *connection, int socket, int out) {
    assert(connection_at_rest(connection) && !connection->direct);
    connection->socket = socket;
    connection->out = out;
    connection->cancelling = connection->large = connection->ended = false;
    connection->broken = connection->ending = false;
    connection->lag = 0; // the lag was that of the sockets before
    connection->limits_backlog = false;
}

bool connection_secure(struct connection *connection, struct secure_source *source,
                       struct buffer_pool *pool) {
    assert(!connection->secure && connection->receiving == RECEIVING_NOTHING);
    connection->secure = secure_create(source, pool);
    return connection->secure != NULL;
}

bool connection_secure_dialled(struct connection *connection, struct secure_source *source,
                               struct buffer_pool *pool, const char *server) {
    assert(!connection->secure && !connection->direct && !connection->send_op);
    connection->secure = secure_create(source, pool);
    if (connection->secure)
        secure_greet(connection->secure, server);
    return connection->secure != NULL;
}

const char *connection_fault(const struct connection *connection) {
    return connection->secure ? connection->secure->why : NULL;
}

void connection_close(struct connection *connection) {
    assert(connection_at_rest(connection));
    if (connection->secure)
        secure_destroy(connection->secure);
    connection->secure = NULL;
}

// --- Receiving

void connection_want(struct connection *connection, uint8_t *memory, size_t bytes) {
    connection->direct = memory;
    // A large frame is received in parts of at most one turn's bytes
    assert(bytes < 1u << CONNECTION_DIRECT_BITS);
    connection->direct_bytes = bytes & ((1u << CONNECTION_DIRECT_BITS) - 1);
    if (memory)
        connection->large = true;
}

// Returns how many bytes an arrival may have; 0: no bound.
static uint32_t arrival_most(const struct connection *connection) {
    if (connection->buffer_mode == BUFFER_MODE_SMALL)
        return SMALL_ARRIVAL_BYTES;
    return connection->buffer_mode == BUFFER_MODE_ONE || connection->large ? ARRIVAL_BYTES_MAX : 0;
}

static void receive_arrivals(struct connection *connection, struct io *io) {
    uint32_t most = arrival_most(connection);
    connection->receiving = most ? RECEIVING_ONCE : RECEIVING_STREAM;
    io_receive(io, connection->socket, connection->token, most);
}

// Receives on a secure connection, even after the peer's close_notify: the socket itself may have more.
static void receive_sealed(struct connection *connection, struct io *io) {
    if (connection->secure->socket_ended || connection->ending)
        return;
    if (connection->receiving == RECEIVING_STREAM && connection->buffer_mode != BUFFER_MODE_MANY)
        connection_pause(connection, io);
    if (connection->receiving == RECEIVING_NOTHING)
        receive_arrivals(connection, io);
}

void connection_receive(struct connection *connection, struct io *io) {
    if (connection->secure) {
        receive_sealed(connection, io);
        return;
    }
    if (connection->ended || connection->ending)
        return;
    if (connection->receiving == RECEIVING_STREAM &&
        (connection->direct || connection->buffer_mode != BUFFER_MODE_MANY))
        connection_pause(connection, io);
    if (connection->receiving != RECEIVING_NOTHING)
        return;
    if (connection->direct) {
        connection->receiving = RECEIVING_DIRECT;
        io_receive_into(io, connection->socket, connection->token, connection->direct,
                        connection->direct_bytes);
        return;
    }
    receive_arrivals(connection, io);
}

void connection_pause(struct connection *connection, struct io *io) {
    if (connection->receiving == RECEIVING_NOTHING || connection->cancelling)
        return;
    connection->cancelling = true;
    io_cancel(io, connection->socket, connection->token);
}

bool connection_received(struct connection *connection, const struct io_event *event) {
    // A large frame that goes on calls connection_want again. Any other arrival ends the large mode.
    if (event->buffer)
        connection->large = false;
    connection_note(connection, event);
    if (event->result > 0)
        return true;
    if (connection_is_end(event->result))
        connection->ended = true;
    return false;
}

void connection_watch(struct connection *connection, struct io *io) {
    if (connection->watching || connection->ending ||
        (connection->secure && !connection->secure->socket_ended))
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

static void ship(struct connection *connection, struct io *io, struct sender *sender) {
    struct send_op *send_op = connection->send_op;
    unsigned count = send_op_part(send_op, turn_parts_take(&sender->parts, send_op->bytes));
    io_send(io, connection->out, connection->token, send_op->vectors + send_op->first, count);
}

static void unload(struct sender *sender, struct send_op **send_op, struct parcel_list *done) {
    send_op_clear(*send_op, done);
    send_op_give(sender, *send_op);
    *send_op = NULL;
}

static struct send_op *gather(const struct connection *connection, struct outbox *outbox,
                              struct sender *sender, struct parcel_list *done) {
    const struct turn_bounds *bounds = sender->bounds;
    struct send_op *send_op = send_op_take(sender);
    size_t most = connection->limits_backlog ? 2 * bounds->lagging_backlog_bytes : bounds->send_bytes;
    if (!send_op)
        return NULL;
    if (connection->buffer_mode != BUFFER_MODE_SMALL) {
        outbox_gather(outbox, &sender->stage, send_op, most, done);
        return send_op;
    }
    most = most < SMALL_SEND_BYTES ? most : SMALL_SEND_BYTES;
    struct stage own;
    stage_init_sized(&own, sender->stage.pool, outbox->bytes < most ? outbox->bytes : most + COPY_BYTES_MAX);
    outbox_gather(outbox, &own, send_op, most, done);
    stage_deinit(&own);
    return send_op;
}

// Notes how far the peer lags. Parcels wait in lanes in the outbox, but in one row in the kernel. A parcel in the
// kernel costs less, as it is copied while it is in the cache. The kernel's backlog is therefore limited only if urgent
// parcels overtake others.
static void note_lag(struct connection *connection, const struct outbox *outbox, bool ahead, struct io *io,
                     const struct sender *sender) {
    connection->lag = lag_after(connection->lag, outbox->bytes, sender->bounds->lagging_bytes) & 3;
    bool limits = connection->lag == LAG_SENDS && (connection->limits_backlog || ahead);
    if (limits != connection->limits_backlog)
        io_limit_backlog(io, connection->out, limits ? sender->bounds->lagging_backlog_bytes : 0);
    connection->limits_backlog = limits;
}

static bool seal(struct connection *connection, struct sender *sender) {
    struct secure *secure = connection->secure;
    if (connection->buffer_mode != BUFFER_MODE_SMALL)
        return secure_seal(secure, connection->send_op, &sender->sealed, sender->scratch);
    struct stage own;
    stage_init_sized(&own, sender->sealed.pool,
                     secure->output_bytes + connection_unsealed(connection) + SECURE_RECORDS_BESIDES_BYTES);
    bool sealed = secure_seal(secure, connection->send_op, &own, sender->scratch);
    stage_deinit(&own);
    return sealed;
}

// Seals waiting parcels, as many as may be ahead of the socket. Plaintext isn't kept once it is sealed.
static enum sending ship_sealed(struct connection *connection, struct io *io, struct sender *sender,
                                struct parcel_list *done) {
    struct secure *secure = connection->secure;
    if (!sender->scratch)
        sender->scratch = memory_take(SECURE_RECORD_BYTES_MAX); // NULL: records are smaller
    connection->send_op = send_op_take(sender);
    bool sealed = connection->send_op && seal(connection, sender);
    if (secure->plain && (!sealed || secure->plain->bytes == 0))
        unload(sender, &secure->plain, done);
    if (sealed) {
        ship(connection, io, sender);
        return SENDING_BUSY;
    }
    if (connection->send_op)
        unload(sender, &connection->send_op, done);
    connection->broken = true;
    return SENDING_FAILED;
}

static enum sending send_sealed(struct connection *connection, struct outbox *outbox, struct io *io,
                                struct sender *sender, struct parcel_list *done) {
    struct secure *secure = connection->secure;
    bool waits = !outbox_empty(outbox);
    if (!secure->output && !(waits && secure->established))
        return waits ? SENDING_LATER : SENDING_IDLE;
    if (connection->broken || connection->ending)
        return SENDING_FAILED;
    if (waits && secure->established) {
        bool ahead = outbox_is_ahead(outbox);
        secure->plain = gather(connection, outbox, sender, done);
        if (!secure->plain)
            return SENDING_FAILED;
        note_lag(connection, outbox, ahead, io, sender);
    }
    return ship_sealed(connection, io, sender, done);
}

enum sending connection_send_from(struct connection *connection, struct outbox *outbox, struct io *io,
                                  struct sender *sender, struct parcel_list *done) {
    if (connection->send_op)
        return SENDING_BUSY;
    if (connection->secure)
        return send_sealed(connection, outbox, io, sender, done);
    if (outbox_empty(outbox))
        return SENDING_IDLE;
    if (connection->broken || connection->ending)
        return SENDING_FAILED;
    bool ahead = outbox_is_ahead(outbox);
    connection->send_op = gather(connection, outbox, sender, done);
    if (!connection->send_op)
        return SENDING_FAILED;
    ship(connection, io, sender);
    note_lag(connection, outbox, ahead, io, sender);
    return SENDING_BUSY;
}

enum sending connection_send(struct connection *connection, struct io *io, struct sender *sender,
                             struct parcel_list *done) {
    return connection_send_from(connection, &connection->outbox, io, sender, done);
}

// Seals the rest of the present send_op. Returns whether a send is under way now.
static bool go_on_sealing(struct connection *connection, struct io *io, struct sender *sender,
                          struct parcel_list *done) {
    struct secure *secure = connection->secure;
    bool good = !connection->broken && !connection->ending;
    if (good && (secure->plain || secure->output))
        return ship_sealed(connection, io, sender, done) == SENDING_BUSY;
    if (secure->plain)
        unload(sender, &secure->plain, done);
    return false;
}

size_t connection_unsealed(const struct connection *connection) {
    return connection->secure->plain ? connection->secure->plain->bytes : 0;
}

bool connection_has_unsent(const struct connection *connection) {
    return connection->secure && connection->secure->output && !connection->send_op;
}

bool connection_finish(struct connection *connection, struct io *io, struct sender *sender) {
    struct secure *secure = connection->secure;
    if (!secure)
        return true;
    assert(!connection->send_op && !secure->plain);
    secure_finish(secure);
    struct parcel_list none; // stays empty: no parcels are sealed
    parcel_list_init(&none);
    return !secure->output || connection->broken || connection->ending ||
           ship_sealed(connection, io, sender, &none) != SENDING_BUSY;
}

enum sending connection_sent(struct connection *connection, struct io *io, struct sender *sender,
                             int32_t result, struct parcel_list *done) {
    struct send_op *send_op = connection->send_op;
    assert(send_op);
    if (result == -EINTR || result == -EAGAIN)
        result = 0;
    else if (result <= 0)
        connection->broken = true;
    bool whole = !connection->broken && send_op_advance(send_op, (size_t)result);
    if (!whole && !connection->broken && !connection->ending) {
        ship(connection, io, sender);
        return SENDING_BUSY;
    }
    unload(sender, &connection->send_op, done);
    if (connection->secure && go_on_sealing(connection, io, sender, done))
        return SENDING_BUSY;
    return connection->broken || connection->ending ? SENDING_FAILED : SENDING_IDLE;
}

// --- Ending

// Sends the cipher's close_notify if the socket has room now. Nobody waits for the result.
static void send_goodbye(struct connection *connection, struct io *io) {
    struct secure *secure = connection->secure;
    secure_finish(secure);
    if (secure->output)
        io_send_now(io, connection->out, secure->output, secure->output_bytes);
}

void connection_end(struct connection *connection, struct io *io) {
    if (connection->ending)
        return;
    if (connection->secure && !connection->send_op && !connection->broken)
        send_goodbye(connection, io);
    connection->ending = true;
    connection_pause(connection, io);
    if (connection->watching)
        io_unwatch(io, connection->socket, connection->token);
    if (connection->send_op)
        io_shutdown(io, connection->out, SHUT_RDWR);
}

bool connection_at_rest(const struct connection *connection) {
    return connection->receiving == RECEIVING_NOTHING && !connection->watching && !connection->send_op;
}

// --- TLS

// Turns the socket's IO_RECEIVED events into IO_RECEIVED events of the plaintext.

void connection_received_records(struct connection *connection, const struct io_event *event) {
    struct secure *secure = connection->secure;
    connection_note(connection, event);
    if (event->result > 0 && !connection->ending)
        secure_receive(secure, event->buffer, (uint32_t)event->result);
    else if (event->result == -ENOBUFS)
        secure->starved = true;
    if (connection_is_end(event->result)) {
        secure->socket_ended = true;
        secure->socket_end = event->result;
    }
}

void connection_put_off(struct connection *connection) {
    secure_put_off(connection->secure);
}

bool connection_waits(const struct connection *connection) {
    return connection->secure->deferred != NULL;
}

// Opens records as far as there is room, and returns the bytes. A record that doesn't fit waits for the next call,
// unless there are no bytes yet: each record is written by itself to where it is read.
static size_t open_to(struct secure *secure, uint8_t *out, size_t room) {
    size_t bytes = 0;
    for (size_t count; bytes < room && (!bytes || secure->next_bytes <= room - bytes); bytes += count) {
        enum secure_result result = secure_open(secure, out + bytes, room - bytes, &count);
        if (result != SECURE_BYTES && result != SECURE_SHAKEN)
            break;
    }
    return bytes;
}

// Opens the next bytes, into connection->direct if that is set, else into a buffer. Returns whether there were any.
static bool open_more(struct connection *connection, struct io_event *event) {
    struct secure *secure = connection->secure;
    if (!secure->arrival && !secure->deferred)
        return false;
    if (connection->direct) {
        event->result = (int32_t)open_to(secure, connection->direct, connection->direct_bytes);
        return event->result > 0;
    }
    struct buffer *buffer = buffer_take_sized(secure->pool, RECEIVE_BUFFER_BYTES);
    if (!buffer) {
        secure->broken = secure->out_of_memory = true;
        return false;
    }
    event->result = (int32_t)open_to(secure, buffer_arrival(buffer), ARRIVAL_BYTES_MAX);
    if (event->result > 0)
        event->buffer = buffer;
    else
        buffer_drop(buffer);
    return event->result > 0;
}

// Reports once how the plaintext ended. Returns false if the end hasn't come, or was reported before.
static bool tell_final(struct secure *secure, struct io_event *event) {
    if (secure->final_told || !(secure->broken || secure->peer_finished))
        return false;
    secure->final_told = true;
    event->result = !secure->broken ? 0 : secure->out_of_memory ? -ENOMEM : -EBADMSG;
    return true;
}

static bool tell_socket(struct secure *secure, struct io_event *event) {
    event->result = -ENOBUFS;
    if (secure->starved) {
        secure->starved = false;
        return true;
    }
    if (!secure->socket_ended || secure->socket_told)
        return false;
    secure->socket_told = true;
    event->result = secure->socket_end;
    if (event->result == 0 && !secure->final_told) {
        secure->truncated = true;
        event->result = -ECONNABORTED;
    }
    return true;
}

bool connection_next_plaintext(struct connection *connection, struct io_event *event) {
    struct secure *secure = connection->secure;
    *event = (struct io_event){.kind = IO_RECEIVED, .more = true, .token = connection->token};
    return open_more(connection, event) || tell_final(secure, event) || tell_socket(secure, event);
}

bool connection_established(const struct connection *connection) {
    return !connection->secure || connection->secure->established;
}

bool connection_certificate(const struct connection *connection, const struct secure_source *now,
                            bool (*visit)(void *context, const char *name, size_t bytes), void *context) {
    const struct secure *secure = connection->secure;
    return secure && secure->established && secure->cipher->certificate(secure, now, visit, context);
}
