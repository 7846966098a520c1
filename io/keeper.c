#include "io/keeper.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/child/log_line.h"
#include "core/child/secret_filter.h"
#include "core/log/log_secret.h"
#include "io/keeper_secrets.h"
#include "io/log.h"
#include "io/privdrop.h"
#include "io/process.h"

// One program, from its start until its process group is empty.
struct keeper_child {
    struct keeper_child *next;
    uint32_t place, serial;
    pid_t group; // the process group's number, and the leader's process number
    bool reaped; // the leader has ended and been waited for
    bool group_gone;
    uint32_t end_ms;
    uint64_t kill_at_ms; // SIGKILL to the group; 0: not yet
    int complaints;      // the pipe of the program's standard error; -1: closed
    char *secrets;       // joined texts (io/keeper_secrets.h)
    size_t secrets_bytes;
    struct secret_filter filter;
    struct log_lines lines;
    char name[256];
};

struct keeper_state {
    int commands, reports;
    int signals; // a signalfd for SIGCHLD
    struct keeper_shared *shared;
    struct keeper_child *children;
    char *secrets; // joined secrets of all children, for every child's filter; NULL: none
    bool hub_gone;
    uint64_t sample_at_ms;
    pid_t watcher; // the process that waits for the keeper's end; 0: none
    int watched;   // a pipe's end; the watcher ends the groups once this is closed
};

// A program to be started.
struct keeper_program {
    const char *name, *directory, *make;
    char **words;          // NULL after the last
    const char *variables; // as the command has them
    uint32_t variable_count;
    pid_t keeper;
};

// --- Output of programs, and their memory

enum { READ_BYTES = 16 << 10, READS_A_TURN = 8 };

struct log_sink {
    struct keeper_state *state;
    struct keeper_child *child;
};

static void keep_line(struct keeper_place *place, const char *text, size_t bytes) {
    uint64_t end = atomic_load_explicit(&place->log_end, memory_order_relaxed);
    assert(bytes < KEEPER_LOG_BYTES);
    for (size_t at = 0; at < bytes; at++)
        place->log[end++ % KEEPER_LOG_BYTES] = text[at];
    place->log[end++ % KEEPER_LOG_BYTES] = '\n';
    atomic_store_explicit(&place->log_end, end, memory_order_release);
}

static void write_line(void *context, const char *text, size_t bytes) {
    const struct log_sink *sink = context;
    assert(bytes <= LOG_TEXT_BYTES);
    keep_line(&sink->state->shared->places[sink->child->place], text, bytes);
    log_write(LOG_CHILD_SAID, LOG_FIELDS(log_text(sink->child->name), log_bytes(text, bytes)), "%s: %.*s",
              sink->child->name, (int)bytes, text);
}

static uint64_t clock_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void take_output(void *context, const char *bytes, size_t count) {
    const struct log_sink *sink = context;
    log_lines_add(&sink->child->lines, (const uint8_t *)bytes, count, clock_ms(), write_line, context);
}

static void end_log(struct keeper_state *state, struct keeper_child *child) {
    struct log_sink sink = {state, child};
    if (child->complaints < 0)
        return;
    close(child->complaints);
    child->complaints = -1;
    secret_filter_end(&child->filter, take_output, &sink);
    log_lines_end(&child->lines, clock_ms(), write_line, &sink);
}

