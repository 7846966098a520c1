// Traces: guests ask each other, and a collector takes spans, or doesn't. The oracle knows of each request from what
// was asked, and from what its target and its source saw, what its one span must tell. Collectors are dead, silent,
// refuse, drip, lie, reset, go in the middle of a POST and come back. At the end each sampled request counts exactly
// once. Others tap meanwhile (taps.c).
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rights/users.h"
#include "io/log.h"
#include "router/features/trace/collector.h"
#include "router/features/trace/trace.h"
#include "tests/sim/kernel.h"
#include "tests/sim/naive.h"
#include "tests/sim/seeds.h"
#include "tests/sim/traces.h"
#include "tests/sim/world.h"

#define SECOND UINT64_C(1000000000)

enum {
    ACTS = 240,
    STEPS_MAX = 60,
    PORT = 4318,
    CALLERS_MAX = 64,
    LONG_BYTES = 70 * 1024, // of a message before the number of rejected spans
    TRACE_DIGITS = 32,
    TURN_NS = 1000000, // what comes in a turn was taken in when that began
};

static struct guest {
    struct talk wire;
    unsigned owed[ASKS_MAX]; // requests that it hasn't answered: the hub's ids' places in `ids`
    uint64_t ids[ASKS_MAX];
    unsigned owed_count;
} guests[GUESTS];

struct asked asks[ASKS_MAX];
unsigned ask_count;
struct world world;
struct random dice;

// A connection of the hub's to the collector.
enum manner {
    TAKES,
    TAKES_PART,
    BUSY,
    REFUSES,
    GOES,
    RESETS,
    SILENT,
    DRIPS,
    BABBLES,
    LIES,       // it rejects more than there are
    TELLS_LATE, // how many it rejects stands behind a long message
    MANNERS
};
static struct caller {
    struct talk wire;
    enum manner manner;
    char answer[LONG_BYTES + 512];
    size_t answer_bytes, answered;
    bool is_answered;
} callers[CALLERS_MAX];

static bool is_well; // the collector is
static bool hub_parent, has_users, has_journal;
static uint64_t sample; // in billionths: none, or all
static uint64_t refused_spans, spans_taken, posts;
static uint64_t spans_total, asks_total, dropped_total;

static uint64_t wall_ns(void) {
    return kernel_wall_ms(world.kernel) * 1000000 + kernel_now(world.kernel) % 1000000;
}

static void trace_of_ask(unsigned number, char out[TRACE_DIGITS + 1]) {
    snprintf(out, TRACE_DIGITS + 1, "%032x", number + 1);
}

static void parent_of_ask(unsigned number, char out[PARENT_DIGITS + 1]) {
    snprintf(out, PARENT_DIGITS + 1, "%016x", 0xabc000 + number);
}

static bool is_sampled(const struct asked *asked) {
    return asked->place ? asked->flag : sample > 0;
}

// --- Guests

void traces_write(struct talk *wire, const char *fields, const char *body) {
    static char frame[2 * BODY_BYTES_MAX];
    int bytes = snprintf(frame, sizeof frame, "Content-Length: %zu\r\n%s\r\n%s", strlen(body), fields, body);
    if (wire->cable)
        cable_write(wire->cable, frame, (size_t)bytes);
}

static void put_context(char *out, size_t capacity, unsigned number, bool flag) {
    char trace[TRACE_DIGITS + 1], parent[PARENT_DIGITS + 1];
    trace_of_ask(number, trace);
    parent_of_ask(number, parent);
    snprintf(out, capacity, "00-%s-%s-0%d", trace, parent, flag);
}

const char *traces_method(const struct asked *asked) {
    return asked->is_log ? "audit/log" : "work";
}

static unsigned begin_ask(int source, enum place place, bool flag, bool in_array) {
    unsigned number = ask_count++;
    asks[number] = (struct asked){.place = place, .flag = flag, .in_array = in_array, .source = source};
    asks[number].target = (int)random_below(&dice, GUESTS + 1) - 1;
    asks[number].asked_ns = wall_ns();
    return number;
}

