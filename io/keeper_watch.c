// The keeper's own keeper: a process that does nothing but wait for the keeper's end. Whoever kills hub and keeper
// together leaves nobody of the programs' groups behind; their leaders the kernel ends (PR_SET_PDEATHSIG), and this
// ends the others.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/keeper_process.h"
#include "io/process_name.h"

enum { KEEPERS_END = 3 }; // its only descriptor besides the standard streams

static void end_groups(struct keeper_shared *shared) {
    for (unsigned place = 0; place < KEEPER_PLACES; place++) {
        int32_t group = atomic_load(&shared->places[place].group);
        if (group > 1)
            kill(-group, SIGKILL);
    }
}

// Nobody waits for the end of the hub's log because of it.
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
    dup2(0, 2); // /dev/null, as the keeper's
    do
        count = read(KEEPERS_END, &byte, sizeof byte);
    while (count < 0 && errno == EINTR);
    end_groups(shared);
    _exit(0);
}

void keeping_have_watched(struct keeping *keeping) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return;
    pid_t process = fork();
    if (process == 0)
        be_watcher(keeping->shared, ends[0]);
    close(ends[0]);
    if (process < 0) {
        close(ends[1]);
        return;
    }
    keeping->watcher = process;
    keeping->watched = ends[1];
}

void keeping_end_watch(struct keeping *keeping) {
    if (!keeping->watcher)
        return;
    close(keeping->watched);
    waitpid(keeping->watcher, NULL, 0);
}
