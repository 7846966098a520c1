// The sandbox of the program: which layers are asked for, present and missing.
//
// Success logs nothing. Each missing layer is a line of the log. The hub doesn't start with --sandbox required and a
// missing layer, or if it can't become its user.
#include "router/main/sandbox.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/log.h"
#include "router/main/config_fault.h"

static const char *const wall_names[] = {[SANDBOX_LAYER_PRIVILEGES] = "privileges",
                                         [SANDBOX_LAYER_FILES] = "files",
                                         [SANDBOX_LAYER_CALLS] = "system calls",
                                         [SANDBOX_LAYER_RING] = "the ring's operations"};

// --- The plan

static bool has_folder(const struct sandbox *sandbox, const char *path, unsigned use) {
    for (unsigned at = 0; at < sandbox->folder_count; at++)
        if (sandbox->folders[at].use == use && strcmp(sandbox->folders[at].path, path) == 0)
            return true;
    return false;
}

static bool add_folder(struct sandbox *sandbox, const char *file, unsigned use) {
    assert(sandbox->folder_count <= SANDBOX_FOLDERS_MAX && use);
    if (sandbox->folder_count == SANDBOX_FOLDERS_MAX || strlen(file) >= PATH_MAX)
        return false;
    char *path = sandbox->paths[sandbox->folder_count];
    strcpy(path, file);
    const char *folder = dirname(path);
    if (!has_folder(sandbox, folder, use))
        sandbox->folders[sandbox->folder_count++] = (struct folder){folder, use};
    return true;
}

// Adds the folder of a file by its name, and the folder of the file to which the name leads now.
static bool add_file(struct sandbox *sandbox, const char *file, unsigned use) {
    char real[PATH_MAX];
    assert(file && *file);
    return add_folder(sandbox, file, use) && (!realpath(file, real) || add_folder(sandbox, real, use));
}

static bool add_read(struct sandbox *sandbox, const char *file) {
    assert(sandbox->read_count <= SANDBOX_READS_MAX);
    if (sandbox->read_count == SANDBOX_READS_MAX)
        return false;
    sandbox->reads[sandbox->read_count++] = file;
    return add_file(sandbox, file, FOLDER_READ);
}

static bool add_files(struct sandbox *sandbox, const struct config *config) {
    bool fits = true;
    assert(config->files <= CONFIG_FILES_MAX && config->listener_count <= LISTENERS_MAX);
    for (uint32_t at = 0; at < config->files; at++)
        fits = fits && add_read(sandbox, config->files_read[at]);
    const char *const keys[] = {config->tls_certificate, config->tls_key, config->tls_clients};
    for (size_t at = 0; at < sizeof keys / sizeof *keys; at++)
        fits = fits && (!*keys[at] || add_read(sandbox, keys[at]));
    if (config->users[0])
        fits = fits && add_read(sandbox, config->users);
    for (unsigned number = 0; number < FEATURES_MAX; number++)
        if (config->settings.sandbox.files[number])
            fits = fits && add_read(sandbox, config->settings.sandbox.files[number]);
    if (config->settings.journal)
        fits = fits && add_file(sandbox, config->settings.journal, FOLDER_WRITE);
    for (uint32_t at = 0; at < config->listener_count; at++) {
        const struct sockaddr_un *name = (const struct sockaddr_un *)&config->listeners[at].storage;
        if (name->sun_family == AF_UNIX)
            fits = fits && add_folder(sandbox, name->sun_path, FOLDER_REMOVE);
    }
    return fits;
}

bool sandbox_plan(struct sandbox *sandbox, const struct config *config) {
    assert(!sandbox->folder_count && !sandbox->read_count);
    sandbox->mode = config->settings.sandbox.mode;
    sandbox->secret = config->tls_certificate[0] || config->users[0] || config->settings.sandbox.has_secret;
    if (!add_files(sandbox, config)) {
        log_write(LOG_FAILED, LOG_NO_FIELDS,
                  "--sandbox: expected at most 32 files in 64 folders, each with a path of up to 4095 bytes");
        return false;
    }
    if (!config->user[0])
        return true;
    sandbox->user_name = config->user;
    int failed = privdrop_find(&sandbox->user, config->user); // config_check has named the fault
    assert(!failed);
    if (!failed)
        privdrop_tell(&sandbox->user, config->user);
    return !failed;
}

