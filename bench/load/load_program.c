#include "bench/load/load_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT_BYTES_MAX = 24 };

// In the child. The shell becomes the program, so that the pid is the program's.
static void become(const char *command, const char *hub, const char *agent, const char *fill, int out) {
    char line[4096];
    int written = snprintf(line, sizeof line, "exec %s \"$@\"", command);
    if (written > 0 && (size_t)written < sizeof line && dup2(out, STDOUT_FILENO) >= 0 &&
        setenv("PATCHBAY_HUB", hub, 1) == 0) {
        execl("/bin/sh", "sh", "-c", line, "sh", agent, fill, (char *)NULL);
    }
    _exit(127);
}

// Reads up to the end of the line. Later output of the program goes nowhere.
static int wait_line(int in) {
    char byte = 0;
    ssize_t got;
    do {
        got = read(in, &byte, 1);
    } while ((got < 0 && errno == EINTR) || (got > 0 && byte != '\n'));
    return got > 0 ? 0 : -ECHILD;
}

int load_program_start(const char *command, const char *hub, const char *agent, size_t fill, pid_t *pid) {
    char count[COUNT_BYTES_MAX];
    int ends[2];
    snprintf(count, sizeof count, "%zu", fill);
    if (pipe2(ends, O_CLOEXEC) < 0) {
        return -errno;
    }
    pid_t child = fork();
    if (child == 0) {
        become(command, hub, agent, count, ends[1]);
    }
    int error = child < 0 ? -errno : 0;
    close(ends[1]);
    if (error == 0) {
        error = wait_line(ends[0]);
    }
    close(ends[0]);
    if (child > 0 && error < 0) {
        load_program_end(child);
    }
    *pid = child;
    return error;
}

void load_program_end(pid_t pid) {
    kill(pid, SIGTERM);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}
