// Plays cases of the corpus.
//
// usage: patchbay_corpus (--sim [--rough SEED] | --apart [--rough SEED] [--listed FILE] | --tcp PATCHBAYD | --unix
// PATCHBAYD) [--lines | --mixed] [--must-fail] [--shards N] [--verbose] FILE|FOLDER...; or --websocket PATCHBAYD in
// place of --tcp and --lines
//
// Status 0 when every case held with one shard and with two (--shards 2: with two alone), in each depth of validation
// that the case names, and no listed case (listed.h) did. With --must-fail: status 0 when every case failed in each.
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/corpus/listed.h"
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

// Cases with the same options stand together: they share a hub.
static int by_options(const void *left, const void *right) {
    const struct corpus_case *one = *(struct corpus_case *const *)left;
    const struct corpus_case *other = *(struct corpus_case *const *)right;
    int order = strcmp(one->options, other->options);
    return order ? order : strcmp(one->path, other->path);
}

// --- Playing

// Choices of the command line.
struct how {
    const struct backend *backend;
    enum play_wires wires;
    uint64_t rough;
    bool must_fail, verbose;
    uint32_t shards; // the one number of shards that is played; 0: each
};

struct tally {
    unsigned played, failed;
};

// Returns whether the case can be played where there are several hubs, or one. A lone peer asks nothing of
// several hubs.
static bool has_hubs(const struct how *how, const struct corpus_case *one) {
    if (!how->backend->at)
        return one->hub_count == 0;
    return one->hub_count || (one->peer_count > 1 && !one->config && !one->users && !one->window_bytes);
}

// Takes out the cases that aren't for these wires, or as many hubs, and says how many they are.
static void leave_out(const struct how *how) {
    unsigned left = 0;
    for (unsigned at = 0; at < case_count; at++) {
        struct corpus_case *one = cases[at];
        bool is_elsewhere = (how->backend == &backend_websocket && one->bytewise) || !has_hubs(how, one);
        if (play_can(one, how->wires) && !is_elsewhere) {
            cases[left++] = one;
            continue;
        }
        if (how->verbose)
            printf("left out %s\n", one->path);
        case_close(one);
    }
    if (left < case_count)
        printf("%u cases are about frames, name their wires, or have other hubs or too few peers, and are "
               "left out\n",
               case_count - left);
    case_count = left;
}

static bool plays(const struct how *how, const struct corpus_case *one, bool strict) {
    if (!(strict ? one->strict : one->lazy) || (one->sim_only && !how->backend->simulated))
        return false;
    return !(how->rough && one->window_bytes); // who is slow, and when, is told there
}

// A listed case is to fail, once, and then to hold in the order that it names, if any. False: there is
// nothing to play.
static bool goes_on(const struct how *how, const struct corpus_case *one, struct setup *setup) {
    struct listed *listed = listed_find(one->path);
    if (!listed)
        return true;
    listed->met = true;
    setup->silent = true;
    if (!listed->failed)
        listed->failed = !play_case(one, how->backend, setup, how->wires);
    setup->silent = false;
    setup->order = listed->order;
    if (*listed->order && !listed_parts(listed, one->peer_count))
        broken = true;
    return *listed->order;
}

static void play_all(const struct how *how, uint32_t shards, bool strict, struct tally *tally) {
    for (unsigned at = 0; at < case_count; at++) {
        const struct corpus_case *one = cases[at];
        struct setup setup = {.options = one->options,
                              .strict = strict,
                              .shard_count = shards,
                              .rough = how->rough,
                              .window_bytes = one->window_bytes,
                              .config = one->config,
                              .users = one->users,
                              .hub_users = (const char *const *)one->hub_users,
                              .hub_options = (const char *const *)one->hub_options,
                              .hub_count = one->hub_count,
                              .order = ""};
        if (!plays(how, one, strict) || !goes_on(how, one, &setup))
            continue;
        bool good = play_case(one, how->backend, &setup, how->wires);
        if (how->verbose)
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

static bool read_arguments(struct how *how, int argc, char **argv) {
    for (int at = 1; at < argc; at++) {
        const char *word = argv[at];
        bool more = at + 1 < argc;
        if (!strcmp(word, "--sim") || !strcmp(word, "--apart")) {
            how->backend = word[2] == 's' ? &backend_sim : &backend_apart;
        } else if (more && (!strcmp(word, "--tcp") || !strcmp(word, "--unix"))) {
            how->backend = word[2] == 't' ? &backend_tcp : &backend_unix;
            real_use(argv[++at]);
        } else if (more && !strcmp(word, "--websocket")) {
            how->backend = &backend_websocket;
            how->wires = PLAY_LINES;
            real_use(argv[++at]);
        } else if (more && !strcmp(word, "--rough")) {
            how->rough = strtoull(argv[++at], NULL, 10);
        } else if (!strcmp(word, "--lines") || !strcmp(word, "--mixed")) {
            how->wires = word[2] == 'l' ? PLAY_LINES : PLAY_MIXED;
        } else if (more && !strcmp(word, "--listed")) {
            broken |= !listed_read(argv[++at]);
        } else if (more && !strcmp(word, "--shards")) {
            how->shards = (uint32_t)strtoul(argv[++at], NULL, 10);
        } else if (!strcmp(word, "--must-fail")) {
            how->must_fail = true;
        } else if (!strcmp(word, "--verbose")) {
            how->verbose = true;
        } else if (word[0] == '-' || nftw(word, add_file, FILES_OPEN_MAX, FTW_PHYS)) {
            return false;
        }
    }
    return how->backend && case_count && how->shards <= SHARDS_TRIED;
}

// False when the last hub ends badly.
static bool stop(const struct backend *backend) {
    struct text why;
    text_init(&why);
    bool stopped = backend->stop(&why);
    if (!stopped)
        fprintf(stderr, "%.*s\n", (int)why.length, why.bytes);
    text_deinit(&why);
    return stopped;
}

int main(int argc, char **argv) {
    struct how how = {0};
    struct tally tally = {0, 0};
    if (!read_arguments(&how, argc, argv)) {
        fputs("usage: patchbay_corpus (--sim [--rough SEED] | --apart [--rough SEED] [--listed FILE] | "
              "--tcp PATCHBAYD | --unix PATCHBAYD | "
              "--websocket PATCHBAYD) [--lines | --mixed] [--must-fail] [--shards N] [--verbose] "
              "FILE|FOLDER...\n",
              stderr);
        return 2;
    }
    signal(SIGABRT, name_the_case);
    leave_out(&how);
    qsort(cases, case_count, sizeof *cases, by_options);
    for (uint32_t shards = 1; shards <= SHARDS_TRIED; shards++) {
        if (how.shards && how.shards != shards)
            continue;
        play_all(&how, shards, false, &tally);
        play_all(&how, shards, true, &tally);
    }
    bool stopped = stop(how.backend), is_true = listed_is_true();
    listed_forget();
    printf("%u cases; played %u times, failed %u times\n", case_count, tally.played, tally.failed);
    for (unsigned at = 0; at < case_count; at++)
        case_close(cases[at]);
    return !broken && stopped && is_true && tally.failed == (how.must_fail ? tally.played : 0) ? 0 : 1;
}
