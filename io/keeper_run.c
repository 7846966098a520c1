#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/keeper_process.h"

enum {
    GROUP_LOOK_MS = 20, // how often a group that should end is looked at
    SAMPLE_MS = 2000,
    HUB_GONE_MS = 500, // from SIGTERM to SIGKILL where the hub is gone
};

static void report(const struct keeping *keeping, enum keeper_report_kind kind, uint32_t place,
                   uint32_t serial, int32_t value) {
    struct keeper_report report = {kind, place, serial, value};
    if (!keeping->hub_gone)
        (void)!send(keeping->reports, &report, sizeof report, MSG_NOSIGNAL);
}

static struct kept_child *find(const struct keeping *keeping, uint32_t place, uint32_t serial) {
    struct kept_child *child = keeping->children;
    while (child && (child->place != place || child->serial != serial))
        child = child->next;
    return child;
}

// --- Ending

static void end_group(struct kept_child *child, uint32_t after_ms) {
    uint64_t at_ms = keeping_now_ms() + after_ms;
    if (child->group_gone)
        return;
    kill(-child->group, SIGTERM);
    if (!child->kill_at_ms || at_ms < child->kill_at_ms)
        child->kill_at_ms = at_ms;
}

// Its number stays the group's as long as anybody is in it.
static void look_at_group(struct kept_child *child, uint64_t now_ms) {
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

static void leader_ended(struct keeping *keeping, pid_t process, int status) {
    struct kept_child *child = keeping->children;
    while (child && (child->group != process || child->reaped))
        child = child->next;
    if (!child)
        return; // somebody whom a program left behind
    child->reaped = true;
    report(keeping, KEEPER_EXITED, child->place, child->serial, status);
    end_group(child, keeping->hub_gone ? HUB_GONE_MS : child->end_ms);
}

static void reap(struct keeping *keeping) {
    struct signalfd_siginfo info;
    while (read(keeping->signals, &info, sizeof info) == sizeof info)
        continue;
    int status;
    for (pid_t process; (process = waitpid(-1, &status, WNOHANG)) > 0;)
        leader_ended(keeping, process, status);
}

// Forgets those of whom nobody is left.
static void sweep(struct keeping *keeping) {
    uint64_t now_ms = keeping_now_ms();
    for (struct kept_child **link = &keeping->children, *child; (child = *link);) {
        look_at_group(child, now_ms);
        if (!child->group_gone) {
            link = &child->next;
            continue;
        }
        keeping_read(keeping, child); // what was said last
        keeping_end_log(keeping, child);
        atomic_store(&keeping->shared->places[child->place].group, 0);
        report(keeping, KEEPER_GONE, child->place, child->serial, 0);
        *link = child->next;
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

static pid_t fork_program(const struct keeping_program *program, const int sockets[2], int *complaints) {
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return -1;
    pid_t process = fork();
    if (process == 0)
        keeping_become(program, sockets[0], sockets[1], pipes[1]);
    int error = errno;
    close(pipes[1]);
    fcntl(pipes[0], F_SETFL, O_NONBLOCK);
    if (process > 0) {
        setpgid(process, process); // whoever of the two is first
        *complaints = pipes[0];
        return process;
    }
    close(pipes[0]);
    errno = error;
    return -1;
}

static void start(struct keeping *keeping, const struct keeper_command *command, char *text, const char *end,
                  const int sockets[2]) {
    struct kept_child *child = calloc(1, sizeof *child);
    char **words = calloc(command->words + 1, sizeof *words);
    struct keeping_program program = {.words = words, .variable_count = command->variables};
    program.keeper = getpid();
    program.name = next_text(&text, end);
    program.directory = next_text(&text, end);
    program.make = next_text(&text, end);
    for (uint32_t word = 0; words && word < command->words; word++)
        words[word] = next_text(&text, end);
    program.variables = text;
    pid_t process = child && words ? fork_program(&program, sockets, &child->complaints) : -1;
    int error = child && words ? errno : ENOMEM;
    free(words);
    if (process < 0) {
        free(child);
        report(keeping, KEEPER_FAILED, command->place, command->serial, error);
        return;
    }
    child->place = command->place;
    child->serial = command->serial;
    child->group = process;
    atomic_store(&keeping->shared->places[command->place].group, (int32_t)process);
    child->end_ms = command->value;
    snprintf(child->name, sizeof child->name, "%s", program.name);
    child->next = keeping->children;
    keeping->children = child;
    report(keeping, KEEPER_STARTED, command->place, command->serial, (int32_t)process);
}

// --- Commands

static void obey(struct keeping *keeping, char *packet, size_t bytes, const int sockets[2]) {
    struct keeper_command command;
    memcpy(&command, packet, sizeof command);
    if (command.kind == KEEPER_START) {
        start(keeping, &command, packet + sizeof command, packet + bytes, sockets);
        return;
    }
    struct kept_child *child = find(keeping, command.place, command.serial);
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

static void read_command(struct keeping *keeping) {
    static char packet[KEEPER_COMMAND_BYTES + 1];
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
    int sockets[2];
    struct iovec vector = {packet, sizeof packet - 1};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t bytes = recvmsg(keeping->commands, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (bytes <= 0) {
        keeping->hub_gone = true;
        for (struct kept_child *child = keeping->children; child; child = child->next)
            end_group(child, HUB_GONE_MS);
        return;
    }
    packet[bytes] = '\0';
    take_sockets(&message, sockets);
    if ((size_t)bytes >= sizeof(struct keeper_command))
        obey(keeping, packet, (size_t)bytes + 1, sockets);
    for (unsigned index = 0; index < 2; index++)
        if (sockets[index] >= 0)
            close(sockets[index]);
}

// --- The loop

static int pause_ms(const struct keeping *keeping) {
    int pause = keeping->children ? SAMPLE_MS : -1;
    for (const struct kept_child *child = keeping->children; child; child = child->next)
        if (child->reaped || child->kill_at_ms)
            pause = GROUP_LOOK_MS;
    return pause;
}

static void wait_for_news(struct keeping *keeping) {
    struct pollfd polled[2 + 4 * KEEPER_PLACES];
    struct kept_child *readers[4 * KEEPER_PLACES];
    nfds_t count = 2;
    polled[0] = (struct pollfd){.fd = keeping->hub_gone ? -1 : keeping->commands, .events = POLLIN};
    polled[1] = (struct pollfd){.fd = keeping->signals, .events = POLLIN};
    for (struct kept_child *child = keeping->children; child && count < 2 + 4 * KEEPER_PLACES;
         child = child->next) {
        if (child->complaints < 0)
            continue;
        readers[count - 2] = child;
        polled[count++] = (struct pollfd){.fd = child->complaints, .events = POLLIN};
    }
    if (poll(polled, count, pause_ms(keeping)) <= 0)
        return;
    for (nfds_t at = 2; at < count; at++)
        if (polled[at].revents)
            keeping_read(keeping, readers[at - 2]);
    if (polled[1].revents)
        reap(keeping);
    if (polled[0].revents)
        read_command(keeping);
}

void keeping_run(struct keeping *keeping) {
    while (!keeping->hub_gone || keeping->children) {
        wait_for_news(keeping);
        reap(keeping);
        sweep(keeping);
        if (keeping_now_ms() >= keeping->sample_at_ms) {
            keeping_sample(keeping);
            keeping->sample_at_ms = keeping_now_ms() + SAMPLE_MS;
        }
    }
    keeping_end_watch(keeping);
    _exit(0);
}
