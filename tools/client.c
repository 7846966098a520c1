// See client.h. Success: a call is one send, and receives until a frame with the call's id is whole. Frames lie in one
// growing buffer, and callers get them in place. Failure: the hub can't be dialled, closes, or sends bytes that are no
// frame. The function returns a negative errno (-EPROTO for such bytes), and the connection is then good for
// client_close alone.
#include "tools/client.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/rights/digest.h"
#include "tools/hub_address.h"
#include "tools/tls_bridge.h"
#include "tools/websocket_bridge.h"

enum { CLIENT_BUFFER_BYTES = 256 * 1024 };

// A client accepts frames up to this size from its hub, far over any frame limit that makes sense for a hub.
static const struct unit_limits client_limits = {.header_bytes_max = 64 * 1024, .body_bytes_max = 1U << 30};

static const char *client_token;

void client_set_token(const char *token) {
    client_token = token;
}

// Returns the wire of an address; NULL: this client doesn't speak that wire.
static const struct wire *wire_of(const struct address *address) {
    const char *name = address->transport;
    if (name[0] == '\0') {
        return &wire_framed;
    }
    return strcmp(name, wire_lines.name) == 0 ? &wire_lines : NULL;
}

const struct wire *client_wire(const char *uri) {
    struct hub_address hub;
    return hub_address_parse(&hub, uri) < 0 ? NULL : wire_of(&hub.address);
}

bool client_takes_fields(const char *uri) {
    const struct wire *wire = client_wire(uri);
    return !websocket_bridge_is(uri) && (wire == NULL || wire->has_fields);
}

// Dials the hub. Returns the socket, with the wire and the bridge that the hub needs; or -EINVAL or -errno.
static int dial(const char *uri, const struct wire **wire, struct bridge **bridge) {
    struct hub_address hub;
    if (websocket_bridge_is(uri)) {
        *wire = &wire_lines;
        return websocket_bridge_dial(uri, client_token, bridge);
    }
    *wire = client_wire(uri);
    if (*wire == NULL || hub_address_parse(&hub, uri) < 0) {
        return -EINVAL;
    }
    return hub.address.secure ? tls_bridge_dial(&hub, bridge) : hub_address_dial(&hub);
}

// Sends initialize with the token, as a hub with `strict` demands. Registers no agent.
static int introduce(struct client *client) {
    struct text params = {0};
    struct client_answer answer = {0};
    text_put(&params, "{\"processId\":null,\"agentId\":\"patchbay\",\"capabilities\":{},"
                      "\"governanceLevel\":\"autonomous\",\"token\":");
    text_string(&params, client_token, strlen(client_token));
    text_add(&params, "}", sizeof "}");
    int error = params.failed ? -ENOMEM : client_call(client, "initialize", params.bytes, &answer);
    if (params.bytes != NULL) {
        digest_wipe(params.bytes, params.capacity);
    }
    text_deinit(&params);
    return error == 0 && answer.refused ? -EACCES : error;
}

int client_open(struct client *client, const char *uri) {
    const struct wire *wire;
    struct bridge *bridge = NULL;
    int dialled = dial(uri, &wire, &bridge);
    if (dialled < 0) {
        return dialled;
    }
    *client = (struct client){
        .socket = dialled, .wire = wire, .bridge = bridge, .signals = -1, .capacity = CLIENT_BUFFER_BYTES};
    client->in = calloc(1, CLIENT_BUFFER_BYTES + BUFFER_SLACK_BYTES);
    if (client->in == NULL) {
        client_close(client);
        return -ENOMEM;
    }
    int error = client_token == NULL || websocket_bridge_is(uri) ? 0 : introduce(client);
    if (error < 0) {
        client_close(client);
    }
    return error;
}

void client_close(struct client *client) {
    struct bridge *bridge = client->bridge;
    close(client_release(client));
    bridge_close(bridge);
}

int client_release(struct client *client) {
    int given = client->socket;
    free(client->in);
    *client = (struct client){.socket = -1, .signals = -1};
    return given;
}

int client_release_secure(struct client *client, SSL **ssl) {
    struct bridge *bridge = client->bridge;
    int given = client_release(client);
    *ssl = NULL;
    if (bridge == NULL) {
        return given;
    }
    struct bridge_socket hub = bridge_release(bridge, given);
    *ssl = hub.ssl;
    return hub.socket;
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void client_set_deadline(struct client *client, uint64_t from_now_ns) {
    client->deadline_ns = now_ns() + from_now_ns;
}

// Waits until the socket is ready for `events`, or has failed. Returns 0, -EINTR, -ETIMEDOUT or -errno.
static int wait_for(const struct client *client, short events) {
    struct pollfd waits[2] = {{.fd = client->socket, .events = events},
                              {.fd = client->signals, .events = POLLIN}};
    int ready;
    do {
        uint64_t now = now_ns(), left_ns = client->deadline_ns > now ? client->deadline_ns - now : 0;
        struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000),
                                .tv_nsec = (long)(left_ns % 1000000000)};
        ready = ppoll(waits, 2, client->deadline_ns > 0 ? &left : NULL, NULL);
    } while (ready < 0 && errno == EINTR);
    if (ready <= 0) {
        return ready == 0 ? -ETIMEDOUT : -errno;
    }
    return waits[1].revents != 0 ? -EINTR : 0;
}

