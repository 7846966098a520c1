#include "tools/client_signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

// Returns the signals that end a command. An ignored signal, as under nohup, is left out, because a blocked signal is
// queued although it is ignored.
static sigset_t ends(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t wanted;
    sigemptyset(&wanted);
    for (size_t index = 0; index < sizeof numbers / sizeof *numbers; index++) {
        struct sigaction action;
        if (sigaction(numbers[index], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&wanted, numbers[index]);
    }
    return wanted;
}

int signals_open(void) {
    sigset_t wanted = ends();
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
    sigset_t wanted = ends();
    close(signals);
    sigprocmask(SIG_UNBLOCK, &wanted, NULL);
}
