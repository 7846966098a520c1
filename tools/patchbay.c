// patchbay, the hub's command-line client: runs the sub-command that the arguments name. Success: exit status 0.
// Failure: one line on standard error, and an exit status of usage.h. Arguments that can't be understood get the usage
// text.
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/address.h"
#include "tools/client.h"
#include "tools/client_credential.h"
#include "tools/commands.h"
#include "tools/tls_dial.h"

enum { HUB_BYTES_MAX = 256 }; // longer than any URI that can be dialled

static const struct command {
    const char *name;
    enum status (*run)(int argc, char **argv, const char *hub);
} commands[] = {
    {"send", command_send},       {"echo", command_echo},
    {"events", command_events},   {"publish", command_publish},
    {"connect", command_connect}, {"agents", command_agents},
    {"stats", command_stats},     {"approvals", command_approvals},
    {"child", command_child},     {"top", command_top},
    {"hcs", command_hcs},         {"token", command_token},
    {"users", command_users},     {"bench", command_bench},
    {"pending", command_pending}, {"tap", command_tap},
    {"record", command_record},   {"replay", command_replay},
};
enum { COMMANDS_COUNT = sizeof commands / sizeof commands[0] };

static const struct command *find(const char *name) {
    for (size_t i = 0; i < COMMANDS_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

// Returns the hub's URI with the framing of --framing, which may be written to `out`. Returns NULL, and prints the
// fault, if the URI names another framing. Text that is no hub's URI is left to the dialling function.
static const char *frame_hub(const char *hub, const char *framing, char *out, size_t capacity) {
    struct hub_address address;
    bool lines = strcmp(framing, wire_lines.name) == 0;
    if (!lines && strcmp(framing, "content-length") != 0) {
        fprintf(stderr, "patchbay: --framing '%s': it must be lines or content-length\n", framing);
        return NULL;
    }
    if (hub_address_parse(&address, hub) < 0 ||
        strcmp(address.address.transport, lines ? wire_lines.name : "") == 0) {
        return hub;
    }
    if (address.address.transport[0] != '\0') {
        fprintf(stderr, "patchbay: --framing %s: %s says otherwise\n", framing, hub);
        return NULL;
    }
    size_t scheme_bytes = strcspn(hub, ":");
    snprintf(out, capacity, "%.*s-%s%s", (int)scheme_bytes, hub, wire_lines.name, hub + scheme_bytes);
    return out;
}

static bool wants_help(int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            return true;
        }
    }
    return false;
}

static enum status run_command(int argc, char **argv, const char *hub) {
    const struct command *command = argc > 0 ? find(argv[0]) : NULL;
    if (command == NULL) {
        return usage(NULL);
    }
    if (wants_help(argc, argv)) {
        return usage_help(command->name) ? STATUS_DONE : STATUS_USAGE;
    }
    optind = 0; // the command's own options are read afresh (glibc: 0 also forgets the permutation)
    return command->run(argc, argv, hub);
}

// Returns the exit status. Output that couldn't be written (a full disk, a closed pipe) must not end in status 0.
static int finish(enum status status) {
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("patchbay: standard output");
        return status == STATUS_DONE ? STATUS_REFUSED : (int)status;
    }
    return (int)status;
}

// Shows help (`h`) or the version (`v`).
static enum status show(int question) {
    if (question == 'h') {
        usage_show(stdout);
    } else {
        puts("patchbay " PATCHBAY_VERSION);
    }
    return STATUS_DONE;
}

// Returns a variable of the environment; NULL: there is none, or the variable is empty.
static const char *variable(const char *name) {
    const char *given = getenv(name);
    return given == NULL || *given == '\0' ? NULL : given;
}

int main(int argc, char **argv) {
    static const struct option options[] = {{"hub", required_argument, NULL, 'u'},
                                            {"framing", required_argument, NULL, 'f'},
                                            {"token-file", required_argument, NULL, 't'},
                                            {"help", no_argument, NULL, 'h'},
                                            {"version", no_argument, NULL, 'v'},
                                            {"tls-ca", required_argument, NULL, 'a'},
                                            {"tls-certificate", required_argument, NULL, 'c'},
                                            {"tls-key", required_argument, NULL, 'k'},
                                            {0}};
    const char *authorities = variable("PATCHBAY_TLS_CA"), *certificate = NULL, *key = NULL;
    const char *hub = variable("PATCHBAY_HUB"), *framing = NULL, *token_file = NULL;
    char framed[HUB_BYTES_MAX];
    signal(SIGPIPE, SIG_IGN);
    hub = hub == NULL ? USAGE_DEFAULT_HUB : hub;
    if (credential_on_line(argc, argv)) {
        return STATUS_USAGE;
    }
    int option, question = 0;
    while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
        switch (option) {
        case 'u':
            hub = optarg;
            break;
        case 'f':
            framing = optarg;
            break;
        case 't':
            token_file = optarg;
            break;
        case 'a':
            authorities = optarg;
            break;
        case 'c':
            certificate = optarg;
            break;
        case 'k':
            key = optarg;
            break;
        case 'h':
        case 'v':
            question = question == 0 ? option : question;
            break;
        default:
            return (int)usage(NULL);
        }
    }
    if (question != 0) {
        return finish(show(question));
    }
    hub = framing == NULL ? hub : frame_hub(hub, framing, framed, sizeof framed);
    if (hub == NULL || !credential_read(token_file)) {
        return STATUS_USAGE;
    }
    tls_trust(authorities, certificate, key);
    client_set_token(credential_token());
    int status = finish(run_command(argc - optind, argv + optind, hub));
    credential_forget();
    return status;
}
