// THE SEAM between the hub and the kernel. Behind it stand the real kernel, by one of the backends
// (io/io_dispatch.c), and the tests' simulated one (tests/sim). The router is compiled once and linked with
// the one or the other.
//
// One struct io belongs to one shard and to the thread that opened it. A verb only notes an operation. io_run
// hands all of them to the kernel in one entry, waits, and gathers those that have ended; io_next hands the
// ends out one by one. Nothing calls back: the caller takes events from a queue, so handlers never nest.
//
// A token is the caller's own 56-bit number (the top 8 bits are the implementation's). Each event of the
// operation has it. Sockets are whole numbers that the implementation understands (file descriptors for
// io_uring).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "core/base/buffer.h"

struct io;
struct sockaddr;

enum io_event_kind {
    IO_ACCEPTED,  // result: the new socket, or -errno
    IO_RECEIVED,  // result: bytes, 0 at the peer's end, or -errno
    IO_SENT,      // result: bytes, or -errno
    IO_SIGNAL,    // result: the signal's number
    IO_WRITTEN,   // result: bytes, or -errno
    IO_SYNCED,    // result: 0 or -errno
    IO_GONE,      // result: 0: the peer has gone; or -errno: nobody looks any more
    IO_CONNECTED, // result: 0 or -errno
};

struct io_event {
    enum io_event_kind kind;
    // The operation goes on and will bring further events. Every operation ends with exactly one event
    // without it.
    bool more;
    int32_t result;
    uint64_t token;
    // With io_receive and result > 0: the buffer that holds the bytes, from its start; one reference, now the
    // caller's.
    struct buffer *buffer;
};

// Ways into a real kernel.
enum io_backend {
    IO_URING, // io_uring, Linux 6.1
    IO_EPOLL, // epoll and plain system calls
};

enum { IO_VECTORS_MAX = 1024 }; // of one send or write

struct io_options {
    struct buffer_pool *pool;  // receive buffers are taken from here; outlives the io
    uint32_t buffers_provided; // how many the kernel has at a time; a power of two
    enum io_backend backend;   // the same one for all shards of a process
    uint64_t spin_ns;          // how long io_run may look again and again before it sleeps; 0: not at all
    uint64_t hold_ns; // how long a wait may be held, so that more comes of it; 0, or with spin_ns: not at all
    bool restricted;  // of io_uring no more than the hub uses, as far as the kernel lets it be
};

// Opens the calling thread's io. 0, or -errno with *why set to static text that says what was refused.
int io_open(struct io **out, const struct io_options *options, const char **why);
// Closes it. Every socket must have been closed and every operation have ended; buffers lent go back to the
// pool.
void io_close(struct io *io);

// Whether io_open with this backend could succeed on the calling thread: 0, or as io_open. For the real
// kernel alone.
int io_try(enum io_backend backend, const char **why);
// Whether it does no more than the hub uses: it was to be restricted and could be, or has no ring to restrict.
bool io_is_restricted(const struct io *io);
// Returns the backend's name, in a word: static text.
const char *io_name(const struct io *io);

// From now on at most so many buffers are lent at a time, and no more than io_open was told. Buffers lent
// beyond that go back to the pool, at once where the kernel lets them go.
void io_provide_buffers(struct io *io, uint32_t buffers);

// Nanoseconds of a clock that never steps back, as read by the last io_run (or by io_open).
uint64_t io_now(const struct io *io);
// Nanoseconds of that clock, read at the call.
uint64_t io_clock(const struct io *io);
// Nanoseconds of a processor that the calling thread has used; 0 where nobody knows.
uint64_t io_cpu_ns(const struct io *io);
// Nanoseconds since the beginning of 1970 by the wall clock as it is at the call; and milliseconds. The clock may be set
// forward or back, and goes on while the machine sleeps. 0 before 1970.
uint64_t io_wall_ns(const struct io *io);
static inline uint64_t io_wall_ms(const struct io *io) {
    return io_wall_ns(io) / 1000000;
}

