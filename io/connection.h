// One connection's traffic with the kernel: receiving, sending, and the end.
//
//   receiving   a stream of arrivals into the shard's buffers; for a frame larger than one of them, straight
//               into the frame's own memory, after which one arrival at a time until the frames are small again
//   sending     one shipment at a time; later parcels wait in the outbox
//   secure      where there is a cipher (secure.h), arrivals are opened before they are read, and shipments are
//               sealed; all the same otherwise
//   ending      connection_end asks the kernel to let go; when connection_at_rest says that it has, the owner
//               closes
//
// The owners of the frames and their contents are not known here.
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

// Memory that a shard needs to send, and that its connections share.
struct sender {
    const struct turn_bounds *bounds; // who lags, and what it is sent at a time then
    struct stage stage, sealed;       // plaintext, and records
    uint8_t *scratch;                 // where a record's text is put together; NULL: not yet
    struct turn_parts parts; // of what is handed to the kernel at a time; whoever takes turns begins them
    struct shipment *free;
    uint32_t free_count;
    uint32_t made;
};

// The bounds must stay.
void sender_init(struct sender *sender, struct buffer_pool *pool, const struct turn_bounds *bounds);
// Every shipment must have come home.
void sender_deinit(struct sender *sender);

enum receiving { RECEIVING_NOTHING, RECEIVING_STREAM, RECEIVING_ONCE, RECEIVING_DIRECT };

// How much of its shard's buffers a connection may hold: as many arrivals as come; one, while nobody reads it; or a small
// one, and what is sent has memory of its own size.
enum connection_share { SHARE_MANY, SHARE_ONE, SHARE_SMALL };

enum { CONNECTION_TOKEN_BITS = 20, CONNECTION_DIRECT_BITS = 30 };

struct connection {
    struct outbox outbox;
    struct shipment *shipment; // being sent, or NULL
    uint32_t token : CONNECTION_TOKEN_BITS;
    enum receiving receiving : 2;
    unsigned lag : 2;    // lag_after
    bool hurries : 1;    // something went ahead of others while it lagged: the kernel keeps little for it
    bool paused : 1;     // nothing of the outbox is sent, as long as its owner doesn't say so
    bool cancelling : 1; // its end has been asked for
    bool large : 1;      // the last frame had memory of its own
    bool ended : 1;      // nothing more comes: the peer's end, or an error
    bool watching : 1;   // for the peer to go altogether
    bool broken : 1;     // nothing more can be sent
    bool ending : 1;     // connection_end was called
    int socket;          // that is received from
    int out;             // that is sent to: mostly the same
    uint32_t direct_bytes : CONNECTION_DIRECT_BITS;
    enum connection_share share : 2; // the owner's to set; a stream under way ends by connection_receive
    uint8_t *direct;                 // where the rest of a large frame goes, or NULL
    struct secure *secure;           // NULL: plain
};

static_assert(sizeof(struct connection) <= 120, "an idle connection costs what it is");

// Returns the bytes that are being sealed, in parts.
size_t connection_unsealed(const struct connection *connection);
// All that waits for the peer, and what is being sent to it, with what that takes besides.
static inline size_t connection_waiting(const struct connection *connection) {
    return outbox_footprint(&connection->outbox) + (connection->shipment ? connection->shipment->bytes : 0) +
           (connection->secure ? connection_unsealed(connection) : 0);
}

void connection_open(struct connection *connection, int socket, uint32_t token);
// Makes a fresh one secure. False when memory is used up.
bool connection_secure(struct connection *connection, struct secure_source *source, struct buffer_pool *pool);
// Makes a connection secure that has dialled, and that was plain. From here on all arrivals are the peer's
// side of a handshake, in which the peer must show that it is `server`, a name or a numeric address, which
// must stay. No large frame may be under way, and nothing may be under way to the peer. False when memory is
// used up.
bool connection_secure_dialled(struct connection *connection, struct secure_source *source,
                               struct buffer_pool *pool, const char *server);
// Why what came can't be opened, where that is known: static text; else NULL.
const char *connection_fault(const struct connection *connection);
// Lets go of what one at rest has.
void connection_close(struct connection *connection);
// One at rest goes on with other sockets; what waits in its outbox stays.
void connection_plug(struct connection *connection, int socket, int out);

