// The simulated kernel from inside: what sim_io.c (the verbs), kernel.c (the work) and cable.c (the peers'
// ends) share.
#pragma once

#include "tests/sim/sim_io.h"
#include "tests/sim/toy.h"

enum { SOCKETS_MAX = 256, CABLES_MAX = 512, NOTES_MAX = 1024, IOS_MAX = 8, SIGNALS_MAX = 8, FILES_MAX = 16 };

// The wall clock's at first is in the year 2020.
#define WALL_AHEAD_MS UINT64_C(1577836800000)
#define PROBE_NS      (PROBE_S * UINT64_C(1000000000))
// Time for which a kernel answers at most for a TCP connection that its process has closed.
enum { ORPHAN_S = 60 };

// Bytes under way in one direction, first in, first out.
struct queue {
    uint8_t *bytes;
    size_t at, end, capacity;
};

void queue_add(struct queue *queue, const void *bytes, size_t count);
size_t queue_take(struct queue *queue, void *out, size_t capacity);
static inline size_t queue_count(const struct queue *queue) {
    return queue->end - queue->at;
}

struct operation {
    bool armed;
    bool cancelled;
    struct io *io;
    uint64_t token;
    bool once;
    uint8_t *memory; // of a direct receive; else NULL
    size_t bytes;
    const struct iovec *vectors; // of a send, read when the bytes go and no sooner
    unsigned count;
    unsigned vector; // of a send, how far it is
    size_t offset;
    size_t sent;
};

// A peer's end of a connection that is secure.
struct toy_end {
    struct toy_way in;
    uint8_t out; // the sequence
    bool greeted, shaken, ended, hub_ended, alerted;
    bool keeps_end; // goes without having said so
    char certificate[TOY_CERTIFICATE_BYTES];
    struct queue plain;
};

struct cable {
    struct kernel *kernel;
    struct toy_end *toy; // NULL: plain
    struct queue to_hub, to_peer;
    struct operation receive, send, watch, connect;
    uint16_t port;                // of the connect
    bool silent, given_up;        // of the connect: nobody answers; the hub has shut it down
    bool watch_told, watch_tires; // of the watch: that the peer has gone; it ends early
    bool local;                   // a Unix socket
    bool placed;                  // it has been said whether it is
    uint32_t user;                // of a Unix socket: who connected
    uint32_t address;             // else where from
    uint64_t probe_ns;            // when the kernel asks next whether the peer is there; 0: never
    uint64_t orphan_until_ns;     // so long the kernel of a peer that has closed still answers for it
    bool hub_closed;              // or never accepted it
    bool hub_shut_read, hub_shut_write;
    bool peer_shut, peer_closed;
    bool reset;
    uint32_t taken;        // bytes that the peer has read
    uint32_t narrow_bytes; // that are kept for the peer at most; 0: as many as there is room for
    uint32_t shown;        // of them, those of which the hub's kernel knows
    uint64_t heard_ns;     // when the hub last received something, or accepted it
    uint64_t taken_ns;     // when a send began or ended
    uint64_t shown_ns;     // when the kernel last came to know, while a send lasted, that the peer has read
    uint64_t closed_ns;    // when the hub closed it
};

struct listener_socket {
    bool shut;
    bool secure;
    struct operation accept;
    struct cable *backlog[CABLES_MAX];
    uint32_t backlog_count;
};

// A file that was made once; it stays when its name and its last opener have gone.
struct disk_file {
    char *name; // NULL: it has been renamed
    uint32_t opened;
    struct queue bytes;
    size_t synced;
    struct operation write;
    bool sync;    // what is armed is a sync
    bool removed; // and nobody can ever read it
};

struct disk {
    struct disk_file files[FILES_MAX];
    uint32_t file_count;
    size_t room;
    bool refuses, held;
};

struct keeping_sim;
struct program;

// The meaning of a number to the hub.
struct socket_entry {
    struct cable *cable;
    struct listener_socket *listener;
};