// Accepts connections on a listening socket until cancelled or until it fails: IO_ACCEPTED for each.
void io_accept(struct io *io, int socket, uint64_t token);
// Opens a connection over TCP: the fresh socket, at once, or -errno. IO_CONNECTED, once, ends it. Until then
// nothing else is done with the socket but io_shutdown of both directions, which gives it up: then it ends soon,
// with an error. The address must stay until the event.
int io_connect(struct io *io, const struct sockaddr *address, uint32_t bytes, uint64_t token);
// From now on the kernel gives new connections to the other socket that listens on this one's address, if
// there is one (listener_open, shared). Connections that the kernel has begun to give to this one still come.
// At once; no event.
void io_yield_listener(struct io *io, int socket);
// Receives into buffers of the pool (buffer_arrival) until cancelled, the peer's end, or an error:
// IO_RECEIVED for each arrival. Ends with -ENOBUFS when no buffer was there (Linux 6.1 looks for the next one
// before anything arrives). May end at any time without more (the last arrival's event says so): the caller
// arms it again. With `most`, ends with its first event, which brings so many bytes at most (ARRIVAL_BYTES_MAX).
void io_receive(struct io *io, int socket, uint64_t token, uint32_t most);
// Receives once, up to `bytes`, straight into the caller's memory, which must stay until the event.
void io_receive_into(struct io *io, int socket, uint64_t token, void *memory, size_t bytes);
// Sends the vectors (1 to IO_VECTORS_MAX of them, not all empty) in order, and ends with the number of bytes
// sent. All are sent, unless the socket fails or the kernel is interrupted on the way: then there are fewer,
// and sending the rest tells which it was. The vectors and their targets must stay until the event. One at a
// time a socket: the caller's duty.
void io_send(struct io *io, int socket, uint64_t token, const struct iovec *vectors, unsigned count);
// Sends at once what there is room for, while no send is under way: a last word that nobody waits for. No event.
void io_send_now(struct io *io, int socket, const void *bytes, size_t count);
// Ends the operation io_accept or io_receive(_into) with this token on this socket soon, with -ECANCELED if
// nothing else comes first. Nothing happens if it has ended.
void io_cancel(struct io *io, int socket, uint64_t token);
// Shuts one or both directions down, as shutdown(2), at once and after operations that were noted before.
// Operations under way end. No event. Bytes that a Unix socket has received until then can still be read
// (SHUT_RD).
void io_shutdown(struct io *io, int socket, int how);
// Whether nothing that is sent could reach the peer any more, as far as the kernel knows, at once. The kernel
// knows when the peer has closed a Unix socket. Over TCP a close looks as if the peer had shut its direction
// down, until the peer answers a send with a reset.
bool io_is_peer_gone(struct io *io, int socket);
// Watches a socket whose peer's end was received, in place of a receive: IO_GONE once the peer has gone
// altogether, as above. Over TCP the kernel asks the peer every PROBE_S seconds from now on, so that one that
// has gone is told from one that is silent. May end at any time with -EAGAIN: the caller watches again.
enum { PROBE_S = 10 };
void io_watch(struct io *io, int socket, uint64_t token);
// Ends that soon, with -ECANCELED if nothing else comes first. Nothing happens if it has ended.
void io_unwatch(struct io *io, int socket, uint64_t token);
// Where a connection comes from: of a Unix socket the user whose process connected, else the address, without its
// port; IPv4's has four bytes. All zero when the peer has gone.
struct io_origin {
    bool is_user, is_v4;
    uint32_t user;
    uint8_t address[16];
};
void io_peer_origin(struct io *io, int socket, struct io_origin *out);
// From now on the kernel keeps no more than about so many bytes of a send, or, with 0, as much as it likes
// again. Where the peer is near, these are bytes that the peer hasn't taken, else bytes that haven't gone to
// it. At once, as far as the kernel allows. A Unix socket keeps little anyway.
void io_limit_backlog(struct io *io, int socket, uint32_t bytes);
// A number that is another one when the peer has taken something of what was sent, as far as the kernel
// knows, at once. A Unix socket's may be the same again once more was sent.
uint32_t io_ack_mark(struct io *io, int socket);
// Closes a socket on which no operation is under way. No event.
void io_close_socket(struct io *io, int socket);
// Reports arrivals of the signals that the process has blocked and routed here (SIGTERM, SIGINT, SIGHUP):
// IO_SIGNAL for each. At most one io of a process does.
int io_signals(struct io *io, uint64_t token);

