#include "tools/tap_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "tools/client.h"
#include "tools/client_signals.h"
#include "tools/output.h"

enum { REST_NS = 2 * 1000 * 1000 * 1000 };

// Takes the answer to hub/tap, and sets *tap to its number. Returns false, and prints the error, if the hub has
// refused.
static bool take_answer(const struct tap_stream *stream, const struct client_answer *answer, uint64_t *tap) {
    if (answer->refused) {
        output_line(stderr, answer->body.bytes + answer->value.at, answer->value.bytes);
        return false;
    }
    *tap = json_member_whole(answer->body.bytes, answer->value, "tap");
    fprintf(stderr, "tap: open at %s\n", stream->hub);
    return true;
}

static bool is_entries(const struct client_body *body, struct lookup *found) {
    lookup_body(found, body->bytes, body->count, CLIENT_ID_BYTES_MAX);
    return found->verdict == LOOKUP_GOOD && found->kind == BODY_NOTIFICATION &&
           lookup_has(found, KEY_PARAMS) &&
           json_string_is(body->bytes, found->value[KEY_METHOD], "hub/tapped");
}

// Ends the tap, and takes the entries that the hub has sent until its answer, for up to REST_NS. Another signal ends
// the wait.
static void take_rest(const struct tap_stream *stream, struct client *client, uint64_t tap) {
    struct client_body body;
    struct client_answer answer;
    struct lookup found;
    char params[40];
    snprintf(params, sizeof params, "{\"tap\":%" PRIu64 "}", tap);
    signals_take(client->signals);
    client_set_deadline(client, REST_NS);
    int error = client_request(client, "hub/untap", params, NULL);
    while (error == 0 && client_receive(client, &body) > 0 && !client_answers(client, &body, &answer)) {
        if (is_entries(&body, &found) &&
            !stream->take(stream->context, body.bytes, found.value[KEY_PARAMS])) {
            return;
        }
    }
}

static enum status take_all(const struct tap_stream *stream, struct client *client) {
    uint64_t tap = 0;
    int error = client_request(client, "hub/tap", stream->params, NULL);
    while (error == 0) {
        struct client_body body;
        struct client_answer answer;
        struct lookup found;
        int received = client_receive(client, &body);
        if (received <= 0) {
            error = received == 0 ? -ECONNRESET : received;
        } else if (client_answers(client, &body, &answer)) {
            if (!take_answer(stream, &answer, &tap)) {
                return STATUS_REFUSED;
            }
        } else if (is_entries(&body, &found) &&
                   !stream->take(stream->context, body.bytes, found.value[KEY_PARAMS])) {
            return STATUS_DONE;
        }
    }
    bool is_end = error == -EINTR || (stream->for_ns > 0 && error == -ETIMEDOUT);
    if (is_end && tap > 0) {
        take_rest(stream, client, tap);
    }
    return is_end ? STATUS_DONE : unreachable(stream->hub, error);
}

enum status tap_stream_follow(const struct tap_stream *stream) {
    struct client client;
    int error = client_open(&client, stream->hub);
    if (error < 0) {
        return unreachable(stream->hub, error);
    }
    client.signals = signals_open();
    if (stream->for_ns > 0) {
        client_set_deadline(&client, stream->for_ns);
    }
    enum status status =
        client.signals < 0 ? unreachable(stream->hub, client.signals) : take_all(stream, &client);
    if (client.signals >= 0) {
        signals_close(client.signals);
    }
    client_close(&client);
    return status;
}
