// Restricts system calls by seccomp to a list of calls that a serving hub makes. The list has calls of io_uring, epoll,
// the C library, the allocator and the libraries that the hub is linked with.
//
// A call that isn't on the list fails with EPERM: a library may try the call and go on without. A call that neither the
// libraries nor the hub ever need ends the process, and the kernel's log names the call. The kernel caches which calls
// the filter allows with any arguments, so the calls for a frame don't run the filter.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/sandbox_layer.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const int ALLOWED[] = {
    // Calls for every frame.
    SCMP_SYS(io_uring_enter), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2),
    SCMP_SYS(epoll_ctl), SCMP_SYS(accept4), SCMP_SYS(accept), SCMP_SYS(recvfrom), SCMP_SYS(recvmsg),
    SCMP_SYS(sendto), SCMP_SYS(sendmsg), SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(writev),
    SCMP_SYS(close), SCMP_SYS(shutdown), SCMP_SYS(poll), SCMP_SYS(ppoll),
    // Options and addresses of open sockets.
    SCMP_SYS(getsockopt), SCMP_SYS(setsockopt), SCMP_SYS(getsockname), SCMP_SYS(getpeername),
    // Files, within Landlock's limits: files that SIGHUP reads, the journal, and the removal of the Unix socket's file.
    SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(fstat), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(newfstatat),
    SCMP_SYS(statx), SCMP_SYS(lseek), SCMP_SYS(pread64), SCMP_SYS(pwrite64), SCMP_SYS(ftruncate),
    SCMP_SYS(fsync), SCMP_SYS(fdatasync), SCMP_SYS(fallocate), SCMP_SYS(dup3), SCMP_SYS(flock),
    SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
    SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getdents64), SCMP_SYS(getcwd),
    // Signals and wakes.
    SCMP_SYS(signalfd4), SCMP_SYS(eventfd2), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(restart_syscall),
    // Memory.
    SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk), SCMP_SYS(mincore),
    // Threads and their end.
    SCMP_SYS(futex), SCMP_SYS(futex_waitv), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity), SCMP_SYS(membarrier), SCMP_SYS(getcpu), SCMP_SYS(exit), SCMP_SYS(exit_group),
    SCMP_SYS(set_tid_address),
    // Identity, time, resources, random numbers.
    SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getppid), SCMP_SYS(getuid), SCMP_SYS(geteuid),
    SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres),
    SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday), SCMP_SYS(time),
    SCMP_SYS(getrusage), SCMP_SYS(times), SCMP_SYS(sysinfo), SCMP_SYS(uname), SCMP_SYS(getrandom),
    SCMP_SYS(getrlimit)};

// Calls that no library tries by chance: on other programs, other processes, other rights, or the kernel's own state.
static const int FATAL[] = {
    // Programs, processes, listening sockets, and rings without restrictions.
    SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(bind), SCMP_SYS(listen),
    SCMP_SYS(io_uring_setup),
    // Other processes, and the kernel's own state.
    SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(process_madvise),
    SCMP_SYS(kcmp), SCMP_SYS(pidfd_getfd), SCMP_SYS(pidfd_open), SCMP_SYS(pidfd_send_signal), SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(add_key), SCMP_SYS(request_key),
    SCMP_SYS(keyctl),
    // The view of the file system.
    SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(chroot), SCMP_SYS(pivot_root), SCMP_SYS(mount),
    SCMP_SYS(umount2), SCMP_SYS(move_mount), SCMP_SYS(open_tree), SCMP_SYS(fsopen), SCMP_SYS(fsmount),
    SCMP_SYS(fspick), SCMP_SYS(fsconfig), SCMP_SYS(mount_setattr), SCMP_SYS(open_by_handle_at),
    SCMP_SYS(name_to_handle_at),
    // The machine's state.
    SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load), SCMP_SYS(reboot), SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(acct),
    SCMP_SYS(quotactl), SCMP_SYS(syslog), SCMP_SYS(settimeofday), SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime), SCMP_SYS(adjtimex), SCMP_SYS(sethostname), SCMP_SYS(setdomainname),
    SCMP_SYS(iopl), SCMP_SYS(ioperm), SCMP_SYS(modify_ldt), SCMP_SYS(personality),
    // The process's rights.
    SCMP_SYS(capset), SCMP_SYS(setuid), SCMP_SYS(setgid), SCMP_SYS(setreuid), SCMP_SYS(setregid),
    SCMP_SYS(setresuid), SCMP_SYS(setresgid), SCMP_SYS(setfsuid), SCMP_SYS(setfsgid), SCMP_SYS(setgroups),
    // Owners, modes and special files.
    SCMP_SYS(mknod), SCMP_SYS(mknodat), SCMP_SYS(chown), SCMP_SYS(lchown), SCMP_SYS(fchown),
    SCMP_SYS(fchownat), SCMP_SYS(chmod), SCMP_SYS(fchmod), SCMP_SYS(fchmodat), SCMP_SYS(setxattr),
    SCMP_SYS(lsetxattr), SCMP_SYS(fsetxattr), SCMP_SYS(vhangup), SCMP_SYS(lookup_dcookie),
    SCMP_SYS(nfsservctl)};

enum { LOW = 0x7fffffff }; // mask of an int argument

