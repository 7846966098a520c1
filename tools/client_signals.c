#include "tools/client_signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static sigset_t both(void) {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGTERM);
    return wanted;
}

int signals_open(void) {
    sigset_t wanted = both();
    sigprocmask(SIG_BLOCK, &wanted, NULL);
    int signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals < 0 ? -errno : signals;
}

int signals_take(int signals) {
    struct signalfd_siginfo taken;
    return read(signals, &taken, sizeof taken) == (ssize_t)sizeof taken ? (int)taken.ssi_signo : 0;
}

void signals_close(int signals) {
    close(signals);
}

void signals_default(int signals) {
    sigset_t wanted = both();
    close(signals);
    sigprocmask(SIG_UNBLOCK, &wanted, NULL);
}