static int put_ask(char *out, size_t capacity, unsigned number, const char *context) {
    struct asked *asked = &asks[number];
    bool in_meta = asked->place == IN_META || asked->place == IN_BOTH;
    char params[80] = "\"action\":\"a\",\"actor\":\"b\",\"timestamp\":\"c\"";
    if (!asked->is_log)
        snprintf(params, sizeof params, "\"targetAgent\":\"guest-%d\"", asked->target);
    int bytes = snprintf(out, capacity,
                         "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":{%s,"
                         "\"n\":%u,\"t\":\"%s\"%s%s%s}}",
                         number, traces_method(asked), params, number, number % 3 ? "é\\\\ä\\n" : "",
                         in_meta ? ",\"_meta\":{\"traceparent\":\"" : "", in_meta ? context : "",
                         in_meta ? "\"}" : "");
    asked->bytes = asked->in_array ? 0 : (size_t)bytes;
    snprintf(asked->text, sizeof asked->text, "%s", out);
    return bytes;
}

// Writes some characters of a context as escapes of JSON.
static void escape_some(char *out, const char *context) {
    uint32_t part = random_chance(&dice, 700) ? 0 : random_below(&dice, 1001);
    for (; *context; context++)
        out += sprintf(out, random_chance(&dice, part) ? "\\u00%02x" : "%c", *context);
}

static void ask_one(int source) {
    char context[64], escaped[6 * 64], field[96] = "", body[BODY_BYTES_MAX];
    unsigned number =
        begin_ask(source, (enum place)random_below(&dice, PLACES), random_chance(&dice, 600), false);
    asks[number].is_log = has_journal && random_chance(&dice, 150);
    asks[number].target = asks[number].is_log ? -1 : asks[number].target;
    put_context(context, sizeof context, number, asks[number].flag);
    escape_some(escaped, context);
    put_ask(body, sizeof body, number, escaped);
    if (asks[number].place >= IN_FIELD)
        snprintf(field, sizeof field, "%s: %s\r\n", random_chance(&dice, 500) ? "traceparent" : "TraceParent",
                 context);
    traces_write(&guests[source].wire, field, body);
}

void traces_ask_each(void) {
    for (int at = 0; at < GUESTS && ask_count < ASKS_MAX; at++)
        if (guests[at].wire.cable)
            ask_one(at);
}

// All of an array share the field, so their traces are the first one's.
static void ask_some(int source) {
    char context[64], field[96], body[BODY_BYTES_MAX] = "[", one[512];
    unsigned first = ask_count, count = random_between(&dice, 1, 4);
    bool flag = random_chance(&dice, 700);
    put_context(context, sizeof context, first, flag);
    for (unsigned at = 0; at < count && ask_count < ASKS_MAX; at++) {
        unsigned number = begin_ask(source, IN_FIELD, flag, true);
        put_ask(one, sizeof one, number, context);
        strcat(body, at ? "," : "");
        strcat(body, one);
    }
    strcat(body, "]");
    snprintf(field, sizeof field, "traceparent: %s\r\n", context);
    traces_write(&guests[source].wire, field, body);
}

static void note_context(struct asked *asked, struct bit value) {
    if (value.count < 55)
        kernel_fail("a context came as %.*s", (int)value.count, (const char *)value.bytes);
    const char *parent = (const char *)value.bytes + 36;
    if (asked->seen[0] && memcmp(asked->seen, parent, PARENT_DIGITS) != 0)
        kernel_fail("two parents in one request");
    memcpy(asked->seen, parent, PARENT_DIGITS);
}

// A member may be written with escapes.
static void note_member(struct asked *asked, struct bit member) {
    char value[64] = "", digits[5] = "";
    size_t count = 0;
    for (size_t at = 1; at + 1 < member.count && count < sizeof value; at++) {
        bool is_escape = member.bytes[at] == '\\';
        if (is_escape)
            memcpy(digits, member.bytes + at + 2, 4);
        value[count++] = is_escape ? (char)strtoul(digits, NULL, 16) : (char)member.bytes[at];
        at += is_escape ? 5 : 0;
    }
    note_context(asked, (struct bit){(const uint8_t *)value, count});
}

static void take_request(struct guest *guest, const struct naive_frame *frame, struct bit id) {
    uint64_t number = bit_number(naive_find(frame->body, "params.n"));
    struct bit meta = naive_find(frame->body, "params._meta.traceparent");
    if (number >= ask_count || asks[number].was_seen || &guests[asks[number].target] != guest)
        kernel_fail("a request came that nobody asked: %.*s", (int)frame->body.count,
                    (const char *)frame->body.bytes);
    struct asked *asked = &asks[number];
    asked->was_seen = true;
    if (meta.bytes)
        note_member(asked, meta);
    const uint8_t *field = memmem(frame->fields.bytes, frame->fields.count, ": 00-", 5);
    if (field)
        note_context(asked, (struct bit){field + 2, 55});
    if (!asked->seen[0] != !asked->place)
        kernel_fail("request %" PRIu64 " lost its context, or found one", number);
    guest->owed[guest->owed_count] = (unsigned)number;
    guest->ids[guest->owed_count++] = bit_number(id);
}

// The journal has an entry, of which the agent is told: its context is the request's.
static void take_log(const struct naive_frame *frame) {
    uint64_t number = bit_number(naive_find(frame->body, "params.n"));
    struct bit meta = naive_find(frame->body, "params._meta.traceparent");
    const uint8_t *field = memmem(frame->fields.bytes, frame->fields.count, ": 00-", 5);
    if (number >= ask_count || !asks[number].is_log)
        kernel_fail("an entry of the journal that nobody asked for: %.*s", (int)frame->body.count,
                    (const char *)frame->body.bytes);
    if (meta.bytes)
        note_member(&asks[number], meta);
    if (field)
        note_context(&asks[number], (struct bit){field + 2, 55});
}

static void take_answer(struct bit body) {
    uint64_t number = bit_number(naive_find(body, "id"));
    struct bit code = naive_find(body, "error.code");
    if (number >= ask_count || asks[number].ending)
        kernel_fail("an answer to nothing: %.*s", (int)body.count, (const char *)body.bytes);
    struct asked *asked = &asks[number];
    asked->ended_ns = wall_ns();
    asked->ending = !code.bytes                                        ? RESULT
                    : naive_find(body, "error.data.own").bytes != NULL ? ERROR_OF_TARGET
                                                                       : ERROR_OF_HUB;
    asked->code = code.bytes ? bit_integer(code) : 0;
}

static void take_body(struct guest *guest, const struct naive_frame *frame) {
    size_t at = 0;
    struct naive_item item;
    if (frame->body.bytes[0] == '[') {
        while (naive_next(frame->body, &at, &item))
            take_answer(item.value);
        return;
    }
    struct bit id = naive_find(frame->body, "id");
    if (bit_is(naive_find(frame->body, "method"), "\"audit/log\"")) {
        take_log(frame);
        return;
    }
    if (naive_find(frame->body, "method").bytes && !id.bytes)
        return; // its source has left
    if (naive_find(frame->body, "method").bytes)
        take_request(guest, frame, id);
    else if (!bit_is(id, "\"register\""))
        take_answer(frame->body);
}

static bool read_guest(struct guest *guest) {
    struct talk *wire = &guest->wire;
    size_t more =
        wire->cable ? cable_read(wire->cable, wire->in + wire->count, IN_BYTES_MAX - wire->count) : 0;
    struct naive_frame frame;
    wire->count += more;
    while (wire->count > 0 && naive_frame(&frame, wire->in, wire->count) == NAIVE_WHOLE) {
        take_body(guest, &frame);
        memmove(wire->in, wire->in + frame.bytes, wire->count - frame.bytes);
        wire->count -= frame.bytes;
    }
    return more > 0;
}

static void answer_one(struct guest *guest) {
    char body[256];
    if (guest->owed_count == 0)
        return;
    unsigned at = random_below(&dice, guest->owed_count);
    uint64_t id = guest->ids[at];
    guest->ids[at] = guest->ids[--guest->owed_count];
    guest->owed[at] = guest->owed[guest->owed_count];
    if (random_chance(&dice, 300))
        snprintf(body, sizeof body,
                 "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64
                 ",\"error\":{\"code\":%d,\"message\":\"m\",\"data\":{\"own\":1}}}",
                 id, (int)random_below(&dice, 2000) - 1000);
    else
        snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",\"result\":%u}", id,
                 random_below(&dice, 100));
    traces_write(&guest->wire, "", body);
}

