// patchbay_sim [--seed N] [--runs N] [--clean] [--trace]: runs seeds N, N + 1, ... through the
// simulation. The first one that fails is printed with the commit that it was built from, and the status
// is 1.
// --clean: without faults. --trace: each seed twice, the second time with other secrets of the hash tables, and the two must be
// the same to the last event.
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/sim/run.h"

static uint64_t current_seed;
static bool clean;

static void say_seed(void) {
    char line[128];
    int count = snprintf(line, sizeof line,
                         "failing seed, at " PATCHBAY_COMMIT ": patchbay_sim --seed %" PRIu64 "%s\n",
                         current_seed, clean ? " --clean" : "");
    if (write(STDERR_FILENO, line, (size_t)count) < 0)
        _exit(1);
}

// A failed assertion or check ends here; nothing is left to be saved.
static void failed(int number) {
    (void)number;
    say_seed();
    _exit(1);
}

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
static void report_deaths(void) {
    __sanitizer_set_death_callback(say_seed);
}
#else
static void report_deaths(void) {}
#endif

// The undefined-behaviour sanitizer calls this, where it is, with each report.
void __ubsan_on_report(void);
void __ubsan_on_report(void) {
    say_seed();
}

static int usage(void) {
    fputs("usage: patchbay_sim [--seed N] [--runs N] [--clean] [--trace]\n", stderr);
    return 2;
}

int main(int argc, char **argv) {
    uint64_t first = 1, runs = 1;
    bool twice = false;
    for (int index = 1; index < argc; index++) {
        bool more = index + 1 < argc;
        if (strcmp(argv[index], "--seed") == 0 && more)
            first = strtoull(argv[++index], NULL, 10);
        else if (strcmp(argv[index], "--runs") == 0 && more)
            runs = strtoull(argv[++index], NULL, 10);
        else if (strcmp(argv[index], "--clean") == 0)
            clean = true;
        else if (strcmp(argv[index], "--trace") == 0)
            twice = true;
        else
            return usage();
    }
    signal(SIGABRT, failed);
    report_deaths();
    for (uint64_t run = 0; run < runs; run++) {
        current_seed = first + run;
        uint64_t trace = run_seed(current_seed, clean, 0);
        if (!twice || run_seed(current_seed, clean, ~current_seed) == trace)
            continue;
        fputs("the same seed had two traces\n", stderr);
        failed(0);
    }
    run_print_totals();
    current_seed = 0;
    return 0;
}
