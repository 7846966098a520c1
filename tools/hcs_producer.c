// `patchbay hcs serve`: an HCS producer that plays a file, one frame of JSON a line, in each session that is started
// with it. A frame gets the session's names, and a chunk without a seq the next seq. The hub's `pause` stops the
// session's frames, and `resume` continues them. Success: serves until an interrupt, status 0. Failure: a line of the
// file is no frame (status 2), the hub refuses the agent (status 1), or goes away (status 3).
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "tools/client.h"
#include "tools/client_hcs_frame.h"
#include "tools/client_signals.h"
#include "tools/hcs_producer.h"
#include "tools/input.h"
#include "tools/output.h"

enum { SESSIONS_MAX = 1024, LINES_MAX = 1 << 20 };

// A line of the file: the place of the object's members, and what kind of frame the object is.
struct line {
    struct span members; // in the file, behind the opening brace
    bool is_chunk, has_seq, ends;
};

struct served {
    char *names; // `"session_id":…,"request_id":…`, as in the start
    char *session_id;
    size_t next; // the next line to play
    uint64_t seq, due_ns;
    bool paused;
};

struct serving {
    struct client client;
    const char *hub, *agent_id;
    struct text file;
    struct line *lines;
    size_t line_count;
    uint64_t interval_ns;
    struct served sessions[SESSIONS_MAX];
    size_t count;
};

static uint64_t serve_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

// --- The file

static const char *read_line(struct serving *serving, struct span at) {
    const uint8_t *text = (const uint8_t *)serving->file.bytes;
    struct json_item type = json_member(text, at, "type");
    if (text[at.at] != '{' || !json_valid(text + at.at, at.bytes) || type.type != JSON_STRING) {
        return "each line must be a JSON object with a type";
    }
    bool ends = json_string_is(text, type.value, "complete") || json_string_is(text, type.value, "error");
    serving->lines[serving->line_count++] = (struct line){
        .members = {at.at + 1, at.bytes - 1},
        .is_chunk = json_string_is(text, type.value, "chunk"),
        .has_seq = json_member(text, at, "seq").type != JSON_NONE,
        .ends = ends,
    };
    return NULL;
}

// Reads all lines. Each line is a JSON text with slack behind it: the next line, or the file's slack.
static const char *read_lines(struct serving *serving) {
    char *text = serving->file.bytes;
    size_t at = 0;
    while (at < serving->file.length && serving->line_count < LINES_MAX) {
        const char *feed = memchr(text + at, '\n', serving->file.length - at);
        size_t end = feed == NULL ? serving->file.length : (size_t)(feed - text), from = at, to = end;
        at = end + 1;
        while (from < to && strchr(" \t\r", text[from]) != NULL) {
            from++;
        }
        while (to > from && strchr(" \t\r", text[to - 1]) != NULL) {
            to--;
        }
        const char *fault =
            from < to ? read_line(serving, (struct span){(uint32_t)from, (uint32_t)(to - from)}) : NULL;
        if (fault != NULL) {
            return fault;
        }
    }
    return serving->line_count > 0 ? NULL : "it holds no frame";
}

static const char *read_file(struct serving *serving, const char *path) {
    static const char slack[BUFFER_SLACK_BYTES];
    char block[64 * 1024];
    size_t count;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return strerror(errno);
    }
    while ((count = fread(block, 1, sizeof block, file)) > 0) {
        text_add(&serving->file, block, count);
    }
    bool failed = ferror(file) != 0 || serving->file.length > (1U << 30);
    fclose(file);
    text_add(&serving->file, slack, sizeof slack);
    serving->lines = calloc(LINES_MAX, sizeof *serving->lines);
    if (failed || serving->file.failed || serving->lines == NULL) {
        return failed ? "it can't be read" : "memory is used up";
    }
    serving->file.length -= sizeof slack;
    return read_lines(serving);
}

// --- Sessions

static char *copy_of(const uint8_t *text, struct span span) {
    return strndup((const char *)text + span.at, span.bytes);
}

static struct served *find(struct serving *serving, const uint8_t *body, struct span all) {
    struct json_item id = json_member(body, all, "session_id");
    for (size_t at = 0; at < serving->count && id.type == JSON_STRING; at++) {
        const char *known = serving->sessions[at].session_id;
        if (strlen(known) == id.value.bytes && memcmp(known, body + id.value.at, id.value.bytes) == 0) {
            return &serving->sessions[at];
        }
    }
    return NULL;
}

static void drop(struct serving *serving, struct served *session) {
    free(session->names);
    free(session->session_id);
    *session = serving->sessions[--serving->count];
}

static int begin(struct serving *serving, const uint8_t *body, struct span all) {
    struct json_item id = json_member(body, all, "session_id"),
                     request = json_member(body, all, "request_id");
    if (id.type != JSON_STRING || request.type != JSON_STRING) {
        return 0;
    }
    if (serving->count == SESSIONS_MAX) {
        fputs("hcs serve: no more sessions at a time than 1024; the hub will end this one\n", stderr);
        return 0;
    }
    struct served session = {.session_id = copy_of(body, id.value), .due_ns = serve_now_ns()};
    char *request_id = copy_of(body, request.value);
    if (session.session_id == NULL || request_id == NULL ||
        asprintf(&session.names, "\"session_id\":%s,\"request_id\":%s", session.session_id, request_id) < 0) {
        return -ENOMEM;
    }
    free(request_id);
    serving->sessions[serving->count++] = session;
    return 0;
}