static void enroll(int number) {
    char body[240];
    struct guest *guest = &guests[number];
    guest->wire.cable = world_dial(&world);
    guest->wire.count = guest->owed_count = 0;
    if (has_users)
        cable_of_user(guest->wire.cable, GUEST_UID);
    snprintf(body, sizeof body,
             "{\"jsonrpc\":\"2.0\",\"id\":\"register\",\"method\":\"agent/register\",\"params\":{\"agentId\":"
             "\"guest-%d\"%s}}",
             number, number || has_users ? "" : ",\"capabilities\":{\"methods\":[\"work\",\"audit/log\"]}");
    traces_write(&guest->wire, "", body);
}

// Has a guest leave: its requests are abandoned, and it reads no more answers.
static void leave(int number) {
    struct guest *guest = &guests[number];
    read_guest(guest);
    for (unsigned at = 0; at < ask_count; at++)
        if (asks[at].source == number && !asks[at].ending) {
            asks[at].ending = ABANDONED;
            asks[at].ended_ns = UINT64_MAX;
        }
    cable_close(guest->wire.cable);
    guest->wire.cable = NULL;
}

// --- Spans

// The value of a field or of an attribute in the text of one span; bytes NULL: it isn't there.
static struct bit value_behind(struct bit span, const char *mark) {
    const uint8_t *at = memmem(span.bytes, span.count, mark, strlen(mark));
    if (!at)
        return (struct bit){NULL, 0};
    at += strlen(mark);
    const uint8_t *end = memchr(at, '"', (size_t)(span.bytes + span.count - at));
    return (struct bit){at, end ? (size_t)(end - at) : 0};
}

