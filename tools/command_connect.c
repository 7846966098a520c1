// `patchbay connect`: joins its standard input and output to the hub, so that a program that starts it is a client of
// the hub. Success: bytes are copied both ways until the hub has answered all requests from before the input's end, or
// until the output isn't read any more. Failure: no hub, or a hub that refuses, is status 3 and one line.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/errors.h"
#include "core/base/text.h"
#include "tools/client.h"
#include "tools/client_signals.h"
#include "tools/commands.h"
#include "tools/connect_pipe.h"
#include "tools/input.h"
#include "tools/output.h"

// The time that the hub has to answer before the first byte is copied.
static const uint64_t attach_timeout_ns = UINT64_C(10000000000);

struct bridge {
    const char *hub, *agent;    // `agent` NULL: not attached to an agent
    const struct wire *framing; // of standard input and output; NULL: the hub's
    int signals;
    struct client client;
    struct connect_pipe up, down;
    bool ended;    // the hub has been told of the input's end
    bool says_end; // the stream's end means leaving, so a message tells of the input's end
    char last[CLIENT_HEAD_BYTES_MAX + 128];
    bool leaves; // this program ends before the hub has answered all requests
};

// --- Arguments

static enum status read_arguments(struct bridge *bridge, int argc, char **argv) {
    static const struct option options[] = {
        {"agent", required_argument, NULL, 'a'}, {"framing", required_argument, NULL, 'f'}, {0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == '?') {
            return usage("connect");
        }
        if (option == 'a') {
            bridge->agent = optarg;
            continue;
        }
        bridge->framing = strcmp(optarg, wire_lines.name) == 0    ? &wire_lines
                          : strcmp(optarg, "content-length") == 0 ? &wire_framed
                                                                  : NULL;
        if (bridge->framing == NULL) {
            fprintf(stderr, "patchbay: connect: --framing '%s': it must be lines or content-length\n",
                    optarg);
            return STATUS_USAGE;
        }
    }
    if (optind < argc) {
        return usage("connect");
    }
    if (bridge->agent != NULL && (*bridge->agent == '\0' || !input_is_text(bridge->agent))) {
        fputs("patchbay: connect: --agent must be a name, in UTF-8\n", stderr);
        return STATUS_USAGE;
    }
    return STATUS_DONE;
}

// --- hub/attach

// Asks the hub to attach the connection to the agent. With `halfClose` the hub notices at once when this program is
// killed, over TCP as over a Unix socket. The connection also ends with a program that was told to exit.
static int ask_to_attach(struct bridge *bridge, struct client_answer *answer) {
    struct text params = {0};
    bridge->says_end = true;
    text_put(&params, "{\"agent\":");
    text_string(&params, bridge->agent, strlen(bridge->agent));
    text_put(&params, ",\"halfClose\":\"leave\"");
    text_add(&params, "}", 2); // with its terminating zero
    int error = params.failed ? -ENOMEM : client_call(&bridge->client, "hub/attach", params.bytes, answer);
    text_deinit(&params);
    return error;
}

// Returns whether the hub demands a session first. Then one is opened, which the client behind this program may open
// again.
static bool wants_session(const struct client_answer *answer) {
    struct json_item code = json_member(answer->body.bytes, answer->value, "code");
    char text[16];
    snprintf(text, sizeof text, "%d", error_code(ERROR_NOT_INITIALIZED));
    return answer->refused && code.value.bytes == strlen(text) &&
           memcmp(answer->body.bytes + code.value.at, text, code.value.bytes) == 0;
}

static int open_session(struct bridge *bridge, struct client_answer *answer) {
    static const char params[] = "{\"processId\":null,\"agentId\":\"connect\",\"capabilities\":{},"
                                 "\"governanceLevel\":\"autonomous\"}";
    return client_call(&bridge->client, "initialize", params, answer);
}

