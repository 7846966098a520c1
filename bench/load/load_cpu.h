// The CPU time that a process has used, as its scheduler accounts for it.
#pragma once

#include <stdint.h>
#include <sys/types.h>

// Nanoseconds of user and system time that the threads of `pid` which live now have used. 0 or -errno.
int cpu_of_process(pid_t pid, uint64_t *used_ns);