static struct bit attribute(struct bit span, const char *key, const char *kind) {
    char mark[128];
    snprintf(mark, sizeof mark, "\"%s\",\"value\":{\"%s\":\"", key, kind);
    return value_behind(span, mark);
}

static uint64_t time_behind(struct bit span, const char *mark) {
    struct bit value = value_behind(span, mark);
    return value.bytes ? strtoull((const char *)value.bytes, NULL, 10) : 0;
}

static void check_times(const struct asked *asked, struct bit span) {
    uint64_t began = time_behind(span, "\"startTimeUnixNano\":\""),
             ended = time_behind(span, "\"endTimeUnixNano\":\"");
    struct bit sent_name = value_behind(span, "\",\"name\":\"sent"),
               answered_name = value_behind(span, "\",\"name\":\"answered");
    uint64_t sent = 0, answered = 0,
             latest = asked->ending ? asked->ended_ns : wall_ns(); // an array is answered at once
    if (sent_name.bytes)
        sent = time_behind(span, "\"events\":[{\"timeUnixNano\":\"");
    if (answered_name.bytes) {
        const char *mark = sent ? "\"sent\"},{\"timeUnixNano\":\"" : "\"events\":[{\"timeUnixNano\":\"";
        answered = time_behind(span, mark);
    }
    if (began + TURN_NS < asked->asked_ns || ended < began || ended > latest)
        kernel_fail("a request of %" PRIu64 " to %" PRIu64 " has a span of %" PRIu64 " to %" PRIu64,
                    asked->asked_ns, latest, began, ended);
    if ((sent && (sent < began || sent > ended)) ||
        (answered && (answered < sent || answered < began || answered > ended)))
        kernel_fail("events out of order: %.*s", (int)span.count, (const char *)span.bytes);
    bool is_answered = !asked->is_log && (asked->ending == RESULT || asked->ending == ERROR_OF_TARGET);
    if ((asked->is_log && (sent || answered)) || (is_answered && !answered) ||
        (asked->ending == ERROR_OF_HUB && answered) || (is_answered && !sent))
        kernel_fail("a span lacks an event, or has one more: %.*s", (int)span.count,
                    (const char *)span.bytes);
}

