// One connection's traffic with the kernel: receiving, sending, and the end.
//
//     receiving   a stream of arrivals into the shard's buffers. A frame larger than a buffer is received straight
//                 into its own memory; from then on one arrival at a time, until the frames are small again
//     sending     one send_op at a time; later parcels wait in the outbox
//     secure      with a cipher (secure.h), arrivals are opened before they are read, and send_ops are sealed
//     ending      connection_end asks the kernel to end all operations; once connection_at_rest returns true, the
//                 owner closes
//
// The module doesn't know frames' owners and contents.
#pragma once

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/send/outbox.h"
#include "io/io.h"

struct secure;
struct secure_source;

// Memory that a shard needs to send, shared by the shard's connections.
struct sender {
    const struct turn_bounds *bounds; // when a peer lags, and how many bytes a lagging peer is sent at a time
    struct stage stage, sealed;       // memory for plaintext, and for records
    uint8_t *scratch;                 // where a record's text is joined; NULL: not made yet
    struct turn_parts parts; // bytes handed to the kernel at a time; the owner of the turns begins them
    struct send_op *free;
    uint32_t free_count;
    uint32_t made;
};

// Makes a sender. The bounds must outlive the sender.
void sender_init(struct sender *sender, struct buffer_pool *pool, const struct turn_bounds *bounds);
// Frees the sender. Every send_op must have been given back.
void sender_deinit(struct sender *sender);

enum receiving { RECEIVING_NOTHING, RECEIVING_STREAM, RECEIVING_ONCE, RECEIVING_DIRECT };

// How many of the shard's buffers a connection may hold. BUFFER_MODE_MANY: any number. BUFFER_MODE_ONE: one, while the
// connection's messages aren't read. BUFFER_MODE_SMALL: one small arrival, and sent bytes have memory of their own
// size.
enum buffer_mode { BUFFER_MODE_MANY, BUFFER_MODE_ONE, BUFFER_MODE_SMALL };

enum { CONNECTION_TOKEN_BITS = 20, CONNECTION_DIRECT_BITS = 30 };

struct connection {
    struct outbox outbox;
    struct send_op *send_op; // under way, or NULL
    uint32_t token : CONNECTION_TOKEN_BITS;
    enum receiving receiving : 2;
    unsigned lag : 2;        // lag_after
    bool limits_backlog : 1; // parcels overtook others while the peer lagged: the kernel's backlog is limited
    bool paused : 1;         // the outbox isn't sent until the owner resets this
    bool cancelling : 1;     // the end of the receive was asked for
    bool large : 1;          // the last frame had memory of its own
    bool ended : 1;          // no more bytes come: the peer's end, or an error
    bool watching : 1;       // an io_watch is under way
    bool broken : 1;         // no more bytes can be sent
    bool ending : 1;         // connection_end was called
    int socket;              // for receiving
    int out;                 // for sending; mostly the same socket
    uint32_t direct_bytes : CONNECTION_DIRECT_BITS;
    // Set by the owner; connection_receive applies this to a receive under way
    enum buffer_mode buffer_mode : 2;
    uint8_t *direct;       // where the rest of a large frame is received, or NULL
    struct secure *secure; // NULL: plain
};

static_assert(sizeof(struct connection) <= 120, "an idle connection costs what it is");

// Returns the bytes of plaintext in the send_op that is being sealed in parts.
size_t connection_unsealed(const struct connection *connection);
// Returns the bytes that wait for the peer or are being sent to the peer, with their overhead.
static inline size_t connection_waiting(const struct connection *connection) {
    return outbox_footprint(&connection->outbox) + (connection->send_op ? connection->send_op->bytes : 0) +
           (connection->secure ? connection_unsealed(connection) : 0);
}

void connection_open(struct connection *connection, int socket, uint32_t token);
// Makes a fresh connection secure. Returns false without memory.
bool connection_secure(struct connection *connection, struct secure_source *source, struct buffer_pool *pool);
// Makes a dialled plain connection secure. From here on all arrivals are the peer's side of a handshake. In the
// handshake the peer must prove that it is `server`: a name or a numeric address, which must outlive the connection. No
// large frame and no send may be under way. Returns false without memory.
bool connection_secure_dialled(struct connection *connection, struct secure_source *source,
                               struct buffer_pool *pool, const char *server);
// Returns why arrivals can't be opened: static text; NULL if that isn't known.
const char *connection_fault(const struct connection *connection);
// Frees the parts of a connection at rest.
void connection_close(struct connection *connection);
// Gives a connection at rest other sockets. The outbox stays.
void connection_set_sockets(struct connection *connection, int socket, int out);