// Reads a program's standard error. Closes the pipe and ends the log at the end of the stream.
static void read_stderr(struct keeper_state *state, struct keeper_child *child) {
    static char bytes[READ_BYTES];
    struct log_sink sink = {state, child};
    for (unsigned left = READS_A_TURN; left > 0 && child->complaints >= 0; left--) {
        ssize_t count = read(child->complaints, bytes, sizeof bytes);
        if (count > 0)
            secret_filter_add(&child->filter, bytes, (size_t)count, take_output, &sink);
        else if (count < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        else
            end_log(state, child);
    }
}

static uint64_t resident_bytes(pid_t process) {
    char path[64], text[128];
    unsigned long long size, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    if (count <= 0)
        return 0;
    text[count] = '\0';
    return sscanf(text, "%llu %llu", &size, &resident) == 2 ? resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

// Stores the memory that each program takes.
static void sample_memory(struct keeper_state *state) {
    for (struct keeper_child *child = state->children; child; child = child->next)
        atomic_store_explicit(&state->shared->places[child->place].memory_bytes,
                              child->reaped ? 0 : resident_bytes(child->group), memory_order_relaxed);
}

// --- Watcher
//
// A process that only waits for the keeper's end. If hub and keeper are killed together, the kernel ends the leaders of
// the programs' groups (PR_SET_PDEATHSIG), and the watcher ends the rest of the groups.

enum { KEEPERS_END = 3 }; // the watcher's only descriptor besides the standard streams

static void end_groups(struct keeper_shared *shared) {
    for (unsigned place = 0; place < KEEPER_PLACES; place++) {
        int32_t group = atomic_load(&shared->places[place].group);
        if (group > 1)
            kill(-group, SIGKILL);
    }
}

// Runs the watcher, which never returns. The watcher's standard error is /dev/null, so that a reader of the hub's log
// sees the log's end.
__attribute__((noreturn)) static void be_watcher(struct keeper_shared *shared, int keepers_end) {
    sigset_t all;
    char byte;
    ssize_t count;
    setsid();
    process_name_set("patchbay-watcher");
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    dup2(keepers_end, KEEPERS_END);
    close_range(KEEPERS_END + 1, ~0u, 0);
    dup2(0, 2); // /dev/null, as in the keeper
    do
        count = read(KEEPERS_END, &byte, sizeof byte);
    while (count < 0 && errno == EINTR);
    end_groups(shared);
    _exit(0);
}

// Starts the watcher, which kills all groups at the keeper's end. Without memory there is no watcher.
static void start_watcher(struct keeper_state *state) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return;
    pid_t process = fork();
    if (process == 0)
        be_watcher(state->shared, ends[0]);
    close(ends[0]);
    if (process < 0) {
        close(ends[1]);
        return;
    }
    state->watcher = process;
    state->watched = ends[1];
}

// Ends the watcher, once no program's group is left.
static void end_watcher(struct keeper_state *state) {
    if (!state->watcher)
        return;
    close(state->watched);
    waitpid(state->watcher, NULL, 0);
}

// --- Start of a program

enum { SECRET_BYTES_MAX = 64 << 10 };

extern char **environ;

// Reports on standard error, and so in the program's log, why the program can't be started, and ends the process.
__attribute__((noreturn)) static void give_up(const char *what, const char *which, int error) {
    dprintf(2, "%s %s: %s\n", what, which, strerror(error));
    _exit(127);
}

static void reset_signals(void) {
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &usual, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void take_streams(int in, int out, int complaints) {
    assert(in > 2 && out > 2 && complaints > 2);
    dup2(in, 0);
    dup2(out, 1);
    dup2(complaints, 2);
    close_range(3, ~0u, 0);
}

// Reads a secret's file into `NAME=CONTENT`. One line end at the file's end is left out.
static char *read_secret(const char *name, const char *path) {
    char *value = malloc(strlen(name) + SECRET_BYTES_MAX + 2);
    // O_NONBLOCK: a FIFO without a writer must not block
    int file = value ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    struct stat status;
    if (file < 0 || fstat(file, &status) < 0)
        give_up("can't read the secret", path, value ? errno : ENOMEM);
    if (!S_ISREG(status.st_mode))
        give_up("can't use the secret, which is no file,", path, EINVAL);
    size_t used = (size_t)sprintf(value, "%s=", name), begin = used;
    for (ssize_t count = 1; count > 0; used += (size_t)count) {
        count = read(file, value + used, SECRET_BYTES_MAX - (used - begin));
        if (count < 0)
            give_up("can't read the secret", path, errno);
    }
    close(file);
    if (used - begin == SECRET_BYTES_MAX)
        give_up("can't use the secret", path, EFBIG);
    if (memchr(value + begin, '\0', used - begin))
        give_up("can't use the secret, which has a zero byte,", path, EINVAL);
    if (used > begin && value[used - 1] == '\n')
        used--;
    if (used > begin && value[used - 1] == '\r')
        used--;
    value[used] = '\0';
    return value;
}

static size_t place_of(char **variables, size_t count, const char *variable) {
    size_t bytes = strcspn(variable, "=") + 1;
    size_t at = 0;
    while (at < count && strncmp(variables[at], variable, bytes) != 0)
        at++;
    return at;
}

// Sets a variable, and replaces a variable of the same name.
static void put(char **variables, size_t *count, char *variable) {
    size_t at = place_of(variables, *count, variable);
    variables[at] = variable;
    *count += at == *count;
}

// Passes a variable of the keeper's environment on. Variables that the section sets have precedence, in whatever order
// the section names them.
static void pass(char **variables, size_t *count, const char *name) {
    size_t bytes = strlen(name);
    for (char **own = environ; *own; own++)
        if (strncmp(*own, name, bytes) == 0 && (*own)[bytes] == '=' &&
            place_of(variables, *count, *own) == *count)
            put(variables, count, *own);
}

static char **environment_of(const struct keeper_program *program) {
    char **variables = calloc(program->variable_count + 1, sizeof *variables);
    size_t count = 0;
    const char *text = program->variables;
    if (!variables)
        give_up("can't start", program->name, ENOMEM);
    for (uint32_t left = program->variable_count; left > 0; left--, text += strlen(text) + 1) {
        char *variable = strdup(text + 1), *value = variable ? strchr(variable, '=') : NULL;
        if (*text == 'P') {
            pass(variables, &count, text + 1);
        } else if (*text == 'F' && value) {
            *value = '\0';
            put(variables, &count, read_secret(variable, value + 1));
        } else if (value) {
            put(variables, &count, variable);
        }
    }
    return variables;
}

// Makes a directory and its parents, as mkdir -p, with rights for the user alone.
static void make_directory(const char *path) {
    char *part = strdup(path);
    if (!part)
        give_up("can't make", path, ENOMEM);
    for (char *at = part + 1; at && *at; at++) {
        at = strchr(at, '/');
        if (!at)
            break;
        *at = '\0';
        mkdir(part, S_IRWXU);
        *at = '/';
    }
    struct stat status;
    if (mkdir(path, S_IRWXU) < 0 && errno != EEXIST)
        give_up("can't make", path, errno);
    if (stat(path, &status) < 0 || !S_ISDIR(status.st_mode))
        give_up("can't use as a directory", path, ENOTDIR);
    free(part);
}

static const char *path_of(char **variables) {
    for (; *variables; variables++)
        if (strncmp(*variables, "PATH=", 5) == 0)
            return *variables + 5;
    return "/usr/local/bin:/usr/bin:/bin";
}

// Gives up because the program can't be run. The word may be a whole command in quotes, with its secrets.
__attribute__((noreturn)) static void give_up_program(const char *name, const char *program, int error) {
    struct text shown = {0};
    log_hide_program(name, program, &shown);
    text_add(&shown, "", 1);
    give_up("can't run", shown.failed ? "its program" : shown.bytes, error);
}

// Runs the program by execve, and searches PATH for it. Doesn't use execvp, which would run a shell for a file that
// isn't a program.
static void execute(const char *name, char **words, char **variables) {
    char file[4096];
    int error = ENOENT;
    if (strchr(words[0], '/')) {
        execve(words[0], words, variables);
        give_up_program(name, words[0], errno);
    }
    const char *path = path_of(variables);
    for (size_t bytes; *path; path += bytes + (path[bytes] == ':')) {
        bytes = strcspn(path, ":");
        int count = snprintf(file, sizeof file, "%.*s%s%s", (int)bytes, path, bytes ? "/" : "", words[0]);
        if (count < 0 || (size_t)count >= sizeof file)
            continue;
        execve(file, words, variables);
        if (errno != ENOENT && errno != ENOTDIR)
            error = errno;
    }
    give_up_program(name, words[0], error);
}

// Becomes the program, in the forked process. On failure writes the reason to standard error and ends. `in`, `out` and
// `complaints` become the standard streams.
__attribute__((noreturn)) static void become_program(const struct keeper_program *program, int in, int out,
                                                     int complaints) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != program->keeper)
        _exit(127);
    take_streams(in, out, complaints);
    reset_signals();
    if (*program->make)
        make_directory(program->make);
    if (*program->directory && chdir(program->directory) < 0)
        give_up("can't go to", program->directory, errno);
    execute(program->name, program->words, environment_of(program));
    _exit(127);
}

