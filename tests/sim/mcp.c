// MCP over HTTP on the simulated kernel, from a seed. Clients of both eras share one server. They open sessions and
// streams, call, leave in the middle, come back to where they were, and end their sessions. The server answers in any
// order, reports progress, asks, tells all, and dies now and then. An oracle knows to whom each message may go:
// - a call's answer, its progress and what the server asks for its sake reach the client that called, and only that one;
// - no event comes twice, and what is kept comes to a client that returns;
// - each call whose client stays has one end.
// In half of the runs there are two servers behind /mcp, too. SIGHUP changes, removes and adds their sections, also
// while the hub asks for an era or opens a session. In these runs the gate holds calls, too, on which an approver
// decides. In some of these runs there are users, too (mcp_users.c).
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kernel.h"
#include "tests/sim/mcp_stage.h"
#include "tests/sim/memory.h"
#include "tests/sim/seeds.h"

struct mcp_stage stage;
struct mcp_sums sums;

// --- Clients: sending

static struct exchange *exchange_open(enum kind kind, int session, int call) {
    for (unsigned at = 0; at < EXCHANGES_MAX; at++) {
        struct exchange *http = &stage.exchanges[at];
        if (http->cable)
            continue;
        *http = (struct exchange){.cable = world_dial_http(&stage.world),
                                  .kind = kind,
                                  .session = session,
                                  .call = call,
                                  .of_all = session != NOBODY && stage.sessions[session].of_all};
        if (!http->cable)
            return NULL;
        http->raw = malloc(ROOM);
        http->text = malloc(ROOM);
        if (!http->raw || !http->text)
            abort();
        return http;
    }
    return NULL;
}

static void exchange_close(struct exchange *http) {
    cable_close(http->cable);
    free(http->raw);
    free(http->text);
    *http = (struct exchange){0};
}

static const char *path_of(const struct exchange *http) {
    return http->of_all ? "/mcp" : "/mcp/server";
}

static bool is_disturbed(void) {
    return stage.deaths > 0 || stage.reloads > 0;
}

static void post(const struct exchange *http, const char *fields, const char *body) {
    char head[1536];
    const struct session *session =
        http->session == NOBODY || http->kind == OPEN ? NULL : &stage.sessions[http->session];
    int bytes = snprintf(
        head, sizeof head,
        "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nContent-Length: %zu\r\n%s%s%s%s%s\r\n",
        path_of(http), strlen(body), user_field(user_of(http->session)), session ? "Mcp-Session-Id: " : "",
        session ? session->id : "", session ? "\r\n" : "", fields);
    cable_write(http->cable, head, (size_t)bytes);
    cable_write(http->cable, body, strlen(body));
}

static void open_session(int number) {
    struct exchange *http = exchange_open(OPEN, number, NOBODY);
    if (!http)
        return;
    stage.sessions[number].is_asked = true;
    post(http, "",
         "{\"jsonrpc\":\"2.0\",\"id\":\"open\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
         "\"2025-11-25\",\"capabilities\":{\"sampling\":{}},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}"
         "}}");
}

static void call(int session, bool is_unknown) {
    char body[512];
    struct exchange *http =
        stage.call_count < CALLS_MAX ? exchange_open(CALL, session, (int)stage.call_count) : NULL;
    if (!http)
        return;
    bool has_token = random_chance(&stage.random, 700);
    bool is_gated = stage.is_turbulent && random_chance(&stage.random, 400);
    char meta[256] = "", token[64] = "", fields[256] = "";
    if (session == NOBODY)
        http->of_all = is_unknown || (stage.is_turbulent && random_chance(&stage.random, 400));
    const char *tool = is_unknown ? "nobody" : http->of_all ? "server__work" : "work";
    unsigned user = user_of(session);
    bool is_forbidden =
        stage.has_users && !is_unknown && (stage.users[user].is_forbidden || stage.users[user].is_absent);
    if (has_token)
        snprintf(token, sizeof token, "\"progressToken\":\"t%u\"", stage.call_count);
    if (session == NOBODY)
        snprintf(meta, sizeof meta,
                 "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                 "\"io.modelcontextprotocol/clientCapabilities\":{}%s",
                 has_token ? "," : "");
    snprintf(body, sizeof body,
             "{\"jsonrpc\":\"2.0\",\"id\":\"c%u\",\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
             "\"arguments\":{\"tag\":%u},\"_meta\":{%s%s}}}",
             stage.call_count, tool, stage.call_count, meta, token);
    stage.calls[stage.call_count++] =
        (struct call){.session = session,
                      .has_token = has_token,
                      .is_gated = is_gated,
                      .is_unknown = is_unknown,
                      .is_forbidden = is_forbidden,
                      .may_be_forbidden = is_forbidden || stage.users[user].is_absent,
                      .serial = session == NOBODY ? 0 : stage.sessions[session].serial,
                      .may_fail = is_disturbed()};
    if (session == NOBODY)
        snprintf(fields, sizeof fields,
                 "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\n", tool);
    if (is_gated)
        strcat(fields, "Governance-Level: manual\r\n");
    post(http, fields, body);
    users_note_sent(session);
    sums.calls++;
}