const struct privdrop_user *sandbox_user(const struct sandbox *sandbox) {
    assert(!sandbox->user_name || *sandbox->user_name);
    return sandbox->user_name ? &sandbox->user : NULL;
}

// --- The layers

// Logs a missing layer. Returns whether the hub may start without the layer.
static bool report_missing(enum sandbox_mode mode, enum sandbox_layer layer, const char *why) {
    assert(layer < SANDBOX_LAYER_COUNT && mode != SANDBOX_OFF);
    log_write(LOG_WALL_MISSING, LOG_NO_FIELDS, "--sandbox %s: no wall around %s: %s",
              mode == SANDBOX_REQUIRED ? "required" : "on", wall_names[layer], why);
    return mode != SANDBOX_REQUIRED;
}

// Warns of files that the hub couldn't read again at SIGHUP. Returns false if there is one and the hub has become
// another user.
static bool check_reads(const struct sandbox *sandbox) {
    bool all = true;
    assert(sandbox->read_count <= SANDBOX_READS_MAX);
    for (unsigned at = 0; at < sandbox->read_count; at++) {
        int file = open(sandbox->reads[at], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (file >= 0) {
            close(file);
            continue;
        }
        log_write(LOG_CONFIG_WARNING, LOG_FIELDS(log_text(sandbox->reads[at]), log_unknown(), log_unknown()),
                  "%s can't be read again at SIGHUP%s%s: %s", sandbox->reads[at],
                  sandbox->user_name ? " by " : "", sandbox->user_name ? sandbox->user_name : "",
                  strerror(errno));
        all = false;
    }
    return all || !sandbox->user_name;
}

static bool drop_privileges(const struct sandbox *sandbox, struct hub_sandbox *state) {
    const struct privdrop_user *user = sandbox_user(sandbox);
    bool off = sandbox->mode == SANDBOX_OFF;
    assert(state->mode == sandbox->mode);
    int failed = !off ? sandbox_layer_privileges(user) : user ? privdrop_become(user) : 0;
    state->layers[SANDBOX_LAYER_PRIVILEGES] = off      ? SANDBOX_LAYER_OFF
                                              : failed ? SANDBOX_LAYER_MISSING
                                                       : SANDBOX_LAYER_UP;
    if (!failed)
        return true;
    if (failed == -ENOSYS)
        return report_missing(sandbox->mode, SANDBOX_LAYER_PRIVILEGES, "the kernel lacks no_new_privs");
    if (user)
        log_write(LOG_FAILED, LOG_NO_FIELDS, "--user %s: %s", sandbox->user_name, strerror(-failed));
    return !user && report_missing(sandbox->mode, SANDBOX_LAYER_PRIVILEGES, strerror(-failed));
}

bool sandbox_apply(const struct sandbox *sandbox, struct hub_sandbox *state) {
    const char *why = "";
    if (!drop_privileges(sandbox, state))
        return false;
    if (sandbox->secret)
        sandbox_layer_hide_memory();
    if (sandbox->mode != SANDBOX_OFF) {
        bool up = sandbox_layer_files(sandbox->folders, sandbox->folder_count, state->may_dial, &why) == 0;
        state->layers[SANDBOX_LAYER_FILES] = up ? SANDBOX_LAYER_UP : SANDBOX_LAYER_MISSING;
        if (!up && !report_missing(sandbox->mode, SANDBOX_LAYER_FILES, why))
            return false;
    }
    assert(state->mode == sandbox->mode);
    return check_reads(sandbox);
}

bool sandbox_apply_calls(struct hub_sandbox *state, enum sandbox_layer_state ring) {
    assert(ring != SANDBOX_LAYER_OFF && state->layers[SANDBOX_LAYER_CALLS] == SANDBOX_LAYER_OFF);
    if (state->mode == SANDBOX_OFF)
        return true;
    state->layers[SANDBOX_LAYER_RING] = ring;
    if (ring == SANDBOX_LAYER_MISSING &&
        !report_missing(state->mode, SANDBOX_LAYER_RING, "the kernel's io_uring knows no restrictions"))
        return false;
    int failed = sandbox_layer_calls(state->may_dial);
    state->layers[SANDBOX_LAYER_CALLS] = failed ? SANDBOX_LAYER_MISSING : SANDBOX_LAYER_UP;
    return !failed || report_missing(state->mode, SANDBOX_LAYER_CALLS, strerror(-failed));
}

// The result of trying a layer.
enum outcome {
    HOLDS,   // the kernel refused what the layer forbids
    FALLS,   // the kernel allowed what the layer forbids
    MISSING, // there is no such layer
    REFUSED, // the hub would not start; the error has been logged
};

// --- Trials: each returns true if the kernel refuses what the trial does

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

// Opens a file that everybody may write without the sandbox.
static bool files_hold(void) {
    int file = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (file >= 0)
        close(file);
    return file < 0;
}

// Makes a system call for which the filter ends the process.
static bool calls_hold(void) {
    char *const nothing[] = {NULL};
    signal(SIGSYS, SIG_DFL);
    execve("/", nothing, nothing);
    return false;
}

static enum outcome attempt(const struct sandbox *sandbox, struct hub_sandbox state,
                            enum sandbox_layer layer) {
    bool (*const trials[])(void) = {[SANDBOX_LAYER_PRIVILEGES] = privileges_hold,
                                    [SANDBOX_LAYER_FILES] = files_hold,
                                    [SANDBOX_LAYER_CALLS] = calls_hold,
                                    [SANDBOX_LAYER_RING] = sandbox_ring_holds};
    assert(layer < sizeof trials / sizeof *trials);
    sandbox_layer_hide_memory(); // a layer that works kills the process, and must leave no core dump
    if (!sandbox_apply(sandbox, &state))
        return REFUSED;
    if (sandbox->mode != SANDBOX_OFF && layer != SANDBOX_LAYER_RING) // the trial makes a ring
        sandbox_layer_last_privilege();
    if (layer == SANDBOX_LAYER_CALLS && !sandbox_apply_calls(&state, SANDBOX_LAYER_UNUSED))
        return REFUSED;
    if (layer != SANDBOX_LAYER_RING && state.layers[layer] == SANDBOX_LAYER_MISSING)
        return MISSING;
    return trials[layer]() ? HOLDS : FALLS;
}

static enum outcome run(const struct sandbox *sandbox, const struct hub_sandbox *state,
                        enum sandbox_layer layer) {
    int status = 0;
    fflush(NULL);
    pid_t process = fork();
    if (process == 0)
        _exit((int)attempt(sandbox, *state, layer));
    if (process < 0 || waitpid(process, &status, 0) != process)
        return FALLS;
    assert(layer < SANDBOX_LAYER_COUNT);
    if (WIFSIGNALED(status))
        return layer == SANDBOX_LAYER_CALLS && WTERMSIG(status) == SIGSYS ? HOLDS : FALLS;
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
    const struct hub_sandbox *state = &config->settings.sandbox;
    int status = 0;
    assert(sandbox->mode == state->mode);
    printf("configuration: can be used\nuser: %s\n",
           sandbox->user_name ? sandbox->user_name : "whoever starts the hub");
    // Without the sandbox, too, the hub becomes its user, and must be able to read its files as that user.
    if (sandbox->mode == SANDBOX_OFF && sandbox->user_name &&
        run(sandbox, state, SANDBOX_LAYER_PRIVILEGES) == REFUSED)
        return 1;
    for (enum sandbox_layer layer = 0; layer < SANDBOX_LAYER_COUNT; layer++) {
        if (sandbox->mode == SANDBOX_OFF ||
            (layer == SANDBOX_LAYER_RING && config->settings.io == IO_EPOLL)) {
            printf("%s: %s\n", names[layer], sandbox->mode == SANDBOX_OFF ? "off" : "unused");
            continue;
        }
        enum outcome outcome = run(sandbox, state, layer);
        printf("%s: %s\n", names[layer], outcomes[outcome]);
        if (outcome == REFUSED)
            return 1;
        if (layer == SANDBOX_LAYER_FILES)
            show_folders(sandbox);
        status |= outcome == FALLS || (sandbox->mode == SANDBOX_REQUIRED && outcome == MISSING);
    }
    return status;
}
