// The layer between a secure connection's bytes and their plaintext. A cipher does the work: io/tls.c, or the
// simulator's toy cipher.
//
//     arrival    Arrivals are opened one at a time, as far as there is room for their plaintext.
//     deferred   During the handshake, which takes long, arrivals may have to wait for their turn.
//     output     The cipher's own messages (handshake, alerts) wait here, and go before records sealed later.
//     sealing    A send_op is sealed in parts, so that little of it is ahead of the socket.
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
    SECURE_RECORD_BYTES_MAX = 16 * 1024,                     // plaintext of a record
    SECURE_SEALED_BYTES_MAX = SECURE_RECORD_BYTES_MAX + 512, // a whole record
    SECURE_AHEAD_BYTES_MAX = 128 * 1024,                     // sealed bytes that the socket hasn't taken
    SECURE_OUTPUT_BYTES_MAX = 64 * 1024,                     // the cipher's own messages that wait
    SECURE_DEFERRED_BYTES_MAX = 64 * 1024,                   // arrivals that wait for their turn
};

struct secure;

// The source of secure connections: keys and certificates. Shared by all threads, and freed with the last reference.
struct secure_source {
    const struct cipher *cipher;
    _Atomic uint32_t references;
};

struct secure_input {
    const uint8_t *bytes;
    size_t count; // bytes left
};

enum secure_result {
    SECURE_MORE,   // the input is used up
    SECURE_BYTES,  // plaintext was written; the input may hold more
    SECURE_SHAKEN, // the handshake is over
    SECURE_END,    // the peer has sent close_notify
    SECURE_BROKEN, // no more can be opened; an alert for the peer has been given to secure_send
};

typedef bool secure_visit(void *context, const char *name, size_t bytes);

struct cipher {
    // Allocates one connection's state with a zeroed `secure`. Returns NULL without memory.
    struct secure *(*make)(struct secure_source *source);
    // Reads from the input and writes up to `room` bytes of plaintext; *count is the number. The cipher gives its own
    // messages to secure_send.
    enum secure_result (*open)(struct secure *secure, struct secure_input *input, uint8_t *out, size_t room,
                               size_t *count);
    // Seals these parts (together at most record_bytes_max bytes). Writes the record at secure_place, or gives records
    // to secure_send. Returns false on failure.
    bool (*seal)(struct secure *secure, const struct iovec *parts, unsigned count);
    // Gives the message that ends the stream to secure_send.
    void (*finish)(struct secure *secure);
    // Implements connection_certificate; `now` has the same cipher.
    bool (*certificate)(const struct secure *secure, const struct secure_source *now, secure_visit *visit,
                        void *context);
    void (*destroy)(struct secure *secure);
    void (*destroy_source)(struct secure_source *source);
};

// The head of each cipher's own struct.
struct secure {
    const struct cipher *cipher;
    struct secure_source *source; // one reference
    struct buffer_pool *pool;
    // Name or address of the dialled peer, which the peer must prove to be; NULL: this side accepted
    const char *server;
    const char *why; // why the connection is broken: static text, or NULL if the cipher doesn't know

    struct buffer *arrival; // the arrival that is being opened, one reference; or NULL
    struct secure_input input;
    uint8_t *deferred; // arrivals that wait for their turn; or NULL
    uint32_t deferred_bytes;
    int32_t socket_end;     // once socket_ended: 0 or -errno
    bool socket_ended : 1;  // no more arrivals come
    bool final_told : 1;    // the end of the plaintext has been reported
    bool socket_told : 1;   // the end of the socket has been reported
    bool starved : 1;       // a receive ended for want of a buffer, which isn't reported yet
    bool established : 1;   // the handshake is over
    bool peer_finished : 1; // the peer has sent close_notify
    bool finished : 1;      // this side has sent close_notify
    bool broken : 1;        // nothing can be opened or sealed any more
    bool out_of_memory : 1; // why `broken` is set
    bool truncated : 1;     // the peer closed without close_notify

    // Plaintext of a record: SECURE_RECORD_BYTES_MAX, or the bound that the peer has asked for
    uint32_t record_bytes_max;
    // The most plaintext that the next record can have, if the cipher has read its head; else 0
    uint32_t next_bytes;

    uint8_t *output; // the cipher's own messages; or NULL
    uint32_t output_bytes;
    // Where secure_send adds, with memory of the stage; NULL: secure_send adds to `output`
    struct send_op *sealing;
    struct stage *stage;
    uint8_t *scratch;      // for secure_whole, during secure_seal; or NULL
    struct send_op *plain; // the send_op whose rest must be sealed; or NULL
    int64_t memory;        // bytes that the cipher has allocated, by its own count
    uint64_t charged;      // bytes taken from the budget
};

struct secure_source *secure_source_hold(struct secure_source *source);
// Drops a reference. NULL is allowed.
void secure_source_drop(struct secure_source *source);

// Makes a secure connection. Returns NULL without memory.
struct secure *secure_create(struct secure_source *source, struct buffer_pool *pool);
void secure_destroy(struct secure *secure);

// Begins the handshake with the dialled peer, which sends nothing before. `server` is the peer's name or numeric
// address, and must outlive the connection.
void secure_greet(struct secure *secure, const char *server);

// Sends the cipher's own message to the peer. For ciphers.
void secure_send(struct secure *secure, const void *bytes, size_t count);

// Returns where a cipher must write a sealed record of `count` bytes. Returns NULL without room; the connection is
// broken then.
uint8_t *secure_place(struct secure *secure, size_t count);
// Returns the parts joined in one piece, for a cipher that needs them so.
const uint8_t *secure_whole(const struct secure *secure, const struct iovec *parts, unsigned count,
                            size_t *bytes);

// Notes the arrival of `count` bytes. Takes a reference to the buffer. Deferred arrivals are opened before this
// arrival.
void secure_receive(struct secure *secure, struct buffer *buffer, uint32_t count);
// Copies the present arrival, which must wait for its turn, and drops its buffer.
void secure_put_off(struct secure *secure);
// Opens more of the arrivals, to `out`. Returns SECURE_MORE if all bytes are opened.
enum secure_result secure_open(struct secure *secure, uint8_t *out, size_t room, size_t *count);

// Seals into the empty send_op `sealed`: the cipher's own messages, then parts of `plain`, as much as may be ahead of
// the socket. Returns false if the cipher or memory fails; the connection is broken then.
bool secure_seal(struct secure *secure, struct send_op *sealed, struct stage *stage, uint8_t *scratch);
// Sends close_notify after the handshake, unless close_notify was sent or the connection is broken.
void secure_finish(struct secure *secure);
