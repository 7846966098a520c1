#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/keeper_process.h"

enum { SECRET_BYTES_MAX = 64 << 10 };

extern char **environ;

// The only thing that is said of a program that can't be started; it goes where the program's words go.
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

// Less one line end.
static char *read_secret(const char *name, const char *path) {
    char *value = malloc(strlen(name) + SECRET_BYTES_MAX + 2);
    int file = value ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1; // nobody may write to a FIFO
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

// What is set replaces what is there.
static void put(char **variables, size_t *count, char *variable) {
    size_t at = place_of(variables, *count, variable);
    variables[at] = variable;
    *count += at == *count;
}

// What is passed replaces nothing, wherever in the section the one and the other stand.
static void pass(char **variables, size_t *count, const char *name) {
    size_t bytes = strlen(name);
    for (char **own = environ; *own; own++)
        if (strncmp(*own, name, bytes) == 0 && (*own)[bytes] == '=' &&
            place_of(variables, *count, *own) == *count)
            put(variables, count, *own);
}

static char **environment_of(const struct keeping_program *program) {
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

// As mkdir -p; what it makes is the user's alone.
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

// Never by way of a shell, which execvp would take for a file that is no program.
static void execute(char **words, char **variables) {
    char file[4096];
    int error = ENOENT;
    if (strchr(words[0], '/')) {
        execve(words[0], words, variables);
        give_up("can't run", words[0], errno);
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
    give_up("can't run", words[0], error);
}

void keeping_become(const struct keeping_program *program, int in, int out, int complaints) {
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
    execute(program->words, environment_of(program));
    _exit(127);
}