// The kernel's numbers of io_uring_register.
enum { UNREGISTER_RING_FDS = 21, REGISTER_BUFFER_RING = 22, UNREGISTER_BUFFER_RING = 23 };

// A call that is allowed if one argument fits.
struct detail {
    int call;
    struct scmp_arg_cmp argument;
};

#define EXACTLY(number, value)                                                                               \
    { number, SCMP_CMP_MASKED_EQ, 0xffffffff, (scmp_datum_t)(value) }
#define NONE_OF(number, bits)                                                                                \
    { number, SCMP_CMP_MASKED_EQ, bits, 0 }

static const struct detail DETAILS[] = {
    // Registering receive buffers again when their number changes (uring_ring.c), and unregistering the ring's
    // descriptor at its end.
    {SCMP_SYS(io_uring_register), {1, SCMP_CMP_MASKED_EQ, LOW, REGISTER_BUFFER_RING}},
    {SCMP_SYS(io_uring_register), {1, SCMP_CMP_MASKED_EQ, LOW, UNREGISTER_BUFFER_RING}},
    {SCMP_SYS(io_uring_register), {1, SCMP_CMP_MASKED_EQ, LOW, UNREGISTER_RING_FDS}},
    // The standard streams of a child program.
    {SCMP_SYS(socketpair), EXACTLY(0, AF_UNIX)},
    // No new executable memory.
    {SCMP_SYS(mmap), NONE_OF(2, PROT_EXEC)},
    {SCMP_SYS(mprotect), NONE_OF(2, PROT_EXEC)},
    // Threads, but no processes. (seccomp can't read the flags of clone3 in memory: clone3 fails with ENOSYS, and the C
    // library uses clone.)
    {SCMP_SYS(clone), {0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD}},
    // Limits may be read, not set.
    {SCMP_SYS(prlimit64), {2, SCMP_CMP_EQ, 0, 0}},
    {SCMP_SYS(fcntl), EXACTLY(1, F_GETFD)},
    {SCMP_SYS(fcntl), EXACTLY(1, F_SETFD)},
    {SCMP_SYS(fcntl), EXACTLY(1, F_GETFL)},
    {SCMP_SYS(fcntl), EXACTLY(1, F_SETFL)},
    {SCMP_SYS(ioctl), EXACTLY(1, TIOCOUTQ)},
    {SCMP_SYS(ioctl), EXACTLY(1, FIONREAD)},
    {SCMP_SYS(ioctl), EXACTLY(1, TCGETS)},
    {SCMP_SYS(prctl), EXACTLY(0, PR_SET_NAME)},
    {SCMP_SYS(prctl), EXACTLY(0, PR_GET_DUMPABLE)}};

// Allows TCP sockets and connect if the hub dials. Otherwise connect ends the process.
static int restrict_dialling(scmp_filter_ctx filter, bool dials) {
    static const int families[] = {AF_INET, AF_INET6};
    if (!dials)
        return seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, SCMP_SYS(connect), 0);
    int failed = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(connect), 0);
    for (size_t at = 0; at < COUNT(families) && !failed; at++)
        failed = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, (scmp_datum_t)families[at]),
                                  SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, SOCK_STREAM | SOCK_CLOEXEC));
    return failed;
}

static int refuse_dangers(scmp_filter_ctx filter) {
    int failed = 0;
    for (size_t at = 0; at < COUNT(FATAL) && !failed; at++)
        failed = seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, FATAL[at], 0);
    if (!failed)
        failed = seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, SCMP_SYS(clone), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    if (!failed)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    return failed;
}

// Allows SIGKILL to a process group: a number below 0, except -1, which means all processes. Every such number has some
// bit that is 0, unlike -1. A rule compares an argument once, so each bit needs a rule.
static int allow_group_kills(scmp_filter_ctx filter) {
    const scmp_datum_t negative = 0x80000000;
    int failed = 0;
    for (unsigned bit = 0; bit < 31 && !failed; bit++)
        failed = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(kill), 2,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, negative | (scmp_datum_t)1 << bit, negative),
                                  SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, SIGKILL));
    return failed;
}

static int allow_needs(scmp_filter_ctx filter) {
    int failed = 0;
    for (size_t at = 0; at < COUNT(ALLOWED) && !failed; at++)
        failed = seccomp_rule_add(filter, SCMP_ACT_ALLOW, ALLOWED[at], 0);
    for (size_t at = 0; at < COUNT(DETAILS) && !failed; at++)
        failed = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, DETAILS[at].call, 1, &DETAILS[at].argument);
    // Signals to the hub's own threads, as abort sends, and SIGKILL to a program's group (io_kill_group).
    if (!failed)
        failed = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, (scmp_datum_t)getpid()));
    return failed ? failed : allow_group_kills(filter);
}

int sandbox_layer_calls(bool dials) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (!filter)
        return -ENOMEM;
    // Attributes: TSYNC, the filter is for all threads. LOG, refusals are logged. SSB, no mitigation against hostile
    // code in the process, since there is none. OPTIMIZE 2, a binary tree.
    int failed = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    if (!failed)
        failed = refuse_dangers(filter);
    if (!failed)
        failed = restrict_dialling(filter, dials);
    if (!failed)
        failed = allow_needs(filter);
    (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
    (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
    (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (!failed)
        failed = seccomp_load(filter);
    seccomp_release(filter);
    return failed;
}
