// bench_bystander: the hub's service for a peer that asks little while others ask much (flood/flood.h).
//
//   bench_bystander --hub URI FLOOD SECONDS [--warmup SECONDS] [--hub-pid PID] [--json]
//
// A thread of its own pings the hub once a millisecond. The thread has a higher priority than all others, if it may.
// Latency is from when a ping was due, so that a ping that the hub keeps waiting is charged for those behind it. The
// figures are as those of `patchbay bench --json`: messages are the flood's, latency is the bystander's.
//
// Success: exit status 0. Failure: status 1 when a connection broke or could not be made, 2 without arguments
// that mean something.
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench/flood/flood_kinds.h"
#include "bench/load/load.h"
#include "bench/load/load_cpu.h"
#include "bench/load/load_histogram.h"
#include "bench/load/load_server.h"

#define PERIOD_NS  UINT64_C(1000000)
#define GIVE_UP_NS UINT64_C(60000000000)

struct arguments {
    const char *hub;
    const struct flood_kind *kind;
    double seconds, warmup;
    pid_t server;
    bool json;
};

struct bystander {
    const char *hub;
    uint64_t begun_ns, from_ns, until_ns; // pings that were due between the last two count
    uint64_t asked, answered, heard;      // of what was heard, bytes
    struct histogram latency;
    _Atomic bool over;
    bool failed;
};

struct figures {
    uint64_t messages, elapsed_ns, cpu_ns, own_cpu_ns;
    bool cpu_known;
};

// --- The bystander

static void go_first(void) {
    struct sched_param first = {.sched_priority = 1};
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &first) != 0) {
        setpriority(PRIO_PROCESS, 0, -20);
    }
    prctl(PR_SET_TIMERSLACK, 1UL);
}

// All pings are alike, and so are their answers: these are told by their length.
static const char ping[] = "Content-Length: 44\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hub/ping\"}";
static const char pong[] = "Content-Length: 38\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}";

static void note_answers(struct bystander *bystander, uint64_t count) {
    uint64_t now_ns = load_now_ns();
    for (; count > 0; count--, bystander->answered++) {
        uint64_t due_ns = bystander->begun_ns + bystander->answered * PERIOD_NS;
        if (due_ns >= bystander->from_ns) {
            histogram_record(&bystander->latency, now_ns - due_ns);
        }
    }
}

