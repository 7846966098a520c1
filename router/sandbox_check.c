#include "router/sandbox_check.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// How a trial ends.
enum outcome {
    HOLDS,   // what the wall forbids was refused
    FALLS,   // it was done
    MISSING, // there is no wall
    REFUSED, // the hub would not start, which has been said
};

// --- What is tried: true if it is refused

static bool privileges_hold(void) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
    if (syscall(SYS_capget, &head, data) < 0)
        return false;
    for (unsigned at = 0; at < _LINUX_CAPABILITY_U32S_3; at++)
        if (data[at].effective | data[at].permitted | data[at].inheritable)
            return false;
    assert(_LINUX_CAPABILITY_U32S_3 == 2);
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && (geteuid() == 0 || setuid(0) < 0);
}

// Everybody may write there, but for a wall.
static bool files_hold(void) {
    int file = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (file >= 0)
        close(file);
    return file < 0;
}

// The filter ends the process here.
static bool calls_hold(void) {
    char *const nothing[] = {NULL};
    signal(SIGSYS, SIG_DFL);
    execve("/", nothing, nothing);
    return false;
}

static enum outcome attempt(const struct sandbox *sandbox, struct hub_sandbox shown,
                            enum sandbox_layer wall) {
    bool (*const trials[])(void) = {[SANDBOX_LAYER_PRIVILEGES] = privileges_hold,
                                    [SANDBOX_LAYER_FILES] = files_hold,
                                    [SANDBOX_LAYER_CALLS] = calls_hold,
                                    [SANDBOX_LAYER_RING] = sandbox_ring_holds};
    assert(wall < sizeof trials / sizeof *trials);
    sandbox_layer_hide_memory(); // a wall that holds leaves no core dump
    if (!sandbox_raise(sandbox, &shown))
        return REFUSED;
    if (sandbox->mode != SANDBOX_OFF && wall != SANDBOX_LAYER_RING) // the trial makes one
        sandbox_layer_last_privilege();
    if (wall == SANDBOX_LAYER_CALLS && !sandbox_seal(&shown, SANDBOX_LAYER_UNUSED))
        return REFUSED;
    if (wall != SANDBOX_LAYER_RING && shown.walls[wall] == SANDBOX_LAYER_MISSING)
        return MISSING;
    return trials[wall]() ? HOLDS : FALLS;
}

static enum outcome run(const struct sandbox *sandbox, const struct hub_sandbox *shown,
                        enum sandbox_layer wall) {
    int status = 0;
    fflush(NULL);
    pid_t process = fork();
    if (process == 0)
        _exit((int)attempt(sandbox, *shown, wall));
    if (process < 0 || waitpid(process, &status, 0) != process)
        return FALLS;
    assert(wall < SANDBOX_LAYER_COUNT);
    if (WIFSIGNALED(status))
        return wall == SANDBOX_LAYER_CALLS && WTERMSIG(status) == SIGSYS ? HOLDS : FALLS;
    return (enum outcome)WEXITSTATUS(status);
}

static void show_folders(const struct sandbox *sandbox) {
    static const struct {
        unsigned use;
        const char *text;
    } uses[] = {{FOLDER_READ, "reads below"},
                {FOLDER_WRITE, "writes below"},
                {FOLDER_REMOVE, "removes its socket below"}};
    assert(sandbox->folder_count <= SANDBOX_FOLDERS_MAX);
    for (unsigned use = 0; use < sizeof uses / sizeof *uses; use++)
        for (unsigned at = 0; at < sandbox->folder_count; at++)
            if (sandbox->folders[at].use & uses[use].use)
                printf("  %s %s\n", uses[use].text, sandbox->folders[at].path);
}

int sandbox_check(const struct sandbox *sandbox, const struct config *config) {
    static const char *const names[] = {"privileges", "files", "system calls", "ring"};
    static const char *const outcomes[] = {
        [HOLDS] = "holds", [FALLS] = "DOES NOT HOLD", [MISSING] = "missing", [REFUSED] = "not tried"};
    const struct hub_sandbox *shown = &config->settings.sandbox;
    int status = 0;
    assert(sandbox->mode == shown->mode);
    printf("configuration: can be used\nuser: %s\n",
           sandbox->user_name ? sandbox->user_name : "whoever starts the hub");
    for (enum sandbox_layer wall = 0; wall < SANDBOX_LAYER_COUNT; wall++) {
        if (sandbox->mode == SANDBOX_OFF || (wall == SANDBOX_LAYER_RING && config->settings.io == IO_EPOLL)) {
            printf("%s: %s\n", names[wall], sandbox->mode == SANDBOX_OFF ? "off" : "unused");
            continue;
        }
        enum outcome outcome = run(sandbox, shown, wall);
        printf("%s: %s\n", names[wall], outcomes[outcome]);
        if (outcome == REFUSED)
            return 1;
        if (wall == SANDBOX_LAYER_FILES)
            show_folders(sandbox);
        status |= outcome == FALLS || (sandbox->mode == SANDBOX_REQUIRED && outcome == MISSING);
    }
    return status;
}