// Arms the receive that is wanted now, unless a receive is armed. Must be called after each change of what is wanted.
void connection_receive(struct connection *connection, struct io *io);
// Ends the receive soon; arrivals under way still come. connection_receive arms the receive again.
void connection_pause(struct connection *connection, struct io *io);
// Wants the next `bytes` at `memory` from now on. Arrivals under way still come in buffers. NULL takes the wish back.
void connection_want(struct connection *connection, uint8_t *memory, size_t bytes);
// Notes an IO_RECEIVED event. Returns true if the event brought bytes: in event->buffer, or at the memory of
// connection_want.
bool connection_received(struct connection *connection, const struct io_event *event);

// --- TLS. The socket's IO_RECEIVED events yield events as if plaintext had come, which connection_received takes

// Notes an IO_RECEIVED event of the socket. The caller keeps the buffer.
void connection_received_records(struct connection *connection, const struct io_event *event);
// Keeps the arrival for later: the handshake has to wait for its turn.
void connection_put_off(struct connection *connection);
// Returns whether an arrival was put off. connection_next_plaintext must open that arrival in its turn.
bool connection_waits(const struct connection *connection);
// Makes the next plaintext event, for the memory that is wanted at this call. Returns false if there is none.
// Results without bytes come once each. First comes the plaintext's end: -EBADMSG, an arrival can't be opened; -ENOMEM;
// or 0, the peer's close_notify. Then comes the socket's end: 0 after one of these; -ECONNABORTED, the peer closed
// without close_notify; or another -errno. -ENOBUFS is as with io_receive.
bool connection_next_plaintext(struct connection *connection, struct io_event *event);
// Returns whether the connection is plain, or the handshake is over.
bool connection_established(const struct connection *connection);
// Returns whether bytes wait to be sent that are not in the outbox: of the handshake, or an alert.
bool connection_has_unsent(const struct connection *connection);
// Sends close_notify before the socket is shut down. No parcels may wait. Returns false while that send is under way:
// the caller must call again after the send. Returns true at once on a plain connection.
bool connection_finish(struct connection *connection, struct io *io, struct sender *sender);
// Calls `visit` with each name in the peer's verified certificate. The authorities of `now`, which new connections use
// today, must still verify the certificate. Names are the SANs (DNS names, email addresses and URIs as they are, IP
// addresses as text), or the subject's CN without SANs. A name with a zero byte is left out. Stops when `visit` returns
// true, and returns whether a visit did. Returns false without such a certificate. With the same `now`, the result
// stays the same once connection_established is true.
bool connection_certificate(const struct connection *connection, const struct secure_source *now,
                            bool (*visit)(void *context, const char *name, size_t bytes), void *context);

// Watches a peer whose end has come. An IO_GONE event comes when the peer has closed completely.
void connection_watch(struct connection *connection, struct io *io);
// Notes an IO_GONE event. Returns true if the peer has gone.
bool connection_watched(struct connection *connection, struct io *io, const struct io_event *event);

enum sending {
    SENDING_IDLE,   // no parcels wait
    SENDING_BUSY,   // a send_op is under way
    SENDING_LATER,  // parcels wait until the handshake is over
    SENDING_FAILED, // the socket is broken, or memory is used up
};

// Starts a send of the waiting parcels, unless one is under way. Parcels that need no more care are moved to *done.
enum sending connection_send(struct connection *connection, struct io *io, struct sender *sender,
                             struct parcel_list *done);
// Starts a send from another outbox. Parcels in the connection's own outbox may stay behind.
enum sending connection_send_from(struct connection *connection, struct outbox *outbox, struct io *io,
                                  struct sender *sender, struct parcel_list *done);
// Notes an IO_SENT event. Moves parcels to *done as connection_send does.
enum sending connection_sent(struct connection *connection, struct io *io, struct sender *sender,
                             int32_t result, struct parcel_list *done);

// Asks the kernel to end all operations under way.
void connection_end(struct connection *connection, struct io *io);
// Returns whether no operation is under way, so that the socket may be closed.
bool connection_at_rest(const struct connection *connection);

// --- Helpers for events of a receive

static inline void connection_note(struct connection *connection, const struct io_event *event) {
    if (event->more)
        return;
    connection->receiving = RECEIVING_NOTHING;
    connection->cancelling = false;
}

static inline bool connection_is_end(int32_t result) {
    return result <= 0 && result != -ENOBUFS && result != -ECANCELED && result != -EINTR;
}