// False when the connection broke.
static bool hear(struct bystander *bystander, int socket) {
    char in[16 * 1024];
    ssize_t count = recv(socket, in, sizeof in, MSG_DONTWAIT);
    if (count > 0) {
        bystander->heard += (uint64_t)count;
        note_answers(bystander, bystander->heard / (sizeof pong - 1) - bystander->answered);
    }
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

// Pings when it is due, and hears until then.
static bool go_on(struct bystander *bystander, int socket) {
    uint64_t due_ns = bystander->begun_ns + bystander->asked * PERIOD_NS, now_ns = load_now_ns();
    if (due_ns < bystander->until_ns && due_ns <= now_ns) {
        bystander->asked++;
        return send(socket, ping, sizeof ping - 1, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof ping - 1;
    }
    uint64_t wait_ns = due_ns < bystander->until_ns ? due_ns - now_ns : PERIOD_NS;
    struct timespec wait = {.tv_nsec = (long)wait_ns};
    struct pollfd polled = {.fd = socket, .events = POLLIN};
    int ready = ppoll(&polled, 1, &wait, NULL);
    return ready <= 0 || hear(bystander, socket);
}

static void *stand_by(void *context) {
    struct bystander *bystander = context;
    struct client client;
    int socket = client_open(&client, bystander->hub);
    socket = socket < 0 ? socket : client_release(&client);
    go_first();
    bystander->begun_ns = load_now_ns();
    bool good = socket >= 0;
    while (good && (bystander->begun_ns + bystander->asked * PERIOD_NS < bystander->until_ns ||
                    bystander->answered < bystander->asked)) {
        good = go_on(bystander, socket) && load_now_ns() < bystander->until_ns + GIVE_UP_NS;
    }
    bystander->failed = !good;
    if (socket >= 0) {
        close(socket);
    }
    atomic_store(&bystander->over, true);
    return NULL;
}

// --- The run

static uint64_t own_cpu_ns(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000U + (uint64_t)used.tv_nsec;
}

static void sample(struct figures *figures, const struct flood *flood, pid_t server) {
    figures->messages = flood->done;
    figures->elapsed_ns = load_now_ns();
    figures->own_cpu_ns = own_cpu_ns();
    figures->cpu_known = server > 0 && cpu_of_process(server, &figures->cpu_ns) == 0;
}

static bool measure(const struct arguments *arguments, struct flood *flood, struct bystander *bystander,
                    struct figures *figures) {
    struct figures before = {0};
    pthread_t thread;
    uint64_t begun_ns = load_now_ns();
    bystander->hub = arguments->hub;
    bystander->from_ns = begun_ns + (uint64_t)(arguments->warmup * 1e9);
    bystander->until_ns = bystander->from_ns + (uint64_t)(arguments->seconds * 1e9);
    if (pthread_create(&thread, NULL, stand_by, bystander) != 0) {
        return false;
    }
    flood_begin(flood);
    flood_run(flood, bystander->from_ns);
    sample(&before, flood, arguments->server);
    flood_run(flood, bystander->until_ns);
    sample(figures, flood, arguments->server);
    // Pings that were due are still answered, and the flood goes on meanwhile.
    while (flood->fault == NULL && !atomic_load(&bystander->over)) {
        flood_run(flood, load_now_ns() + PERIOD_NS);
    }
    pthread_join(thread, NULL);
    figures->messages -= before.messages;
    figures->elapsed_ns -= before.elapsed_ns;
    figures->own_cpu_ns -= before.own_cpu_ns;
    figures->cpu_ns -= before.cpu_ns;
    figures->cpu_known = figures->cpu_known && before.cpu_known;
    return true;
}

// --- Telling

static const struct {
    const char *name;
    double share;
} shares[] = {{"p50", 0.50}, {"p90", 0.90}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}};

enum { SHARES = sizeof shares / sizeof shares[0] };

static double latency_us(const struct bystander *bystander, int share) {
    return (double)histogram_at(&bystander->latency, shares[share].share) / 1e3;
}

static void tell_json(const struct arguments *arguments, const struct bystander *bystander,
                      const struct figures *figures) {
    double seconds = (double)figures->elapsed_ns / 1e9;
    printf("{\"flood\":\"%s\",\"seconds\":%.3f,\"messages\":%llu,\"messagesPerSecond\":%.1f,\"latencyUs\":{",
           arguments->kind->name, seconds, (unsigned long long)figures->messages,
           (double)figures->messages / seconds);
    for (int share = 0; share < SHARES; share++) {
        printf("%s\"%s\":%.1f", share > 0 ? "," : "", shares[share].name, latency_us(bystander, share));
    }
    printf("},");
    if (figures->cpu_known && figures->messages > 0) {
        printf("\"cpuUs\":%.6g,", (double)figures->cpu_ns / 1e3 / (double)figures->messages);
    } else {
        printf("\"cpuUs\":null,");
    }
    printf("\"generatorCpuPercent\":%.0f}\n",
           100.0 * (double)figures->own_cpu_ns / (double)figures->elapsed_ns);
}

static void tell(const struct arguments *arguments, const struct bystander *bystander,
                 const struct figures *figures) {
    printf("%s a second %.1f\n", arguments->kind->message,
           (double)figures->messages / ((double)figures->elapsed_ns / 1e9));
    for (int share = 0; share < SHARES; share++) {
        printf("bystander %-6s %.1f us\n", shares[share].name, latency_us(bystander, share));
    }
}

// --- Arguments

static const struct option options[] = {{"hub", required_argument, NULL, 'h'},
                                        {"hub-pid", required_argument, NULL, 'p'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"warmup", required_argument, NULL, 'w'},
                                        {0}};

static bool read_arguments(int argc, char **argv, struct arguments *arguments) {
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 'h':
            arguments->hub = optarg;
            break;
        case 'p':
            arguments->server = (pid_t)strtol(optarg, NULL, 10);
            break;
        case 'j':
            arguments->json = true;
            break;
        case 'w':
            arguments->warmup = strtod(optarg, NULL);
            break;
        default:
            return false;
        }
    }
    if (argc - optind != 2 || arguments->hub == NULL) {
        return false;
    }
    arguments->kind = flood_named(argv[optind]);
    arguments->seconds = strtod(argv[optind + 1], NULL);
    return arguments->kind != NULL && arguments->seconds > 0;
}

static int usage(void) {
    fprintf(stderr,
            "usage: bench_bystander --hub URI FLOOD SECONDS [--warmup SECONDS] [--hub-pid PID] [--json]\n");
    for (const struct flood_kind *const *kind = flood_kinds; *kind != NULL; kind++) {
        fprintf(stderr, "  %-15s %s\n", (*kind)->name, (*kind)->message);
    }
    return 2;
}

int main(int argc, char **argv) {
    static struct bystander bystander; // its histogram is large for a stack
    struct arguments arguments = {.warmup = 1};
    struct figures figures = {0};
    struct flood flood;
    struct rlimit limit;
    if (!read_arguments(argc, argv, &arguments)) {
        return usage();
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (arguments.server == 0) {
        arguments.server = server_pid(arguments.hub);
    }
    bool good = flood_open(&flood, arguments.kind, arguments.hub) &&
                measure(&arguments, &flood, &bystander, &figures) && !bystander.failed && flood.fault == NULL;
    if (good) {
        (arguments.json ? tell_json : tell)(&arguments, &bystander, &figures);
    } else {
        fprintf(stderr, "bench_bystander: %s\n",
                flood.fault != NULL ? flood.fault : "the bystander's connection broke");
    }
    flood_close(&flood);
    return good ? 0 : 1;
}
