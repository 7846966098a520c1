// patchbay, the hub's command-line client: picks the sub-command and leaves the rest to it.
// It goes well: exit status 0. It fails: what is wrong goes to standard error in one line, with the exit
// statuses of commands.h; arguments that mean nothing get the usage text.
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/address.h"
#include "tools/client.h"
#include "tools/commands.h"
#include "tools/credential.h"
#include "tools/tls_dial.h"

#define DEFAULT_HUB "tcp://127.0.0.1:7411"
enum { HUB_BYTES_MAX = 256 }; // more than any that can be dialled

static const struct command {
    const char *name;
    enum status (*run)(int argc, char **argv, const char *hub);
    const char *arguments;
    const char *summary; // one line
    const char *details; // of `--help`, after the summary; lines end in a line break
} commands[] = {
    {"send", command_send, "TARGET TASK [OPTION...]", "ask an agent to do a task; prints the result",
     "  --context JSON      what the task is about: JSON, @FILE, or - for standard input\n"
     "  --source AGENT-ID   who asks\n"
     "  --priority P        low, medium, high or critical\n"
     "  --timeout TIME      when to give up, 1ms to 1h (250ms, 5s, 10m); the hub's own otherwise\n"
     "  --header LINE       a header field, 'Name: value'; repeatable; none of these two over lines\n"
     "  --method NAME       instead of agent/request\n"
     "An interrupt cancels the request and waits for its end. The error of a request that fails is printed\n"
     "on standard error, as JSON with its code, message and data.\n"},
    {"echo", command_echo, "AGENT-ID", "be an agent that answers {\"echo\": <the params>}",
     "Runs until it is interrupted.\n"},
    {"events", command_events, "[PATTERN...] [--count N]", "print events as they come, one line of JSON each",
     "A pattern is an event's name, or a prefix and *; without one, all events are printed.\n"
     "  --count N           end after N events; else at an interrupt\n"},
    {"publish", command_publish, "EVENT [DATA] [OPTION...]", "publish an event; prints how many got it",
     "DATA is JSON, @FILE, or - for standard input.\n"
     "  --notify            as a notification, to which there is no answer; prints nothing\n"
     "  --header LINE       a header field, 'Name: value'; repeatable; not over lines\n"},
    {"connect", command_connect, "[OPTION...]", "join standard input and output to the hub",
     "So whoever can start a server that speaks on its standard streams (an editor, an MCP client) can "
     "start\n"
     "this, and is a client of the hub's.\n"
     "  --agent AGENT-ID    all that names no target goes to this agent (hub/attach)\n"
     "  --framing HOW       of standard input and output: content-length or lines; without it, the hub's.\n"
     "                      Where that is another one, messages are put from one into the other\n"
     "At the input's end it waits for what the hub still owes, as long as somebody reads the output.\n"},
    {"agents", command_agents, "[--json] [--cluster]", "list the agents",
     "  --json              the hub's answer as it is, on one line\n"
     "  --cluster           those at all hubs that are joined\n"},
    {"stats", command_stats, "[--json]", "print the hub's counters",
     "  --json              the hub's answer as it is, on one line\n"},
    {"approvals", command_approvals, "[--json] | approve|reject|revise CHECKPOINT [--feedback TEXT]",
     "list what the hub holds until somebody approves it (--gate), or decide on it",
     "  --json              the hub's answer as it is, on one line\n"
     "  approve CHECKPOINT  it goes on\n"
     "  reject CHECKPOINT   it is refused\n"
     "  revise CHECKPOINT   it is refused, and may be sent again after a change\n"
     "  --feedback TEXT     what its source is told, besides who decided\n"
     "Exit status 1: somebody else was faster, it was cancelled or its time was up; or the hub refused.\n"},
    {"child", command_child, "list|restart NAME|stop NAME|log NAME [--json]",
     "the programs that the hub keeps running",
     "  list                how they are\n"
     "  restart NAME        end one, and start it anew as its section says\n"
     "  stop NAME           end one until it is restarted, by hand or by SIGHUP\n"
     "  log NAME            what it said last on standard error\n"
     "  --json              the hub's answer as it is, on one line\n"},
    {"top", command_top, "[--sort KEY]", "show how the hub is, live",
     "  --sort KEY          the agents by what they owe (owes), name, level, or connected\n"
     "Keys change that and what is shown; q ends. Where the output is no terminal, one picture is "
     "printed.\n"},
    {"hcs", command_hcs, "start [OPTION...] | serve AGENT-ID FILE [--interval TIME]",
     "take part in a session of HCS streaming: see its frames, or make them",
     "start prints each frame on a line of its own, until the session ends or an interrupt.\n"
     "  --target AGENT-ID   who is to produce it; else one that can\n"
     "  --session ID        which one: it is joined if it lives\n"
     "  --after-seq N       with --session: what came behind that chunk\n"
     "  --request-id ID, --user ID\n"
     "  --ack               acknowledge each chunk\n"
     "serve plays FILE, one frame of JSON a line, to each session: a frame gets the session's names, and a "
     "chunk\n"
     "without a seq the next one. It heeds pause and resume, and prints what clients say on standard error.\n"
     "  --interval TIME     between two frames (250ms, 5s)\n"},
    {"token", command_token, "new", "make a token for a user, and the line of the users file that it takes",
     "Two lines: the token, which the user keeps secret, and `token = sha256:...`, which the hub knows it "
     "by.\n"},
    {"users", command_users, "check [--strict] FILE | explain [--users FILE] USER QUESTION",
     "say what is wrong in a users file, or which line of it decides; asks no hub",
     "check names each line that can't be used, and warns of what says something without effect.\n"
     "  --strict            end with 1 for warnings, too\n"
     "explain answers whether USER may do something, and shows the line that decides:\n"
     "  call ADDRESS [NAME...]     AGENT-ID, @CAPABILITY, tool:TOOL or method:METHOD; the address that "
     "decides\n"
     "                             first, then what else the message names\n"
     "  register AGENT-ID, offer NAME, publish EVENT, subscribe PATTERN, level LEVEL, admin\n"
     "  hold NAME...               whether the gate holds what names that, event:EVENT too\n"
     "  --users FILE        the file; PATCHBAY_USERS names it otherwise\n"
     "Exit status 1: the file that is checked has a fault, or what was asked is refused; 2: nothing was "
     "answered.\n"},
    {"bench", command_bench, "SOURCES TARGETS DEPTH BODY SECONDS [OPTION...]",
     "load: SOURCES connections keep DEPTH requests of BODY bytes pending each",
     "In Content-Length frames, or as the hub's URI says: in lines, over TLS (tls://HOST:PORT), WebSocket\n"
     "(ws://HOST:PORT) or HTTP (http://HOST:PORT), where requests are posted to targets on WebSocket and "
     "events\n"
     "streamed.\n"
     "  --sources URI       another address of the hub, or of one that is joined with it, and what is spoken "
     "there,\n"
     "                      for the sources alone\n"
     "  --id-last           the id behind the params\n"
     "  --warmup SECONDS    load that isn't counted, before\n"
     "  --hub-pid PID       whose CPU time is told; found out where the hub is patchbayd; up to 8 times: "
     "theirs "
     "together\n"
     "  --rate N            open loop: N messages a second whatever happens, latency from when each was due\n"
     "  --in-flight N       pending at all sources together, which take turns\n"
     "  --high PERCENT      of the requests have high priority, the others low\n"
     "  --events            one source publishes events, each target subscribes to them\n"
     "  --idle N            connections beside these that do nothing\n"
     "  --slow N            subscribers beside these that never read\n"
     "  --trickle           connection by connection, a read and then a write of each, as plain programs do\n"
     "                      by epoll; else all that are ready at a time\n"
     "  --peer PROTOCOL=AT  load another server instead: nats, nats-websocket, nchan, nchan-sse, redis, "
     "mqtt,\n"
     "                      relay or rpc at HOST:PORT; nats also at tls://HOST:PORT\n"
     "  --plain-inbox       of nats: one inbox a source\n"
     "  --json              the figures as JSON\n"},
};
enum { COMMANDS_COUNT = sizeof commands / sizeof commands[0] };

