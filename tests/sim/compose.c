// Messages of all shapes: ids of every spelling, keys in every order, fields of every kind, bodies of every
// size.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/run.h"

static const char *const level_names[] = {"autonomous", "supervised", "human-in-the-loop", "manual"};

// --- A text that grows

static void room(struct draft *draft, size_t count) {
    if (draft->count + count < draft->capacity)
        return;
    draft->capacity = (draft->count + count) * 2;
    draft->bytes = realloc(draft->bytes, draft->capacity);
    if (!draft->bytes)
        abort();
}

__attribute__((format(printf, 2, 3))) static void put(struct draft *draft, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    room(draft, 1024);
    int count = vsnprintf(draft->bytes + draft->count, 1024, format, arguments);
    draft->count += (size_t)count;
    va_end(arguments);
}

static void put_bytes(struct draft *draft, const void *bytes, size_t count) {
    room(draft, count + 1);
    if (count)
        memcpy(draft->bytes + draft->count, bytes, count);
    draft->count += count;
}

static void put_space(struct run *run, struct draft *draft) {
    static const char *const spaces[] = {"", "", "", " ", "\n", "\t ", " \r\n  "};
    put(draft, "%s", spaces[random_below(run->random, 7)]);
}

// --- Parts

// The k-th id of a guest is spelled as every other guest's k-th: ids collide.
static void put_id(struct run *run, struct guest *guest, char *id) {
    bool twin = guest->ids && random_chance(run->random, 50);
    unsigned number = twin ? guest->ids : ++guest->ids;
    static const char *const forms[] = {
        "%u",
        "\"%u\"",
        "%u.0",
        "%ue3",
        "-%u",
        "\"s-%u\"",
        "\"\xc3\xa9\\u00e9\\\"%u\"",
        "90071992547409%u",
        "%u.5e-1",
    };
    if (number % 10 == 9) {
        int bytes = snprintf(id, ID_BYTES_MAX, "\"%u", number);
        size_t count = (size_t)bytes + 20 + number * 7 % 200;
        memset(id + bytes, 'x', count - (size_t)bytes);
        snprintf(id + count, ID_BYTES_MAX - count, "\"");
    } else {
        snprintf(id, ID_BYTES_MAX, forms[number % 10], number);
    }
}

static size_t filler_bytes(struct run *run) {
    uint32_t dice = random_below(run->random, 100);
    if (dice < 70)
        return random_below(run->random, 300);
    if (dice < 88)
        return random_below(run->random, 3000);
    if (dice < 97)
        return random_below(run->random, 40000);
    return random_below(run->random, run->profile.big_bytes_max);
}

// What a careless reader would stumble over.
static void put_filler(struct run *run, struct draft *draft) {
    static const char *const parts[] = {
        "{\"id\":7,\"method\":\"no\",\"params\":{\"targetAgent\":\"nobody\"}}",
        "\"}{][\\\"\"",
        "-1.5e+3",
        "[[],{}]",
        "\"\\\\\"",
        "null",
        "\"Content-Length: 2\\r\\n\\r\\n{}\"",
        "\"\xe2\x82\xac\xf0\x9f\x98\x80\"",
        "\"plain text of some length, so that the block is not all brackets\"",
        "true"};
    size_t until = draft->count + filler_bytes(run);
    put(draft, "\"filler\":[0");
    while (draft->count < until) {
        put(draft, ",%s", parts[random_below(run->random, 10)]);
        put_space(run, draft);
    }
    put(draft, "]");
}

static void put_fields_of(struct run *run, struct record *record, struct draft *draft) {
    if (random_chance(run->random, 250))
        put(draft, "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n");
    if (random_chance(run->random, 150))
        put(draft, "HugAI-Version: 2.%u.0\r\n", random_below(run->random, 3));
    if (random_chance(run->random, 250))
        put(draft, "Request-Id: r-%d\r\n", record_tag(run, record));
    if (random_chance(run->random, 150))
        put(draft, "Custom-Anything:\t a  b%s\r\n", random_chance(run->random, 500) ? " \t" : "");
    if (record->kind == RECORD_ANSWER)
        return;
    if (random_chance(run->random, 100)) {
        record->governance = (int)random_below(run->random, 4);
        put(draft, "Governance-Level: %s\r\n", level_names[record->governance]);
    }
    if (record->kind == RECORD_ASK && random_chance(run->random, run->profile.silent ? 300 : 0)) {
        record->short_timeout = true;
        put(draft, "Custom-Timeout-Ms: %u\r\n", 1 + random_below(run->random, 500));
    }
}