static void check_outcome(const struct asked *asked, struct bit span) {
    struct bit code = attribute(span, "error.type", "stringValue"),
               by = attribute(span, "patchbay.ended_by", "stringValue");
    bool is_error = asked->ending == ERROR_OF_TARGET || asked->ending == ERROR_OF_HUB;
    bool has_status = memmem(span.bytes, span.count, "\"status\":{\"code\":2}", 19) != NULL;
    if (asked->ending == ABANDONED || !asked->ending)
        return; // it may have ended before
    if (!is_error != !code.bytes || is_error != has_status ||
        (is_error &&
         (bit_integer(code) != asked->code || !bit_is(by, asked->ending == ERROR_OF_HUB ? "hub" : "target"))))
        kernel_fail("a span with another end than its request's: %.*s", (int)span.count,
                    (const char *)span.bytes);
}

static void check_span(struct bit span) {
    char parent[PARENT_DIGITS + 1];
    struct bit id = attribute(span, "jsonrpc.request.id", "stringValue"),
               bytes = attribute(span, "patchbay.request.bytes", "intValue");
    struct bit trace = value_behind(span, "\"traceId\":\""), own = value_behind(span, "\"spanId\":\""),
               above = value_behind(span, "\"parentSpanId\":\"");
    uint64_t number = bit_number(id);
    if (number >= ask_count || !is_sampled(&asks[number]) || asks[number].spans++ > 0 ||
        (!asks[number].ending && !asks[number].in_array))
        kernel_fail("a span of nothing, of what isn't sampled, or one more: %.*s", (int)span.count,
                    (const char *)span.bytes);
    struct asked *asked = &asks[number];
    if (trace.count != TRACE_DIGITS || own.count != PARENT_DIGITS || !above.bytes != !asked->place)
        kernel_fail("a span in no trace, or below nothing: %.*s", (int)span.count, (const char *)span.bytes);
    unsigned first = (unsigned)number;
    while (asked->in_array && first > 0 && asks[first - 1].in_array &&
           strtoul((const char *)trace.bytes + 24, NULL, 16) <= first)
        first--; // an array's context is its first one's
    parent_of_ask(first, parent);
    if (asked->place && !bit_is(above, parent))
        kernel_fail("a span below another one than its request: %.*s", (int)span.count,
                    (const char *)span.bytes);
    if (asked->seen[0] && asked->place &&
        memcmp(asked->seen, hub_parent ? (const char *)own.bytes : parent, PARENT_DIGITS) != 0)
        kernel_fail("the target of request %" PRIu64 " found %.16s as its parent: %.*s", number, asked->seen,
                    (int)span.count, (const char *)span.bytes);
    if (asked->bytes && bit_number(bytes) != asked->bytes)
        kernel_fail("a body of %zu bytes: %.*s", asked->bytes, (int)span.count, (const char *)span.bytes);
    check_times(asked, span);
    check_outcome(asked, span);
}

// Spans begin alike, and nothing in them begins so.
static unsigned take_spans(struct bit body, bool judges) {
    static const char begin[] = "{\"traceId\":\"";
    unsigned count = 0;
    const uint8_t *end = body.bytes + body.count,
                  *at = memmem(body.bytes, body.count, begin, sizeof begin - 1);
    if (!naive_valid(body))
        kernel_fail("a POST that is no JSON");
    for (const uint8_t *next; at; at = next, count++) {
        next = memmem(at + 1, (size_t)(end - at - 1), begin, sizeof begin - 1);
        if (judges)
            check_span((struct bit){at, (size_t)((next ? next : end) - at)});
    }
    if (count == 0 || count > 512)
        kernel_fail("a POST of %u spans", count);
    return count;
}

// --- The collector

static enum sim_answer answer_call(void *context, uint16_t port, struct cable *cable) {
    (void)context;
    if (port != PORT)
        return SIM_REFUSES;
    unsigned open = 0;
    struct caller *caller = NULL;
    for (unsigned at = 0; at < CALLERS_MAX; at++) {
        open += callers[at].wire.cable && !cable_hub_closed(callers[at].wire.cable);
        if (!callers[at].wire.cable)
            caller = &callers[at];
    }
    if (open > 0 || !caller)
        kernel_fail("several POSTs at a time");
    if (!is_well && random_chance(&dice, 250))
        return random_chance(&dice, 500) ? SIM_REFUSES : SIM_SILENT;
    memset(caller, 0, offsetof(struct caller, wire.in));
    caller->wire.cable = cable;
    caller->wire.count = caller->answer_bytes = caller->answered = 0;
    caller->is_answered = false;
    caller->manner = is_well ? TAKES : (enum manner)random_below(&dice, MANNERS);
    return SIM_ANSWERS;
}

