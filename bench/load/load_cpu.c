// See load_cpu.h. Success: the first number of each thread's schedstat, in nanoseconds, is summed up. (stat
// would give the same in ticks of 10 ms.) Failure: no such process, or a kernel without schedstat: -errno. A
// thread that ends between two calls takes its time with it; a hub's and a NATS server's threads don't end
// under load.
#include "bench/load/load_cpu.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>

static int cpu_of_thread(pid_t pid, const char *thread, uint64_t *used_ns) {
    char path[320];
    snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", (int)pid, thread);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return -errno;
    }
    unsigned long long used;
    int found = fscanf(file, "%llu", &used);
    fclose(file);
    if (found != 1) {
        return -EIO;
    }
    *used_ns += used;
    return 0;
}

int cpu_of_process(pid_t pid, uint64_t *used_ns) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    if (threads == NULL) {
        return -errno;
    }
    *used_ns = 0;
    int error = 0;
    struct dirent *thread;
    while (error == 0 && (thread = readdir(threads)) != NULL) {
        if (thread->d_name[0] != '.') {
            error = cpu_of_thread(pid, thread->d_name, used_ns);
            error = error == -ENOENT || error == -ESRCH ? 0 : error; // it ended meanwhile
        }
    }
    closedir(threads);
    return error;
}
