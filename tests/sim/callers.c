// Guests that speak HTTP. Each message or batch is the content of a request to /rpc, whole or in chunks. Many requests
// are sent before the first is answered. Guests of HTTP only ask: no other guest can reach them. Each answer must come
// in the place of its request, with the status that it deserves, and say what the oracle expects of the message.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kernel.h"
#include "tests/sim/parts.h"

#define SECOND_NS UINT64_C(1000000000)

enum { HEAD_BYTES_MAX = 1024, IDLE_S = 75, PIPELINED_MAX = CALLS_MAX / 2 };

// --- Asking

static struct call_due *expect(struct guest *guest, unsigned status) {
    struct caller *caller = &guest->caller;
    if (caller->count == CALLS_MAX)
        abort();
    struct call_due *due = &caller->due[caller->count++];
    *due = (struct call_due){.status = (uint16_t)status};
    return due;
}

bool callers_full(const struct guest *guest) {
    return guest->caller.on && guest->caller.count >= PIPELINED_MAX;
}

static void put(struct guest *guest, const void *bytes, size_t count) {
    queue_bytes_add(&guest->out, bytes, count);
}

static void put_chunks(struct run *run, struct guest *guest, const uint8_t *body, size_t count) {
    static const char *const forms[] = {"%zx\r\n", "%zX\r\n", "00%zx\r\n", "%zx;a=b\r\n"};
    char line[64];
    for (size_t at = 0, piece; at < count; at += piece) {
        size_t most = random_chance(run->random, 300) ? 8 : count - at;
        piece = 1 + random_below(run->random, (uint32_t)(most < count - at ? most : count - at));
        put(guest, line, (size_t)snprintf(line, sizeof line, forms[random_below(run->random, 4)], piece));
        put(guest, body + at, piece);
        put(guest, "\r\n", 2);
    }
    put(guest, "0\r\n\r\n", 5);
}

// Perhaps the last on its connection; a cancel that comes behind it isn't heard.
static const char *choose_ending(struct run *run, struct guest *guest) {
    bool may =
        !run->profile.clean && !guest->gathering.open && run->records[run->record_count - 1]->to == TO_NAME;
    if (!may || !random_chance(run->random, 30))
        return random_chance(run->random, 100) ? "Connection: keep-alive\r\n" : "";
    guest->caller.closes = guest->leaving = true;
    guest->plan = 0;
    return "Connection: close\r\n";
}

void callers_put(struct run *run, struct guest *guest, struct bit fields, const void *body, size_t count) {
    static const char *const types[] = {"application/json", "application/json-rpc",
                                        "Application/vscode-jsonrpc; charset=utf-8"};
    char head[HEAD_BYTES_MAX];
    bool chunked = random_chance(run->random, 300);
    const char *ending = choose_ending(run, guest);
    int bytes = snprintf(head, sizeof head,
                         "POST /rpc HTTP/1.1\r\nHost: localhost\r\nCookie: a=b\r\nContent-Type: %s\r\n%s%s",
                         types[random_below(run->random, 3)], ending,
                         random_chance(run->random, 50) ? "Expect: 100-continue\r\n" : "");
    put(guest, head, (size_t)bytes);
    put(guest, fields.bytes, fields.count);
    bytes = chunked ? snprintf(head, sizeof head, "Transfer-Encoding: chunked\r\n\r\n")
                    : snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", count);
    put(guest, head, (size_t)bytes);
    if (chunked)
        put_chunks(run, guest, body, count);
    else
        put(guest, body, count);
    struct call_due *due = expect(guest, 0);
    due->end = run->record_count;
    due->is_last = guest->caller.closes;
    due->first = guest->gathering.open ? guest->gathering.first : run->record_count - 1;
}

struct request {
    const char *text;
    uint16_t status;
    bool is_head;
};