static void put_fields(struct run *run, const struct guest *guest, struct record *record,
                       struct draft *draft) {
    const struct gathering *gathering = &guest->gathering;
    if (!gathering->open || gathering->count == 0) {
        put_fields_of(run, record, draft);
        return;
    }
    put_bytes(draft, gathering->fields.bytes, gathering->fields.count);
    record->governance = record->kind == RECORD_ANSWER ? 0 : gathering->governance;
    record->short_timeout = record->kind == RECORD_ASK && gathering->short_timeout;
}

// --- Batches

void compose_batch_begin(struct guest *guest) {
    guest->gathering.open = true;
}

static void gather(struct run *run, struct guest *guest, const struct record *record) {
    struct gathering *gathering = &guest->gathering;
    if (gathering->count++ == 0) {
        put_bytes(&gathering->fields, record->fields.bytes, record->fields.count);
        gathering->governance = record->governance;
        gathering->short_timeout = record->short_timeout;
    } else {
        put(&gathering->members, ",");
    }
    put_space(run, &gathering->members);
    put_bytes(&gathering->members, record->body.bytes, record->body.count);
    put_space(run, &gathering->members);
    if (run->profile.rude && random_chance(run->random, 100)) {
        put(&gathering->members, ",[7]");
        guest->null_errors_due++;
    }
}

void compose_batch_end(struct guest *guest) {
    struct gathering *gathering = &guest->gathering;
    char line[64];
    if (gathering->count) {
        int bytes = snprintf(line, sizeof line, "Content-Length: %zu\r\n", gathering->members.count + 2);
        queue_bytes_add(&guest->out, line, (size_t)bytes);
        queue_bytes_add(&guest->out, gathering->fields.bytes, gathering->fields.count);
        queue_bytes_add(&guest->out, "\r\n[", 3);
        queue_bytes_add(&guest->out, gathering->members.bytes, gathering->members.count);
        queue_bytes_add(&guest->out, "]", 1);
    }
    free(gathering->fields.bytes);
    free(gathering->members.bytes);
    *gathering = (struct gathering){0};
}

// Writes the frame to the guest's queue, its length line first or last and more or less canonical.
static void queue_frame(struct run *run, struct guest *guest, const struct record *record) {
    static const char *const lengths[] = {"Content-Length: %zu\r\n", "content-length:%zu\r\n",
                                          "Content-Length: 00%zu\r\n", "CONTENT-LENGTH: \t%zu \r\n"};
    char line[64];
    uint32_t form = random_chance(run->random, 700) ? 0 : random_below(run->random, 4);
    int bytes = snprintf(line, sizeof line, lengths[form], record->body.count);
    bool first = random_chance(run->random, 700);
    if (first)
        queue_bytes_add(&guest->out, line, (size_t)bytes);
    queue_bytes_add(&guest->out, record->fields.bytes, record->fields.count);
    if (!first)
        queue_bytes_add(&guest->out, line, (size_t)bytes);
    queue_bytes_add(&guest->out, "\r\n", 2);
    queue_bytes_add(&guest->out, record->body.bytes, record->body.count);
}

// --- Records

static struct record *record_new(struct run *run, struct guest *guest, enum record_kind kind) {
    if (run->record_count == RECORDS_MAX)
        return NULL;
    struct record *record = calloc(1, sizeof *record);
    if (!record)
        abort();
    record->kind = kind;
    record->source = guest->index;
    record->expect = record->delivered_to = record->answers = NOBODY;
    record->reached = -1;
    record->while_draining = run->draining;
    run->records[run->record_count++] = record;
    return record;
}

int record_tag(const struct run *run, const struct record *record) {
    for (unsigned tag = run->record_count; tag-- > 0;)
        if (run->records[tag] == record)
            return (int)tag;
    abort();
}

struct parts {
    struct draft fields, body;
    char id[ID_BYTES_MAX];
};

// Takes the drafts over.
static void seal(struct run *run, struct guest *guest, struct record *record, struct parts *parts) {
    size_t fields = parts->fields.count, body = parts->body.count;
    record->memory = malloc(fields + body + 1);
    if (!record->memory)
        abort();
    if (fields)
        memcpy(record->memory, parts->fields.bytes, fields);
    memcpy(record->memory + fields, parts->body.bytes, body);
    record->fields = (struct bit){record->memory, fields};
    record->body = (struct bit){record->memory + fields, body};
    free(parts->fields.bytes);
    free(parts->body.bytes);
    record->batched = guest->gathering.open;
    if (record->batched)
        gather(run, guest, record);
    else
        queue_frame(run, guest, record);
}

static void put_id_member(struct record *record, struct parts *parts) {
    put(&parts->body, "\"id\":");
    record->id_at = parts->body.count;
    record->id_bytes = strlen(parts->id);
    put_bytes(&parts->body, parts->id, record->id_bytes);
}