static const char block_end[] = "\r\n";

size_t client_head(const struct client *client, char *out, size_t bytes) {
    size_t written = client->wire->head == NULL ? 0 : client->wire->head(out, bytes);
    if (client->wire->has_fields) {
        memcpy(out + written, block_end, sizeof block_end - 1);
        written += sizeof block_end - 1;
    }
    return written;
}

void client_flatten(const struct client *client, char *body, size_t bytes) {
    for (size_t at = 0; client->wire->breaks == BREAKS_SPACES && at < bytes; at++) {
        if (body[at] == '\r' || body[at] == '\n') {
            body[at] = ' ';
        }
    }
}

// Removes the first `done` bytes from a message that is being sent.
static void skip_sent(struct msghdr *message, size_t done) {
    while (message->msg_iovlen > 0 && done >= message->msg_iov->iov_len) {
        done -= message->msg_iov->iov_len;
        message->msg_iov++;
        message->msg_iovlen--;
    }
    if (message->msg_iovlen > 0) {
        message->msg_iov->iov_base = (char *)message->msg_iov->iov_base + done;
        message->msg_iov->iov_len -= done;
    }
}

static struct iovec part(const void *bytes, size_t count) {
    return (struct iovec){.iov_base = (void *)(uintptr_t)bytes, .iov_len = count};
}