static const char statuses_text[] = "exit status: 0 done; 1 the hub or the agent answered with an error; "
                                    "2 the arguments mean nothing, and\n"
                                    "nothing was sent; 3 the hub can't be reached, or went away\n";

static void show_usage(FILE *out) {
    fputs("usage: patchbay [--hub URI] COMMAND [ARGUMENT...]\n", out);
    for (size_t i = 0; i < COMMANDS_COUNT; i++) {
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
    }
    fputs(
        "patchbay COMMAND --help tells more of one.\n"
        "  --hub URI            tcp://HOST:PORT or unix:///PATH; default PATCHBAY_HUB, else " DEFAULT_HUB
        ";\n"
        "                       tcp-lines:// and unix-lines:// where the hub takes one JSON text a line;\n"
        "                       tls://HOST:PORT, tls-lines:// and wss:// for the same over TLS: the hub's "
        "certificate\n"
        "                       must be for HOST, which may be a name;\n"
        "                       ws://HOST:PORT where it takes WebSocket, which is where its status page is\n"
        "  --token-file FILE    the token by which the hub knows the user stands there; else in "
        "PATCHBAY_TOKEN\n"
        "  --tls-ca FILE        of a tls:// or wss:// hub: authorities in PEM that its certificate is signed "
        "by; else "
        "PATCHBAY_TLS_CA,\n"
        "                       else the system's\n"
        "  --tls-certificate FILE, --tls-key FILE  a certificate that the client shows, in PEM\n"
        "  --framing HOW        of a tcp:// or unix:// hub: content-length, the default, or lines\n"
        "  --help, --version\n",
        out);
    fputs(statuses_text, out);
}

