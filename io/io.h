// THE SEAM between the hub and the kernel. Two implementations exist: the real kernel, by one of the backends
// (io/io_dispatch.c), and the simulated kernel of the tests (tests/sim). The router is compiled once and linked with
// either.
//
// One struct io belongs to one shard and to the thread that opened the io. A verb only notes an operation. io_run hands
// all noted operations to the kernel in one entry, waits, and gathers the operations that have ended. io_next hands out
// these events one by one. The io makes no callbacks: the caller takes events from a queue, so handlers never nest.
//
// A token is the caller's own 56-bit number (the top 8 bits are the implementation's). Each event of the operation has
// the token. Sockets are whole numbers that the implementation understands (file descriptors for io_uring).
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
    IO_GONE,      // result: 0, the peer has gone; or -errno, the watch has ended
    IO_CONNECTED, // result: 0 or -errno
};

struct io_event {
    enum io_event_kind kind;
    // The operation goes on and will bring further events. The last event of an operation has `more` false.
    bool more;
    int32_t result;
    uint64_t token;
    // With io_receive and result > 0: the buffer with the bytes, from its start. The caller owns one reference.
    struct buffer *buffer;
};

// Implementations over a real kernel.
enum io_backend {
    IO_URING, // io_uring, Linux 6.1
    IO_EPOLL, // epoll and plain system calls
};

enum { IO_VECTORS_MAX = 1024 }; // in one send or write

struct io_options {
    struct buffer_pool *pool;  // source of receive buffers; must outlive the io
    uint32_t buffers_provided; // buffers that the kernel has at a time; a power of two
    enum io_backend backend;   // must be the same for all shards of a process
    uint64_t spin_ns;          // how long io_run may poll before it sleeps; 0: not at all
    // How long a wait may be held, so that a wake brings more events; 0, or with spin_ns: not at all
    uint64_t hold_ns;
    bool restricted; // restrict the ring to the operations that the hub uses, if the kernel can
};

// Opens an io for the calling thread. Returns 0; or -errno, and sets *why to static text that says what was refused.
int io_open(struct io **out, const struct io_options *options, const char **why);
// Closes the io. Every socket must have been closed and every operation have ended. Lent buffers go back to the pool.
void io_close(struct io *io);

// Checks whether io_open with this backend can succeed on the calling thread. Returns as io_open. Only for the real
// kernel.
int io_try(enum io_backend backend, const char **why);
// Returns whether the ring allows no more operations than the hub uses. True if the backend has no ring.
bool io_is_restricted(const struct io *io);
// Returns the backend's name, one word of static text.
const char *io_name(const struct io *io);

// Bounds the buffers that are lent at a time; the count in io_options stays the upper bound. Lent buffers beyond the
// bound go back to the pool, at once if the kernel can return them.
void io_provide_buffers(struct io *io, uint32_t buffers);

// Returns the time of the last io_run (or of io_open) in ns, by a clock that never steps back.
uint64_t io_now(const struct io *io);
// Reads that clock, in ns.
uint64_t io_clock(const struct io *io);
// Returns the processor time that the calling thread has used, in ns; 0 if unknown.
uint64_t io_cpu_ns(const struct io *io);
// Reads the wall clock: ns, or ms, since the beginning of 1970; 0 before 1970. The clock may be set forward or back,
// and goes on while the machine sleeps.
uint64_t io_wall_ns(const struct io *io);
static inline uint64_t io_wall_ms(const struct io *io) {
    return io_wall_ns(io) / 1000000;
}