// Arms what should be received now, unless it is armed. Called after each change of what is wanted.
void connection_receive(struct connection *connection, struct io *io);
// Ends what is being received soon; what is on its way still comes. connection_receive arms it again.
void connection_pause(struct connection *connection, struct io *io);
// From now on the next `bytes` are wanted at `memory`; arrivals that are already on their way still come in
// buffers. NULL takes that back.
void connection_want(struct connection *connection, uint8_t *memory, size_t bytes);
// Notes an IO_RECEIVED event. True when it brought bytes: in event->buffer, or straight where they were
// wanted.
bool connection_received(struct connection *connection, const struct io_event *event);

// --- Where it is secure, IO_RECEIVED events mean others, as if plaintext had come, which connection_received takes

// Notes an IO_RECEIVED event. The buffer stays the caller's.
void connection_received_records(struct connection *connection, const struct io_event *event);
// Puts off what it brought: the handshake has to wait for its turn.
void connection_put_off(struct connection *connection);
// Whether something was put off, and is to be opened by connection_opened in its turn.
bool connection_waits(const struct connection *connection);
// The next event that it means, from which all that was wanted since counts. False: there is none (any more).
// Where nothing more can be read, results are, each once: -EBADMSG, what came can't be opened; -ENOMEM; 0, the
// peer says that it says no more. When the socket has ended: 0 behind those, or -ECONNABORTED, the peer went without
// saying so; or -errno.
bool connection_opened(struct connection *connection, struct io_event *event);
// Whether it is plain, or its handshake is over.
bool connection_established(const struct connection *connection);
// Whether something waits to be sent that is not in the outbox: of the handshake, or an alert.
bool connection_has_unsent(const struct connection *connection);
// Says that nothing more is sent, before the socket is shut down. Nothing may wait. False: that is under way, and
// it is to be called again when it was sent. At once true where it is plain.
bool connection_finish(struct connection *connection, struct io *io, struct sender *sender);
// Calls `visit` with each name in the certificate of the peer, that was verified. The authorities of `now`,
// from which connections are made secure today, must still vouch for it. Names are its SANs (DNS names, email
// addresses and URIs as they stand there, IP addresses as text), or the subject's CN where there is none. A
// name with a zero byte is left out. Stops when `visit` returns true; returns whether one did. False where
// there is no such certificate. With the same `now` the same from connection_established on.
bool connection_certificate(const struct connection *connection, const struct secure_source *now,
                            bool (*visit)(void *context, const char *name, size_t bytes), void *context);

// After the peer's end has come: from now on an IO_GONE event tells when the peer goes altogether.
void connection_watch(struct connection *connection, struct io *io);
// Notes an IO_GONE event. True when the peer has gone.
bool connection_watched(struct connection *connection, struct io *io, const struct io_event *event);

enum sending {
    SENDING_IDLE,   // nothing waits
    SENDING_BUSY,   // a shipment is under way
    SENDING_LATER,  // what waits does so until the handshake is over
    SENDING_FAILED, // the socket is broken, or memory is used up
};

// Starts a send of what waits, unless one is under way. Parcels that need no more care are moved to *done.
enum sending connection_send(struct connection *connection, struct io *io, struct sender *sender,
                             struct parcel_list *done);
// Starts a send from another outbox, while the parcels in the connection's own may stay behind.
enum sending connection_send_from(struct connection *connection, struct outbox *outbox, struct io *io,
                                  struct sender *sender, struct parcel_list *done);
// Notes an IO_SENT event. Likewise.
enum sending connection_sent(struct connection *connection, struct io *io, struct sender *sender,
                             int32_t result, struct parcel_list *done);

// Asks the kernel to end all that is under way.
void connection_end(struct connection *connection, struct io *io);
// Whether nothing is under way any more, so that the socket may be closed.
bool connection_at_rest(const struct connection *connection);

// --- Notes of connection.c and connection.c about a receive's event

static inline void connection_note(struct connection *connection, const struct io_event *event) {
    if (event->more)
        return;
    connection->receiving = RECEIVING_NOTHING;
    connection->cancelling = false;
}

static inline bool connection_is_end(int32_t result) {
    return result <= 0 && result != -ENOBUFS && result != -ECANCELED && result != -EINTR;
}
