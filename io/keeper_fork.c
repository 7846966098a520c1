#include "io/keeper.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/keeper_process.h"
#include "io/privdrop.h"
#include "io/process_name.h"

// It is no one's standard input or output: whoever waits for the hub's to end doesn't wait for the keeper.
static void leave_streams(void) {
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0) {
        dup2(nothing, 0);
        dup2(nothing, 1);
        if (nothing > 2)
            close(nothing);
    }
}

// What ends the hub from a terminal or a service manager doesn't end the keeper, which outlasts it for a
// moment; and whoever its programs leave behind becomes its child, so that nobody stays a zombie.
__attribute__((noreturn)) static void be_keeper(struct keeping *keeping, const struct privdrop_user *login) {
    sigset_t set;
    if (login && privdrop_become(login) < 0)
        _exit(1);
    setsid();
    process_name_set("patchbay-keeper");
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); // what the hub was told on its command line is in this memory, too
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    leave_streams();
    signal(SIGCHLD, SIG_DFL); // where it is ignored, nobody can be waited for
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGPIPE);
    sigprocmask(SIG_BLOCK, &set, NULL);
    keeping_have_watched(keeping);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    keeping->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    keeping_run(keeping);
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

int keeper_fork(struct keeper *keeper, const struct privdrop_user *login) {
    static struct keeping keeping;
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
        keeping = (struct keeping){.commands = commands[1], .reports = reports[1], .shared = shared};
        be_keeper(&keeping, login);
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