static void put_params(struct run *run, struct record *record, struct parts *parts, const char *extra) {
    struct draft *body = &parts->body;
    put(body, "\"params\":{");
    bool tag_last = random_chance(run->random, 400);
    if (!tag_last)
        put(body, "\"tag\":%d,", record_tag(run, record));
    if (record->to == TO_NAME)
        put(body, "\"targetAgent\":\"agent%s%d\",", random_chance(run->random, 100) ? "\\u002d" : "-",
            record->name);
    if (record->to == TO_NOBODY && random_chance(run->random, 500))
        put(body, "\"targetAgent\":\"nobody\",");
    if (record->lane == 0)
        put(body, "\"priority\":\"%s\",", random_chance(run->random, 500) ? "high" : "critical");
    put(body, "%s", extra);
    put_filler(run, body);
    if (tag_last)
        put(body, ",\"tag\":%d", record_tag(run, record));
    put(body, "}");
}

// The members of a request or notification, in any order.
static void put_call(struct run *run, struct record *record, struct parts *parts, const char *method,
                     const char *extra) {
    unsigned start = random_below(run->random, 4), stride = random_chance(run->random, 500) ? 1 : 3;
    bool alone = !run->guests[record->source]->gathering.open; // else the space around it is the batch's
    if (alone)
        put_space(run, &parts->body);
    put(&parts->body, "{");
    bool comma = false;
    for (unsigned step = 0; step < 4; step++) {
        unsigned which = (start + step * stride) % 4;
        if (which == 1 && record->kind != RECORD_ASK)
            continue;
        put(&parts->body, comma ? "," : "");
        comma = true;
        put_space(run, &parts->body);
        if (which == 0)
            put(&parts->body, "\"jsonrpc\":\"2.0\"");
        else if (which == 1)
            put_id_member(record, parts);
        else if (which == 2)
            put(&parts->body, "\"method\" : \"%s\"", method);
        else
            put_params(run, record, parts, extra);
        put_space(run, &parts->body);
    }
    put(&parts->body, "}");
    if (alone)
        put_space(run, &parts->body);
}

// Who had read, by now, that it can be reached in this way.
static int expected(const struct run *run, const struct record *record) {
    for (unsigned index = 0; index < run->guest_count; index++) {
        const struct guest *guest = run->guests[index];
        bool meant = record->to == TO_NAME ? guest->name == record->name
                                           : record->to == TO_METHOD && guest->methods >> record->name & 1 &&
                                                 guest->index != record->source;
        if (meant && guest->registered && !guest->leaving && !guest->gone)
            return guest->index;
    }
    return NOBODY;
}

struct record *compose_call(struct run *run, struct guest *guest, enum record_kind kind, enum address_kind to,
                            int name, const char *method, const char *extra) {
    struct record *record = record_new(run, guest, kind);
    if (!record)
        return NULL;
    struct parts parts = {0};
    record->to = to;
    record->name = name;
    record->lane = random_chance(run->random, 850) || to == TO_HUB;
    record->expect = expected(run, record);
    if (kind == RECORD_ASK)
        put_id(run, guest, parts.id);
    put_fields(run, guest, record, &parts.fields);
    put_call(run, record, &parts, method, extra);
    seal(run, guest, record, &parts);
    return record;
}

static struct record *routed(struct run *run, struct guest *guest, enum record_kind kind,
                             enum address_kind to, int name) {
    char method[32];
    snprintf(method, sizeof method, to == TO_METHOD ? "work/%d" : "any/%d", name);
    struct record *record = compose_call(run, guest, kind, to, name, method, "");
    if (record && kind == RECORD_TELL)
        totals.told++;
    else if (record)
        totals.asked++;
    return record;
}

struct record *compose_ask(struct run *run, struct guest *guest, enum address_kind to, int name) {
    return routed(run, guest, RECORD_ASK, to, name);
}

struct record *compose_tell(struct run *run, struct guest *guest, enum address_kind to, int name) {
    return routed(run, guest, RECORD_TELL, to, name);
}

struct record *compose_ping(struct run *run, struct guest *guest) {
    struct record *record = compose_call(run, guest, RECORD_ASK, TO_HUB, NOBODY, "hub/ping", "");
    if (record)
        record->ping = true;
    return record;
}

struct record *compose_simple(struct run *run, struct guest *guest, const char *method) {
    return compose_call(run, guest, RECORD_ASK, TO_HUB, NOBODY, method, "");
}

