// patchbay_sim [--seed N] [--runs N] [--clean] [--trace]: runs seeds N, N + 1, ... through the simulation.
// --clean: without faults. --trace: each seed twice, the second time with other secrets of the hash tables.
// The two must be the same to the last event.
#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/run.h"
#include "tests/sim/seeds.h"

static bool clean, twice;

static void run(uint64_t seed) {
    uint64_t trace = run_seed(seed, clean, 0);
    if (!twice || run_seed(seed, clean, ~seed) == trace)
        return;
    fputs("the same seed had two traces\n", stderr);
    abort();
}

int main(int argc, char **argv) {
    static const struct seeds_flag flags[] = {{"--clean", &clean}, {"--trace", &twice}, {NULL, NULL}};
    static const struct seeds seeds = {.program = "patchbay_sim", .flags = flags, .run = run};
    seeds_run(&seeds, argc, argv);
    run_print_totals();
    return 0;
}