struct kernel {
    struct random *random;
    struct sim_faults faults;
    uint64_t now_ns;
    uint64_t wall_ahead_ms; // of now_ns, for the wall clock
    uint64_t trace;
    struct socket_entry sockets[SOCKETS_MAX];
    struct cable *cables[CABLES_MAX];
    uint32_t cable_count;
    struct disk disk;
    struct keeping_sim *state; // NULL: there is no keeper
    sim_answers *answers;      // where the hub connects to; NULL: nobody is there
    void *answers_context;
    struct io *ios[IOS_MAX];
    uint32_t io_count;
    int signals[SIGNALS_MAX];
    uint32_t signal_count;
    // kernel_refuse: operations to go before the first that fails (UINT64_MAX: none does), how many then
    // fail.
    uint64_t refuse_after;
    uint64_t refuse_count;
    int32_t refuse_error;
};

enum note_kind {
    NOTE_ACCEPT,
    NOTE_RECEIVE,
    NOTE_SEND,
    NOTE_CANCEL,
    NOTE_WATCH,
    NOTE_CONNECT,
    NOTE_UNWATCH,
    NOTE_CLOSE,
    NOTE_WAKE,
    NOTE_WRITE,
    NOTE_SYNC
};

struct note {
    enum note_kind kind;
    int socket;
    struct operation operation;
    struct io *other;
};

struct io {
    struct kernel *kernel;
    struct buffer_pool *pool;
    struct buffer **lent;
    uint32_t lent_count, lent_max, opened_for;
    struct io_event *events;
    uint32_t event_at, event_end, event_capacity, gathered;
    struct note notes[NOTES_MAX];
    uint32_t note_count;
    uint64_t now_ns, deadline_ns, entries, entered;
    bool waiting; // inside io_run
    bool waking;  // another one's wake is on its way
    bool woken;
    bool takes_signals;
    uint64_t signals_token;
};

// Ends the program, saying what the hub, or the simulation itself, did wrong.
__attribute__((noreturn, format(printf, 1, 2))) void kernel_fail(const char *format, ...);

// The socket's entry, which must be in use.
struct socket_entry *kernel_socket(struct kernel *kernel, int number);
// Gives a cable the lowest free number.
int kernel_number(struct kernel *kernel, struct cable *cable);
// Resets the connections that nobody has accepted.
void listener_refuse_all(struct listener_socket *listener);
// Lets the hub's kernel find out by the time that it is now, where it watches the peer.
void cable_probe(struct cable *cable);
// How much more of what is sent the kernels have room for.
size_t cable_room(const struct cable *cable);
// A pipe of a program's, or to its keeper, whose other end has this number.
struct cable *cable_of_program(struct kernel *kernel, int *number);
// A connection that the hub is about to open: the other end is nobody's yet.
struct cable *cable_of_hub(struct kernel *kernel, int *number);
// Frees a cable that neither side holds.
void cable_settle(struct cable *cable);

// As far as a kernel knows without asking.
static inline bool cable_peer_gone(const struct cable *cable) {
    return cable->reset || (cable->local && cable->peer_closed);
}

// Returns whether the operation that is about to be carried out is one that fails by kernel_refuse.
bool kernel_refused(struct kernel *kernel);

// Begins what was noted for a file; whether it can go on; goes on.
void disk_begin(struct kernel *kernel, int number, const struct operation *noted, bool sync);
bool disk_can_go_on(const struct kernel *kernel, const struct disk_file *file);
void disk_go_on(struct kernel *kernel, struct disk_file *file);
// Forgets all files, which nobody may have open.
void disk_forget(struct kernel *kernel);

// Returns whether a program does something by itself; does it. When the next one is killed; kills those that are due.
bool program_can_go_on(const struct kernel *kernel, const struct program *program);
void program_go_on(struct kernel *kernel, struct program *program);
uint64_t programs_next_ns(const struct kernel *kernel);
void programs_pass(struct kernel *kernel);
// Forgets the keeper, with whom all programs have ended.
void programs_forget(struct kernel *kernel);

// Hands an event to an io.
void io_event(struct io *io, const struct io_event *event);
// Takes a buffer that is lent, or NULL.
struct buffer *io_buffer(struct io *io);
