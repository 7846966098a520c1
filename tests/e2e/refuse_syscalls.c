// Runs a program to which the kernel refuses system calls, as containers do.
//
// usage: refuse_syscalls ERRNO NUMBER[,NUMBER]... PROGRAM [ARGUMENT]...
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int refuse(unsigned number, unsigned error) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fputs("usage: refuse_syscalls ERRNO NUMBER[,NUMBER]... PROGRAM [ARGUMENT]...\n", stderr);
        return 2;
    }
    unsigned error = (unsigned)strtoul(argv[1], NULL, 10);
    int failed = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (char *number = strtok(argv[2], ","); number && !failed; number = strtok(NULL, ","))
        failed = refuse((unsigned)strtoul(number, NULL, 10), error);
    if (!failed)
        execv(argv[3], argv + 3);
    perror(argv[0]);
    return 2;
}
