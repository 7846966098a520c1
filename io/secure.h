// The layer between one connection's bytes and their plaintext, where the connection isn't plain. A cipher does the work:
// io/tls.c, or the simulator's toy.
//
//   arrival    Arrivals are opened one at a time, as far as there is room for their plaintext.
//   deferred   During the handshake, which takes long, arrivals may have to wait for their turn.
//   output     The cipher's own messages (handshake, alerts) wait here. They go before anything that is sealed later.
//   sealing    A shipment is sealed in parts, so that little of it is ahead of the socket.
//
// connection.c, ciphers and their tests use this header; others use connection.h.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/send/outbox.h"

enum {
    SECURE_RECORD_BYTES_MAX = 16 * 1024,                     // of what one says
    SECURE_SEALED_BYTES_MAX = SECURE_RECORD_BYTES_MAX + 512, // of one
    SECURE_AHEAD_BYTES_MAX = 128 * 1024,                     // sealed, and not yet taken by the socket
    SECURE_SAID_BYTES_MAX = 64 * 1024,                       // of the cipher's own
    SECURE_HEARD_BYTES_MAX = 64 * 1024,                      // that wait for their turn
};

struct secure;

// The source of secure connections: keys, certificates. Shared by all threads; goes with its last reference.
struct secure_source {
    const struct cipher *cipher;
    _Atomic uint32_t references;
};

struct secure_input {
    const uint8_t *bytes;
    size_t count; // that are left
};

enum secure_result {
    SECURE_MORE,   // the input is used up
    SECURE_BYTES,  // something was written; the input may hold more
    SECURE_SHAKEN, // the handshake is over
    SECURE_END,    // the peer has said that it says no more
    SECURE_BROKEN, // nothing more can be opened; what the peer should know of that was said
};

typedef bool secure_visit(void *context, const char *name, size_t bytes);

struct cipher {
    // Memory for one connection, its `secure` zeroed; NULL: there is none.
    struct secure *(*make)(struct secure_source *source);
    // Takes from the input, and writes its plaintext: up to `room` bytes, of which *count is how many. The
    // cipher gives its own messages to secure_send.
    enum secure_result (*open)(struct secure *secure, struct secure_input *input, uint8_t *out, size_t room,
                               size_t *count);
    // Gives records that say these parts (of record_bytes_max together, at most) to secure_send, or puts one where
    // secure_place tells. False: it can't.
    bool (*seal)(struct secure *secure, const struct iovec *parts, unsigned count);
    // Gives what ends the stream to secure_send.
    void (*finish)(struct secure *secure);
    // As connection_certificate; `now` is of the same cipher.
    bool (*certificate)(const struct secure *secure, const struct secure_source *now, secure_visit *visit,
                        void *context);
    void (*destroy)(struct secure *secure);
    void (*destroy_source)(struct secure_source *source);
};

// The beginning of each cipher's own struct.
struct secure {
    const struct cipher *cipher;
    struct secure_source *source; // one reference
    struct buffer_pool *pool;
    const char *server; // whom this side has dialled, and who must show that it is it; NULL: this side serves
    const char *why;    // it is broken, where the cipher knows: static text; or NULL

    struct buffer *arrival; // that is being opened, one reference; or NULL
    struct secure_input input;
    uint8_t *deferred; // arrivals that wait for their turn; or NULL
    uint32_t deferred_bytes;
    int32_t socket_end;     // once socket_ended: 0 or -errno
    bool socket_ended : 1;  // nothing more arrives
    bool final_told : 1;    // that nothing more can be opened has been told
    bool socket_told : 1;   // and that has been told
    bool starved : 1;       // no buffer was there for an arrival, and that hasn't been told
    bool established : 1;   // the handshake is over
    bool peer_finished : 1; // the peer has said that it says no more
    bool finished : 1;      // this side has
    bool broken : 1;        // nothing can be opened or sealed any more
    bool out_of_memory : 1; // why
    bool truncated : 1;     // the peer went without having said so

    uint32_t
        record_bytes_max; // of what one record says, SECURE_RECORD_BYTES_MAX or what the peer has asked for
    uint32_t next_bytes;  // how much the next record says at most, where the cipher has seen its head; else 0

    uint8_t *output; // or NULL
    uint32_t output_bytes;
    struct shipment *sealing; // where secure_send puts it: of the stage; NULL: to `output`
    struct stage *stage;
    uint8_t *scratch;       // for secure_whole, while something is sealed; or NULL
    struct shipment *plain; // of which the rest is to be sealed; or NULL
    int64_t memory;         // that the cipher has taken, as it counts
    uint64_t charged;       // of the budget
};

struct secure_source *secure_source_hold(struct secure_source *source);
// NULL is allowed.
void secure_source_drop(struct secure_source *source);

// NULL when memory is used up.
struct secure *secure_create(struct secure_source *source, struct buffer_pool *pool);
void secure_destroy(struct secure *secure);

// Begins the handshake with whom this side has dialled, by its name or numeric address, which must stay; the peer says nothing before
// that.
void secure_greet(struct secure *secure, const char *server);

// For a cipher: sends bytes of its own to the peer.
void secure_send(struct secure *secure, const void *bytes, size_t count);

// For a cipher that is sealing: returns where a record of `count` bytes is to be written, for the peer. NULL:
// there is no room, and the connection is broken.
uint8_t *secure_place(struct secure *secure, size_t count);
// For a cipher that is sealing: returns the parts one behind the other, where the cipher needs them so.
const uint8_t *secure_whole(const struct secure *secure, const struct iovec *parts, unsigned count,
                            size_t *bytes);

// Notes the arrival of `count` bytes, in a buffer that is the caller's. Arrivals that wait already are opened
// before it.
void secure_receive(struct secure *secure, struct buffer *buffer, uint32_t count);
// Keeps what was heard last until its turn: the buffer isn't held any longer.
void secure_put_off(struct secure *secure);
// Opens more of what was heard, to `out`. SECURE_MORE: all of it was.
enum secure_result secure_open(struct secure *secure, uint8_t *out, size_t room, size_t *count);

// Puts what was said, and then parts of the plain shipment, into an empty one, as much as may be ahead of the socket.
// False when the cipher, or memory, fails: the connection is broken then.
bool secure_seal(struct secure *secure, struct shipment *sealed, struct stage *stage, uint8_t *scratch);
// Says that this side says no more, if it can and hasn't.
void secure_finish(struct secure *secure);
