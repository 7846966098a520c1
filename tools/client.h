// A connection to the hub as a client sees it: JSON-RPC over one blocking socket, TCP or Unix, on the wire
// that the hub's URI names. Every wait can be ended early by a signal or a deadline.
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
    // Ends of a wait before its time: a signal of client_signals.h (-1: none), and a time of the monotonic
    // clock (0: none).
    int signals;
    uint64_t deadline_ns;
    // Received bytes: [at, filled) are not taken yet and begin at a frame's start; slack follows `capacity`.
    uint8_t *in;
    size_t at, filled, capacity;
    struct unit scan; // of the frame that starts at `at`
    uint64_t id_last; // of this client's own requests
};

// A body where it lies; readable with slack behind it until the next client_fill, client_receive or
// client_call.
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

// The wire that a hub's URI names; NULL: it is no URI, or this client doesn't speak so.
const struct wire *client_wire(const char *uri);
// Whether header fields can stand around what is sent to this hub; also where the URI is none.
bool client_takes_fields(const char *uri);

// The token by which the hub is told who this is, at each client_open; NULL, as it is at first: it isn't told.
// The text stays the caller's, and there.
void client_set_token(const char *token);
// Connects, and says who this is. 0; -EINVAL when the URI is none; -EACCES when the hub doesn't take the token; else
// -errno of the connect, or as client_call. On failure there is nothing to close.
int client_open(struct client *client, const char *uri);
void client_close(struct client *client);
// Gives the socket away and frees the rest, but for a bridge behind the socket. Received bytes that were
// not taken are lost.
int client_release(struct client *client);
// The same, as soon as nothing is on its way: of a hub that is reached over TLS alone its socket, and *ssl behind it.
int client_release_secure(struct client *client, SSL **ssl);

// The deadline of all waits from now on.
void client_set_deadline(struct client *client, uint64_t from_now_ns);

// Where a function below waits it can also fail with -EINTR: a signal came, which is not taken; and with
// -ETIMEDOUT: the deadline passed.

// Sends one body as one frame, flattened; returns when the kernel has all of it. `fields` are header lines,
// each with its CR LF, or NULL for none. A wire without fields wants NULL. 0 or -errno; the frame may then be
// cut, and no other can follow.
int client_send(struct client *client, const char *fields, char *body, size_t bytes);
// One receive, blocking if the socket does: the count of bytes that came, 0 at the hub's end, -errno.
ssize_t client_fill(struct client *client);
// Takes the next frame out of what was received: 1; 0 when there is no whole one; -EPROTO when there never
// will be.
int client_take(struct client *client, struct client_body *body);
// Waits for the next frame: 1; 0 when the hub has closed between two frames; -EPROTO or -errno.
int client_receive(struct client *client, struct client_body *body);

// Sends a message without an id. `params` is JSON text or NULL for none, `fields` and results are as
// client_send's. A message that is sent after the hub has closed counts as sent: the hub may have said
// why, and the next read finds that.
int client_notify(struct client *client, const char *method, const char *params, const char *fields);
// Sends a request, likewise.
int client_request(struct client *client, const char *method, const char *params, const char *fields);
// Whether the body answers the last request; fills *answer if so.
bool client_answers(const struct client *client, const struct client_body *body,
                    struct client_answer *answer);
// Waits for the answer to the last request; other messages that come meanwhile are thrown away. 0,
// -ECONNRESET when the hub closes first, -EPROTO or -errno. After -EINTR it may be called again.
int client_answer(struct client *client, struct client_answer *answer);
// Says that no more will be sent, and waits until the hub has dealt with all of it and closes. 0; 1 with
// *answer when the hub answered something before (a message that it could not read, say); -EPROTO or -errno.
int client_finish(struct client *client, struct client_answer *answer);
// Asks that the last request be given up (LSP's $/cancelRequest). The request is answered all the same.
int client_cancel(struct client *client);
// A request without header fields and the wait for its answer.
int client_call(struct client *client, const char *method, const char *params, struct client_answer *answer);

// Writes what stands before a body of `bytes` bytes, without fields; `out` holds CLIENT_HEAD_BYTES_MAX.
// Returns its length. client->wire->tail stands behind the body.
enum { CLIENT_HEAD_BYTES_MAX = WIRE_HEAD_BYTES_MAX + 2, CLIENT_ID_BYTES_MAX = 1024 };
size_t client_head(const struct client *client, char *out, size_t bytes);
// Makes spaces of a body's line breaks where the wire has one line a body; they are white space in JSON.
void client_flatten(const struct client *client, char *body, size_t bytes);
// Returns the text of a negative result of these functions.
const char *client_error_text(int error);
