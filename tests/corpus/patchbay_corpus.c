// Plays cases of the corpus.
//
// usage: patchbay_corpus (--sim | --tcp PATCHBAYD | --unix PATCHBAYD) [--must-fail] [--verbose]
// FILE|FOLDER...
//
// Status 0 when every case held with one shard and with two, in each depth of validation that it names; with
// --must-fail when every case failed in each.
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/corpus/play.h"

enum { CASES_MAX = 2000, FILES_OPEN_MAX = 16, SHARDS_TRIED = 2 };

static struct corpus_case *cases[CASES_MAX];
static unsigned case_count;
static bool broken; // a case can't be read

// --- Finding cases

static int add_file(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)status, (void)at;
    const char *end = strrchr(path, '.');
    if (kind != FTW_F || !end || strcmp(end, ".case") != 0)
        return 0;
    struct corpus_case *one = case_count < CASES_MAX ? case_open(path) : NULL;
    if (one)
        cases[case_count++] = one;
    else
        broken = true;
    return 0;
}

// Those with the same options stand together: they share a hub.
static int by_options(const void *left, const void *right) {
    const struct corpus_case *one = *(struct corpus_case *const *)left;
    const struct corpus_case *other = *(struct corpus_case *const *)right;
    int order = strcmp(one->options, other->options);
    return order ? order : strcmp(one->path, other->path);
}

// --- Playing

struct tally {
    unsigned played, failed;
};

static void play_all(const struct backend *backend, uint32_t shards, bool strict, bool verbose,
                     struct tally *tally) {
    for (unsigned at = 0; at < case_count; at++) {
        const struct corpus_case *one = cases[at];
        if (!(strict ? one->strict : one->lazy) || (one->sim_only && !backend->simulated))
            continue;
        struct setup setup = {one->options, strict, shards, one->window_bytes};
        bool good = play_case(one, backend, &setup);
        if (verbose)
            printf("%s %s, %u shards, %s\n", good ? "held  " : "FAILED", one->path, shards,
                   strict ? "strict" : "lazy");
        tally->played++;
        tally->failed += !good;
    }
}

static void name_the_case(int number) {
    const char *where = play_where();
    ssize_t written = write(STDERR_FILENO, where, strlen(where));
    written = write(STDERR_FILENO, "\n", 1);
    (void)written;
    signal(number, SIG_DFL);
    raise(number);
}

static int usage(void) {
    fputs("usage: patchbay_corpus (--sim | --tcp PATCHBAYD | --unix PATCHBAYD) [--must-fail] [--verbose] "
          "FILE|FOLDER...\n",
          stderr);
    return 2;
}

int main(int argc, char **argv) {
    const struct backend *backend = NULL;
    bool must_fail = false, verbose = false;
    for (int at = 1; at < argc; at++) {
        if (!strcmp(argv[at], "--sim")) {
            backend = &backend_sim;
        } else if ((!strcmp(argv[at], "--tcp") || !strcmp(argv[at], "--unix")) && at + 1 < argc) {
            backend = argv[at][2] == 't' ? &backend_tcp : &backend_unix;
            real_use(argv[++at]);
        } else if (!strcmp(argv[at], "--must-fail")) {
            must_fail = true;
        } else if (!strcmp(argv[at], "--verbose")) {
            verbose = true;
        } else if (argv[at][0] == '-' || nftw(argv[at], add_file, FILES_OPEN_MAX, FTW_PHYS)) {
            return usage();
        }
    }
    if (!backend || !case_count)
        return usage();
    signal(SIGABRT, name_the_case);
    qsort(cases, case_count, sizeof *cases, by_options);
    struct tally tally = {0, 0};
    for (uint32_t shards = 1; shards <= SHARDS_TRIED; shards++) {
        play_all(backend, shards, false, verbose, &tally);
        play_all(backend, shards, true, verbose, &tally);
    }
    struct text why;
    text_init(&why);
    bool stopped = backend->stop(&why);
    if (!stopped)
        fprintf(stderr, "%.*s\n", (int)why.length, why.bytes);
    text_deinit(&why);
    printf("%u cases; played %u times, failed %u times\n", case_count, tally.played, tally.failed);
    for (unsigned at = 0; at < case_count; at++)
        case_close(cases[at]);
    return !broken && stopped && tally.failed == (must_fail ? tally.played : 0) ? 0 : 1;
}
