// The main program of a simulator: runs from seeds, of which the first that fails is named.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct seeds_flag {
    const char *word; // `--clean`
    bool *given;
};

struct seeds {
    const char *program;
    const struct seeds_flag *flags; // the last one's word is NULL; NULL: there are none
    void (*run)(uint64_t seed);     // aborts where something is wrong
    bool
        has_log; // standard error is the hub's log: of a run that fails, it goes before the line that names the seed
};

// Runs seeds N, N + 1, ... as the arguments `--seed N`, `--runs N` and the flags say; returns how many that were. Where
// a run aborts, or a sanitizer reports something, the status is 1. Standard error then has the commit, and the command
// that runs the seed alone. Arguments that mean nothing end it with status 2.
uint64_t seeds_run(const struct seeds *seeds, int argc, char **argv);
