#include "io/signals.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

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