// --- Programs, which the keeper starts (keeper.h) and reports on, on a socket that is received from as any

// Has the keeper start the program that the command names. Returns at once, and nobody waits for the program. 0: *in is a
// socket to the program's standard input, and *out one from its standard output. Else -errno: -EAGAIN when the keeper
// doesn't keep up.
int io_start(struct io *io, int keeper, const void *command, size_t bytes, int *in, int *out);
// Kills all of a process group, at once.
void io_kill_group(struct io *io, int group);
// Tells the keeper something else. 0 or -errno, likewise.
int io_tell_keeper(struct io *io, int keeper, const void *command, size_t bytes);

// --- A file that grows at its end, line by line (the journal)

struct io_file {
    int number;     // what the verbs take
    uint64_t bytes; // its length
    bool torn;      // its last byte is no line feed
};

// Opens a regular file for appending, at once; makes it if it isn't there, with mode 0600, and syncs its
// directory then. 0 or -errno; -EOPNOTSUPP when it is no regular file. May wait for the disk.
int io_file_open(struct io *io, const char *path, struct io_file *file);
// Appends the vectors (1 to IO_VECTORS_MAX of them, not all empty) and ends with IO_WRITTEN and the number of
// bytes; there may be fewer, and writing the rest tells why. The vectors and what they point at must stay
// until the event. One write or sync at a time a file: the caller's duty.
void io_file_write(struct io *io, const struct io_file *file, uint64_t token, const struct iovec *vectors,
                   unsigned count);
// Makes what was written outlast a crash, as fdatasync(2), and ends with IO_SYNCED.
void io_file_sync(struct io *io, const struct io_file *file, uint64_t token);
// Sets room aside for so many bytes more, at once, as far as the file system knows how. 0; -ENOENT when the file was removed,
// so that nobody would ever read what is appended; or another -errno, why so much can't be appended. From any thread.
int io_file_reserve(struct io *io, const struct io_file *file, uint64_t bytes);
// Takes back bytes that were appended since the file was file->bytes long, at once, if it is `written` bytes
// longer now: then nobody else has changed it. 0, or -errno when the bytes stay (-ESTALE: somebody else has
// changed the file). bytes and torn are those of the file as it is then. Nothing may be under way.
int io_file_cut(struct io *io, struct io_file *file, uint64_t written);
// Has the file's number stand for a file that was opened since, at once; the file before is closed. Other threads may use
// the number meanwhile: it is never another file's. Takes `fresh` over. 0; or -errno, and `file` is what it was. Nothing may
// be under way.
int io_file_replace(struct io *io, struct io_file *file, struct io_file *fresh);
// Closes it, at once. Nothing may be under way.
void io_file_close(struct io *io, struct io_file *file);

// Makes another shard's io_run return, from this io's thread; takes effect at this io's next io_run or
// before.
void io_wake(struct io *io, struct io *other);

// Hands everything noted to the kernel, and waits until there is an event, io_wake was called on it, or the
// clock reaches deadline_ns (0: doesn't wait; UINT64_MAX: no deadline). Buffers the kernel used up are
// replaced from the pool first.
void io_run(struct io *io, uint64_t deadline_ns);
// The next event that io_run, or io_poll, gathered; false when there is none. Call until false before the next of them.
bool io_next(struct io *io, struct io_event *event);
// Whether io_poll would find more, and is worth its entry. False once half of the receive buffers are used
// up, and where something was handed over since the last events were gathered. Enters nothing.
bool io_has_arrivals(struct io *io);
// Gathers what has come since of what was under way when io_run returned. Hands nothing over, and doesn't wait.
void io_poll(struct io *io);

// Kernel entries made so far, for statistics.
uint64_t io_entries(const struct io *io);
// Waits that were held, likewise.
uint64_t io_held_waits(const struct io *io);
