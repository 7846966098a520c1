// A client's connection to the hub: JSON-RPC over one blocking socket, TCP or Unix, on the wire that the hub's URI
// names. A signal or a deadline can end every wait early.
#pragma once

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "core/lookup/lookup.h"
#include "core/wire/wire.h"

struct bridge;

struct client {
    int socket;
    const struct wire *wire;
    struct bridge *bridge; // between the socket and a hub that is reached over WebSocket or TLS; or NULL
    // End a wait early: a descriptor of client_signals.h (-1: none), and a time of the monotonic clock (0: none).
    int signals;
    uint64_t deadline_ns;
    // Received bytes: [at, filled) aren't taken yet and begin at a frame's start. Slack follows `capacity`.
    uint8_t *in;
    size_t at, filled, capacity;
    struct unit scan; // the scan of the frame that starts at `at`
    uint64_t id_last; // the last id of this client's own requests
};

// A body in the client's buffer, with slack behind it, valid until the next client_fill, client_receive or client_call.
struct client_body {
    const uint8_t *bytes;
    uint32_t count;
};

// The answer of a call: `value` is the span of its result, or of its error if `refused`.
struct client_answer {
    struct client_body body;
    struct span value;
    bool refused;
};

// Returns the wire that a hub's URI names; NULL: the text is no URI, or this client doesn't speak that wire.
const struct wire *client_wire(const char *uri);
// Returns whether messages to this hub may have header fields; also true if the text is no URI.
bool client_takes_fields(const char *uri);

// Sets the token with which each client_open identifies the user; NULL, as at first: none. The caller owns the text,
// which must stay.
void client_set_token(const char *token);
// Connects, and identifies the user. Returns 0; -EINVAL if the URI is malformed; -EACCES if the hub refuses the token;
// else -errno of the connect, or as client_call. After a failure there is nothing to close.
int client_open(struct client *client, const char *uri);
void client_close(struct client *client);
// Returns the socket and frees the rest, but for a bridge behind the socket. Received bytes that weren't taken are
// lost.
int client_release(struct client *client);
// Does the same when no bytes are under way. Returns the socket of the hub itself if a bridge does TLS alone, and sets
// *ssl to its TLS.
int client_release_secure(struct client *client, SSL **ssl);

// Sets the deadline of all waits from now on.
void client_set_deadline(struct client *client, uint64_t from_now_ns);

// A function below that waits may also fail with -EINTR, if a signal has come, which isn't taken, or with -ETIMEDOUT,
// if the deadline has passed.

// Sends one body as one frame, flattened, and returns when the kernel has all bytes. `fields` are header lines, each
// with its CR LF; NULL: none, as on a wire without fields. Returns 0 or -errno. After a failure the frame may be cut,
// and no other frame can follow.
int client_send(struct client *client, const char *fields, char *body, size_t bytes);
// Receives once, blocking if the socket does. Returns the count of bytes that came, 0 at the hub's end, or -errno.
ssize_t client_fill(struct client *client);
// Takes the next frame out of the received bytes. Returns 1; 0 if no frame is whole; -EPROTO if the bytes are no frame.
int client_take(struct client *client, struct client_body *body);
// Waits for the next frame. Returns 1; 0 if the hub has closed between two frames; -EPROTO or -errno.
int client_receive(struct client *client, struct client_body *body);

// Sends a message without an id. `params` is JSON text or NULL for none. `fields` and results are as client_send's. A
// message after the hub has closed counts as sent, because the next read finds why the hub has closed.
int client_notify(struct client *client, const char *method, const char *params, const char *fields);
// Sends a request, with arguments and results as client_notify's.
int client_request(struct client *client, const char *method, const char *params, const char *fields);
// Returns whether the body answers the last request, and fills *answer then.
bool client_answers(const struct client *client, const struct client_body *body,
                    struct client_answer *answer);
// Waits for the answer to the last request, and drops other messages. Returns 0, -ECONNRESET if the hub closes first,
// -EPROTO or -errno. After -EINTR the function may be called again.
int client_answer(struct client *client, struct client_answer *answer);
// Half-closes, and waits until the hub has handled all messages and closes. Returns 0; 1 with *answer if the hub has
// answered before, for example a message that it couldn't read; -EPROTO or -errno.
int client_finish(struct client *client, struct client_answer *answer);
// Asks the hub to cancel the last request (LSP's $/cancelRequest). The request is answered all the same.
int client_cancel(struct client *client);
// Sends a request without header fields, and waits for its answer.
int client_call(struct client *client, const char *method, const char *params, struct client_answer *answer);

// Writes the head of a frame with a body of `bytes` bytes, without fields, to `out`, which holds CLIENT_HEAD_BYTES_MAX.
// Returns the length of the head. client->wire->tail follows the body.
enum { CLIENT_HEAD_BYTES_MAX = WIRE_HEAD_BYTES_MAX + 2, CLIENT_ID_BYTES_MAX = 1024 };
size_t client_head(const struct client *client, char *out, size_t bytes);
// Replaces a body's line breaks by spaces if each body is one line on the wire. Line breaks are white space in JSON.
void client_flatten(const struct client *client, char *body, size_t bytes);
// Returns the text of a negative result of these functions.
const char *client_error_text(int error);