// Requests that aren't for /rpc, or not in that form; the connection goes on.
static void ask_otherwise(struct run *run, struct guest *guest) {
    static const struct request requests[] = {
        {"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:7412\r\n\r\n", 200, false},
        {"HEAD /readyz HTTP/1.1\r\nHost: [::1]\r\n\r\n", 200, true},
        {"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", 404, false},
        {"GET /rpc HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, false},
        {"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", 405, false},
        {"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", 415, false},
        {"GET /healthz HTTP/1.1\r\nHost: example.com\r\n\r\n", 403, false},
        {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nOrigin: http://example.com\r\n\r\n", 403, false},
        {"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         "Sec-Fetch-Site: cross-site\r\nContent-Length: 2\r\n\r\n{}",
         403, false},
    };
    const struct request *request = &requests[random_below(run->random, sizeof requests / sizeof *requests)];
    put(guest, request->text, strlen(request->text));
    expect(guest, request->status)->is_head = request->is_head;
}

// Would last longer than the connection does.
static void ask_to_stay(struct run *run, struct guest *guest) {
    static const char *const methods[][2] = {{"agent/register", "\"agentId\":\"web\",\"capabilities\":{},"
                                                                "\"governanceLevel\":\"manual\","},
                                             {"hub/subscribe", "\"events\":[\"*\"],"},
                                             {"hub/attach", "\"agent\":\"agent-0\","}};
    uint32_t which = random_below(run->random, 3);
    struct record *record = compose_call(run, guest,
                                         &(struct call){.kind = RECORD_ASK,
                                                        .to = TO_HUB,
                                                        .name = NOBODY,
                                                        .method = methods[which][0],
                                                        .extra = methods[which][1]});
    if (!record)
        return;
    record->never = true;
    record->refusal = -32600;
    snprintf(record->data, sizeof record->data, "{}");
}

void callers_compose(struct run *run, struct guest *guest) {
    if (random_chance(run->random, 700))
        ask_otherwise(run, guest);
    else
        ask_to_stay(run, guest);
}

void callers_junk(struct run *run, struct guest *guest) {
    static const struct request requests[] = {
        {"POST /rpc HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400, false},
        {"POST /rpc HTTP/1.1\r\n\r\n", 400, false},
        {"POST /rpc HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400, false},
        {"POST /rpc HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", 400,
         false},
        {"POST /rpc HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n{}", 400, false},
        {"POST /rpc HTTP/1.1\r\nHost : a\r\n\r\n", 400, false},
        {"POST /rpc HTTP/1.1\nHost: a\n\n", 400, false},
        {"POST /rpc HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}x", 400, false},
        {"POST /rpc HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\n", 400, false},
        {"POST /rpc HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n", 413, false},
        {"POST /rpc HTTP/1.1\r\nHost: a\r\nExpect: tea\r\nContent-Length: 2\r\n\r\n{}", 417, false},
        {"Content-Length: 2\r\n\r\n{}", 400, false},
        {"{\"jsonrpc\":\"2.0\"}\r\n", 400, false},
        {"POST /rpc HTTP/2.0\r\n\r\n", 505, false},
    };
    const struct request *request = &requests[random_below(run->random, sizeof requests / sizeof *requests)];
    put(guest, request->text, strlen(request->text));
    int32_t code = request->status == 413 ? -32055 : -32700;
    dues_add(&guest->dues, (struct due){.code = code, .data = "{}", .last = true});
    expect(guest, request->status)->is_fault = true;
    guest->breaks = guest->doomed = guest->leaving = true;
}

void callers_stall(struct run *run, struct guest *guest) {
    static const char *const starts[] = {
        "POST /rp", "POST /rpc HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{",
        "POST /rpc HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"};
    const char *start = starts[random_below(run->random, 3)];
    put(guest, start, strlen(start));
    dues_add(&guest->dues, (struct due){.code = -32700,
                                        .data = "{\"fault\":\"the frame was not whole in time\"}",
                                        .last = true});
    expect(guest, 408)->is_fault = true;
    run->late = guest->breaks = guest->stalled = guest->doomed = guest->leaving = true;
}

// --- Answers

struct answer {
    unsigned status;
    struct bit head, body;
    bool is_json;
};

__attribute__((noreturn)) static void fail(const struct run *run, const struct answer *answer,
                                           const char *what) {
    oracle_fail(run, NOBODY, &(struct naive_frame){.fields = answer->head, .body = answer->body}, what);
}

static struct bit field_of(struct bit head, const char *name) {
    const uint8_t *at = memmem(head.bytes, head.count, name, strlen(name));
    if (!at)
        return (struct bit){0};
    at += strlen(name);
    const uint8_t *end = memmem(at, (size_t)(head.bytes + head.count - at), "\r\n", 2);
    return (struct bit){at, (size_t)(end - at)};
}

static enum naive_result read_answer(struct answer *answer, struct bit came, bool is_head) {
    const uint8_t *end = memmem(came.bytes, came.count, "\r\n\r\n", 4);
    *answer = (struct answer){0};
    if (!end)
        return NAIVE_PARTIAL;
    answer->head = (struct bit){came.bytes, (size_t)(end - came.bytes) + 4};
    if (came.count < 15 || memcmp(came.bytes, "HTTP/1.1 ", 9) != 0)
        return NAIVE_BAD;
    answer->status = (unsigned)bit_number((struct bit){came.bytes + 9, 3});
    if (answer->status == 100)
        return NAIVE_WHOLE;
    uint64_t count = bit_number(field_of(answer->head, "\r\nContent-Length: "));
    if (count == UINT64_MAX)
        return NAIVE_BAD;
    answer->is_json = bit_is(field_of(answer->head, "\r\nContent-Type: "), "application/json");
    answer->body = (struct bit){came.bytes + answer->head.count, is_head ? 0 : count};
    return came.count - answer->head.count < answer->body.count ? NAIVE_PARTIAL : NAIVE_WHOLE;
}

// The lines that came with an answer, and not from the hub.
static struct bit passing_of(struct caller *caller, struct bit head) {
    static const char *const names[] = {"HugAI-", "Request-Id", "Custom-", "Governance-"};
    size_t count = 0;
    for (const uint8_t *at = head.bytes, *end; at < head.bytes + head.count; at = end + 2) {
        end = memmem(at, (size_t)(head.bytes + head.count - at), "\r\n", 2);
        for (unsigned name = 0; name < 4; name++)
            if ((size_t)(end - at) > strlen(names[name]) &&
                memcmp(at, names[name], strlen(names[name])) == 0 &&
                count + (size_t)(end - at) + 2 <= sizeof caller->fields) {
                memcpy(caller->fields + count, at, (size_t)(end - at) + 2);
                count += (size_t)(end - at) + 2;
            }
    }
    return (struct bit){caller->fields, count};
}

// By what it says: an array and what an agent answers are good, and so are the hub's errors but for two.
static unsigned status_of(struct bit body) {
    int64_t code = body.bytes[0] == '[' ? 0 : bit_integer(naive_find(body, "error.code"));
    return code == -32700 || code == -32600 ? 400 : 200;
}

// All that was asked in its request is answered by it, and nothing else.
static void check_calls(struct run *run, struct guest *guest, const struct call_due *due,
                        const struct answer *answer) {
    struct naive_frame frame = {
        .fields = passing_of(&guest->caller, answer->head), .body = answer->body, .passing = true};
    unsigned before = 0, after = 0, asks = 0;
    for (unsigned tag = 0; tag < run->record_count; tag++)
        before += run->records[tag]->source == guest->index ? run->records[tag]->ended : 0;
    if (answer->body.count) {
        if (naive_find(answer->body, "method").bytes)
            fail(run, answer, "something came over HTTP that is no answer");
        oracle_frame(run, guest, &frame);
    }
    for (unsigned tag = 0; tag < run->record_count; tag++) {
        const struct record *record = run->records[tag];
        bool own = record->source == guest->index && record->kind == RECORD_ASK;
        bool asked = own && tag >= due->first && tag < due->end && !record->endless;
        asks += asked;
        after += own ? record->ended : 0;
        if (asked && !record->ended)
            oracle_fail(run, (int)tag, &frame, "a request was answered without what it asked");
    }
    if (after - before != asks)
        fail(run, answer, "an answer ended what wasn't asked in its place");
}

static bool may_be_refused(const struct run *run, const struct guest *guest, unsigned status) {
    if (status == 503)
        return run->draining || run->world.kept_bytes;
    return (status == 408 && guest->has_halted) || ((status == 413 || status == 431) && run->profile.lossy);
}

// Gives a guest up that won't be served any more.
static void give_up(struct guest *guest) {
    guest->doomed = guest->leaving = guest->caller.closes = guest->caller.refused = true;
    guest->null_errors++;
}

// Returns whether /readyz, which alone is asked for by HEAD, tells that the journal fails: the connection goes on.
static bool is_unready(const struct run *run, const struct caller *caller, unsigned status) {
    return status == 503 && !run->draining && caller->count && caller->due[0].is_head &&
           run->world.kernel->faults.file_error;
}

static void check_answer(struct run *run, struct guest *guest, const struct answer *answer) {
    struct caller *caller = &guest->caller;
    if (guest->silenced || caller->refused)
        fail(run, answer, "something came behind the last answer");
    bool unready = is_unready(run, caller, answer->status);
    if (!caller->count || (!unready && may_be_refused(run, guest, answer->status))) {
        if (!may_be_refused(run, guest, answer->status))
            fail(run, answer, "an answer came to nothing");
        if (answer->status != 503)
            oracle_frame(run, guest, &(struct naive_frame){.body = answer->body});
        give_up(guest);
        return;
    }
    struct call_due due = caller->due[0];
    memmove(caller->due, caller->due + 1, --caller->count * sizeof *caller->due);
    if (due.is_last)
        caller->count = 0;
    unsigned status = due.status ? due.status : !answer->body.count ? 202 : status_of(answer->body);
    if ((!unready && answer->status != status) || (answer->body.count && !due.status && !answer->is_json))
        fail(run, answer, "an answer has the wrong status or type");
    if (due.is_fault)
        oracle_frame(run, guest, &(struct naive_frame){.body = answer->body});
    else if (!due.status)
        check_calls(run, guest, &due, answer);
}

enum naive_result callers_read(struct run *run, struct guest *guest, struct naive_frame *frame,
                               const uint8_t *bytes, size_t count) {
    struct answer answer;
    struct caller *caller = &guest->caller;
    bool is_head = caller->count && caller->due[0].is_head;
    *frame = (struct naive_frame){0};
    enum naive_result result = read_answer(&answer, (struct bit){bytes, count}, is_head);
    frame->bytes = answer.head.count + answer.body.count;
    if (result == NAIVE_WHOLE && answer.status != 100)
        check_answer(run, guest, &answer);
    return result;
}

// --- Ends

bool callers_ended(const struct run *run, const struct guest *guest) {
    const struct caller *caller = &guest->caller;
    if (!caller->on || run->profile.lossy || run->draining || caller->refused || guest->doomed)
        return caller->refused;
    uint64_t active_ns = guest->cable->heard_ns;
    active_ns = guest->cable->taken_ns > active_ns ? guest->cable->taken_ns : active_ns;
    if (caller->count)
        oracle_fail(run, NOBODY, NULL, "a connection of HTTP was ended before all was answered");
    return caller->closes || guest->cable->closed_ns + SECOND_NS > active_ns + IDLE_S * SECOND_NS;
}

void callers_rest(const struct run *run) {
    for (unsigned index = 0; index < run->guest_count; index++) {
        const struct guest *guest = run->guests[index];
        if (guest->caller.on && guest->caller.count && !guest->gone && !guest->stalled &&
            !guest->ended_by_hub && !guest->deaf && !guest->halted)
            oracle_fail(run, NOBODY, NULL, "a request of HTTP was not answered");
    }
}
