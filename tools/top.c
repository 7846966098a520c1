// `patchbay top`: shows the state of the hub. On a terminal draws the screen once a second, and at once when a key is
// pressed or the window changes. Anywhere else prints one picture and ends. Success: after q, SIGINT, SIGTERM or
// SIGHUP, status 0. Failure: the hub can't be reached or goes away, status 3. The terminal is restored in either case.
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "tools/client.h"
#include "tools/commands.h"
#include "tools/output.h"
#include "tools/top.h"

enum {
    PERIOD_MS = 1000,
    ANSWER_S = 10,
    // A long list of agents is asked for less often: once in so many periods for each megabyte.
    AGENTS_BYTES = 64 * 1024,
    PERIODS_A_MEGABYTE = 10
};

struct top {
    struct client client;
    struct top_hub hub;
    struct top_view view;
    struct terminal *terminal; // NULL: one picture is printed
    int signals, wakes;        // the signals; an epoll of signals and keys
    uint64_t agents_due_ns;
    bool over, changed;
};

static uint64_t top_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

// --- Keys and signals

static void take_key(struct top *top, char key) {
    static const char sorts[TOP_SORTS] = {
        [TOP_BY_PENDING] = 'o', [TOP_BY_NAME] = 'n', [TOP_BY_LEVEL] = 'l', [TOP_BY_AGE] = 'c'};
    const char *sort = memchr(sorts, key, sizeof sorts);
    top->over |= key == 'q' || key == 'Q';
    top->changed = true;
    if (sort != NULL) {
        top->view.sort = (enum top_sort)(sort - sorts);
    } else if (key >= '1' && key <= '3') {
        top->view.panel = (enum top_panel)(key - '1');
    }
}

static void take_keys(struct top *top) {
    char keys[64];
    ssize_t count = read(STDIN_FILENO, keys, sizeof keys);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        epoll_ctl(top->wakes, EPOLL_CTL_DEL, STDIN_FILENO, NULL); // no more keys come
        top->over |= count < 0;
    }
    for (ssize_t at = 0; at < count; at++) {
        take_key(top, keys[at]);
    }
}

static void take_wakes(struct top *top) {
    struct epoll_event events[2];
    int count = epoll_wait(top->wakes, events, 2, 0);
    for (int at = 0; at < count; at++) {
        struct signalfd_siginfo taken;
        if (events[at].data.fd == STDIN_FILENO) {
            take_keys(top);
        } else if (read(top->signals, &taken, sizeof taken) == (ssize_t)sizeof taken) {
            top->over |= taken.ssi_signo != SIGWINCH;
            top->changed = true;
        }
    }
}

static int open_wakes(struct top *top) {
    sigset_t wanted;
    sigemptyset(&wanted);
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};
    for (size_t at = 0; at < sizeof numbers / sizeof numbers[0]; at++) {
        sigaddset(&wanted, numbers[at]);
    }
    sigprocmask(SIG_BLOCK, &wanted, NULL);
    top->signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    top->wakes = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = top->signals};
    if (top->signals < 0 || top->wakes < 0 ||
        epoll_ctl(top->wakes, EPOLL_CTL_ADD, top->signals, &event) < 0) {
        return -errno;
    }
    event.data.fd = STDIN_FILENO;
    if (top->terminal != NULL && isatty(STDIN_FILENO)) {
        (void)epoll_ctl(top->wakes, EPOLL_CTL_ADD, STDIN_FILENO, &event);
    }
    return 0;
}

// --- Questions

// Calls a method of the hub, and takes keys and signals meanwhile. Returns 0; 1 if the hub refuses; or a negative
// errno.
static int ask(struct top *top, const char *method, struct client_answer *answer) {
    client_set_deadline(&top->client, ANSWER_S * UINT64_C(1000000000));
    int error = client_request(&top->client, method, NULL, NULL);
    while (error == 0 && !top->over) {
        error = client_answer(&top->client, answer);
        if (error != -EINTR) {
            return error == 0 && answer->refused ? 1 : error;
        }
        take_wakes(top);
        error = 0;
    }
    return error;
}

