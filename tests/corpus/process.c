// Success: fork, exec, two lines `listening URI` on the pipe, SIGTERM, status 0. Failure: whatever the
// program has said goes into the reason.
#include "tests/corpus/process.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/corpus/case.h"

enum { PATIENCE_MS = 30000 };

// --- Starting

// The options, with the journal's path where they name it.
static void put_options(const struct process *process, const char *options, char *out, size_t capacity) {
    static const char name[] = "<journal>";
    const char *at = strstr(options, name);
    if (at)
        snprintf(out, capacity, "%.*s%s/journal%s", (int)(at - options), options, process->directory,
                 at + sizeof name - 1);
    else
        snprintf(out, capacity, "%s", options);
}

static void run_program(const struct process *process, const char *program, enum process_way way,
                        const struct setup *setup, int errors) {
    char uri[128], lines_uri[128], shards[16], options[512];
    const char *arguments[CASE_OPTIONS_MAX + 10] = {
        program,    "--listen", uri, "--http", way == PROCESS_WEBSOCKET ? lines_uri : "127.0.0.1:0",
        "--shards", shards};
    unsigned count = 7;
    snprintf(uri, sizeof uri, way == PROCESS_UNIX ? "unix://%s/hub.sock" : "tcp://127.0.0.1:0",
             process->directory);
    snprintf(lines_uri, sizeof lines_uri,
             way == PROCESS_UNIX  ? "unix-lines://%s/lines.sock"
             : way == PROCESS_TCP ? "tcp-lines://127.0.0.1:0"
                                  : "127.0.0.1:0",
             process->directory);
    snprintf(shards, sizeof shards, "%u", setup->shard_count);
    put_options(process, setup->options, options, sizeof options);
    if (way != PROCESS_WEBSOCKET) {
        arguments[count++] = "--listen";
        arguments[count++] = lines_uri;
    }
    if (setup->strict) {
        arguments[count++] = "--validate";
        arguments[count++] = "strict";
    }
    case_words(options, (char **)arguments + count, CASE_OPTIONS_MAX);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(errors, STDERR_FILENO);
    execv(program, (char **)arguments);
    _exit(127);
}

// Reads what it says: how many bytes, 0 at the end, or -1 when nothing comes.
static ssize_t hear(struct process *process) {
    char piece[4096];
    struct pollfd ready = {.fd = process->errors, .events = POLLIN};
    if (poll(&ready, 1, PATIENCE_MS) <= 0)
        return -1;
    ssize_t count = read(process->errors, piece, sizeof piece);
    if (count > 0)
        text_add(&process->said, piece, (size_t)count);
    return count;
}

static bool has_said(const struct process *process, const char *words) {
    return process->said.length &&
           memmem(process->said.bytes, process->said.length, words, strlen(words)) != NULL;
}

// The first address from `from` on; returns what stands behind it, NULL when there is none.
static const char *find_address(const struct process *process, const char *from, char *out, size_t capacity) {
    static const char word[] = "listening ";
    size_t count = process->said.length - (size_t)(from - process->said.bytes);
    const char *line = memmem(from, count, word, sizeof word - 1);
    const char *end = line ? memchr(line, '\n', count - (size_t)(line - from)) : NULL;
    if (!end)
        return NULL;
    line += sizeof word - 1;
    snprintf(out, capacity, "%.*s", (int)(end - line), line);
    return end;
}

static bool find_addresses(struct process *process) {
    const char *at = process->said.bytes;
    if (at)
        at = find_address(process, at, process->address, sizeof process->address);
    if (at && process->way != PROCESS_WEBSOCKET)
        at = find_address(process, at, process->address_of_lines, sizeof process->address_of_lines);
    return at && find_address(process, at, process->address_of_http, sizeof process->address_of_http);
}

static void complain(const struct process *process, const char *what, struct text *why) {
    text_put(why, what);
    text_put(why, "; it said: ");
    text_add(why, process->said.bytes, process->said.length);
}

bool process_start(struct process *process, const char *program, enum process_way way,
                   const struct setup *setup, struct text *why) {
    int pipe_ends[2];
    *process = (struct process){.way = way, .directory = "/tmp/patchbay-corpus-XXXXXX"};
    if (!mkdtemp(process->directory) || pipe(pipe_ends)) {
        text_put(why, "no directory or pipe can be made");
        return false;
    }
    process->pid = fork();
    if (process->pid == 0) {
        close(pipe_ends[0]);
        run_program(process, program, way, setup, pipe_ends[1]);
    }
    close(pipe_ends[1]);
    process->errors = pipe_ends[0];
    while (!find_addresses(process))
        if (hear(process) <= 0) {
            kill(process->pid, SIGKILL);
            complain(process, "the hub doesn't listen", why);
            process_stop(process, why);
            return false;
        }
    return true;
}

// --- Stopping

bool process_stop(struct process *process, struct text *why) {
    int status = 0;
    ssize_t heard = 1;
    if (!process->pid)
        return true;
    kill(process->pid, SIGTERM);
    while (heard > 0)
        heard = hear(process);
    if (heard < 0)
        kill(process->pid, SIGKILL);
    waitpid(process->pid, &status, 0);
    bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !has_said(process, "Sanitizer") &&
                !has_said(process, "runtime error");
    if (!good)
        complain(process, "the hub ended badly", why);
    close(process->errors);
    char journal[sizeof process->directory + 16];
    snprintf(journal, sizeof journal, "%s/journal", process->directory);
    unlink(journal);
    rmdir(process->directory);
    text_deinit(&process->said);
    process->pid = 0;
    return good;
}

// --- Connecting

static int dial_unix(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(fd, (struct sockaddr *)&address, sizeof address) ? -1 : fd;
}

static int dial_tcp(const char *port) {
    int on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)strtoul(port, NULL, 10))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return connect(fd, (struct sockaddr *)&address, sizeof address) ? -1 : fd;
}

int process_dial(const struct process *process, enum line_wire wire) {
    bool is_http = wire == LINE_HTTP || (wire == LINE_LINES && process->way == PROCESS_WEBSOCKET);
    const char *address = is_http              ? process->address_of_http
                          : wire == LINE_LINES ? process->address_of_lines
                                               : process->address;
    if (strncmp(address, "unix", strlen("unix")) == 0)
        return dial_unix(strchr(address, '/') + 2);
    return dial_tcp(strrchr(address, ':') + 1);
}