struct record *compose_register(struct run *run, struct guest *guest) {
    char extra[512], events[256];
    events_list(run, guest, events, sizeof events);
    int count =
        snprintf(extra, sizeof extra,
                 "\"agentId\":\"agent-%d\",\"governanceLevel\":\"%s\",\"capabilities\":{\"methods\":[",
                 guest->name, level_names[guest->level]);
    const char *comma = "";
    for (int method = 0; method < METHODS_MAX; method++) {
        if (!(guest->methods >> method & 1))
            continue;
        count += snprintf(extra + count, sizeof extra - (size_t)count, "%s\"work/%d\"", comma, method);
        comma = ",";
    }
    snprintf(extra + count, sizeof extra - (size_t)count, "],\"events\":%s},", events);
    return compose_call(run, guest, RECORD_ASK, TO_HUB, guest->name, "agent/register", extra);
}

// --- Answers

static void put_answer_id(struct run *run, struct parts *parts, const char *id) {
    uint32_t dice = random_below(run->random, 20);
    snprintf(parts->id, sizeof parts->id,
             dice == 0   ? "%s.0"
             : dice == 1 ? "%se0"
             : dice == 2 ? "%s0e-1"
                         : "%s",
             id);
}

static struct record *answer(struct run *run, struct guest *guest, const char *id, const char *extra) {
    struct record *record = record_new(run, guest, RECORD_ANSWER);
    if (!record)
        return NULL;
    struct parts parts = {0};
    put_answer_id(run, &parts, id);
    put_fields(run, guest, record, &parts.fields);
    bool id_first = random_chance(run->random, 500), error = random_chance(run->random, 200);
    put(&parts.body, "{");
    if (id_first) {
        put_id_member(record, &parts);
        put(&parts.body, " ,");
    }
    put(&parts.body,
        error ? "\"error\":{\"code\":-1,\"message\":\"no\",\"data\":{\"tag\":%d," : "\"result\":{\"tag\":%d,",
        record_tag(run, record));
    put_filler(run, &parts.body);
    put(&parts.body, error ? "}}%s" : "}%s", extra);
    if (!id_first) {
        put(&parts.body, ", ");
        put_id_member(record, &parts);
    }
    put(&parts.body, "}");
    seal(run, guest, record, &parts);
    return record;
}

struct record *compose_answer(struct run *run, struct guest *guest, const struct duty *duty, bool broken) {
    struct record *record = answer(run, guest, duty->id, broken ? ",\"error\":1,\"error\":2" : "");
    if (!record)
        return NULL;
    record->answers = duty->tag;
    record->never = broken || run->records[duty->tag]->broken_answer;
    run->records[duty->tag]->broken_answer |= broken;
    return record;
}

struct record *compose_spoof(struct run *run, struct guest *guest, uint64_t id) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)id);
    struct record *record = answer(run, guest, text, "");
    if (record)
        record->never = true;
    return record;
}

void compose_cancel(struct run *run, struct guest *guest, const struct record *record) {
    bool mcp = random_chance(run->random, 300);
    char text[512];
    int body = snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":{\"%s\":%.*s}}",
                        mcp ? "notifications/cancelled" : "$/cancelRequest", mcp ? "requestId" : "id",
                        (int)record->id_bytes, (const char *)record->body.bytes + record->id_at);
    char head[48];
    int count = snprintf(head, sizeof head, "Content-Length: %d\r\n\r\n", body);
    queue_bytes_add(&guest->out, head, (size_t)count);
    queue_bytes_add(&guest->out, text, (size_t)body);
    guest->cancels = true;
}

// --- What isn't right

void compose_junk(struct run *run, struct guest *guest, bool framing) {
    static const char *const blocks[] = {"Content-Length: +3\r\n\r\n{} ",
                                         "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
                                         "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                         "Content-Length: 2\n\n{}",
                                         "Content-Length: 0\r\n\r\n",
                                         "Content-Length: 99999999999\r\n\r\n{}",
                                         "X-Y: z\r\n\r\n{}",
                                         "Content-Length: 4000000000\r\n\r\n{}"};
    static const char *const bodies[] = {"{",
                                         "{\"id\":null,\"method\":\"x\"}",
                                         "[]",
                                         "{\"id\":1,\"id\":1,\"method\":\"x\"}",
                                         "\"text\"",
                                         "{\"id\":{},\"method\":\"work/1\"}",
                                         "{\"method\":\"x\xff\"}",
                                         "{\"jsonrpc\":\"2.0\"}"};
    uint32_t which = random_below(run->random, 8);
    if (framing) {
        queue_bytes_add(&guest->out, blocks[which], strlen(blocks[which]));
        guest->doomed = guest->leaving = true;
        return;
    }
    char text[128];
    int count =
        snprintf(text, sizeof text, "Content-Length: %zu\r\n\r\n%s", strlen(bodies[which]), bodies[which]);
    queue_bytes_add(&guest->out, text, (size_t)count);
    guest->null_errors_due++;
}