static void set_answer(struct caller *caller, const char *head, const char *body) {
    caller->is_answered = true;
    caller->answer_bytes =
        (size_t)snprintf(caller->answer, sizeof caller->answer,
                         "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s", head, strlen(body), body);
}

// A whole POST has come.
static void judge_post(struct caller *caller, struct bit body) {
    static char partial[LONG_BYTES + 128];
    bool is_late = caller->manner == TELLS_LATE;
    bool is_taken = caller->manner == TAKES || caller->manner == TAKES_PART || caller->manner == DRIPS ||
                    caller->manner == LIES || is_late;
    unsigned count = take_spans(body, is_taken), refused = 0;
    posts++;
    if (caller->manner == TAKES_PART || is_late)
        refused = random_below(&dice, count + 1);
    else if (caller->manner == REFUSES || caller->manner == LIES)
        refused = count;
    refused_spans += refused;
    spans_taken += is_taken ? count - refused : 0;
    snprintf(
        partial, sizeof partial, "{\"partialSuccess\":{\"errorMessage\":\"%*s\",\"rejectedSpans\":\"%u\"}}",
        is_late ? LONG_BYTES : 1, "x", caller->manner == LIES ? count + random_below(&dice, 9) : refused);
    switch (caller->manner) {
    case TAKES:
    case DRIPS:
        set_answer(caller, "200 OK", "{}");
        break;
    case TAKES_PART:
    case LIES:
    case TELLS_LATE:
        set_answer(caller, "200 OK", partial);
        break;
    case BUSY:
        set_answer(caller, random_chance(&dice, 500) ? "503 Busy\r\nRetry-After: 2" : "429 Busy", "later");
        break;
    case REFUSES: // its spans are known to have come
        take_spans(body, true);
        set_answer(caller, "400 Bad", "");
        break;
    case BABBLES:
        caller->is_answered = true;
        caller->answer_bytes =
            (size_t)snprintf(caller->answer, sizeof caller->answer, "hello, who is there?\r\n");
        break;
    default:
        caller->is_answered = true; // with nothing
        break;
    }
}

static void take_post(struct caller *caller) {
    struct talk *wire = &caller->wire;
    const uint8_t *blank = memmem(wire->in, wire->count, "\r\n\r\n", 4);
    if (!blank || caller->is_answered)
        return;
    size_t head = (size_t)(blank - wire->in) + 4;
    struct bit all = {wire->in, head};
    const uint8_t *length = memmem(all.bytes, all.count, "Content-Length: ", 16);
    if (memcmp(wire->in, "POST /v1/traces HTTP/1.1\r\n", 26) != 0 || !length)
        kernel_fail("no POST: %.*s", (int)head, (const char *)wire->in);
    size_t bytes = strtoul((const char *)length + 16, NULL, 10);
    if (wire->count < head + bytes)
        return;
    if (wire->count > head + bytes)
        kernel_fail("more than one POST on a connection");
    judge_post(caller, (struct bit){wire->in + head, bytes});
}

// Returns whether anything was done.
static bool step_caller(struct caller *caller) {
    struct talk *wire = &caller->wire;
    if (!wire->cable)
        return false;
    size_t more = cable_read(wire->cable, wire->in + wire->count, IN_BYTES_MAX - wire->count);
    wire->count += more;
    bool goes = caller->manner == GOES || caller->manner == RESETS;
    if (goes && wire->count > 0 && random_chance(&dice, 300)) {
        if (caller->manner == RESETS)
            cable_reset(wire->cable);
        cable_close(wire->cable);
        wire->cable = NULL;
        return true;
    }
    take_post(caller);
    size_t left = caller->answer_bytes - caller->answered;
    size_t count = caller->manner == DRIPS && left > 0 ? 1 : left;
    if (count > 0)
        cable_write(wire->cable, caller->answer + caller->answered, count);
    caller->answered += count;
    bool is_over =
        cable_hub_closed(wire->cable) || (caller->manner == BABBLES && caller->is_answered && count == 0);
    if (is_over) {
        cable_close(wire->cable);
        wire->cable = NULL;
    }
    return more > 0 || count > 0 || is_over;
}