// --- The loop of the process

enum {
    GROUP_LOOK_MS = 20, // how often a group that should end is checked
    SAMPLE_MS = 2000,
    HUB_GONE_MS = 500, // from SIGTERM to SIGKILL if the hub is gone
};

static void report(const struct keeper_state *state, enum keeper_report_kind kind, uint32_t place,
                   uint32_t serial, int32_t value) {
    struct keeper_report report = {kind, place, serial, value};
    if (!state->hub_gone)
        (void)!send(state->reports, &report, sizeof report, MSG_NOSIGNAL);
}

static struct keeper_child *find(const struct keeper_state *state, uint32_t place, uint32_t serial) {
    struct keeper_child *child = state->children;
    while (child && (child->place != place || child->serial != serial))
        child = child->next;
    return child;
}

// --- Ending

static void end_group(struct keeper_child *child, uint32_t after_ms) {
    uint64_t at_ms = clock_ms() + after_ms;
    if (child->group_gone)
        return;
    kill(-child->group, SIGTERM);
    if (!child->kill_at_ms || at_ms < child->kill_at_ms)
        child->kill_at_ms = at_ms;
}

// Checks whether a group is empty, and kills a group whose time is over. The kernel reuses the group's number only when
// the group is empty.
static void look_at_group(struct keeper_child *child, uint64_t now_ms) {
    if (!child->reaped || child->group_gone) {
        if (child->kill_at_ms && now_ms >= child->kill_at_ms && !child->group_gone)
            kill(-child->group, SIGKILL);
        return;
    }
    if (kill(-child->group, 0) < 0 && errno == ESRCH)
        child->group_gone = true;
    else if (child->kill_at_ms && now_ms >= child->kill_at_ms)
        kill(-child->group, SIGKILL);
}

