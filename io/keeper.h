// The keeper: a process that is forked before the hub has threads. The keeper starts the programs that the hub asks
// for, waits for them, and reads their standard error. When the hub is gone for any reason, the keeper ends their
// process groups.
//
//     commands   hub → keeper, one packet each; a start has two sockets for the program's standard streams with it
//     reports    keeper → hub, a stream of struct keeper_report
//     shared     memory of both processes: the last lines of each program's log, and the program's memory in bytes
//
// The hub names a program by a place and a serial. The serial tells the program from later programs in the same place.
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

enum { KEEPER_PLACES = 256, KEEPER_LOG_BYTES = 16 << 10, KEEPER_COMMAND_BYTES = 96 << 10 };

enum keeper_command_kind {
    KEEPER_START,
    KEEPER_KILL, // sends the signal `value` to the group at once
    KEEPER_END,  // SIGTERM to the group now, SIGKILL after `value` ms if the group isn't empty by then
};

// Texts follow the command of a start, each with a zero byte at its end: name; directory (empty: the hub's own);
// directory to make (empty: none); `words` words; `variables` variables (core/child/child_settings.h).
struct keeper_command {
    uint32_t kind;
    uint32_t place;
    uint32_t serial;
    uint32_t value; // with KEEPER_START: ms from the leader's end to the group's SIGKILL
    uint32_t words;
    uint32_t variables;
};

enum keeper_report_kind {
    KEEPER_STARTED, // value: the leader's process number
    KEEPER_FAILED,  // value: errno; no process was started
    KEEPER_EXITED,  // value: the leader's status as of wait(2); the group has been sent SIGTERM
    KEEPER_GONE,    // the group is empty
};

struct keeper_report {
    uint32_t kind;
    uint32_t place;
    uint32_t serial;
    int32_t value;
};

struct keeper_place {
    _Atomic uint64_t memory_bytes; // resident memory of the leader, read every few seconds
    _Atomic int32_t group;         // the process group's number while the group isn't empty; else 0
    _Atomic uint64_t log_end;      // bytes ever written to the log
    char log[KEEPER_LOG_BYTES];    // a ring
};

struct keeper_shared {
    struct keeper_place places[KEEPER_PLACES];
};

struct privdrop_user;

struct keeper {
    int commands, reports; // the hub's ends
    pid_t process;
    struct keeper_shared *shared;
};

// Forks the keeper. With `user`, the keeper and all programs run as this user. Returns 0 or -errno. Never returns in
// the keeper.
int keeper_fork(struct keeper *keeper, const struct privdrop_user *user);
// Closes the hub's sockets to the keeper. The keeper then ends all programs and itself.
void keeper_close(struct keeper *keeper);

// Copies the last logged lines of a place, at most KEEPER_LOG_BYTES, and only bytes written after log_end was `since`.
// Returns the number of bytes.
size_t keeper_read_log(struct keeper_place *place, uint64_t since, char out[KEEPER_LOG_BYTES]);