// --- The play

static bool step(void) {
    bool any = world_step(&world);
    for (unsigned at = 0; at < GUESTS; at++)
        any |= read_guest(&guests[at]);
    for (unsigned at = 0; at < CALLERS_MAX; at++)
        any |= step_caller(&callers[at]);
    any |= taps_step();
    return any;
}

void traces_settle(void) {
    while (step()) {
    }
}

// Time passes, in the steps in which something is due.
static void pass(uint64_t ns) {
    uint64_t end = kernel_now(world.kernel) + ns;
    traces_settle();
    for (uint64_t next; (next = world_next_ns(&world)) <= end; traces_settle())
        kernel_advance(world.kernel, next);
    if (kernel_now(world.kernel) < end)
        kernel_advance(world.kernel, end);
    traces_settle();
}

static void act(void) {
    int number = (int)random_below(&dice, GUESTS);
    struct guest *guest = &guests[number];
    uint32_t chance = random_below(&dice, 100);
    if (!guest->wire.cable) {
        traces_settle(); // all know that the agent has gone
        enroll(number);
        traces_settle();
    } else if (chance < 40 && ask_count < ASKS_MAX) {
        ask_one(number);
    } else if (chance < 50 && ask_count + 4 < ASKS_MAX) {
        ask_some(number);
    } else if (chance < 88) {
        answer_one(guest);
    } else if (chance < 90) {
        traces_settle();
        leave(number);
    } else if (chance < 95) {
        pass(random_below(&dice, 2000) * UINT64_C(1000000));
    } else {
        taps_act();
    }
}

static void complain(void *context, const struct users_fault *fault) {
    (void)context;
    kernel_fail("line %u of the users: %s", fault->line, fault->expected);
}

// Guests, somebody who may see all, and somebody who may not.
static void choose_users(struct hub_settings *settings) {
    static const struct siphash_key key = {{1, 2}};
    char text[400];
    snprintf(text, sizeof text,
             "[user guests]\nuid = %d\nregister = *\ncall = *\n[user watcher]\nuid = %d\nadmin = yes\n"
             "[user spy]\nuid = %d\nregister = *\ncall = *\n",
             GUEST_UID, WATCHER_UID, SPY_UID);
    settings->users = users_read(text, strlen(text), &key, NULL, complain, NULL);
}

static void open_all(uint64_t seed) {
    struct hub_settings settings = {.half_close_leaves = true};
    struct world_options options;
    random_init(&dice, seed ^ UINT64_C(0x7472616365));
    world_defaults(&options, seed, random_between(&dice, 1, WORLD_SHARDS_MAX));
    options.mailbox_room = random_chance(&dice, 500) ? 8 : 0;
    if (random_chance(&dice, 660))
        options.faults = (struct sim_faults){.end_multishot = 50,
                                             .interrupt = 50,
                                             .short_send = 200,
                                             .late = 100,
                                             .file_short = 100,
                                             .file_error = 100,
                                             .preempt = 50,
                                             .work_ns = 20000};
    hub_parent = random_chance(&dice, 500);
    sample = random_chance(&dice, 500) ? UNITS_WHOLE : 0;
    has_users = random_chance(&dice, 300);
    has_journal = random_chance(&dice, 500);
    settings.journal = has_journal ? "journal" : NULL;
    bool is_narrow = random_chance(&dice, 300);
    if (is_narrow)
        options.limits.queue_bytes_max = 16 * 1024;
    settings.limits = options.limits;
    strcpy(settings.collector_url.host, "127.0.0.1");
    strcpy(settings.collector_url.path, COLLECTOR_PATH);
    settings.collector_url.port = PORT;
    settings.own[FEATURE_TRACE][TRACE_OWN_SAMPLE] = sample;
    settings.own[FEATURE_TRACE][TRACE_OWN_RATE] = random_chance(&dice, 300) ? 3 : 100000;
    settings.own[FEATURE_TRACE][TRACE_OWN_PARENT] = hub_parent;
    if (has_users)
        choose_users(&settings);
    options.settings = &settings;
    world_open(&world, &options);
    kernel_answer(world.kernel, answer_call, NULL);
    memset(asks, 0, sizeof asks);
    memset(guests, 0, sizeof guests);
    memset(callers, 0, sizeof callers);
    ask_count = 0;
    refused_spans = spans_taken = 0;
    is_well = false;
    taps_open(has_users, !is_narrow);
    for (int at = 0; at < GUESTS; at++)
        enroll(at);
    traces_settle();
}