static const struct command *find(const char *name) {
    for (size_t i = 0; i < COMMANDS_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

static void show_arguments(FILE *out, const struct command *command) {
    fprintf(out, "usage: patchbay [--hub URI] %s %s\n", command->name, command->arguments);
}

enum status usage(const char *name) {
    const struct command *command = name == NULL ? NULL : find(name);
    if (command == NULL) {
        show_usage(stderr);
    } else {
        show_arguments(stderr, command);
        fprintf(stderr, "patchbay %s --help tells more\n", name);
    }
    return STATUS_USAGE;
}

enum status unreachable(const char *hub, int error) {
    fprintf(stderr, "patchbay: %s: %s\n", hub, client_error_text(error));
    return error == -EINVAL ? STATUS_USAGE : STATUS_UNREACHABLE; // a URI that is none: nothing was tried
}

enum status no_fields(const char *command, const char *hub) {
    fprintf(stderr, "patchbay: %s: %s: no header fields, and no timeout, go with a line\n", command, hub);
    return STATUS_USAGE;
}

// The hub's URI as --framing would have it, perhaps written to `out`; NULL, with what is wrong on standard
// error, when it says otherwise. What is no URI of a hub is left to who dials it.
static const char *frame_hub(const char *hub, const char *framing, char *out, size_t capacity) {
    struct place place;
    bool lines = strcmp(framing, wire_lines.name) == 0;
    if (!lines && strcmp(framing, "content-length") != 0) {
        fprintf(stderr, "patchbay: --framing '%s': it must be lines or content-length\n", framing);
        return NULL;
    }
    if (place_parse(&place, hub) < 0 || strcmp(place.address.transport, lines ? wire_lines.name : "") == 0) {
        return hub;
    }
    if (place.address.transport[0] != '\0') {
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
        show_arguments(stdout, command);
        printf("%s\n%s%s", command->summary, command->details, statuses_text);
        return STATUS_DONE;
    }
    optind = 0; // the command's own options are read afresh (glibc: 0 also forgets the permutation)
    return command->run(argc, argv, hub);
}

// Output that could not be written (a full disk, a closed pipe) must not end in exit status 0.
static int finish(enum status status) {
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("patchbay: standard output");
        return status == STATUS_DONE ? STATUS_REFUSED : (int)status;
    }
    return (int)status;
}

static const char *default_hub(void) {
    const char *given = getenv("PATCHBAY_HUB");
    return given == NULL || *given == '\0' ? DEFAULT_HUB : given;
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
    const char *authorities = getenv("PATCHBAY_TLS_CA"), *certificate = NULL, *key = NULL;
    const char *hub = default_hub(), *framing = NULL, *token_file = NULL;
    char framed[HUB_BYTES_MAX];
    signal(SIGPIPE, SIG_IGN);
    if (credential_on_line(argc, argv)) {
        return STATUS_USAGE;
    }
    int option;
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
            show_usage(stdout);
            return finish(STATUS_DONE);
        case 'v':
            puts("patchbay " PATCHBAY_VERSION);
            return finish(STATUS_DONE);
        default:
            return (int)usage(NULL);
        }
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
