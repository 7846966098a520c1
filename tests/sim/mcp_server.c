// The server of patchbay_mcp: it answers in any order, reports progress, asks, tells all, and dies now and then. The
// server wants each call once, and a cancel for cancelled calls alone.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/kernel.h"
#include "tests/sim/mcp_stage.h"

static void serve(const struct server *server, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void serve(const struct server *server, const char *format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    line[bytes] = '\n';
    if (server->program && server->program->out)
        cable_write(server->program->out, line, (size_t)bytes + 1);
}

static void take_call(struct server *server, struct bit body, uint64_t id, unsigned number) {
    if (number >= stage.call_count)
        kernel_fail("the server got a call that nobody made: %.*s", (int)body.count,
                    (const char *)body.bytes);
    if (stage.calls[number].arrived)
        kernel_fail("the server got a call twice: %.*s", (int)body.count, (const char *)body.bytes);
    if (stage.calls[number].is_forbidden || stage.calls[number].is_unknown)
        kernel_fail("the server got a call that it must not get: %.*s", (int)body.count,
                    (const char *)body.bytes);
    stage.calls[number].arrived = true;
    for (unsigned at = 0; at < server->owed_count; at++)
        if (server->owed[at].id == id)
            kernel_fail("the server got two requests with one id: %.*s", (int)body.count,
                        (const char *)body.bytes);
    if (server->owed_count == OWED_MAX)
        kernel_fail("the server has more to do than there is room for");
    struct bit token = naive_find(body, "params._meta.progressToken");
    snprintf(server->owed[server->owed_count].token, sizeof server->owed->token, "%.*s", (int)token.count,
             token.bytes ? (const char *)token.bytes : "");
    server->owed[server->owed_count].id = id;
    server->owed[server->owed_count++].call = number;
}

static void take_cancel(struct server *server, struct bit body) {
    uint64_t id = bit_number(naive_find(body, "params.requestId"));
    for (unsigned at = 0; at < server->owed_count; at++) {
        struct call *call = &stage.calls[server->owed[at].call];
        if (server->owed[at].id != id)
            continue;
        bool is_due = call->cancelled || call->is_left || (call->session == NOBODY && call->dropped) ||
                      call->may_fail || (call->session != NOBODY && !stage.sessions[call->session].is_here);
        if (!is_due && !stage.ending)
            kernel_fail("the server was told that call %u is cancelled, and nobody has",
                        server->owed[at].call);
        call->told = true;
        sums.cancels++;
        if (random_chance(&stage.random, 500)) // it leaves the call
            server->owed[at] = server->owed[--server->owed_count];
        return;
    }
}

static void take_reply(struct bit body) {
    uint64_t number = bit_number(naive_find(body, "id"));
    if (number >= stage.question_count || stage.questions[number].answered)
        kernel_fail("the server got an answer that it hasn't asked for, or twice: %.*s", (int)body.count,
                    (const char *)body.bytes);
    stage.questions[number].answered = true;
    bool was_put = naive_find(body, "result").bytes;
    if (was_put && (!stage.questions[number].put ||
                    bit_number(naive_find(body, "result.of")) != stage.questions[number].call))
        kernel_fail("a question was answered by somebody who wasn't asked: %.*s", (int)body.count,
                    (const char *)body.bytes);
}

static void answer_delayed(struct server *server, unsigned at) {
    serve(server, "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",\"result\":%s}", server->delayed[at].id,
          server->delayed[at].result);
    server->delayed[at] = server->delayed[--server->delayed_count];
}

// Answers one of the hub's own questions, or has it wait.
static void open_later(struct server *server, uint64_t id, const char *result) {
    if (server->delayed_count == DELAYED_MAX)
        answer_delayed(server, 0);
    server->delayed[server->delayed_count].id = id;
    server->delayed[server->delayed_count++].result = result;
    if (!stage.is_turbulent || stage.good || random_chance(&stage.random, 500))
        answer_delayed(server, server->delayed_count - 1);
}

static void take_message(struct server *server, struct bit body) {
    struct bit method = naive_find(body, "method"), id = naive_find(body, "id");
    uint64_t number = bit_number(id);
    if (!method.bytes)
        take_reply(body);
    else if (bit_is(method, "\"notifications/cancelled\""))
        take_cancel(server, body);
    else if (bit_is(method, "\"tools/call\""))
        take_call(server, body, number, (unsigned)bit_number(naive_find(body, "params.arguments.tag")));
    else if (bit_is(method, "\"initialize\""))
        open_later(server, number,
                   "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{\"listChanged\":true}},"
                   "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}");
    else if (bit_is(method, "\"server/discover\""))
        open_later(server, number,
                   "{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},\"serverInfo\":{"
                   "\"name\":\"s\",\"version\":\"1\"}}");
    else if (bit_is(method, "\"tools/list\""))
        open_later(server, number, "{\"tools\":[{\"name\":\"work\",\"inputSchema\":{\"type\":\"object\"}}]}");
    else if (id.bytes)
        serve(server, "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",\"result\":{}}", number);
}

static bool serve_input(struct server *server) {
    struct naive_frame frame;
    bool any = false;
    if (!server->program || !server->program->in)
        return false;
    server->in_count +=
        cable_read(server->program->in, server->in + server->in_count, ROOM - server->in_count);
    while (server->in_count && naive_line(&frame, server->in, server->in_count) == NAIVE_WHOLE) {
        take_message(server, frame.body);
        server->in_count -= frame.bytes;
        memmove(server->in, server->in + frame.bytes, server->in_count);
        any = true;
    }
    return any;
}

static void serve_answer(struct server *server) {
    unsigned at = random_below(&stage.random, server->owed_count);
    unsigned number = server->owed[at].call;
    struct call *call = &stage.calls[number];
    call->answered = true;
    call->failed = random_chance(&stage.random, 200);
    serve(server,
          call->failed ? "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",\"error\":{\"code\":7,\"message\":\"no\","
                         "\"data\":{\"tag\":%u}}}"
                       : "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",\"result\":{\"tag\":%u}}",
          server->owed[at].id, number);
    server->owed[at] = server->owed[--server->owed_count];
}

static void serve_progress(struct server *server, unsigned at) {
    struct call *call = &stage.calls[server->owed[at].call];
    if (*server->owed[at].token)
        serve(server,
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,"
              "\"progress\":%u,\"about\":%u}}",
              server->owed[at].token, ++call->reported, server->owed[at].call);
}

static void serve_question(struct server *server, unsigned at) {
    if (stage.question_count == QUESTIONS_MAX)
        return;
    stage.questions[stage.question_count].call = server->owed[at].call;
    stage.questions[stage.question_count].server = server;
    serve(server,
          "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"sampling/createMessage\",\"params\":{\"about\":%u,"
          "\"number\":%u}}",
          stage.question_count, server->owed[at].call, stage.question_count);
    stage.question_count++;
    sums.questions++;
}

static void lose_program(struct server *server) {
    server->program->driven = false;
    for (unsigned at = 0; at < stage.question_count; at++) // nobody is left to whom it would be said
        stage.questions[at].answered |= stage.questions[at].server == server;
    for (unsigned number = 0; number < stage.call_count && !stage.calm; number++)
        stage.calls[number].may_fail = true;
    stage.deaths += !stage.calm;
    memset(server, 0, sizeof *server);
}

void serve_act(struct server *server) {
    if (!server->program)
        return;
    uint32_t dice = random_below(&stage.random, 100);
    unsigned at = server->owed_count ? random_below(&stage.random, server->owed_count) : 0;
    if (server->delayed_count && random_chance(&stage.random, 500))
        answer_delayed(server, random_below(&stage.random, server->delayed_count));
    else if (dice < 25 && server->owed_count)
        serve_answer(server);
    else if (dice < 70 && server->owed_count)
        serve_progress(server, at);
    else if (dice < 80 && server->owed_count)
        serve_question(server, at);
    else if (dice < 95)
        serve(server,
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/"
              "list_changed\",\"params\":{\"serial\":%u}}",
              ++stage.serial);
    else if (!stage.calm && random_chance(&stage.random, 300)) {
        program_end(stage.world.kernel, server->program, 1);
        lose_program(server);
    }
}

static void start_programs(void) {
    for (struct program *one = programs_first(stage.world.kernel); one; one = one->next)
        for (unsigned at = 0; at < SERVERS_MAX && one->state == PROGRAM_ORDERED; at++)
            if (!stage.servers[at].program) {
                stage.servers[at].program = one;
                one->driven = true;
                program_start(stage.world.kernel, one);
            }
}

static bool take_input(struct server *server) {
    bool any = serve_input(server);
    for (; stage.good && server->delayed_count; any = true)
        answer_delayed(server, 0);
    for (; stage.good && server->owed_count; any = true)
        serve_answer(server);
    return any;
}

static bool drive(struct server *server) {
    if (!server->program)
        return false;
    bool runs = server->program->state == PROGRAM_RUNS;
    if (runs && !server->program->signals && !(server->program->in && cable_at_end(server->program->in)))
        return take_input(server);
    if (runs)
        program_end(stage.world.kernel, server->program, 0);
    lose_program(server);
    return true;
}

bool drive_programs(void) {
    bool any = false;
    start_programs();
    for (unsigned at = 0; at < SERVERS_MAX; at++)
        any |= drive(&stage.servers[at]);
    return any;
}