static uint64_t counted(enum trace_counter counter) {
    uint64_t sum = 0;
    for (uint32_t at = 0; at < world.shard_count; at++)
        sum += stats_read(&world.shards[at]->stats, FEATURE_COUNTER(FEATURE_TRACE, counter));
    return sum;
}

// Each sampled request counts once, and as the collector has it.
static void check_counts(bool waits) {
    uint64_t wanted = 0, had = 0, exported = counted(TRACE_COUNT_EXPORTED),
             refused = counted(TRACE_COUNT_DROPPED_REFUSED), rate = counted(TRACE_COUNT_DROPPED_RATE),
             queue = counted(TRACE_COUNT_DROPPED_QUEUE);
    for (unsigned at = 0; at < ask_count; at++) {
        wanted += is_sampled(&asks[at]);
        had += asks[at].spans;
    }
    if (exported != spans_taken || refused != refused_spans || had != exported + refused ||
        (queue && waits) || exported + refused + rate + queue != wanted)
        kernel_fail("of %" PRIu64 " sampled requests %" PRIu64 " were exported (%" PRIu64 " taken), %" PRIu64
                    " refused (%" PRIu64 "), %" PRIu64 " over the rate, %" PRIu64 " without room; %" PRIu64
                    " had a span",
                    wanted, exported, spans_taken, refused, refused_spans, rate, queue, had);
    spans_total += exported;
    dropped_total += refused + rate + queue;
    asks_total += ask_count;
}

// No time has passed: whoever taps and doesn't read delays nothing.
static void check_answered(void) {
    for (unsigned at = 0; at < ask_count; at++)
        if (!asks[at].ending)
            kernel_fail("request %u of guest %d has no answer", at, asks[at].source);
}

// The collector goes on while the hub ends.
static void stop(void) {
    kernel_signal(world.kernel, SIGTERM);
    traces_settle();
    for (unsigned rounds = 0; !world_stopped(&world); rounds++) {
        uint64_t next = world_next_ns(&world);
        if (next == UINT64_MAX || rounds == 10000)
            kernel_fail("the hub doesn't stop");
        kernel_advance(world.kernel, next);
        traces_settle();
    }
}

static void run_seed(uint64_t seed) {
    open_all(seed);
    for (unsigned acts = 0; acts < ACTS; acts++) {
        act();
        for (uint32_t steps = random_below(&dice, STEPS_MAX); steps > 0; steps--)
            step();
    }
    traces_settle();
    is_well = true;
    for (unsigned at = 0; at < CALLERS_MAX; at++) // who was silent is so no more
        if (callers[at].wire.cable) {
            cable_close(callers[at].wire.cable);
            callers[at].wire.cable = NULL;
        }
    for (int at = 0; at < GUESTS; at++)
        while (guests[at].wire.cable && guests[at].owed_count > 0)
            answer_one(&guests[at]);
    traces_settle();
    check_answered();
    bool waits = random_chance(&dice, 600);
    if (waits)
        pass(45 * SECOND);
    for (int at = 0; at < GUESTS; at++)
        if (guests[at].wire.cable)
            leave(at);
    traces_settle();
    if (waits) {
        pass(5 * SECOND);
        taps_check();
    }
    stop();
    traces_settle();
    check_counts(waits);
    taps_close();
    world_close(&world);
}

int main(int argc, char **argv) {
    static const struct seeds seeds = {.program = "patchbay_traces", .run = run_seed};
    log_mute(true); // what is dropped is counted here
    uint64_t runs = seeds_run(&seeds, argc, argv);
    printf("%" PRIu64 " runs: %" PRIu64 " requests, %" PRIu64 " spans by %" PRIu64 " POSTs, %" PRIu64
           " dropped\n",
           runs, asks_total, spans_total, posts, dropped_total);
    taps_report();
}
