// patchbay, the hub's command-line client: picks the sub-command and leaves the rest to it.
// It goes well: exit status 0. It fails: what is wrong goes to standard error in one line, with the exit
// statuses of commands.h; arguments that mean nothing get the usage text.
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tools/client.h"
#include "tools/commands.h"

static const char usage_text[] =
    "usage: patchbay [--hub URI] COMMAND\n"
    "  send TARGET TASK [--context JSON] [--source AGENT-ID]\n"
    "                        ask an agent to do a task; prints the result\n"
    "  echo AGENT-ID         be an agent that answers {\"echo\": <the params>}\n"
    "  agents [--json]       list the agents\n"
    "  stats [--json]        print the hub's counters\n"
    "  bench SOURCES TARGETS DEPTH BODY SECONDS [--id-last] [--warmup SECONDS] [--json]\n"
    "        [--hub-pid PID] [--nats HOST:PORT [--plain-inbox]]\n"
    "                        load: SOURCES connections keep DEPTH requests of BODY bytes pending each\n"
    "  --hub URI             tcp://HOST:PORT or unix:///PATH; default tcp://127.0.0.1:7411\n"
    "  --help, --version\n";

static const struct {
    const char *name;
    enum status (*run)(int argc, char **argv, const char *hub);
} commands[] = {
    {"send", command_send},   {"echo", command_echo},   {"agents", command_agents},
    {"stats", command_stats}, {"bench", command_bench},
};

enum status usage(void) {
    fputs(usage_text, stderr);
    return STATUS_USAGE;
}

enum status unreachable(const char *hub, int error) {
    fprintf(stderr, "patchbay: %s: %s\n", hub, client_error_text(error));
    return error == -EINVAL ? STATUS_USAGE : STATUS_UNREACHABLE; // a URI that is none: nothing was tried
}

static enum status run_command(int argc, char **argv, const char *hub) {
    for (size_t i = 0; argc > 0 && i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(argv[0], commands[i].name) == 0) {
            optind =
                0; // the sub-command's own options are read afresh (glibc: 0 also forgets the permutation)
            return commands[i].run(argc, argv, hub);
        }
    }
    return usage();
}

// Output that could not be written (a full disk, a closed pipe) must not end in exit status 0.
static int finish(enum status status) {
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("patchbay: standard output");
        return status == STATUS_DONE ? STATUS_REFUSED : (int)status;
    }
    return (int)status;
}

int main(int argc, char **argv) {
    static const struct option options[] = {{"hub", required_argument, NULL, 'u'},
                                            {"help", no_argument, NULL, 'h'},
                                            {"version", no_argument, NULL, 'v'},
                                            {0}};
    const char *hub = "tcp://127.0.0.1:7411";
    signal(SIGPIPE, SIG_IGN);
    int option;
    while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
        switch (option) {
        case 'u':
            hub = optarg;
            break;
        case 'h':
            fputs(usage_text, stdout);
            return finish(STATUS_DONE);
        case 'v':
            puts("patchbay " PATCHBAY_VERSION);
            return finish(STATUS_DONE);
        default:
            return (int)usage();
        }
    }
    return finish(run_command(argc - optind, argv + optind, hub));
}
