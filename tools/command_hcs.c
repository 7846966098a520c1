// `patchbay hcs start`: a client of an HCS session, which prints each frame on one line, as it came. Success: status 0
// at the session's end (`complete`), or at an interrupt. Failure: the session ends with an error, which is printed as
// any frame, or the hub refuses to begin a session (status 1), or goes away (status 3).
//
// `patchbay hcs serve` is hcs_producer.c.
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/text.h"
#include "tools/client.h"
#include "tools/client_hcs_frame.h"
#include "tools/client_signals.h"
#include "tools/commands.h"
#include "tools/hcs_producer.h"
#include "tools/input.h"
#include "tools/output.h"

struct viewing {
    struct client client;
    const char *hub, *request_id, *user_id, *session_id, *target;
    char made_up[40]; // a request_id
    uint64_t after_seq;
    bool has_after, acks;
    bool ended;
    enum status status; // once ended
};

static void end(struct viewing *viewing, enum status status) {
    viewing->ended = true;
    viewing->status = status;
}

static int send_start(struct viewing *viewing) {
    struct text frame = {0};
    text_put(&frame, "{\"type\":\"start\"");
    hcs_put_member(&frame, "request_id", viewing->request_id);
    if (viewing->user_id != NULL) {
        hcs_put_member(&frame, "user_id", viewing->user_id);
    }
    if (viewing->session_id != NULL) {
        hcs_put_member(&frame, "session_id", viewing->session_id);
    }
    if (viewing->target != NULL) {
        hcs_put_member(&frame, "targetAgent", viewing->target);
    }
    if (viewing->has_after) {
        text_put(&frame, ",\"after_seq\":");
        text_number(&frame, (int64_t)viewing->after_seq);
    }
    text_put(&frame, "}");
    return hcs_send(&viewing->client, &frame);
}

// --- Messages of the hub

static void add_span(struct text *out, const uint8_t *text, struct span span) {
    text_add(out, text + span.at, span.bytes);
}

// Sends an ack for a chunk.
static int send_ack(struct viewing *viewing, const uint8_t *body, struct span all) {
    struct json_item session = json_member(body, all, "session_id"), seq = json_member(body, all, "seq");
    struct text frame = {0};
    if (session.type != JSON_STRING || seq.type != JSON_NUMBER) {
        return 0;
    }
    text_put(&frame, "{\"type\":\"ack\",\"status\":\"received\",\"session_id\":");
    add_span(&frame, body, session.value);
    text_put(&frame, ",\"seq\":");
    add_span(&frame, body, seq.value);
    hcs_put_member(&frame, "request_id", viewing->request_id);
    text_put(&frame, "}");
    return hcs_send(&viewing->client, &frame);
}

static int take(struct viewing *viewing, const struct client_body *body) {
    struct span all = {0, body->count}, type = json_member(body->bytes, all, "type").value;
    // Which frame of this client was refused
    struct json_item refused = json_member(body->bytes, all, "refused");
    bool goes_on = refused.type == JSON_STRING && !json_string_is(body->bytes, refused.value, "start");
    // The hub answers a message that it takes for no frame
    if (json_member(body->bytes, all, "jsonrpc").type != JSON_NONE) {
        output_line(stderr, body->bytes, body->count);
        end(viewing, STATUS_REFUSED);
        return 0;
    }
    output_line(stdout, body->bytes, body->count);
    if (json_string_is(body->bytes, type, "complete")) {
        end(viewing, STATUS_DONE);
    } else if (json_string_is(body->bytes, type, "error") && !goes_on) {
        end(viewing, STATUS_REFUSED);
    } else if (fflush(stdout) != 0) { // main reports a closed output
        end(viewing, STATUS_DONE);
    } else if (viewing->acks && json_string_is(body->bytes, type, "chunk")) {
        return send_ack(viewing, body->bytes, all);
    }
    return 0;
}

static void follow(struct viewing *viewing) {
    int error = send_start(viewing);
    while (error == 0 && !viewing->ended) {
        struct client_body body;
        int received = client_receive(&viewing->client, &body);
        if (received > 0) {
            error = take(viewing, &body);
        } else {
            error = received == 0 ? -ECONNRESET : received;
        }
    }
    if (error < 0 && !viewing->ended) {
        end(viewing, error == -EINTR ? STATUS_DONE : unreachable(viewing->hub, error));
    }
}

// --- Arguments

static bool take_option(struct viewing *viewing, int option) {
    switch (option) {
    case 'a':
        viewing->has_after = units_count(optarg, &viewing->after_seq);
        return viewing->has_after;
    case 'k':
        viewing->acks = true;
        return true;
    case 'r':
        viewing->request_id = optarg;
        break;
    case 's':
        viewing->session_id = optarg;
        break;
    case 't':
        viewing->target = optarg;
        break;
    case 'u':
        viewing->user_id = optarg;
        break;
    default:
        return false;
    }
    return input_is_text(optarg);
}

static bool read_arguments(struct viewing *viewing, int argc, char **argv) {
    static const struct option options[] = {{"after-seq", required_argument, NULL, 'a'},
                                            {"ack", no_argument, NULL, 'k'},
                                            {"request-id", required_argument, NULL, 'r'},
                                            {"session", required_argument, NULL, 's'},
                                            {"target", required_argument, NULL, 't'},
                                            {"user", required_argument, NULL, 'u'},
                                            {0}};
    uint64_t chance = 0;
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (!take_option(viewing, option)) {
            return false;
        }
    }
    if (viewing->request_id == NULL) {
        (void)!getrandom(&chance, sizeof chance, 0);
        snprintf(viewing->made_up, sizeof viewing->made_up, "patchbay-%016" PRIx64, chance);
        viewing->request_id = viewing->made_up;
    }
    return optind == argc && (!viewing->has_after || viewing->session_id != NULL);
}

static enum status start(int argc, char **argv, const char *hub) {
    struct viewing viewing = {.hub = hub};
    if (!read_arguments(&viewing, argc, argv)) {
        return usage("hcs");
    }
    int error = client_open(&viewing.client, hub);
    if (error < 0) {
        return unreachable(hub, error);
    }
    viewing.client.signals = signals_open();
    if (viewing.client.signals < 0) {
        end(&viewing, unreachable(hub, viewing.client.signals));
    } else {
        follow(&viewing);
        signals_close(viewing.client.signals);
    }
    client_close(&viewing.client);
    return viewing.status;
}

enum status command_hcs(int argc, char **argv, const char *hub) {
    if (argc > 1 && strcmp(argv[1], "start") == 0) {
        return start(argc - 1, argv + 1, hub);
    }
    if (argc > 1 && strcmp(argv[1], "serve") == 0) {
        return hcs_serve(argc - 1, argv + 1, hub);
    }
    return usage("hcs");
}
