// A simulated kernel: io/io.h over byte queues and a virtual clock, driven by one source of chance.
//
// The kernel is hostile within the limits of io.h. The kernel reads sends as late as it may, and scribbles over every
// buffer that is lent to it. Multishots end early, arrivals are cut, and all that may be late is late. A closed
// socket's number goes to the next socket at once. The duties of io.h's callers are checked at each call; a breach ends
// the program.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/io.h"
#include "tests/sim/random.h"

// How often what goes wrong, in thousandths of the occasions.
struct sim_faults {
    uint16_t cut;            // an arrival brings less than is there
    uint16_t single_byte;    // an arrival brings one byte
    uint16_t end_multishot;  // an arrival ends its multishot
    uint16_t no_buffer;      // an arrival finds no buffer
    uint16_t interrupt;      // a send or receive is interrupted
    uint16_t short_send;     // a send ends before all is sent
    uint16_t late;           // what could go on waits
    uint16_t reset;          // the network resets a connection
    uint16_t accept_failure; // an accept fails, and ends
    uint16_t file_short;     // a write to a file takes only a part
    uint16_t file_error;     // a write or a sync of a file fails
    uint16_t file_stuck;     // a file can't be cut back
    uint16_t keeper_busy;    // the keeper takes no program to start
    uint16_t preempt;        // a shard loses its core in the middle of a turn
    uint32_t work_ns;        // that pass, at most, from one look at the clock to the next
    uint32_t lent_max;       // buffers lent at a time; 0: as many as the hub offers
    uint32_t window_bytes;   // what the kernel keeps for a peer that hasn't read yet
};

struct kernel;
struct cable; // a peer's end of a connection

// A kernel without faults until it is told otherwise. Aborts when memory is used up.
struct kernel *kernel_create(struct random *random);
void kernel_set_faults(struct kernel *kernel, const struct sim_faults *faults);
// Every socket and every io must be closed, every cable released.
void kernel_destroy(struct kernel *kernel);
// The kernel in which io_open opens from now on.
void kernel_use(struct kernel *kernel);

uint64_t kernel_now(const struct kernel *kernel);
void kernel_advance(struct kernel *kernel, uint64_t to_ns);
// The wall clock, in milliseconds since 1970.
uint64_t kernel_wall_ms(const struct kernel *kernel);
// Somebody sets it, or the machine has slept: it goes by so many milliseconds, forward or back, and the other
// clock doesn't.
void kernel_step_wall(struct kernel *kernel, int64_t by_ms);
// When it has something to do by the clock; UINT64_MAX: never.
uint64_t kernel_next_ns(const struct kernel *kernel);
// Does one piece of the kernel's work, chosen by chance. Returns false when there is none.
bool kernel_step(struct kernel *kernel);
// Notes something in the trace; what has been noted so far, as a number.
void kernel_trace(struct kernel *kernel, uint64_t value);
uint64_t kernel_traced(const struct kernel *kernel);
// Sends the process a signal.
void kernel_signal(struct kernel *kernel, int number);
// After `after` more ends of operations the next `count` end with this -errno, instead of what they would
// have done. How many were left of the call before; UINT64_MAX: none was to fail, or all that were have
// failed.
uint64_t kernel_refuse(struct kernel *kernel, uint64_t after, uint64_t count, int32_t error);

// --- The disk. A name leads to one file at a time. Files are counted in the order in which they were made.

// The bytes of a file as they are now; of them, the first *synced ones outlast a crash. NULL when there is no
// such file.
const uint8_t *disk_file(const struct kernel *kernel, uint32_t index, size_t *count, size_t *synced);
// Takes the files' names away, as renaming them does: whoever opens one next makes a new file.
void disk_rename(struct kernel *kernel);
// From now on no file can be opened, or they can again.
// All files are removed, with their names.
void disk_remove(struct kernel *kernel);
void disk_refuse(struct kernel *kernel, bool refuse);
// How many bytes more there is room for; SIZE_MAX, as at first: no bound.
void disk_room(struct kernel *kernel, size_t bytes);
// Whether files are written and synced; what is held up goes on when they are again.
void disk_hold(struct kernel *kernel, bool hold);

// The result when the hub connects to a port of this machine: a peer has taken the cable, the connection is refused, or
// no answer comes.
enum sim_answer { SIM_ANSWERS, SIM_REFUSES, SIM_SILENT };
typedef enum sim_answer sim_answers(void *context, uint16_t port, struct cable *cable);
// Sets the function that answers from now on; at first nobody is there.
void kernel_answer(struct kernel *kernel, sim_answers *answers, void *context);

// Makes a listening socket, which kernel_destroy closes.
int kernel_listen(struct kernel *kernel);
// Makes connections to a listener secure from now on: the cables below take and give records of the toy
// cipher (toy.h).
void kernel_secure(struct kernel *kernel, int listener);
// Sockets that the hub holds, but for listening ones.
uint32_t kernel_sockets(const struct kernel *kernel);

// Returns whether the io's io_run may return now, and when it must.
bool sim_io_ready(const struct io *io);
uint64_t sim_io_deadline(const struct io *io);
// Returns whether all it noted has been handed over, and it has not been given the thread again since.
bool sim_io_waits(const struct io *io);
// Returns whether nothing but a wake, an end of an operation or its deadline will ever make it return, and no wake is
// on its way.
bool sim_io_sleeps(const struct io *io);
// A place where the calling shard may lose its core to the others for a while.
void sim_preempt(void);

// Connects. NULL when nobody listens.
struct cable *cable_dial(struct kernel *kernel, int listener);
// Where the hub will find that it comes from, if it hasn't looked yet: this user's process over a Unix socket, or
// this address.
void cable_of_user(struct cable *cable, uint32_t user);
void cable_of_address(struct cable *cable, uint32_t address);
// Sets the certificate of its handshake, if that hasn't begun (toy.h).
void cable_of_certificate(struct cable *cable, const char *certificate);
// Writes; false when the other end is gone.
bool cable_write(struct cable *cable, const void *bytes, size_t count);
// Reads up to `capacity` bytes; 0 when none are there.
size_t cable_read(struct cable *cable, void *out, size_t capacity);
// How many bytes can be read.
size_t cable_readable(const struct cable *cable);
// How many bytes that were written the hub has not received.
size_t cable_unread(const struct cable *cable);
// Returns whether nothing will come any more, all that came has been read.
bool cable_at_end(const struct cable *cable);
// Returns whether the connection was reset under the peer, be it by the hub.
bool cable_was_reset(const struct cable *cable);
// Returns whether the hub has closed its end.
bool cable_hub_closed(const struct cable *cable);
// Returns whether the hub has said that it says no more; of a plain one, whether it is plain.
bool cable_hub_ended(const struct cable *cable);
// From now on it goes, or shuts its direction, without having said so.
void cable_truncate(struct cable *cable);
// Records by hand, and bytes as they are.
void cable_record(struct cable *cable, int type, const void *bytes, size_t count);
bool cable_write_raw(struct cable *cable, const void *bytes, size_t count);
void cable_shut(struct cable *cable);
void cable_reset(struct cable *cable);
// Closes both directions (a reset if something was left unread) and lets go of the cable.
void cable_close(struct cable *cable);
