// Does what an attacker would do who has taken the hub over. This library is loaded into the hub (LD_PRELOAD) and acts
// at SIGUSR1. PLANT names one or more acts, and PLANT_PATH a file. Standard error tells the result of each act:
// `planted NAME: ` and an errno, 0 when the act succeeded.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *path;

static int read_file(void) {
    return open(path, O_RDONLY | O_CLOEXEC);
}

static int write_file(void) {
    return open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static int remove_file(void) {
    return unlink(path);
}

static int execute(void) {
    char *const arguments[] = {"/bin/true", NULL};
    return execve(arguments[0], arguments, NULL);
}

static int make_process(void) {
    return (int)syscall(SYS_vfork);
}

static int make_socket(void) {
    return socket(AF_INET, SOCK_STREAM, 0);
}

static int connect_socket(void) {
    int pair[2];
    struct sockaddr_in anywhere = {.sin_family = AF_INET};
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    return connect(pair[0], (struct sockaddr *)&anywhere, sizeof anywhere);
}

static int make_ring(void) {
    static char parameters[256];
    return (int)syscall(SYS_io_uring_setup, 4, parameters);
}

static int run_memory(void) {
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
}

static int trace(void) {
    return (int)syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0);
}

static int dump(void) {
    errno = EPERM;
    return prctl(PR_GET_DUMPABLE) == 1 ? 0 : -1;
}

static const struct {
    const char *name;
    int (*act)(void);
} acts[] = {
    {"read", read_file},       {"write", write_file},   {"remove", remove_file}, {"exec", execute},
    {"process", make_process}, {"socket", make_socket}, {"ring", make_ring},     {"connect", connect_socket},
    {"memory", run_memory},    {"trace", trace},        {"dump", dump},
};

static const char *names;

static void act(int number) {
    int before = errno;
    (void)number;
    for (size_t at = 0; at < sizeof acts / sizeof *acts; at++) {
        const char *named = strstr(names, acts[at].name);
        if (!named)
            continue;
        int result = acts[at].act();
        dprintf(2, "planted %s: %d\n", acts[at].name, result < 0 ? errno : 0);
    }
    dprintf(2, "planted all\n");
    errno = before;
}

__attribute__((constructor)) static void plant(void) {
    names = getenv("PLANT");
    path = getenv("PLANT_PATH");
    if (names)
        signal(SIGUSR1, act);
}
