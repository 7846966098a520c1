// The keeper: a process that is forked before the hub has any thread. The keeper starts the programs that the
// hub asks for, waits for them, and reads their standard error. When the hub is gone, whatever killed it, the
// keeper ends their process groups.
//
//   commands   hub → keeper, one packet each; a start brings the program's ends of two socket pairs
//   reports    keeper → hub, a stream of struct keeper_report
//   shared     memory of both: the last lines of each program's log, and how much memory the program takes
//
// A program is named by a place, which the hub chooses, and a serial, which tells it from the next one in
// that place.
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

enum { KEEPER_PLACES = 256, KEEPER_LOG_BYTES = 16 << 10, KEEPER_COMMAND_BYTES = 96 << 10 };

enum keeper_command_kind {
    KEEPER_START,
    KEEPER_KILL, // value: a signal, to the group at once
    KEEPER_END,  // SIGTERM to the group now, SIGKILL after value ms, unless it is gone by then
};

// Behind a start's command stand: name, directory (empty: the hub's own), directory to make (empty: none),
// words and variables, as many as it says (core/child/child_settings.h). Each has a zero byte behind it.
struct keeper_command {
    uint32_t kind;
    uint32_t place;
    uint32_t serial;
    uint32_t value; // of a start: ms from the leader's end to the group's SIGKILL
    uint32_t words;
    uint32_t variables;
};

enum keeper_report_kind {
    KEEPER_STARTED, // value: the process
    KEEPER_FAILED,  // value: errno. It was never there
    KEEPER_EXITED,  // value: its status as of wait; its group has been sent SIGTERM
    KEEPER_GONE,    // nobody of its group is left
};

struct keeper_report {
    uint32_t kind;
    uint32_t place;
    uint32_t serial;
    int32_t value;
};

struct keeper_place {
    _Atomic uint64_t memory_bytes; // resident, of the leader; looked up every few seconds
    _Atomic int32_t group;         // of processes, as long as anybody is in it; else 0
    _Atomic uint64_t log_end;      // how many bytes were ever written to the log
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

// Forks it; it becomes that user, if there is one, and all programs are this user's. 0 or -errno. In the keeper itself this
// never returns.
int keeper_fork(struct keeper *keeper, const struct privdrop_user *user);
// Lets it go: with its sockets closed it ends what is left and then itself.
void keeper_close(struct keeper *keeper);

// Copies the last lines that were logged of a place, KEEPER_LOG_BYTES at most, and none from before log_end was `since`;
// returns how many bytes.
size_t keeper_read_log(struct keeper_place *place, uint64_t since, char out[KEEPER_LOG_BYTES]);
