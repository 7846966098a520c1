// See usage.h. The texts are in the order in which the program's own shows them.
#include "tools/usage.h"

#include <errno.h>
#include <string.h>

#include "tools/client.h"

static const struct usage {
    const char *command;
    const char *arguments;
    const char *summary; // one line
    const char *details; // of `--help`, after the summary; lines end in a line break
} usages[] = {
    {"send", "TARGET TASK [OPTION...]", "ask an agent to do a task; prints the result",
     "  --context JSON      what the task is about: JSON, @FILE, or - for standard input\n"
     "  --source AGENT-ID   who asks\n"
     "  --priority P        low, medium, high or critical\n"
     "  --timeout TIME      when to give up, 1ms to 1h (250ms, 5s, 10m); the hub's own otherwise\n"
     "  --header LINE       a header field, 'Name: value'; repeatable; none of these two over lines\n"
     "  --method NAME       instead of agent/request\n"
     "An interrupt cancels the request and waits for its end. The error of a request that fails is printed\n"
     "on standard error, as JSON with its code, message and data.\n"},
    {"echo", "AGENT-ID", "be an agent that answers {\"echo\": <the params>}",
     "Runs until it is interrupted.\n"},
    {"events", "[PATTERN...] [--count N]", "print events as they come, one line of JSON each",
     "A pattern is an event's name, or a prefix and *; without one, all events are printed.\n"
     "  --count N           end after N events; else at an interrupt\n"},
    {"publish", "EVENT [DATA] [OPTION...]", "publish an event; prints how many got it",
     "DATA is JSON, @FILE, or - for standard input.\n"
     "  --notify            as a notification, to which there is no answer; prints nothing\n"
     "  --header LINE       a header field, 'Name: value'; repeatable; not over lines\n"},
    {"connect", "[OPTION...]", "join standard input and output to the hub",
     "So whoever can start a server that speaks on its standard streams (an editor, an MCP client) can "
     "start\n"
     "this, and is a client of the hub's.\n"
     "  --agent AGENT-ID    all that names no target goes to this agent (hub/attach)\n"
     "  --framing HOW       of standard input and output: content-length or lines; without it, the hub's.\n"
     "                      Where that is another one, messages are put from one into the other\n"
     "At the input's end it waits for what the hub still owes, as long as somebody reads the output.\n"},
    {"agents", "[--json] [--cluster]", "list the agents",
     "  --json              the hub's answer as it is, on one line\n"
     "  --cluster           the agents at all joined hubs\n"},
    {"stats", "[--json]", "print the hub's counters",
     "  --json              the hub's answer as it is, on one line\n"},
    {"tap", "[OPTION...]", "show each message as it passes, one line each",
     "  --agent AGENT-ID    only messages of this source or target: an agentId, or a prefix and *\n"
     "  --method NAME       only messages of this method: a name, or a prefix and *\n"
     "  --errors            leave out results and deliveries\n"
     "  --slow TIME         only requests that took this long or longer (250ms, 5s)\n"
     "  --body SIZE         show up to SIZE bytes of each body; a request also has a line when it comes\n"
     "  --rate N            lines a second at most, 1 to 100000; else 1000\n"
     "  --count N           end after N lines; else at an interrupt\n"
     "  --json              the hub's entries as they are, one a line\n"
     "The number of messages without a line is told on standard error.\n"},
    {"record", "FILE [--agent AGENT-ID] [--method NAME] [--for TIME]",
     "write each message that passes to a file, with its whole body",
     "Each message is a line of JSON, as of tap --json, without header fields. Nobody else may read the "
     "file,\n"
     "which must not be there yet.\n"
     "  --agent AGENT-ID    only messages of this source or target: an agentId, or a prefix and *\n"
     "  --method NAME       only messages of this method: a name, or a prefix and *\n"
     "  --for TIME          end after TIME; else at an interrupt\n"},
    {"replay", "FILE [--speed N|max] [--serve] [--json]", "send the messages of a recording again",
     "Each source is a connection. The command waits for all answers, and shows their times beside those of "
     "the\n"
     "recording.\n"
     "  --speed N           N times as fast as the recording (1); max: as fast as answers come\n"
     "  --serve             be the targets, too; they answer after the recorded times, with as many bytes\n"
     "  --json              the figures as JSON\n"},
    {"pending", "[AGENT] [--limit N] [--json]", "list the requests without an answer yet, oldest first",
     "AGENT is an agentId, or a prefix and *: only requests of this source or target.\n"
     "  --limit N           N requests at most, 1 to 1000; else 100\n"
     "  --json              the hub's answer as it is, on one line\n"},
    {"approvals", "[--json] | approve|reject|revise CHECKPOINT [--feedback TEXT]",
     "list what the hub holds until somebody approves it (--gate), or decide on it",
     "  --json              the hub's answer as it is, on one line\n"
     "  approve CHECKPOINT  deliver the message\n"
     "  reject CHECKPOINT   refuse the message\n"
     "  revise CHECKPOINT   refuse the message, which may be sent again after a change\n"
     "  --feedback TEXT     text for the message's source\n"
     "Exit status 1: somebody else was faster, it was cancelled or its time was up; or the hub refused.\n"},
    {"child", "list|restart NAME|stop NAME|log NAME [--json]",
     "list, restart or stop the programs that the hub keeps running, or show their logs",
     "  list                show each program and its state\n"
     "  restart NAME        end the program, and start it again as its section says\n"
     "  stop NAME           end the program until it is restarted, by hand or by SIGHUP\n"
     "  log NAME            show its last lines on standard error\n"
     "  --json              the hub's answer as it is, on one line\n"},
    {"top", "[--sort KEY]", "show the hub's state and its agents, live",
     "  --sort KEY          order of the agents: owes (unanswered requests), name, level or connected\n"
     "Keys change the order and the view; q ends. Where the output is no terminal, one picture is "
     "printed.\n"},
    {"hcs", "start [OPTION...] | serve AGENT-ID FILE [--interval TIME]",
     "take part in a session of HCS streaming: see its frames, or make them",
     "start prints each frame on a line of its own, until the session ends or an interrupt.\n"
     "  --target AGENT-ID   the producer; else any that can\n"
     "  --session ID        the session's id; a session that lives is joined\n"
     "  --after-seq N       with --session: only chunks behind chunk N\n"
     "  --request-id ID, --user ID\n"
     "  --ack               acknowledge each chunk\n"
     "serve plays FILE, one frame of JSON a line, to each session: a frame gets the session's names, and a "
     "chunk\n"
     "without a seq the next one. It heeds pause and resume, and prints what clients say on standard error.\n"
     "  --interval TIME     between two frames (250ms, 5s)\n"},
    {"token", "new", "make a token for a user, and the line of the users file that it takes",
     "Two lines: the token, which the user keeps secret, and `token = sha256:...`, which the hub knows it "
     "by.\n"},
    {"users", "check [--strict] FILE | explain [--users FILE] USER QUESTION",
     "name the faults of a users file, or the line that decides a question; asks no hub",
     "check names each line that can't be used, and warns of lines without effect.\n"
     "  --strict            end with 1 for warnings, too\n"
     "explain answers whether USER may do something, and shows the line that decides:\n"
     "  call ADDRESS [NAME...]     AGENT-ID, @CAPABILITY, tool:TOOL or method:METHOD; the address that "
     "decides\n"
     "                             first, then what else the message names\n"
     "  register AGENT-ID, offer NAME, publish EVENT, subscribe PATTERN, level LEVEL, admin\n"
     "  hold NAME...               whether the gate holds messages with that name; event:EVENT, too\n"
     "  --users FILE        the file; PATCHBAY_USERS names it otherwise\n"
     "Exit status 1: the file that is checked has a fault, or what was asked is refused; 2: nothing was "
     "answered.\n"},
    {"bench", "SOURCES TARGETS DEPTH BODY SECONDS [OPTION...]",
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
     "  --program COMMAND   each target is a program of this command line, to which the shell adds an "
     "agentId and the\n"
     "                      length of an answer's filler (bench/clients)\n"
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
enum { USAGES_COUNT = sizeof usages / sizeof usages[0] };

static const char statuses_text[] = "exit status: 0 done; 1 the hub or the agent answered with an error; "
                                    "2 the arguments can't be used, and\n"
                                    "nothing was sent; 3 the hub can't be reached, or went away\n";

void usage_show(FILE *out) {
    fputs("usage: patchbay [--hub URI] COMMAND [ARGUMENT...]\n", out);
    for (size_t i = 0; i < USAGES_COUNT; i++) {
        fprintf(out, "  %-8s %s\n", usages[i].command, usages[i].summary);
    }
    fputs(
        "patchbay COMMAND --help tells more of one.\n"
        "  --hub URI            tcp://HOST:PORT or unix:///PATH; default PATCHBAY_HUB, "
        "else " USAGE_DEFAULT_HUB ";\n"
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

static const struct usage *find(const char *command) {
    for (size_t i = 0; i < USAGES_COUNT; i++) {
        if (strcmp(usages[i].command, command) == 0) {
            return &usages[i];
        }
    }
    return NULL;
}

static void show_arguments(FILE *out, const struct usage *usage) {
    fprintf(out, "usage: patchbay [--hub URI] %s %s\n", usage->command, usage->arguments);
}

bool usage_help(const char *command) {
    const struct usage *usage = find(command);
    if (usage == NULL) {
        return false;
    }
    show_arguments(stdout, usage);
    printf("%s\n%s%s", usage->summary, usage->details, statuses_text);
    return true;
}

enum status usage(const char *command) {
    const struct usage *usage = command == NULL ? NULL : find(command);
    if (usage == NULL) {
        usage_show(stderr);
    } else {
        show_arguments(stderr, usage);
        fprintf(stderr, "patchbay %s --help tells more\n", command);
    }
    return STATUS_USAGE;
}

enum status unreachable(const char *hub, int error) {
    fprintf(stderr, "patchbay: %s: %s\n", hub, client_error_text(error));
    return error == -EINVAL ? STATUS_USAGE : STATUS_UNREACHABLE; // malformed URI: nothing was tried
}

enum status no_fields(const char *command, const char *hub) {
    fprintf(stderr, "patchbay: %s: %s: no header fields, and no timeout, go with a line\n", command, hub);
    return STATUS_USAGE;
}