static enum status say_refused(const struct bridge *bridge, const struct client_answer *answer) {
    fprintf(stderr, "patchbay: connect: %s: can't be attached to '%s': ", bridge->hub, bridge->agent);
    output_line(stderr, answer->body.bytes + answer->value.at, answer->value.bytes);
    return STATUS_UNREACHABLE;
}

static enum status attach(struct bridge *bridge) {
    struct client_answer answer;
    if (bridge->agent == NULL) {
        return STATUS_DONE;
    }
    client_set_deadline(&bridge->client, attach_timeout_ns);
    int error = ask_to_attach(bridge, &answer);
    if (error == 0 && wants_session(&answer)) {
        error = open_session(bridge, &answer);
        if (error == 0 && !answer.refused) {
            error = ask_to_attach(bridge, &answer);
        }
    }
    if (error == -EINTR) {
        signals_default(bridge->signals); // which ends the program
    }
    if (error < 0) {
        return unreachable(bridge->hub, error);
    }
    return answer.refused ? say_refused(bridge, &answer) : STATUS_DONE;
}

// --- Joining

static bool is_over(const struct connect_pipe *pipe) {
    return pipe->state > CONNECT_PIPE_WRITES;
}

static struct pollfd wait_of(const struct connect_pipe *pipe) {
    if (is_over(pipe)) {
        return (struct pollfd){.fd = -1};
    }
    bool writes = pipe->state == CONNECT_PIPE_WRITES;
    return (struct pollfd){.fd = writes ? pipe->to : pipe->from, .events = writes ? POLLOUT : POLLIN};
}

static void go_on(struct connect_pipe *pipe, short ready) {
    if (ready == 0 || is_over(pipe)) {
        return;
    }
    if (pipe->state == CONNECT_PIPE_WRITES) {
        connect_pipe_write(pipe);
    } else {
        connect_pipe_read(pipe);
    }
}

static bool say_end(struct bridge *bridge) {
    static const char body[] = "{\"jsonrpc\":\"2.0\",\"method\":\"hub/finish\"}";
    const struct client *client = &bridge->client;
    size_t head = client_head(client, bridge->last, sizeof body - 1);
    // The input's last line may lack its end.
    const char *before = client->wire->breaks == BREAKS_SPACES ? "\n" : "";
    head = head > 0 ? head : (size_t)snprintf(bridge->last, sizeof bridge->last, "%s", before);
    int bytes = snprintf(bridge->last + head, sizeof bridge->last - head, "%s%s", body, client->wire->tail);
    bool said = bridge->says_end && connect_pipe_put_last(&bridge->up, bridge->last, head + (size_t)bytes);
    bridge->says_end = false;
    return said;
}

// Tells the hub that the input has ended: the hub answers the requests that it owes, and closes. If the stream's end
// means leaving, the stream stays open, so that the hub sees whether this program still runs.
static void end_input(struct bridge *bridge) {
    if (say_end(bridge)) {
        bridge->ended = true;
        return;
    }
    if (!bridge->ended) {
        shutdown(bridge->client.socket, SHUT_WR);
    }
    bridge->up.to = -1;
}

static bool step(struct bridge *bridge) {
    enum { SIGNALS, UP, DOWN, READER, COUNT };
    struct pollfd waits[COUNT] = {
        [SIGNALS] = {.fd = bridge->signals, .events = POLLIN},
        [UP] = wait_of(&bridge->up),
        [DOWN] = wait_of(&bridge->down),
        [READER] = {.fd = bridge->down.to}, // poll reports an error and the end without a request
    };
    if (poll(waits, COUNT, -1) < 0) {
        return errno == EINTR;
    }
    if (waits[SIGNALS].revents != 0 || (waits[READER].revents & (POLLERR | POLLHUP)) != 0) {
        bridge->leaves = true;
        return false;
    }
    go_on(&bridge->up, waits[UP].revents);
    go_on(&bridge->down, waits[DOWN].revents);
    if (bridge->up.state == CONNECT_PIPE_DONE && bridge->up.to >= 0) {
        end_input(bridge);
    }
    return !is_over(&bridge->down) && bridge->up.state != CONNECT_PIPE_BROKEN &&
           bridge->up.state != CONNECT_PIPE_FAILED;
}