// Accepts connections on a listening socket until cancelled or until a failure. IO_ACCEPTED comes for each connection.
void io_accept(struct io *io, int socket, uint64_t token);
// Opens a connection over TCP. Returns the fresh socket at once, or -errno. IO_CONNECTED comes once. Until then the
// only call allowed on the socket is io_shutdown of both directions. That call gives the connection up, and
// IO_CONNECTED comes soon with an error. The address must stay until the event.
int io_connect(struct io *io, const struct sockaddr *address, uint32_t bytes, uint64_t token);
// Makes the kernel give new connections to another socket that listens on the same address, if there is one
// (listener_open, shared). Connections that the kernel has begun to give to this socket still come. Takes effect at
// once; no event.
void io_yield_listener(struct io *io, int socket);
// Receives into buffers of the pool (buffer_arrival) until cancelled, the peer's end, or an error. IO_RECEIVED comes
// for each arrival. The receive ends with -ENOBUFS if there is no buffer (Linux 6.1 takes the next buffer before
// anything arrives). The receive may end at any time (the event has `more` false): the caller then arms it again. With
// `most` > 0, the receive ends with its first event, which brings at most `most` bytes (up to ARRIVAL_BYTES_MAX).
void io_receive(struct io *io, int socket, uint64_t token, uint32_t most);
// Receives once, up to `bytes`, straight into the caller's memory. The memory must stay until the event.
void io_receive_into(struct io *io, int socket, uint64_t token, void *memory, size_t bytes);
// Sends the vectors in order (1 to IO_VECTORS_MAX vectors, not all empty). The event has the number of bytes sent. The
// number is smaller than the sum only if the socket fails or the kernel is interrupted; sending the rest tells which.
// The vectors and their memory must stay until the event. The caller must send only one at a time on a socket.
void io_send(struct io *io, int socket, uint64_t token, const struct iovec *vectors, unsigned count);
// Sends at once as many bytes as there is room for, while no send is under way. For a last message with no event.
void io_send_now(struct io *io, int socket, const void *bytes, size_t count);
// Ends an io_accept or io_receive(_into) with this token on this socket soon, with -ECANCELED if no other event comes
// first. Does nothing if the operation has ended.
void io_cancel(struct io *io, int socket, uint64_t token);
// Shuts one or both directions down, as shutdown(2), at once and after operations that were noted before. Operations
// under way end. No event. Bytes that a Unix socket has received until then can still be read after SHUT_RD.
void io_shutdown(struct io *io, int socket, int how);
// Asks the kernel at once whether the peer has gone, so that no bytes sent could reach the peer. The kernel knows when
// the peer has closed a Unix socket. Over TCP a close looks like a shutdown of the peer's direction, until the peer
// answers a send with a reset.
bool io_is_peer_gone(struct io *io, int socket);
// Watches a socket after the peer's end, in place of a receive. IO_GONE comes once the peer has gone (io_is_peer_gone).
// Over TCP the kernel probes the peer every PROBE_S seconds from now on, to tell a peer that has gone from a silent
// peer. May end at any time with -EAGAIN: the caller must watch again.
enum { PROBE_S = 10 };
void io_watch(struct io *io, int socket, uint64_t token);
// Ends a watch soon, with -ECANCELED if no other event comes first. Does nothing if the watch has ended.
void io_unwatch(struct io *io, int socket, uint64_t token);
// Where a connection comes from. For a Unix socket, the user of the process that connected; else the address without
// the port, 4 bytes of it for IPv4. All zero if the peer has gone.
struct io_peer_address {
    bool is_user, is_v4;
    uint32_t user;
    uint8_t address[16];
};
void io_read_peer_address(struct io *io, int socket, struct io_peer_address *out);
// Bounds the bytes that the kernel keeps of a send, roughly and at once, as far as the kernel allows; 0 removes the
// bound. With a short round trip these are bytes that the peer hasn't read, else bytes that haven't left. A Unix socket
// keeps little anyway.
void io_limit_backlog(struct io *io, int socket, uint32_t bytes);
// Returns a number that changes when the peer takes bytes that were sent, as far as the kernel knows. On a Unix socket,
// a new send may bring an old number back.
uint32_t io_ack_mark(struct io *io, int socket);
// Closes a socket on which no operation is under way. No event.
void io_close_socket(struct io *io, int socket);
// Reports each arrival of the signals that the process has blocked and routed here (SIGTERM, SIGINT, SIGHUP) as
// IO_SIGNAL. At most one io of a process may do so.
int io_signals(struct io *io, uint64_t token);

