// `patchbay echo`: an agent that answers every request with {"echo": <its params>}. Success: one write answers all
// whole requests of one receive. SIGINT, SIGTERM and SIGHUP end the command with status 0 once the answers under way
// are written. Failure: the hub refuses the agentId (status 1), or closes (status 3, after the answers are written).
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/text.h"
#include "core/json/simdjson.h"
#include "tools/client.h"
#include "tools/client_signals.h"
#include "tools/commands.h"
#include "tools/output.h"

struct echo {
    struct client client;
    const char *hub, *agent_id;
    int signals;     // of client_signals.h
    struct text out; // framed answers, of which `sent` bytes are written
    size_t sent;
    bool registered, ended;
    enum status status; // once ended
};

static void end(struct echo *echo, enum status status) {
    echo->ended = true;
    echo->status = status;
}

// Writes the head of a frame with a body of so many bytes.
static void begin_frame(struct echo *echo, size_t bytes) {
    char head[CLIENT_HEAD_BYTES_MAX];
    text_add(&echo->out, head, client_head(&echo->client, head, bytes));
}

static void end_frame(struct echo *echo, size_t bytes) {
    struct text *out = &echo->out;
    if (!out->failed) {
        client_flatten(&echo->client, out->bytes + out->length - bytes, bytes);
    }
    text_put(out, echo->client.wire->tail);
}

static void frame_out(struct echo *echo, const struct text *body) {
    begin_frame(echo, body->length);
    text_add(&echo->out, body->bytes, body->length);
    end_frame(echo, body->length);
}

static void answer_request(struct echo *echo, const uint8_t *body, const struct lookup *request) {
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":", middle[] = ",\"result\":{\"echo\":",
                      tail[] = "}}";
    struct span id = request->value[KEY_ID];
    bool given = lookup_has(request, KEY_PARAMS);
    const void *params = given ? (const void *)(body + request->value[KEY_PARAMS].at) : "null";
    size_t params_bytes = given ? request->value[KEY_PARAMS].bytes : strlen("null");
    size_t bytes = sizeof head + sizeof middle + sizeof tail - 3 + id.bytes + params_bytes;
    begin_frame(echo, bytes);
    text_add(&echo->out, head, sizeof head - 1);
    text_add(&echo->out, body + id.at, id.bytes);
    text_add(&echo->out, middle, sizeof middle - 1);
    text_add(&echo->out, params, params_bytes);
    text_add(&echo->out, tail, sizeof tail - 1);
    end_frame(echo, bytes);
}

// Takes the response to the agent's registration. An echo agent waits for no other.
static void take_response(struct echo *echo, const uint8_t *body, const struct lookup *response) {
    if (lookup_has(response, KEY_ERROR)) {
        struct span error = response->value[KEY_ERROR];
        fputs("echo: ", stderr);
        output_line(stderr, body + error.at, error.bytes);
        end(echo, STATUS_REFUSED);
    } else if (!echo->registered) {
        echo->registered = true;
        fprintf(stderr, "echo: %s is registered at %s\n", echo->agent_id, echo->hub);
    }
}

static void take_all(struct echo *echo) {
    struct client_body body;
    int taken;
    while (!echo->ended && (taken = client_take(&echo->client, &body)) != 0) {
        if (taken < 0) {
            end(echo, unreachable(echo->hub, taken));
            return;
        }
        struct lookup found;
        lookup_body(&found, body.bytes, body.count, CLIENT_ID_BYTES_MAX);
        if (found.verdict == LOOKUP_GOOD && found.kind == BODY_REQUEST) {
            answer_request(echo, body.bytes, &found);
        } else if (found.verdict == LOOKUP_GOOD && found.kind == BODY_RESPONSE) {
            take_response(echo, body.bytes, &found);
        } // else a notification, which gets no answer
    }
}

static void receive(struct echo *echo) {
    ssize_t received = client_fill(&echo->client);
    if (received == -EAGAIN) {
        return;
    }
    if (received <= 0) {
        end(echo, unreachable(echo->hub, received == 0 ? -ECONNRESET : (int)received));
        return;
    }
    take_all(echo);
}

static bool owes(const struct echo *echo) {
    return echo->sent < echo->out.length;
}

static void write_out(struct echo *echo) {
    if (echo->out.failed) {
        end(echo, unreachable(echo->hub, -ENOMEM));
        echo->sent = echo->out.length;
    }
    while (owes(echo)) {
        ssize_t sent = send(echo->client.socket, echo->out.bytes + echo->sent, echo->out.length - echo->sent,
                            MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (sent < 0) {
            end(echo, echo->ended ? echo->status : unreachable(echo->hub, -errno));
            echo->sent = echo->out.length;
            return;
        }
        echo->sent += (size_t)sent;
    }
    echo->sent = echo->out.length = 0;
}

// Serves requests. Reads only when all answers are written, so that a hub that doesn't read can't fill this process. A
// second signal ends the process at once.
static void serve(struct echo *echo) {
    while (!echo->ended || owes(echo)) {
        struct pollfd waits[2] = {
            {.fd = echo->client.socket, .events = owes(echo) ? POLLOUT : POLLIN},
            {.fd = echo->signals, .events = POLLIN},
        };
        if (poll(waits, 2, -1) < 0 && errno != EINTR) {
            end(echo, unreachable(echo->hub, -errno));
            return;
        }
        if ((waits[1].revents & POLLIN) != 0 && signals_take(echo->signals) != 0) {
            if (echo->ended) {
                return;
            }
            end(echo, STATUS_DONE);
        }
        if (waits[0].revents != 0 && !owes(echo) && !echo->ended) {
            receive(echo);
        }
        write_out(echo);
    }
}

static void ask_registration(struct echo *echo) {
    struct text body = {0};
    text_put(&body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"agent/register\",\"params\":{\"agentId\":");
    text_string(&body, echo->agent_id, strlen(echo->agent_id));
    text_put(&body, ",\"capabilities\":{}}}");
    echo->out.failed = body.failed;
    frame_out(echo, &body);
    text_deinit(&body);
}

enum status command_echo(int argc, char **argv, const char *hub) {
    if (argc != 2 || !simdjson_utf8((const uint8_t *)argv[1], strlen(argv[1]))) {
        return usage("echo");
    }
    struct echo echo = {.hub = hub, .agent_id = argv[1], .signals = signals_open()};
    int error = echo.signals < 0 ? echo.signals : client_open(&echo.client, hub);
    if (error < 0) {
        return unreachable(hub, error);
    }
    ask_registration(&echo);
    if (fcntl(echo.client.socket, F_SETFL, O_NONBLOCK) < 0) {
        end(&echo, unreachable(hub, -errno));
    } else {
        write_out(&echo);
        serve(&echo);
    }
    text_deinit(&echo.out);
    client_close(&echo.client);
    signals_close(echo.signals);
    return echo.status;
}