static void leader_ended(struct keeper_state *state, pid_t process, int status) {
    struct keeper_child *child = state->children;
    while (child && (child->group != process || child->reaped))
        child = child->next;
    if (!child)
        return; // an orphan of a program's
    child->reaped = true;
    report(state, KEEPER_EXITED, child->place, child->serial, status);
    end_group(child, state->hub_gone ? HUB_GONE_MS : child->end_ms);
}

static void reap(struct keeper_state *state) {
    struct signalfd_siginfo info;
    while (read(state->signals, &info, sizeof info) == sizeof info)
        continue;
    int status;
    for (pid_t process; (process = waitpid(-1, &status, WNOHANG)) > 0;)
        leader_ended(state, process, status);
}

// Frees the children whose group is empty.
static void sweep(struct keeper_state *state) {
    uint64_t now_ms = clock_ms();
    for (struct keeper_child **link = &state->children, *child; (child = *link);) {
        look_at_group(child, now_ms);
        if (!child->group_gone) {
            link = &child->next;
            continue;
        }
        read_stderr(state, child); // the last output
        end_log(state, child);
        atomic_store(&state->shared->places[child->place].group, 0);
        report(state, KEEPER_GONE, child->place, child->serial, 0);
        *link = child->next;
        free(child->secrets);
        free(child);
    }
}

// --- Starting

static char *next_text(char **at, const char *end) {
    char *text = *at;
    size_t bytes = strnlen(text, (size_t)(end - text));
    assert(text + bytes < end);
    *at += bytes + 1;
    return text;
}

static pid_t fork_program(const struct keeper_program *program, const int sockets[2], int *complaints) {
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return -1;
    pid_t process = fork();
    if (process == 0)
        become_program(program, sockets[0], sockets[1], pipes[1]);
    int error = errno;
    close(pipes[1]);
    fcntl(pipes[0], F_SETFL, O_NONBLOCK);
    if (process > 0) {
        setpgid(process, process); // parent and child both do this; the order doesn't matter
        *complaints = pipes[0];
        return process;
    }
    close(pipes[0]);
    errno = error;
    return -1;
}