// Passes on the input that has come, because a client may send a last message before it goes.
static void say_rest(struct connect_pipe *up) {
    enum { ROUNDS_MAX = 64 };
    for (unsigned round = 0; round < ROUNDS_MAX && !is_over(up); round++) {
        struct pollfd wait = wait_of(up);
        if (poll(&wait, 1, 0) <= 0) {
            return;
        }
        go_on(up, wait.revents);
    }
}

// Ends the connection with a reset. After a plain close the hub would still send answers, as to a half-closed
// connection.
static void leave(struct bridge *bridge) {
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    say_rest(&bridge->up);
    setsockopt(bridge->client.socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

// Prints the fault of one direction, if there is one, and returns the status.
static enum status judge_lane(const char *name, const struct connect_pipe *pipe) {
    if (pipe->state == CONNECT_PIPE_BROKEN || pipe->state == CONNECT_PIPE_FAILED) {
        fprintf(stderr, "patchbay: connect: %s: %s\n", name,
                pipe->state == CONNECT_PIPE_BROKEN ? pipe->fault : client_error_text(pipe->error));
        return STATUS_UNREACHABLE;
    }
    return STATUS_DONE;
}

// Returns the exit status. The hub closes after the input's end or after `exit`; otherwise the hub has gone.
static enum status judge(const struct bridge *bridge) {
    enum status status = judge_lane("standard input", &bridge->up);
    if (status == STATUS_DONE) {
        status = judge_lane("standard output", &bridge->down);
    }
    if (status != STATUS_DONE || bridge->down.state != CONNECT_PIPE_DONE) {
        return status;
    }
    bool due = bridge->up.state == CONNECT_PIPE_DONE || connect_pipe_has_said(&bridge->up, "exit");
    return due && bridge->down.error == 0 ? STATUS_DONE : unreachable(bridge->hub, -ECONNRESET);
}

static enum status join(struct bridge *bridge) {
    struct client *client = &bridge->client;
    const struct wire *wire = bridge->framing == NULL ? client->wire : bridge->framing;
    int error = connect_pipe_init(&bridge->up, STDIN_FILENO, client->socket, wire, client->wire);
    if (error == 0) {
        error = connect_pipe_init(&bridge->down, client->socket, STDOUT_FILENO, client->wire, wire);
    }
    if (error == 0) {
        error = connect_pipe_put_first(&bridge->down, client->in + client->at, client->filled - client->at);
    }
    if (error < 0) {
        return unreachable(bridge->hub, error);
    }
    while (step(bridge)) {
    }
    if (bridge->leaves || bridge->down.state == CONNECT_PIPE_CLOSED) {
        leave(bridge);
        return STATUS_DONE;
    }
    return judge(bridge);
}

// Opens standard descriptors that are closed, so that no other file gets their numbers.
static void fill_standard_descriptors(void) {
    int descriptor;
    do {
        descriptor = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
    if (descriptor >= 0) {
        close(descriptor);
    }
}

static enum status open_and_join(struct bridge *bridge) {
    int error = client_open(&bridge->client, bridge->hub);
    if (error < 0) {
        return unreachable(bridge->hub, error);
    }
    bridge->client.signals = bridge->signals;
    enum status status = attach(bridge);
    if (status == STATUS_DONE) {
        status = join(bridge);
    }
    connect_pipe_deinit(&bridge->up);
    connect_pipe_deinit(&bridge->down);
    client_close(&bridge->client);
    return status;
}

enum status command_connect(int argc, char **argv, const char *hub) {
    struct bridge bridge = {.hub = hub};
    enum status status = read_arguments(&bridge, argc, argv);
    if (status != STATUS_DONE) {
        return status;
    }
    fill_standard_descriptors();
    bridge.signals = signals_open();
    if (bridge.signals < 0) {
        return unreachable(hub, bridge.signals);
    }
    return open_and_join(&bridge);
}