// Asks for the tools of all servers, in the modern era: the hub asks each server, perhaps through another client of the
// user.
static void list_tools(void) {
    struct exchange *http = exchange_open(LIST, NOBODY, NOBODY);
    if (!http)
        return;
    http->of_all = true;
    post(http, "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n",
         "{\"jsonrpc\":\"2.0\",\"id\":\"list\",\"method\":\"tools/list\",\"params\":{\"_meta\":{"
         "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
         "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
    sums.lists++;
}

// Opens a stream, or goes on behind `place` with that of a call (NOBODY: GET's own).
static void listen(int session, int call, const char *place) {
    char head[512];
    for (unsigned at = 0; at < EXCHANGES_MAX; at++) // which of the two begins first isn't known
        if (stage.exchanges[at].cable && stage.exchanges[at].kind == LISTEN &&
            stage.exchanges[at].session == session)
            stage.sessions[session].is_unsure |= !stage.exchanges[at].has_head;
    struct exchange *http = exchange_open(LISTEN, session, call);
    if (!http)
        return;
    int bytes = snprintf(head, sizeof head,
                         "GET %s HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                         "%sMcp-Session-Id: %s\r\n%s%s%s\r\n",
                         path_of(http), user_field(user_of(session)), stage.sessions[session].id,
                         *place ? "Last-Event-ID: " : "", place, *place ? "\r\n" : "");
    cable_write(http->cable, head, (size_t)bytes);
    http->stream = *place ? stage.sessions[session].placed : ++stage.sessions[session].streams;
    sums.resumed += *place != 0;
}

static void cancel(unsigned number) {
    char body[256];
    struct call *call = &stage.calls[number];
    struct exchange *http = exchange_open(NOTE, call->session, NOBODY);
    if (!http)
        return;
    call->cancelled = true;
    snprintf(
        body, sizeof body,
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"c%u\"}}",
        number);
    post(http, "", body);
}

static void end_session(int number) {
    char head[256];
    struct session *session = &stage.sessions[number];
    struct exchange *http = exchange_open(CLOSE, number, NOBODY);
    if (!http)
        return;
    int bytes =
        snprintf(head, sizeof head, "DELETE %s HTTP/1.1\r\nHost: localhost\r\n%sMcp-Session-Id: %s\r\n\r\n",
                 path_of(http), user_field(user_of(number)), session->id);
    cable_write(http->cable, head, (size_t)bytes);
    session->is_here = false;
}

// --- Clients: judging

static bool session_is(const struct exchange *http, unsigned number) {
    return number < stage.call_count && stage.calls[number].session == http->session &&
           (http->session != NOBODY || http->call == (int)number);
}

static void judge_answer(const struct exchange *http, struct bit body) {
    struct bit id = naive_find(body, "id");
    char own[32];
    snprintf(own, sizeof own, "\"c%d\"", http->call);
    if (http->call == NOBODY || !bit_is(id, own))
        kernel_fail("an answer on a stream that isn't its call's: %.*s", (int)body.count,
                    (const char *)body.bytes);
    struct call *call = &stage.calls[http->call];
    if (++call->ends > 1)
        kernel_fail("a call has ended twice: %.*s", (int)body.count, (const char *)body.bytes);
    users_note_answered(http->session);
    int64_t code = bit_integer(naive_find(body, "error.code"));
    struct bit tag = naive_find(body, code == 7 ? "error.data.tag" : "result.tag");
    if (tag.bytes) {
        if (!call->answered || bit_number(tag) != (uint64_t)http->call || call->failed != (code == 7))
            kernel_fail("an answer that the server hasn't given: %.*s", (int)body.count,
                        (const char *)body.bytes);
        sums.answers++;
        return;
    }
    if (code == -31011 || code == -31012) {
        if (!call->is_gated)
            kernel_fail("call %d was decided on, and wasn't held", http->call);
        sums.errors++;
        return;
    }
    if (code == -31001) {
        if (!call->may_be_forbidden)
            kernel_fail("call %d was refused, and its user may call the tool", http->call);
        sums.forbidden++;
        return;
    }
    if (code == -32800 && call->is_left) {
        sums.errors++;
        return;
    }
    if (code == -32602 && call->is_unknown) {
        sums.errors++;
        return;
    }
    bool is_gone = code == -32602 && http->of_all; // no section has the tool
    bool is_late = code == -31051 || code == -31050 || code == -31010 || code == -31054 || code == -31052;
    if (!(is_late || is_gone) || !(call->may_fail || stage.ending))
        kernel_fail("a call has failed, and nothing else has: %.*s", (int)body.count,
                    (const char *)body.bytes);
    sums.errors++;
}

static void judge_progress(const struct exchange *http, struct bit body) {
    uint64_t about = bit_number(naive_find(body, "params.about")),
             count = bit_number(naive_find(body, "params.progress"));
    char token[32];
    snprintf(token, sizeof token, "\"t%" PRIu64 "\"", about);
    if (about >= stage.call_count || (int)about != http->call ||
        !bit_is(naive_find(body, "params.progressToken"), token))
        kernel_fail("progress on a stream that isn't its call's: %.*s", (int)body.count,
                    (const char *)body.bytes);
    struct call *call = &stage.calls[about];
    if (count <= call->progress || count > call->reported)
        kernel_fail("progress came late or twice: %.*s", (int)body.count, (const char *)body.bytes);
    call->progress = (unsigned)count;
    sums.progress++;
}

static void judge_question(const struct exchange *http, struct bit body) {
    uint64_t about = bit_number(naive_find(body, "params.about")),
             number = bit_number(naive_find(body, "params.number"));
    char reply[256];
    if (http->session == NOBODY || !session_is(http, (unsigned)about))
        kernel_fail("a client was asked about the call of another one: %.*s", (int)body.count,
                    (const char *)body.bytes);
    if (number >= stage.question_count || stage.questions[number].put)
        kernel_fail("a question came twice: %.*s", (int)body.count, (const char *)body.bytes);
    stage.questions[number].put = true;
    struct bit id = naive_find(body, "id");
    snprintf(reply, sizeof reply, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"of\":%" PRIu64 "}}",
             (int)id.count, (const char *)id.bytes, about);
    struct exchange *back = exchange_open(NOTE, http->session, NOBODY);
    if (back)
        post(back, "", reply);
    sums.told++;
}

static void judge_change(const struct exchange *http, struct bit body) {
    uint64_t serial = bit_number(naive_find(body, "params.serial"));
    if (http->session == NOBODY)
        kernel_fail("a call of the modern era was told what it hasn't asked for: %.*s", (int)body.count,
                    (const char *)body.bytes);
    if (serial == UINT64_MAX)
        return; // the hub's own: the server is another process
    if (serial > stage.serial)
        kernel_fail("a session was told what nobody said: %.*s", (int)body.count, (const char *)body.bytes);
}

static void judge_open(const struct exchange *http, struct bit body) {
    struct session *session = &stage.sessions[http->session];
    session->is_asked = false;
    if (http->status == 200 && naive_find(body, "result").bytes && *session->id) {
        session->is_here = true;
        return;
    }
    *session->id = 0;
    if (!is_disturbed() && !stage.ending)
        kernel_fail("a session isn't opened: %u %.*s", http->status, (int)body.count,
                    (const char *)body.bytes);
}

static void judge_list(struct bit body) {
    if (!bit_is(naive_find(body, "id"), "\"list\"") ||
        (!naive_find(body, "result.tools").bytes && !naive_find(body, "error.code").bytes))
        kernel_fail("an answer to a list that is none: %.*s", (int)body.count, (const char *)body.bytes);
}

static void judge(struct exchange *http, struct bit body) {
    struct bit method = naive_find(body, "method");
    if (!naive_valid(body))
        kernel_fail("an event that is no JSON: %.*s", (int)body.count, (const char *)body.bytes);
    if (!method.bytes && http->kind == OPEN)
        judge_open(http, body);
    else if (!method.bytes && http->kind == LIST)
        judge_list(body);
    else if (!method.bytes)
        judge_answer(http, body);
    else if (bit_is(method, "\"notifications/progress\""))
        judge_progress(http, body);
    else if (bit_is(method, "\"sampling/createMessage\""))
        judge_question(http, body);
    else if (bit_is(method, "\"notifications/tools/list_changed\"") ||
             bit_is(method, "\"notifications/prompts/list_changed\"") ||
             bit_is(method, "\"notifications/resources/list_changed\""))
        judge_change(http, body);
    else if (!bit_is(method, "\"notifications/cancelled\"") || http->session == NOBODY) // of a question
        kernel_fail("a client was told what nobody said: %.*s", (int)body.count, (const char *)body.bytes);
}

// --- Clients: reading

// The value of a field of the head, or NULL.
static const uint8_t *field_of(const uint8_t *head, size_t bytes, const char *name, size_t *count) {
    char line[64];
    int length = snprintf(line, sizeof line, "\r\n%s: ", name);
    const uint8_t *at = memmem(head, bytes, line, (size_t)length);
    if (!at)
        return NULL;
    at += length;
    const uint8_t *end = memmem(at, bytes - (size_t)(at - head), "\r\n", 2);
    *count = (size_t)(end - at);
    return at;
}

static bool read_head(struct exchange *http) {
    const uint8_t *end = memmem(http->raw, http->raw_count, "\r\n\r\n", 4);
    size_t count;
    if (!end)
        return false;
    size_t bytes = (size_t)(end - http->raw) + 4;
    if (memcmp(http->raw, "HTTP/1.1 ", 9) != 0)
        kernel_fail("an answer that is no HTTP: %.*s", (int)bytes, (const char *)http->raw);
    http->status = (unsigned)strtoul((const char *)http->raw + 9, NULL, 10);
    if (http->status == 503 && !field_of(http->raw, bytes, "Retry-After", &count))
        kernel_fail("503 doesn't say when to come back: %.*s", (int)bytes, (const char *)http->raw);
    const uint8_t *length = field_of(http->raw, bytes, "Content-Length", &count);
    http->length = length ? strtoul((const char *)length, NULL, 10) : 0;
    http->is_chunked = field_of(http->raw, bytes, "Transfer-Encoding", &count);
    const uint8_t *type = field_of(http->raw, bytes, "Content-Type", &count);
    http->is_stream = type && count >= 17 && memcmp(type, "text/event-stream", 17) == 0;
    const uint8_t *session = field_of(http->raw, bytes, "Mcp-Session-Id", &count);
    if (session && http->kind == OPEN && count < sizeof stage.sessions->id)
        snprintf(stage.sessions[http->session].id, sizeof stage.sessions->id, "%.*s", (int)count,
                 (const char *)session);
    http->has_head = true;
    http->raw_count -= bytes;
    memmove(http->raw, http->raw + bytes, http->raw_count);
    return true;
}

static void take_content(struct exchange *http, size_t head, size_t bytes, size_t tail) {
    if (http->text_count + bytes > ROOM)
        kernel_fail("more content than there is room for");
    memcpy(http->text + http->text_count, http->raw + head, bytes);
    http->text_count += bytes;
    http->raw_count -= head + bytes + tail;
    memmove(http->raw, http->raw + head + bytes + tail, http->raw_count);
}

static bool read_chunk(struct exchange *http) {
    const uint8_t *line = memmem(http->raw, http->raw_count, "\r\n", 2);
    if (!line)
        return false;
    size_t head = (size_t)(line - http->raw) + 2, bytes = strtoul((const char *)http->raw, NULL, 16);
    if (http->raw_count < head + bytes + 2)
        return false;
    http->is_over = bytes == 0;
    take_content(http, head, bytes, 2);
    return true;
}

static void take_event(struct exchange *http, const char *event, size_t bytes) {
    const char *id = memmem(event, bytes, "id: ", 4), *data = memmem(event, bytes, "data: ", 6);
    if (id && (id == event || id[-1] == '\n') && (!data || id < data)) {
        size_t count = strcspn(id + 4, "\n");
        if (count >= ID_BYTES)
            kernel_fail("an id of an event is too long: %.*s", (int)count, id);
        if (http->session == NOBODY)
            kernel_fail("an event of the modern era has an id");
        char *place =
            http->call == NOBODY ? stage.sessions[http->session].place : stage.calls[http->call].place;
        if (http->call == NOBODY)
            stage.sessions[http->session].placed = http->stream;
        snprintf(place, ID_BYTES, "%.*s", (int)count, id + 4);
    }
    if (data && strcspn(data + 6, "\n"))
        judge(http, (struct bit){(const uint8_t *)data + 6, strcspn(data + 6, "\n")});
}

static void read_events(struct exchange *http) {
    for (const uint8_t *end; (end = memmem(http->text, http->text_count, "\n\n", 2));) {
        static char event[ROOM + 1];
        size_t bytes = (size_t)(end - http->text) + 2;
        memcpy(event, http->text, bytes);
        event[bytes] = 0;
        http->text_count -= bytes;
        memmove(http->text, http->text + bytes, http->text_count);
        take_event(http, event, bytes);
    }
}

// The exchange has all of its answer.
static void finish(struct exchange *http) {
    struct bit body = {http->text, http->text_count};
    struct call *call = http->kind == CALL ? &stage.calls[http->call] : NULL;
    bool is_refused = http->status >= 400;
    if (stage.reloads && (http->status == 404 || http->status == 401) && http->kind != OPEN &&
        http->session != NOBODY && (!http->of_all || stage.has_users))
        stage.sessions[http->session].is_here = false; // with its section, or its user
    if (http->kind == OPEN) {
        if (!http->is_stream)
            judge_open(http, body);
    } else if (http->kind == LIST) {
        if (!http->is_stream && http->status != 401)
            judge_list(body);
    } else if (call && !http->is_stream && body.count) {
        if (is_refused && (http->session == NOBODY || stage.sessions[http->session].is_here) &&
            !call->may_fail && !stage.ending)
            kernel_fail("a call is refused: %u %.*s", http->status, (int)body.count,
                        (const char *)body.bytes);
        if (is_refused && ++call->ends > 1)
            kernel_fail("call %d has ended twice", http->call);
        if (is_refused && http->status != 401)
            users_note_answered(http->session);
        if (!is_refused)
            judge(http, body);
    } else if (http->kind == LISTEN && http->status == 400 && http->call == NOBODY &&
               (stage.sessions[http->session].is_unsure ||
                stage.sessions[http->session].placed < stage.sessions[http->session].streams)) {
        *stage.sessions[http->session].place = 0;
    } else if (http->kind == LISTEN && http->status == 400) {
        kernel_fail("a client can't come back to where it was");
    } else if (http->kind == NOTE && http->status != 202 && !stage.has_users &&
               stage.sessions[http->session].is_here && !stage.ending) {
        kernel_fail("a notification or an answer isn't taken: %u %.*s", http->status, (int)body.count,
                    (const char *)body.bytes);
    }
    exchange_close(http);
}

static bool hear(struct exchange *http) {
    if (!http->cable)
        return false;
    size_t count = cable_read(http->cable, http->raw + http->raw_count, ROOM - http->raw_count);
    http->raw_count += count;
    if (!http->has_head && !read_head(http)) {
        if (cable_at_end(http->cable)) {
            if (!stage.ending && !(http->kind == CALL && stage.calls[http->call].cancelled))
                kernel_fail("the hub has closed a connection without an answer");
            if (http->kind == CALL)
                stage.calls[http->call].dropped = true;
            if (http->kind == OPEN)
                stage.sessions[http->session].is_asked = false;
            exchange_close(http);
        }
        return count > 0;
    }
    while (http->is_chunked && !http->is_over && read_chunk(http))
        continue;
    if (!http->is_chunked && http->raw_count >= http->length - http->text_count) {
        take_content(http, 0, http->length - http->text_count, 0);
        http->is_over = true;
    }
    if (http->is_stream)
        read_events(http);
    if (http->is_over)
        finish(http);
    else if (cable_at_end(http->cable)) {
        if (stage.ending && http->is_stream)
            kernel_fail("the hub ends, and cuts a stream off");
        exchange_close(http);
    }
    return count > 0;
}

static void go(void) {
    bool any;
    do {
        world_settle(&stage.world);
        any = drive_programs();
        any |= approver_hear();
        for (unsigned at = 0; at < EXCHANGES_MAX; at++)
            any |= hear(&stage.exchanges[at]);
    } while (any);
    world_settle(&stage.world);
}

static void pass(uint64_t ns) {
    uint64_t until_ns = kernel_now(stage.world.kernel) + ns;
    go();
    for (uint64_t next_ns; (next_ns = world_next_ns(&stage.world)) <= until_ns;) {
        kernel_advance(stage.world.kernel, next_ns);
        go();
    }
    kernel_advance(stage.world.kernel, until_ns);
    go();
}

// --- What clients do

static struct exchange *exchange_of(int session, int call) {
    for (unsigned at = 0; at < EXCHANGES_MAX; at++) {
        struct exchange *http = &stage.exchanges[at];
        if (http->cable && http->session == session && http->call == call &&
            (http->kind == LISTEN || http->kind == CALL))
            return http;
    }
    return NULL;
}

// Leaves a connection in the middle, with all that is under way on it.
static void drop(void) {
    struct exchange *http = NULL;
    unsigned first = random_below(&stage.random, EXCHANGES_MAX);
    for (unsigned at = 0; at < EXCHANGES_MAX && !http; at++) {
        struct exchange *one = &stage.exchanges[(first + at) % EXCHANGES_MAX];
        http = one->cable && (one->kind == CALL || one->kind == LIST || one->kind == LISTEN) ? one : NULL;
    }
    if (!http)
        return;
    if (http->call != NOBODY)
        stage.calls[http->call].dropped = true;
    else if (http->kind == LISTEN && !http->has_head)
        stage.sessions[http->session].is_unsure = true;
    if (random_chance(&stage.random, 500))
        cable_reset(http->cable);
    exchange_close(http);
}

// Comes back to the stream of a call that it has left, if it has seen an event of it.
static bool resume(unsigned number) {
    struct call *call = &stage.calls[number];
    bool is_due = call->session != NOBODY && call->dropped && !call->cancelled && !call->ends &&
                  *call->place && stage.sessions[call->session].is_here &&
                  stage.sessions[call->session].serial == call->serial &&
                  !exchange_of(call->session, (int)number);
    if (is_due)
        listen(call->session, (int)number, call->place);
    return is_due;
}

static bool has_exchange(int session) {
    for (unsigned at = 0; at < EXCHANGES_MAX; at++)
        if (stage.exchanges[at].cable && stage.exchanges[at].session == session)
            return true;
    return false;
}

static void act_session(int number) {
    struct session *session = &stage.sessions[number];
    uint32_t dice = random_below(&stage.random, 100);
    unsigned one = stage.call_count ? random_below(&stage.random, stage.call_count) : 0;
    if (!session->is_here) {
        if (!session->is_asked && !has_exchange(number)) {
            *session = (struct session){.serial = session->serial + 1,
                                        .of_all = stage.is_turbulent && random_chance(&stage.random, 400)};
            open_session(number);
        }
    } else if (dice < 50) {
        call(number, false);
    } else if (dice < 62) {
        bool again = *session->place && random_chance(&stage.random, 500) && !exchange_of(number, NOBODY);
        if (again || random_chance(&stage.random, 300)) // a second one ends the first
            listen(number, NOBODY, again ? session->place : "");
    } else if (dice < 75 && stage.call_count) {
        for (unsigned at = 0; at < stage.call_count && !resume((one + at) % stage.call_count); at++)
            continue;
    } else if (dice < 88 && stage.call_count) {
        struct call *call = &stage.calls[one];
        if (call->session == number && !call->ends && !call->cancelled)
            cancel(one);
    } else if (dice < 90) {
        end_session(number);
        for (unsigned at = 0; at < stage.call_count; at++)
            if (stage.calls[at].session == number && !stage.calls[at].ends)
                stage.calls[at].is_left = true;
    }
}

// Calls a tool that nobody has, many times at once.
static void flood(void) {
    int session = (int)random_below(&stage.random, stage.session_count);
    if (!stage.sessions[session].is_here || !stage.sessions[session].of_all)
        session = NOBODY;
    for (unsigned count = 0; count < BURST && (session != NOBODY || !stage.alone); count++)
        call(session, true);
}

// The next process behind a random place.
static struct server *any_server(void) {
    unsigned at = random_below(&stage.random, SERVERS_MAX), count = 0;
    while (!stage.servers[at].program && count++ < SERVERS_MAX)
        at = (at + 1) % SERVERS_MAX;
    return &stage.servers[at];
}

static void act(void) {
    struct random *random = &stage.random;
    uint32_t dice = random_below(random, 100);
    if (dice < 40)
        act_session((int)random_below(random, stage.session_count));
    else if (dice < 50 && !stage.alone && stage.is_turbulent && random_chance(random, 250))
        list_tools();
    else if (dice < 50 && !stage.alone)
        call(NOBODY, false);
    else if (dice < 60)
        drop();
    else if (dice < 64 && stage.is_turbulent)
        approver_act();
    else if (dice < 66 && stage.has_users && random_chance(random, 500))
        users_reload();
    else if (dice < 67 && stage.is_turbulent)
        sections_reload();
    else if (dice < 69 && stage.has_users)
        flood();
    else if (dice < 95)
        serve_act(any_server());
    else
        pass(random_below(random, 500) * (uint64_t)MILLISECOND);
    if (random_chance(random, 500))
        go();
    else
        for (unsigned steps = random_below(random, 30); steps > 0 && world_step(&stage.world); steps--)
            continue;
}

// --- A run

static void choose(struct world_options *options, uint64_t seed) {
    struct random *random = &stage.random;
    world_defaults(options, seed, random_between(random, 1, WORLD_SHARDS_MAX));
    options->keeps = true;
    options->children = sections_now;
    stage.is_turbulent = random_chance(random, 500);
    stage.has_users = stage.is_turbulent && random_chance(random, 600);
    if (stage.has_users) {
        options->users = users_file;
        options->journal = "journal";
    }
    stage.is_each = stage.is_turbulent && random_chance(random, 500);
    if (stage.is_turbulent)
        options->approval_level = GOVERNANCE_MANUAL;
    stage.calm = !stage.is_turbulent && random_chance(random, 500);
    stage.alone = random_chance(random, 400);
    stage.session_count = stage.alone ? 1 : random_between(random, 1, SESSIONS_MAX);
    stage.timeout_ns = options->limits.request_timeout_ns;
    options->faults.cut = (uint16_t)random_below(random, 300);
    options->faults.single_byte = (uint16_t)random_below(random, 50);
    options->faults.short_send = (uint16_t)random_below(random, 300);
    options->faults.late = (uint16_t)random_below(random, 300);
    options->faults.preempt = (uint16_t)random_below(random, 200);
    options->faults.end_multishot = (uint16_t)random_below(random, 100);
    options->faults.interrupt = (uint16_t)random_below(random, 50);
}

// Everybody behaves: the server answers all, and each client comes back to what it has left.
static void calm_down(void) {
    go();
    for (unsigned number = 0; number < stage.call_count; number++)
        if (resume(number))
            go();
    stage.good = true;
    for (unsigned rounds = 0; stage.is_turbulent && rounds < 10; rounds++) {
        approver_act(); // what is approved may wait for a server that starts
        pass(2000 * (uint64_t)MILLISECOND);
    }
    pass(2 * stage.timeout_ns);
}

// Returns whether a client of all servers may come back: where there are users, and no server that they could call, it
// may not.
static bool reaches_any(void) {
    bool any = !stage.has_users;
    for (unsigned number = 0; number < SECTIONS; number++)
        any |= !stage.sections[number].is_absent;
    return any;
}

static void check_ended(void) {
    for (unsigned at = 0; at < EXCHANGES_MAX; at++)
        if (stage.exchanges[at].cable && stage.exchanges[at].kind == LIST)
            kernel_fail("a list has no answer");
    for (unsigned number = 0; number < stage.call_count; number++) {
        const struct call *call = &stage.calls[number];
        const struct session *session = call->session == NOBODY ? NULL : &stage.sessions[call->session];
        bool is_gone = call->dropped && (!session || !*call->place || session->serial != call->serial ||
                                         !session->is_here || (session->of_all && !reaches_any()));
        if (!call->ends && !call->cancelled && !is_gone)
            kernel_fail("call %u has not ended", number);
        if (call->session == NOBODY && call->dropped && call->arrived && !call->answered && !call->told &&
            !call->may_fail)
            kernel_fail("call %u was left by its client, and the server wasn't told", number);
        sums.gone += is_gone;
    }
    for (unsigned number = 0; number < stage.session_count; number++)
        if (stage.sessions[number].is_asked)
            kernel_fail("the session of client %u was neither opened nor refused", number);
    for (unsigned at = 0; at < stage.question_count; at++)
        if (!stage.questions[at].answered && !stage.questions[at].put)
            kernel_fail("question %u has no answer", at);
}

static void end_hub(void) {
    stage.ending = true;
    kernel_signal(stage.world.kernel, SIGTERM);
    go();
    for (unsigned rounds = 0; !world_stopped(&stage.world); rounds++) {
        uint64_t next_ns = world_next_ns(&stage.world);
        if (next_ns == UINT64_MAX || rounds == 20000)
            kernel_fail("the hub doesn't end");
        kernel_advance(stage.world.kernel, next_ns);
        go();
    }
    go();
}

static void play(uint64_t seed) {
    struct world_options options;
    size_t before = sim_memory_held();
    memset(&stage, 0, sizeof stage);
    random_init(&stage.random, seed ^ UINT64_C(0x6d6370));
    choose(&options, seed);
    world_open(&stage.world, &options);
    programs_hold(stage.world.kernel, true);
    go();
    for (unsigned acts = random_between(&stage.random, 20, ACTS); acts > 0; acts--)
        act();
    calm_down();
    check_ended();
    approver_leave();
    end_hub();
    if (stage.has_users)
        users_check_journal();
    for (unsigned at = 0; at < EXCHANGES_MAX; at++)
        if (stage.exchanges[at].cable)
            exchange_close(&stage.exchanges[at]);
    for (unsigned at = 0; at < SERVERS_MAX; at++)
        if (stage.servers[at].program)
            stage.servers[at].program->driven = false;
    world_settle(&stage.world);
    world_close(&stage.world);
    if (sim_memory_held() != before)
        kernel_fail("%zu bytes are left", sim_memory_held() - before);
}

int main(int argc, char **argv) {
    static const struct seeds seeds = {.program = "patchbay_mcp", .run = play, .has_log = true};
    uint64_t runs = seeds_run(&seeds, argc, argv);
    printf("%" PRIu64 " runs: %" PRIu64 " calls, %" PRIu64 " answered, %" PRIu64
           " with an error of the hub's, %" PRIu64 " lost with their connections, %" PRIu64
           " times progress, %" PRIu64 " questions of which %" PRIu64 " were put, %" PRIu64
           " times come back, %" PRIu64 " cancels told, %" PRIu64 " reloads, %" PRIu64 " decisions, %" PRIu64
           " calls forbidden, %" PRIu64 " lines of calls, %" PRIu64 " lists\n",
           runs, sums.calls, sums.answers, sums.errors, sums.gone, sums.progress, sums.questions, sums.told,
           sums.resumed, sums.cancels, sums.reloads, sums.decisions, sums.forbidden, sums.lines, sums.lists);
}