// --- Programs. The keeper starts programs (keeper.h), and reports on a socket that the hub receives from as usual

// Makes the keeper start the program that the command names. Returns at once, without waiting for the program. Returns
// 0, with *in a socket to the program's standard input and *out a socket from its standard output. Else returns -errno:
// -EAGAIN if the keeper doesn't keep up.
int io_start(struct io *io, int keeper, const void *command, size_t bytes, int *in, int *out);
// Kills all processes of a process group, at once.
void io_kill_group(struct io *io, int group);
// Sends the keeper another command. Returns as io_start.
int io_tell_keeper(struct io *io, int keeper, const void *command, size_t bytes);

// --- A file that grows at its end, line by line (the journal)

struct io_file {
    int number;     // the number for io_file_*
    uint64_t bytes; // the file's length
    bool torn;      // the last byte is no line feed
};

// Opens a regular file for appending, at once. Makes a missing file with mode 0600, and syncs the directory then.
// Returns 0 or -errno; -EOPNOTSUPP if the file isn't regular. May wait for the disk.
int io_file_open(struct io *io, const char *path, struct io_file *file);
// Appends the vectors (1 to IO_VECTORS_MAX vectors, not all empty). IO_WRITTEN has the number of bytes. After fewer
// bytes than asked for, writing the rest tells why. The vectors and their memory must stay until the event. The caller
// must begin only one write or sync at a time on a file.
void io_file_write(struct io *io, const struct io_file *file, uint64_t token, const struct iovec *vectors,
                   unsigned count);
// Makes written bytes survive a crash, as fdatasync(2). IO_SYNCED comes at the end.
void io_file_sync(struct io *io, const struct io_file *file, uint64_t token);
// Reserves room for so many bytes more, at once, if the file system can. Returns 0; -ENOENT if the file was removed, so
// that appended bytes could never be read; or another -errno, why so many bytes can't be appended. May be called from
// any thread.
int io_file_reserve(struct io *io, const struct io_file *file, uint64_t bytes);
// Removes `written` bytes that were appended after file->bytes, at once. Does so only if the file has exactly that
// length: else another process has changed the file, and -ESTALE comes back. Returns 0, or -errno if the bytes stay.
// Afterwards `bytes` and `torn` are those of the file. No operation may be under way.
int io_file_cut(struct io *io, struct io_file *file, uint64_t written);
// Makes the file's number stand for `fresh`, a file that was opened later, at once. Closes the old file and takes
// `fresh` over. Other threads may use the number meanwhile: the number never means a third file. Returns 0; or -errno,
// with `file` unchanged. No operation may be under way.
int io_file_replace(struct io *io, struct io_file *file, struct io_file *fresh);
// Closes the file, at once. No operation may be under way.
void io_file_close(struct io *io, struct io_file *file);

// Makes another shard's io_run return. Called on this io's thread; takes effect at this io's next io_run at the latest.
void io_wake(struct io *io, struct io *other);

// Hands all noted operations to the kernel. Then waits until there is an event, io_wake was called for this io, or the
// clock reaches deadline_ns (0: no wait; UINT64_MAX: no deadline). Before that, buffers that the kernel has used up are
// replaced from the pool.
void io_run(struct io *io, uint64_t deadline_ns);
// Takes the next event that io_run or io_poll gathered. Returns false if there is none. The caller must take all events
// before the next io_run or io_poll.
bool io_next(struct io *io, struct io_event *event);
// Returns whether io_poll would find events and is worth a kernel entry. False once half of the receive buffers are
// used up, or if operations were handed over since events were last gathered. Makes no kernel entry.
bool io_has_arrivals(struct io *io);
// Gathers events of the operations that were under way when io_run returned. Hands over no operations, and doesn't
// wait.
void io_poll(struct io *io);

// Returns the number of kernel entries so far, for statistics.
uint64_t io_entries(const struct io *io);
// Returns the number of held waits so far, for statistics.
uint64_t io_held_waits(const struct io *io);
