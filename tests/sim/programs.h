// The simulated keeper (io/keeper.h), and the programs that the hub has it start. The driver of the
// simulation tells what a program does. The effects on its pipes, its group and the reports about it are told
// here.
#pragma once

#include "io/keeper.h"
#include "tests/sim/sim_io.h"

enum program_state {
    PROGRAM_ORDERED, // the keeper hasn't come to it yet
    PROGRAM_RUNS,
    PROGRAM_ENDED, // its leader has; somebody of its group may be left
    PROGRAM_GONE,  // all have
};

struct program {
    struct program *next;
    enum program_state state;
    uint32_t place, serial;
    int number;             // of its process
    char name[256];         // of its section
    char word[64];          // the second one of its command; empty: there is none
    struct cable *in, *out; // its standard input and output; NULL: closed
    bool driven;            // somebody drives it: it ends only as told, or by SIGKILL
    bool leaves_others;     // in its group, who hold its pipes open until SIGKILL
    uint32_t signals;       // that its group has been sent: bits
    uint32_t end_ms;        // from the leader's end to SIGKILL
    uint64_t kill_ns;       // when that is due; UINT64_MAX: not at all
};

// Makes a keeper for this kernel, to be given to the hub's settings. The keeper ends with kernel_destroy,
// when nobody may be left.
struct keeper *programs_keep(struct kernel *kernel);
// Whether whatever is ordered waits for program_start or program_fail; as soon as it doesn't, nobody drives any more.
void programs_hold(struct kernel *kernel, bool hold);
// The keeper is killed, and its programs with it.
void programs_lose_keeper(struct kernel *kernel);
// Has the keeper take no orders, or take them again.
void programs_occupy_keeper(struct kernel *kernel, bool busy);
// All that are there, the newest first.
struct program *programs_first(const struct kernel *kernel);
// The next one of this name that waits to be started, the oldest first; NULL: none.
struct program *programs_ordered(const struct kernel *kernel, const char *name);

void program_start(struct kernel *kernel, struct program *program);
void program_fail(struct kernel *kernel, struct program *program, int error);
// Ends the program's leader; status as of wait.
void program_end(struct kernel *kernel, struct program *program, int status);
void program_close_in(struct program *program);
void program_close_out(struct program *program);