// Gives every child's filter the secrets of all children, because a program may print another program's secret. Without
// memory the filters stay as they are.
static void share_secrets(struct keeper_state *state) {
    char *joined = NULL;
    size_t bytes = 0;
    bool good = true;
    for (struct keeper_child *child = state->children; child && good; child = child->next)
        good = keeper_secrets_join(&joined, &bytes, child->secrets, child->secrets_bytes);
    if (!good) {
        free(joined);
        return;
    }
    for (struct keeper_child *child = state->children; child; child = child->next) {
        child->filter.secrets = joined;
        child->filter.secrets_bytes = bytes;
    }
    free(state->secrets);
    state->secrets = joined;
}

static void start(struct keeper_state *state, const struct keeper_command *command, char *text,
                  const char *end, const int sockets[2]) {
    struct keeper_child *child = calloc(1, sizeof *child);
    char **words = calloc(command->words + 1, sizeof *words);
    struct keeper_program program = {.words = words, .variable_count = command->variables};
    program.keeper = getpid();
    program.name = next_text(&text, end);
    program.directory = next_text(&text, end);
    program.make = next_text(&text, end);
    const char *first_word = text;
    for (uint32_t word = 0; words && word < command->words; word++)
        words[word] = next_text(&text, end);
    program.variables = text;
    bool has_memory = child && words &&
                      keeper_secrets_read(&(struct keeper_texts){first_word, program.variables,
                                                                 command->words, command->variables},
                                          &child->secrets, &child->secrets_bytes);
    pid_t process = has_memory ? fork_program(&program, sockets, &child->complaints) : -1;
    int error = has_memory ? errno : ENOMEM;
    free(words);
    if (process < 0) {
        if (child)
            free(child->secrets);
        free(child);
        report(state, KEEPER_FAILED, command->place, command->serial, error);
        return;
    }
    child->place = command->place;
    child->serial = command->serial;
    child->group = process;
    atomic_store(&state->shared->places[command->place].group, (int32_t)process);
    child->end_ms = command->value;
    child->filter.secrets = child->secrets;
    child->filter.secrets_bytes = child->secrets_bytes;
    snprintf(child->name, sizeof child->name, "%s", program.name);
    child->next = state->children;
    state->children = child;
    share_secrets(state);
    report(state, KEEPER_STARTED, command->place, command->serial, (int32_t)process);
}

// --- Commands

// Executes one command of the hub. `packet` has `bytes` bytes, the last of which is 0.
static void execute_command(struct keeper_state *state, char *packet, size_t bytes, const int sockets[2]) {
    struct keeper_command command;
    memcpy(&command, packet, sizeof command);
    if (command.kind == KEEPER_START) {
        start(state, &command, packet + sizeof command, packet + bytes, sockets);
        return;
    }
    struct keeper_child *child = find(state, command.place, command.serial);
    if (child && command.kind == KEEPER_END)
        end_group(child, command.value);
    else if (child && !child->group_gone)
        kill(-child->group, (int)command.value);
}

static void take_sockets(struct msghdr *message, int sockets[2]) {
    sockets[0] = sockets[1] = -1;
    struct cmsghdr *head = CMSG_FIRSTHDR(message);
    if (head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(2 * sizeof(int)))
        memcpy(sockets, CMSG_DATA(head), 2 * sizeof(int));
}