int client_send(struct client *client, const char *fields, char *body, size_t bytes) {
    char head[CLIENT_HEAD_BYTES_MAX];
    size_t head_bytes = client_head(client, head, bytes);
    size_t end_bytes = client->wire->has_fields ? sizeof block_end - 1 : 0;
    struct iovec parts[] = {
        part(head, head_bytes - end_bytes),
        part(fields, fields == NULL ? 0 : strlen(fields)),
        part(block_end, end_bytes),
        part(body, bytes),
        part(client->wire->tail, strlen(client->wire->tail)),
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = sizeof parts / sizeof parts[0]};
    client_flatten(client, body, bytes);
    while (message.msg_iovlen > 0) {
        ssize_t sent = sendmsg(client->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        int error = sent >= 0 || errno == EINTR ? 0 : errno == EAGAIN ? wait_for(client, POLLOUT) : -errno;
        if (error < 0) {
            return error;
        }
        skip_sent(&message, sent < 0 ? 0 : (size_t)sent);
    }
    return 0;
}

// Makes room behind the received bytes: moves them to the front, and doubles the buffer if that isn't enough.
static int make_room(struct client *client) {
    if (client->at > 0) {
        memmove(client->in, client->in + client->at, client->filled - client->at);
        client->filled -= client->at;
        client->at = 0;
    }
    if (client->capacity - client->filled >= CLIENT_BUFFER_BYTES / 2) {
        return 0;
    }
    uint8_t *moved = realloc(client->in, client->capacity * 2 + BUFFER_SLACK_BYTES);
    if (moved == NULL) {
        return -ENOMEM;
    }
    client->in = moved;
    client->capacity *= 2;
    return 0;
}

ssize_t client_fill(struct client *client) {
    int error = make_room(client);
    if (error < 0) {
        return error;
    }
    ssize_t received;
    do {
        received = recv(client->socket, client->in + client->filled, client->capacity - client->filled, 0);
    } while (received < 0 && errno == EINTR);
    if (received < 0) {
        return -errno;
    }
    client->filled += (size_t)received;
    return received;
}

// Skips empty units, which are no frames.
int client_take(struct client *client, struct client_body *body) {
    do {
        uint8_t *unit = client->in + client->at;
        size_t count = client->filled - client->at;
        enum unit_result result =
            count == 0 ? UNIT_OPEN : client->wire->scan(&client->scan, unit, count, &client_limits);
        if (result != UNIT_WHOLE) {
            return result == UNIT_BAD ? -EPROTO : 0;
        }
        *body = (struct client_body){.bytes = unit + client->scan.body_at, .count = client->scan.body_bytes};
        client->at += client->scan.bytes;
        unit_begin(&client->scan);
    } while (body->count == 0);
    return 1;
}

int client_receive(struct client *client, struct client_body *body) {
    int taken;
    while ((taken = client_take(client, body)) == 0) {
        int error = wait_for(client, POLLIN);
        ssize_t received = error < 0 ? error : client_fill(client);
        if (received < 0) {
            return (int)received;
        }
        if (received == 0) {
            return client->at == client->filled ? 0 : -EPROTO;
        }
    }
    return taken;
}

// Accepts an error with `id: null`, too, which the hub sends for a message that it couldn't read. This client has one
// request under way at most.
bool client_answers(const struct client *client, const struct client_body *body,
                    struct client_answer *answer) {
    struct lookup found;
    lookup_body(&found, body->bytes, body->count, CLIENT_ID_BYTES_MAX);
    bool refused = lookup_has(&found, KEY_ERROR);
    if (lookup_has(&found, KEY_METHOD) || !(refused || lookup_has(&found, KEY_RESULT)) ||
        !lookup_has(&found, KEY_ID)) {
        return false;
    }
    uint64_t number = 0;
    bool ours = found.type[KEY_ID] == JSON_NUMBER &&
                json_number_whole(body->bytes, found.value[KEY_ID], &number) && number == client->id_last;
    if (!ours && !(refused && found.type[KEY_ID] == JSON_NULL)) {
        return false;
    }
    *answer = (struct client_answer){
        .body = *body, .value = found.value[refused ? KEY_ERROR : KEY_RESULT], .refused = refused};
    return true;
}

// Sends a request, or with `id` 0 a notification.
static int send_message(struct client *client, uint64_t id, const char *method, const char *params,
                        const char *fields) {
    struct text body = {0};
    text_put(&body, "{\"jsonrpc\":\"2.0\"");
    if (id > 0) {
        text_put(&body, ",\"id\":");
        text_number(&body, (int64_t)id);
    }
    text_put(&body, ",\"method\":");
    text_string(&body, method, strlen(method));
    text_put(&body, params == NULL ? "" : ",\"params\":");
    text_put(&body, params == NULL ? "" : params);
    text_put(&body, "}");
    int error = body.failed ? -ENOMEM : client_send(client, fields, body.bytes, body.length);
    if (client_token != NULL && body.bytes != NULL) {
        digest_wipe(body.bytes, body.length);
    }
    text_deinit(&body);
    return error == -EPIPE || error == -ECONNRESET ? 0 : error;
}

int client_notify(struct client *client, const char *method, const char *params, const char *fields) {
    return send_message(client, 0, method, params, fields);
}

int client_request(struct client *client, const char *method, const char *params, const char *fields) {
    return send_message(client, ++client->id_last, method, params, fields);
}

int client_answer(struct client *client, struct client_answer *answer) {
    struct client_body body;
    for (;;) {
        int received = client_receive(client, &body);
        if (received <= 0) {
            return received == 0 ? -ECONNRESET : received;
        }
        if (client_answers(client, &body, answer)) {
            return 0;
        }
    }
}

int client_finish(struct client *client, struct client_answer *answer) {
    if (shutdown(client->socket, SHUT_WR) < 0 && errno != ENOTCONN) {
        return -errno;
    }
    struct client_body body;
    int received;
    while ((received = client_receive(client, &body)) > 0) {
        if (client_answers(client, &body, answer)) {
            return 1;
        }
    }
    return received;
}

int client_cancel(struct client *client) {
    char params[40];
    snprintf(params, sizeof params, "{\"id\":%" PRIu64 "}", client->id_last);
    return client_notify(client, "$/cancelRequest", params, NULL);
}

int client_call(struct client *client, const char *method, const char *params, struct client_answer *answer) {
    int error = client_request(client, method, params, NULL);
    return error < 0 ? error : client_answer(client, answer);
}

const char *client_error_text(int error) {
    switch (error) {
    case -ECONNRESET:
        return "the hub closed the connection";
    case -ETIMEDOUT:
        return "the hub does not answer";
    case -EACCES:
        return "the hub refuses the token: no user of its users file has it";
    case -ENONET:
        return "nobody knows that name: is the host of the URI spelled right?";
    case -EKEYREJECTED:
        return "there is no connection by TLS";
    case -EPROTO:
        return "the hub sent what is no message frame: does that address speak TLS (tls://), lines "
               "(tcp-lines://) or "
               "HTTP?";
    case -EINVAL:
        return "no address of a hub (tcp://HOST:PORT, tls://HOST:PORT or unix:///PATH, perhaps with -lines "
               "behind "
               "the scheme, or ws://HOST:PORT or wss://HOST:PORT)";
    case -ECONNREFUSED:
        return "Connection refused: does a hub listen there?";
    case -ENOENT:
        return "No such file or directory: does a hub listen there?";
    default:
        return strerror(-error);
    }
}
