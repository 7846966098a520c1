#include "tests/sim/seeds.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct seeds *current;
static volatile uint64_t current_seed;

static int terminal; // standard error, where the hub's log has the place of that

static void show_log(void) {
    char bytes[4096];
    lseek(STDERR_FILENO, 0, SEEK_SET);
    for (ssize_t count; (count = read(STDERR_FILENO, bytes, sizeof bytes)) > 0;)
        if (write(terminal, bytes, (size_t)count) < 0)
            _exit(2);
    dup2(terminal, STDERR_FILENO);
}

// The log is of interest where something is wrong.
static void keep_log(void) {
    terminal = dup(STDERR_FILENO);
    FILE *log = tmpfile();
    if (terminal < 0 || !log || dup2(fileno(log), STDERR_FILENO) < 0)
        abort();
    setvbuf(stderr, NULL, _IONBF, 0);
}

static void empty_log(void) {
    if (ftruncate(STDERR_FILENO, 0) < 0 || lseek(STDERR_FILENO, 0, SEEK_SET) < 0)
        abort();
}

static void say_seed(void) {
    char line[256];
    const struct seeds *seeds = current;
    if (!seeds) // or it has been said
        return;
    current = NULL;
    if (seeds->has_log)
        show_log();
    int count = snprintf(line, sizeof line, "failing seed, at " PATCHBAY_COMMIT ": %s --seed %" PRIu64,
                         seeds->program, current_seed);
    for (const struct seeds_flag *flag = seeds->flags; flag && flag->word; flag++)
        if (*flag->given)
            count += snprintf(line + count, sizeof line - (size_t)count, " %s", flag->word);
    line[count++] = '\n';
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

static void usage(const struct seeds *seeds) {
    fprintf(stderr, "usage: %s [--seed N] [--runs N]", seeds->program);
    for (const struct seeds_flag *flag = seeds->flags; flag && flag->word; flag++)
        fprintf(stderr, " [%s]", flag->word);
    fputc('\n', stderr);
    exit(2);
}

static bool take_flag(const struct seeds *seeds, const char *word) {
    for (const struct seeds_flag *flag = seeds->flags; flag && flag->word; flag++)
        if (strcmp(flag->word, word) == 0)
            return *flag->given = true;
    return false;
}

uint64_t seeds_run(const struct seeds *seeds, int argc, char **argv) {
    uint64_t first = 1, runs = 1;
    for (int index = 1; index < argc; index++) {
        bool more = index + 1 < argc;
        if (strcmp(argv[index], "--seed") == 0 && more)
            first = strtoull(argv[++index], NULL, 10);
        else if (strcmp(argv[index], "--runs") == 0 && more)
            runs = strtoull(argv[++index], NULL, 10);
        else if (!take_flag(seeds, argv[index]))
            usage(seeds);
    }
    current = seeds;
    signal(SIGABRT, failed);
    report_deaths();
    if (seeds->has_log)
        keep_log();
    for (current_seed = first; current_seed < first + runs; current_seed++) {
        if (seeds->has_log)
            empty_log();
        seeds->run(current_seed);
    }
    current = NULL;
    return runs;
}
