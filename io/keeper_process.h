// Inside the keeper.
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "core/child/log_line.h"
#include "io/keeper.h"

// One program, from its start until nobody of its group is left.
struct kept_child {
    struct kept_child *next;
    uint32_t place, serial;
    pid_t group; // which was its leader's process, too
    bool reaped; // the leader
    bool group_gone;
    bool told; // that it is gone
    uint32_t end_ms;
    uint64_t kill_at_ms; // SIGKILL to the group; 0: not yet
    int complaints;      // its standard error; -1: at its end
    struct log_lines lines;
    char name[256];
};

struct keeping {
    int commands, reports;
    int signals; // SIGCHLD
    struct keeper_shared *shared;
    struct kept_child *children;
    bool hub_gone;
    uint64_t sample_at_ms;
    pid_t watcher; // who waits for the keeper's end; 0: nobody
    int watched;   // which this is, once it is closed
};

// Has another process wait for the keeper's end, and end all groups then. Without memory for one, nobody does.
void keeping_have_watched(struct keeping *keeping);
// Nobody is left: it ends, too.
void keeping_end_watch(struct keeping *keeping);
uint64_t keeping_now_ms(void);
// Reads what a program says on standard error; at its end, or when nobody is left, ends its log.
void keeping_read(struct keeping *keeping, struct kept_child *child);
void keeping_end_log(struct keeping *keeping, struct kept_child *child);
// Notes how much memory the programs take.
void keeping_sample(struct keeping *keeping);

// In the forked process: becomes the program, or says on its standard error why not and ends. Its standard
// streams are `in`, `out` and `complaints`.
struct keeping_program {
    const char *name, *directory, *make;
    char **words;          // NULL behind the last
    const char *variables; // as they came
    uint32_t variable_count;
    pid_t keeper;
};
__attribute__((noreturn)) void keeping_become(const struct keeping_program *program, int in, int out,
                                              int complaints);
// In the keeper: does all until the hub and all programs are gone.
__attribute__((noreturn)) void keeping_run(struct keeping *keeping);
