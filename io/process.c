#include "io/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

static char *arguments;
static size_t arguments_bytes; // with the zero bytes after each

// Finds the arguments that lie in memory one after the other, as the kernel places them. Others are not overwritten.
void process_name_begin(int argc, char **argv) {
    arguments = NULL;
    arguments_bytes = 0;
    for (int at = 0; at < argc && (at == 0 || argv[at] == arguments + arguments_bytes); at++) {
        if (at == 0)
            arguments = argv[0];
        arguments_bytes += strlen(argv[at]) + 1;
    }
}

void process_name_set(const char *name) {
    size_t bytes = strlen(name);
    assert(bytes > 0 && bytes < 32);
    prctl(PR_SET_NAME, name);
    if (arguments_bytes == 0)
        return;
    memset(arguments, 0, arguments_bytes);
    memcpy(arguments, name, bytes < arguments_bytes ? bytes : arguments_bytes - 1);
}

int process_fill_streams(void) {
    int file;
    do
        file = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (file >= 0 && file <= STDERR_FILENO);
    if (file < 0)
        return -errno;
    close(file);
    return 0;
}

// --- Signals

void signals_init(struct signals *signals) {
    *signals = (struct signals){.descriptor = -1};
}

int signals_route(struct signals *signals, uint64_t token) {
    assert(signals->descriptor < 0);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    int descriptor = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (descriptor < 0)
        return -errno;
    signals->descriptor = descriptor;
    signals->token = token;
    return 0;
}

void signals_unroute(struct signals *signals) {
    if (signals->descriptor >= 0)
        close(signals->descriptor);
    signals->descriptor = -1;
}

bool signals_next(struct signals *signals, struct io_event *event) {
    struct signalfd_siginfo info;
    if (read(signals->descriptor, &info, sizeof info) != sizeof info) {
        signals->ready = false;
        return false;
    }
    *event = (struct io_event){
        .kind = IO_SIGNAL, .more = true, .result = (int32_t)info.ssi_signo, .token = signals->token};
    return true;
}
