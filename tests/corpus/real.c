// A real patchbayd. Cases with the same options share one, in turn. A case begins when all connections of the case
// before have gone, and all registrations with them. A connection of the runner's own asks for these.
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/corpus/process.h"
#include "tests/corpus/websocket.h"
#include "tests/sim/naive.h"

struct line {
    int fd;
    bool lines;
    bool wrapped; // in WebSocket
    struct websocket websocket;
};

static const char *program_path = "patchbayd";
static struct process process;
static enum process_way way;
static char running[640]; // what it was started for
static struct line control;
static struct text before; // hub/stats as the case began
static size_t journal_before;

enum { JOURNAL_BYTES_MAX = 1 << 20 };

void real_use(const char *program) {
    program_path = program;
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// --- Lines

static bool write_bytes(struct line *line, const void *bytes, size_t count) {
    for (size_t at = 0; at < count;) {
        ssize_t sent = send(line->fd, (const char *)bytes + at, count - at, MSG_NOSIGNAL);
        if (sent < 0)
            return false;
        at += (size_t)sent;
    }
    return true;
}

static bool write_all(struct line *line, const void *bytes, size_t count) {
    struct text frames;
    if (!line->wrapped)
        return write_bytes(line, bytes, count);
    text_init(&frames);
    websocket_wrap(bytes, count, &frames);
    bool good = write_bytes(line, frames.bytes, frames.length);
    text_deinit(&frames);
    return good;
}

static size_t read_bytes(struct line *line, void *out, size_t capacity, enum line_state *state) {
    struct pollfd ready = {.fd = line->fd, .events = POLLIN};
    *state = LINE_OPEN;
    if (poll(&ready, 1, (int)(PATIENCE_NS / 1000000)) <= 0)
        return 0;
    ssize_t count = recv(line->fd, out, capacity, 0);
    if (count <= 0)
        *state = count == 0 ? LINE_ENDED : LINE_RESET;
    return count > 0 ? (size_t)count : 0;
}

static size_t read_some(struct line *line, void *out, size_t capacity, enum line_state *state) {
    char bytes[16384];
    size_t count, given;
    *state = LINE_OPEN;
    if (!line->wrapped)
        return read_bytes(line, out, capacity, state);
    while (!(given = websocket_give(&line->websocket, out, capacity))) {
        if (!(count = read_bytes(line, bytes, sizeof bytes, state)))
            return 0;
        websocket_take(&line->websocket, bytes, count);
    }
    return given;
}

static bool quiet(struct line *line) {
    struct pollfd ready = {.fd = line->fd, .events = POLLIN};
    return !line->websocket.ready.length && poll(&ready, 1, 0) == 0;
}

static void half_close(struct line *line) {
    shutdown(line->fd, SHUT_WR);
}

// TCP resets where it is told to; a Unix socket where something is left unread.
static void reset(struct line *line) {
    static const char frame[] = "Content-Length: 29\r\n\r\n{\"id\":1,\"method\":\"hub/ping\"} ";
    const char *ping = line->lines ? "{\"id\":1,\"method\":\"hub/ping\"}\n" : frame;
    const struct linger none = {.l_onoff = 1};
    struct pollfd ready = {.fd = line->fd, .events = POLLIN};
    write_all(line, ping, strlen(ping));
    poll(&ready, 1, (int)(PATIENCE_NS / 1000000));
    setsockopt(line->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

// Whether closes by the hub are waited for. Each takes a second, and closes are the same with one shard as with more,
// and in both depths. So one run of the four waits.
static bool ends_are_awaited;

// Only a peer that writes learns that the other end of a half-closed TCP connection is gone: the answer to
// what it wrote says so. While there is none the hub still reads, and is asked again.
static bool hub_closed(struct line *line) {
    enum { ASK_AGAIN_MS = 2 };
    struct pollfd broken = {.fd = line->fd}; // a reset is always told
    if (!ends_are_awaited)
        return true;
    for (uint64_t until_ns = now_ns() + PATIENCE_NS; now_ns() < until_ns;) {
        if (send(line->fd, "x", 1, MSG_NOSIGNAL) < 0)
            return errno == EPIPE || errno == ECONNRESET;
        poll(&broken, 1, ASK_AGAIN_MS);
    }
    return false;
}

static void pass(uint64_t ns) {
    struct timespec time = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    nanosleep(&time, NULL);
}

static void free_line(struct line *line) {
    if (line->fd >= 0)
        close(line->fd);
    if (line->wrapped)
        websocket_end(&line->websocket);
    free(line);
}

static struct line *dial(enum line_wire wire) {
    struct line *line = calloc(1, sizeof *line);
    line->fd = process_dial(&process, wire);
    line->lines = wire == LINE_LINES;
    line->wrapped = line->lines && way == PROCESS_WEBSOCKET;
    if (line->fd >= 0 && (!line->wrapped || websocket_begin(&line->websocket, line->fd)))
        return line;
    free_line(line);
    return NULL;
}

// --- The runner's own connection

// The answer's body, appended to `out`.
static bool ask(const char *body, struct text *out) {
    static uint8_t bytes[65536];
    char request[512];
    struct naive_frame frame;
    enum line_state state = LINE_OPEN;
    size_t count = 0;
    int length = snprintf(request, sizeof request, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
    if (!write_all(&control, request, (size_t)length))
        return false;
    do {
        size_t got = read_some(&control, bytes + count, sizeof bytes - count, &state);
        if (!got)
            return false;
        count += got;
    } while (naive_frame(&frame, bytes, count) == NAIVE_PARTIAL);
    text_add(out, frame.body.bytes, frame.body.count);
    return true;
}

static bool ask_stats(struct text *out) {
    return ask("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hub/stats\"}", out);
}

static uint64_t number_of(const struct text *stats, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "result.%s", name);
    return bit_number(naive_find((struct bit){(const uint8_t *)stats->bytes, stats->length}, path));
}

static uint64_t ask_number(const char *name) {
    struct text stats;
    text_init(&stats);
    uint64_t number = ask_stats(&stats) ? number_of(&stats, name) : UINT64_MAX;
    text_deinit(&stats);
    return number;
}

// Waits until the counter has risen by `wanted`: a shard counts a message from another shard later than the pings of
// its peers are answered. Then asks SETTLED more times, since more may still come: each answer of hub/stats has been on
// all shards.
static uint64_t count_of(const char *name, uint64_t wanted) {
    enum { SETTLED = 4 };
    uint64_t first = number_of(&before, name), until_ns = now_ns() + PATIENCE_NS;
    if (first == UINT64_MAX)
        return first;
    uint64_t count = ask_number(name) - first;
    for (; count < wanted && now_ns() < until_ns; sched_yield())
        count = ask_number(name) - first;
    for (int left = SETTLED; count == wanted && left > 0; left--)
        count = ask_number(name) - first;
    return count;
}

static void close_line(struct line *line, bool wait) {
    uint64_t connections = wait ? ask_number("connections") : 0;
    free_line(line);
    for (uint64_t until_ns = now_ns() + PATIENCE_NS; wait && now_ns() < until_ns; sched_yield())
        wait = ask_number("connections") >= connections;
}

static bool is_idle(const struct text *stats) {
    return number_of(stats, "connections") == 1 && number_of(stats, "agents") == 0 &&
           number_of(stats, "hcs_sessions") == 0;
}

// Waits until all connections but the runner's have gone, every agent and every session. The shard where a
// session lives counts its end, later than its connections' end. The words of hub/stats then are kept.
static bool wait_until_idle(void) {
    for (uint64_t until_ns = now_ns() + PATIENCE_NS; now_ns() < until_ns; sched_yield()) {
        text_deinit(&before);
        text_init(&before);
        if (!ask_stats(&before))
            return false;
        if (is_idle(&before))
            return true;
    }
    return false;
}

// --- The journal

// All of the journal, of which what is there when a case begins is another one's.
static const char *journal(size_t *count) {
    static char bytes[JOURNAL_BYTES_MAX];
    char path[sizeof process.directory + 16];
    snprintf(path, sizeof path, "%s/journal", process.directory);
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    size_t all = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    *count = all - journal_before;
    return bytes + journal_before;
}

// --- Cases

static bool open_control(struct text *why) {
    struct text answer;
    text_init(&answer);
    control.fd = process_dial(&process, LINE_FRAMES);
    bool good = control.fd >= 0 &&
                ask("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"processId\":1,"
                    "\"agentId\":\"corpus\",\"capabilities\":{},\"governanceLevel\":\"autonomous\"}}",
                    &answer);
    text_deinit(&answer);
    if (!good)
        text_put(why, "the hub can't be asked");
    return good;
}

static bool stop(struct text *why) {
    running[0] = '\0';
    if (process.pid)
        close(control.fd);
    return process_stop(&process, why);
}

static bool start(const struct setup *setup, struct text *why) {
    return stop(why) && process_start(&process, program_path, way, setup, why) && open_control(why) &&
           wait_until_idle();
}

static bool begin(const struct setup *setup, struct text *why) {
    char wanted[sizeof running];
    ends_are_awaited = setup->shard_count == 1 && !setup->strict;
    snprintf(wanted, sizeof wanted, "%d %u %s %s", way, setup->shard_count, setup->strict ? "strict" : "lazy",
             setup->options);
    // Requests that a case's connections leave unanswered may be written when the next case has begun.
    if (strcmp(wanted, running) != 0 || strstr(setup->options, "<journal>")) {
        if (!start(setup, why))
            return false;
        strcpy(running, wanted);
    }
    size_t journal_bytes = 0;
    journal_before = 0;
    journal(&journal_bytes);
    journal_before = journal_bytes;
    return true;
}

static bool end(bool failed, struct text *why) {
    if (failed)
        return stop(why);
    if (wait_until_idle())
        return true;
    text_put(why, "the hub doesn't let go of the case's connections or agents");
    stop(why);
    return false;
}

static bool begin_tcp(const struct setup *setup, struct text *why) {
    way = PROCESS_TCP;
    return begin(setup, why);
}

static bool begin_unix(const struct setup *setup, struct text *why) {
    way = PROCESS_UNIX;
    return begin(setup, why);
}

static bool begin_websocket(const struct setup *setup, struct text *why) {
    way = PROCESS_WEBSOCKET;
    return begin(setup, why);
}

#define REAL_BACKEND(scheme)                                                                                 \
    {                                                                                                        \
        .name = #scheme, .rounds = 4, .begin = begin_##scheme, .end = end, .stop = stop, .dial = dial,       \
        .write = write_all, .read = read_some, .quiet = quiet, .half_close = half_close, .reset = reset,     \
        .close = close_line, .hub_closed = hub_closed, .pass = pass, .count = count_of, .journal = journal,  \
    }

const struct backend backend_tcp = REAL_BACKEND(tcp);
const struct backend backend_websocket = REAL_BACKEND(websocket);
// `unix` is a macro of the compiler's.
#undef unix
const struct backend backend_unix = REAL_BACKEND(unix);