static int take(struct serving *serving, const struct client_body *body) {
    struct span all = {0, body->count}, type = json_member(body->bytes, all, "type").value;
    struct served *session = find(serving, body->bytes, all);
    if (json_string_is(body->bytes, type, "start")) {
        return begin(serving, body->bytes, all);
    }
    if (session != NULL && json_string_is(body->bytes, type, "control")) {
        struct span action = json_member(body->bytes, all, "action").value;
        session->paused = json_string_is(body->bytes, action, "pause") ||
                          (session->paused && !json_string_is(body->bytes, action, "resume"));
    }
    output_line(stderr, body->bytes, body->count); // shows acks, controls and errors to the user
    if (session != NULL && json_string_is(body->bytes, type, "error") &&
        json_member(body->bytes, all, "refused").type == JSON_NONE) {
        drop(serving, session);
    }
    return 0;
}

// Sends the next line of a session as a frame. After the last line sends `complete`.
static int play(struct serving *serving, struct served *session, uint64_t now_ns) {
    struct text frame = {0};
    const struct line *line = session->next < serving->line_count ? &serving->lines[session->next] : NULL;
    text_put(&frame, "{");
    text_put(&frame, session->names);
    if (line != NULL && line->is_chunk && !line->has_seq) {
        text_put(&frame, ",\"seq\":");
        text_number(&frame, (int64_t)session->seq++);
    }
    text_put(&frame, ",");
    if (line != NULL) {
        text_add(&frame, serving->file.bytes + line->members.at, line->members.bytes);
    } else {
        text_put(&frame, "\"type\":\"complete\"}");
    }
    session->next++;
    session->due_ns = now_ns + serving->interval_ns;
    if (line == NULL || line->ends) {
        drop(serving, session);
    }
    return hcs_send(&serving->client, &frame);
}

static int play_due(struct serving *serving, uint64_t *next_ns) {
    uint64_t now_ns = serve_now_ns();
    int error = 0;
    *next_ns = 0;
    for (size_t at = serving->count; at-- > 0 && error == 0;) {
        struct served *session = &serving->sessions[at];
        size_t before = serving->count;
        if (!session->paused && session->due_ns <= now_ns) {
            error = play(serving, session, now_ns);
        }
        if (serving->count == before && !session->paused && (*next_ns == 0 || session->due_ns < *next_ns)) {
            *next_ns = session->due_ns;
        }
    }
    return error;
}

static int serve(struct serving *serving) {
    int error = 0;
    while (error == 0) {
        struct client_body body;
        uint64_t next_ns;
        error = play_due(serving, &next_ns);
        serving->client.deadline_ns = next_ns;
        int received = error == 0 ? client_receive(&serving->client, &body) : 0;
        if (received > 0) {
            error = take(serving, &body);
        } else if (error == 0 && received != -ETIMEDOUT) {
            error = received == 0 ? -ECONNRESET : received;
        }
    }
    return error;
}

// --- The command

static int join_hub(struct serving *serving, struct client_answer *answer) {
    struct text params = {0};
    text_put(&params, "{\"agentId\":");
    text_string(&params, serving->agent_id, strlen(serving->agent_id));
    text_put(&params, ",\"capabilities\":{\"hcs\":true}}");
    text_add(&params, "", 1);
    int error =
        params.failed ? -ENOMEM : client_call(&serving->client, "agent/register", params.bytes, answer);
    text_deinit(&params);
    return error;
}

static enum status open_and_serve(struct serving *serving) {
    struct client_answer answer;
    int error = client_open(&serving->client, serving->hub);
    if (error < 0) {
        return unreachable(serving->hub, error);
    }
    serving->client.signals = signals_open();
    error = join_hub(serving, &answer);
    if (error == 0 && answer.refused) {
        fputs("hcs serve: ", stderr);
        output_line(stderr, answer.body.bytes + answer.value.at, answer.value.bytes);
    } else if (error == 0) {
        fprintf(stderr, "hcs serve: %s is registered at %s\n", serving->agent_id, serving->hub);
        error = serve(serving);
    }
    bool refused = error == 0;
    client_close(&serving->client);
    return refused ? STATUS_REFUSED : error == -EINTR ? STATUS_DONE : unreachable(serving->hub, error);
}

static void forget(struct serving *serving) {
    while (serving->count > 0) {
        drop(serving, serving->sessions);
    }
    free(serving->lines);
    text_deinit(&serving->file);
}

enum status hcs_serve(int argc, char **argv, const char *hub) {
    static const struct option options[] = {{"interval", required_argument, NULL, 'i'}, {0}};
    static struct serving serving;
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option != 'i' || !units_time(optarg, &serving.interval_ns)) {
            return usage("hcs");
        }
    }
    if (argc - optind != 2 || !input_is_text(argv[optind])) {
        return usage("hcs");
    }
    serving.hub = hub;
    serving.agent_id = argv[optind];
    const char *fault = read_file(&serving, argv[optind + 1]);
    enum status status = STATUS_USAGE;
    if (fault != NULL) {
        fprintf(stderr, "patchbay: hcs serve: %s: %s\n", argv[optind + 1], fault);
    } else {
        status = open_and_serve(&serving);
    }
    forget(&serving);
    return status;
}
