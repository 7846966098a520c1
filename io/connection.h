// One connection's traffic with the kernel: what is being received, what is being sent, and how it ends.
//
//   receiving   a stream of arrivals into the shard's buffers; for a frame larger than one of them, straight
//               into the frame's own memory, after which one arrival at a time until the frames are small again
//   sending     one shipment at a time; what comes meanwhile waits in the outbox
//   ending      connection_end asks the kernel to let go; when connection_at_rest says that it has, the owner
//               closes
//
// Whose the frames are and what is in them is not known here.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/send/outbox.h"
#include "io/io.h"

// What a shard needs to send: memory that its connections share.
struct sender {
    struct stage stage;
    struct shipment *free;
    uint32_t free_count;
    uint32_t made;
};

void sender_init(struct sender *sender, struct buffer_pool *pool);
// Every shipment must have come home.
void sender_deinit(struct sender *sender);

enum receiving { RECEIVING_NOTHING, RECEIVING_STREAM, RECEIVING_ONCE, RECEIVING_DIRECT };

struct connection {
    struct outbox outbox;
    struct shipment *shipment; // being sent, or NULL
    uint64_t token;
    int socket;
    enum receiving receiving : 8;
    bool cancelling; // its end has been asked for
    bool large;      // the last frame had memory of its own
    bool ended;      // nothing more comes: the peer's end, or an error
    bool watching;   // for the peer to go altogether
    bool broken;     // nothing more can be sent
    bool ending;     // connection_end was called
    uint32_t direct_bytes;
    uint8_t *direct; // where the rest of a large frame goes, or NULL
};

static_assert(sizeof(struct connection) <= 128, "an idle connection costs what it is");

// All that waits for the peer, and what is being sent to it, with what that takes besides.
static inline size_t connection_waiting(const struct connection *connection) {
    return outbox_footprint(&connection->outbox) + (connection->shipment ? connection->shipment->bytes : 0);
}

void connection_open(struct connection *connection, int socket, uint64_t token);

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

// After the peer's end has come: from now on an IO_GONE event tells when the peer goes altogether.
void connection_watch(struct connection *connection, struct io *io);
// Notes an IO_GONE event. True when the peer has gone.
bool connection_watched(struct connection *connection, struct io *io, const struct io_event *event);

enum sending {
    SENDING_IDLE,   // nothing waits
    SENDING_BUSY,   // a shipment is under way
    SENDING_FAILED, // the socket is broken, or memory is used up
};

// Starts a send of what waits, unless one is under way. Parcels that need no more care are moved to *done.
enum sending connection_send(struct connection *connection, struct io *io, struct sender *sender,
                             struct parcel_list *done);
// Notes an IO_SENT event. Likewise.
enum sending connection_sent(struct connection *connection, struct io *io, struct sender *sender,
                             int32_t result, struct parcel_list *done);

// Asks the kernel to end all that is under way.
void connection_end(struct connection *connection, struct io *io);
// Whether nothing is under way any more, so that the socket may be closed.
bool connection_at_rest(const struct connection *connection);