static int ask_all(struct top *top) {
    struct client_answer answer;
    int error = ask(top, "hub/stats", &answer);
    if (error != 0 || top->over) {
        return error;
    }
    uint64_t now_ns = top_now_ns();
    if (!top_take_stats(&top->hub, answer.body.bytes, answer.value, now_ns)) {
        return -ENOMEM;
    }
    if (now_ns < top->agents_due_ns) {
        return 0;
    }
    error = ask(top, "hub/agents", &answer);
    if (error != 0 || top->over) {
        return error < 0 ? error : 0; // the list may be larger than any frame
    }
    uint64_t pause_ms =
        answer.value.bytes <= AGENTS_BYTES
            ? 0
            : 2 * PERIOD_MS + (uint64_t)answer.value.bytes / 1048576 * PERIODS_A_MEGABYTE * PERIOD_MS;
    top->agents_due_ns = now_ns + pause_ms * 1000000;
    return top_take_agents(&top->hub, answer.body.bytes, answer.value, now_ns) ? 0 : -ENOMEM;
}

// --- Pictures

static bool show(struct top *top) {
    struct text picture = {0};
    if (top->terminal != NULL) {
        terminal_size(&top->view.width, &top->view.height);
    }
    top_sort_agents(&top->hub, top->view.sort);
    top_draw(&top->hub, &top->view, &picture);
    bool shown = !picture.failed;
    if (shown && top->terminal != NULL) {
        shown = terminal_show(top->terminal, &picture);
    } else if (shown) {
        fwrite(picture.bytes, 1, picture.length, stdout);
    }
    text_deinit(&picture);
    top->changed = false;
    return shown;
}

// Waits until this time, or until a key is pressed.
static void rest(struct top *top, uint64_t until_ns) {
    for (uint64_t now_ns; !top->over && !top->changed && (now_ns = top_now_ns()) < until_ns;) {
        struct pollfd waits = {.fd = top->wakes, .events = POLLIN};
        int ready = poll(&waits, 1, (int)((until_ns - now_ns) / 1000000 + 1));
        if (ready > 0) {
            take_wakes(top);
        }
    }
}

// Prints one picture after two looks, a second apart, because rates need two.
static int print_once(struct top *top) {
    int error = ask_all(top);
    rest(top, top_now_ns() + PERIOD_MS * UINT64_C(1000000));
    if (error == 0 && !top->over) {
        error = ask_all(top);
    }
    if (error == 0 && !top->over) {
        show(top);
    }
    return error;
}

static int watch(struct top *top) {
    int error = 0;
    for (uint64_t next_ns = 0; error == 0 && !top->over;) {
        uint64_t now_ns = top_now_ns();
        if (now_ns >= next_ns) {
            error = ask_all(top);
            next_ns = now_ns + PERIOD_MS * UINT64_C(1000000);
        }
        if (error == 0 && !top->over && !show(top)) {
            return 0; // the terminal has gone
        }
        rest(top, next_ns);
    }
    return error;
}

// --- The command

static bool read_sort(const char *name, enum top_sort *out) {
    static const char *const names[TOP_SORTS] = {"owes", "name", "level", "connected"};
    for (unsigned at = 0; at < TOP_SORTS; at++) {
        if (strcmp(names[at], name) == 0) {
            *out = (enum top_sort)at;
            return true;
        }
    }
    fprintf(stderr, "patchbay: top: --sort '%s': it must be owes, name, level or connected\n", name);
    return false;
}

static enum status run_top(struct top *top, const char *hub) {
    int error = client_open(&top->client, hub);
    if (error < 0) {
        return unreachable(hub, error);
    }
    top->terminal = isatty(STDOUT_FILENO) ? terminal_open() : NULL;
    top->view.colours = top->terminal != NULL;
    error = open_wakes(top);
    top->client.signals = top->wakes;
    if (error == 0) {
        error = top->terminal != NULL ? watch(top) : print_once(top);
    }
    terminal_close(top->terminal);
    client_close(&top->client);
    top_forget(&top->hub);
    if (error > 0) {
        fputs("patchbay: top: the hub refuses to tell how it is: that needs a user with admin = yes\n",
              stderr);
        return STATUS_REFUSED;
    }
    return error < 0 ? unreachable(hub, error) : STATUS_DONE;
}

enum status command_top(int argc, char **argv, const char *hub) {
    static const struct option options[] = {{"sort", required_argument, NULL, 's'}, {0}};
    static struct top top; // static, as it has a minute of counters
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == '?') {
            return usage("top");
        }
        if (!read_sort(optarg, &top.view.sort)) {
            return STATUS_USAGE;
        }
    }
    if (optind < argc) {
        return usage("top");
    }
    top.view.hub = hub;
    return run_top(&top, hub);
}