static void read_command(struct keeper_state *state) {
    static char packet[KEEPER_COMMAND_BYTES + 1];
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
    int sockets[2];
    struct iovec vector = {packet, sizeof packet - 1};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t bytes = recvmsg(state->commands, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (bytes <= 0) {
        state->hub_gone = true;
        for (struct keeper_child *child = state->children; child; child = child->next)
            end_group(child, HUB_GONE_MS);
        return;
    }
    packet[bytes] = '\0';
    take_sockets(&message, sockets);
    if ((size_t)bytes >= sizeof(struct keeper_command))
        execute_command(state, packet, (size_t)bytes + 1, sockets);
    for (unsigned index = 0; index < 2; index++)
        if (sockets[index] >= 0)
            close(sockets[index]);
}

// --- The loop

static int pause_ms(const struct keeper_state *state) {
    int pause = state->children ? SAMPLE_MS : -1;
    for (const struct keeper_child *child = state->children; child; child = child->next)
        if (child->reaped || child->kill_at_ms)
            pause = GROUP_LOOK_MS;
    return pause;
}

// Waits for commands, signals and complaints of programs, up to pause_ms, and handles what has come.
static void poll_once(struct keeper_state *state) {
    struct pollfd polled[2 + 4 * KEEPER_PLACES];
    struct keeper_child *readers[4 * KEEPER_PLACES];
    nfds_t count = 2;
    polled[0] = (struct pollfd){.fd = state->hub_gone ? -1 : state->commands, .events = POLLIN};
    polled[1] = (struct pollfd){.fd = state->signals, .events = POLLIN};
    for (struct keeper_child *child = state->children; child && count < 2 + 4 * KEEPER_PLACES;
         child = child->next) {
        if (child->complaints < 0)
            continue;
        readers[count - 2] = child;
        polled[count++] = (struct pollfd){.fd = child->complaints, .events = POLLIN};
    }
    if (poll(polled, count, pause_ms(state)) <= 0)
        return;
    for (nfds_t at = 2; at < count; at++)
        if (polled[at].revents)
            read_stderr(state, readers[at - 2]);
    if (polled[1].revents)
        reap(state);
    if (polled[0].revents)
        read_command(state);
}

// Runs the keeper's loop until the hub is gone and all programs have ended.
__attribute__((noreturn)) static void run_keeper(struct keeper_state *state) {
    while (!state->hub_gone || state->children) {
        poll_once(state);
        reap(state);
        sweep(state);
        if (clock_ms() >= state->sample_at_ms) {
            sample_memory(state);
            state->sample_at_ms = clock_ms() + SAMPLE_MS;
        }
    }
    end_watcher(state);
    _exit(0);
}

// --- Fork

// Closes standard input and output: a reader of the hub's output must see its end although the keeper still runs.
static void leave_streams(void) {
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0) {
        dup2(nothing, 0);
        dup2(nothing, 1);
        if (nothing > 2)
            close(nothing);
    }
}

// Runs the keeper. Signals from a terminal or a service manager that end the hub don't end the keeper, which must
// outlast the hub for a moment. Orphans of programs become the keeper's children, so that the keeper can reap them.
__attribute__((noreturn)) static void be_keeper(struct keeper_state *state,
                                                const struct privdrop_user *user) {
    sigset_t set;
    if (user && privdrop_become(user) < 0)
        _exit(1);
    setsid();
    process_name_set("patchbay-keeper");
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); // the memory has secrets of the hub's command line, too
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    leave_streams();
    signal(SIGCHLD, SIG_DFL); // if SIGCHLD is ignored, waitpid returns no status
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGPIPE);
    sigprocmask(SIG_BLOCK, &set, NULL);
    start_watcher(state);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    state->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    run_keeper(state);
}

static int make_pairs(int commands[2], int reports[2]) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, commands) < 0)
        return -errno;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, reports) == 0)
        return 0;
    int failed = -errno;
    close(commands[0]);
    close(commands[1]);
    return failed;
}

int keeper_fork(struct keeper *keeper, const struct privdrop_user *user) {
    static struct keeper_state state;
    int commands[2], reports[2];
    void *shared = mmap(NULL, sizeof *keeper->shared, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (shared == MAP_FAILED)
        return -errno;
    int failed = make_pairs(commands, reports);
    pid_t process = failed ? -1 : fork();
    if (process < 0) {
        failed = failed ? failed : -errno;
        munmap(shared, sizeof *keeper->shared);
        return failed;
    }
    if (process == 0) {
        close(commands[0]);
        close(reports[0]);
        state = (struct keeper_state){.commands = commands[1], .reports = reports[1], .shared = shared};
        be_keeper(&state, user);
    }
    close(commands[1]);
    close(reports[1]);
    *keeper = (struct keeper){commands[0], reports[0], process, shared};
    return 0;
}

void keeper_close(struct keeper *keeper) {
    assert(keeper->process > 0);
    close(keeper->commands);
    if (keeper->reports >= 0)
        close(keeper->reports);
    munmap(keeper->shared, sizeof *keeper->shared);
}
