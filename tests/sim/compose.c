// Messages of all shapes: ids of every spelling, keys in every order, fields of every kind, bodies of every
// size.
#include <stdio.h>
#include <string.h>

#include "tests/sim/parts.h"

static void put_params(struct run *run, struct record *record, struct parts *parts, const char *extra) {
    struct draft *body = &parts->body;
    draft_put(body, "\"params\":{");
    bool tag_last = random_chance(run->random, 400);
    if (!tag_last)
        draft_put(body, "\"tag\":%d,", record_tag(run, record));
    if (record->to == TO_NAME)
        draft_put(body, "\"targetAgent\":\"agent%s%d\",", random_chance(run->random, 100) ? "\\u002d" : "-",
                  record->name);
    if (record->to == TO_NOBODY && random_chance(run->random, 500))
        draft_put(body, "\"targetAgent\":\"nobody\",");
    if (record->lane == 0)
        draft_put(body, "\"priority\":\"%s\",", random_chance(run->random, 500) ? "high" : "critical");
    draft_put(body, "%s", extra);
    parts_put_filler(run, body);
    if (tag_last)
        draft_put(body, ",\"tag\":%d", record_tag(run, record));
    draft_put(body, "}");
}

// The members of a request or notification, in any order.
static void put_call(struct run *run, struct record *record, struct parts *parts, const char *method,
                     const char *extra) {
    unsigned start = random_below(run->random, 4), stride = random_chance(run->random, 500) ? 1 : 3;
    bool alone = !run->guests[record->source]->gathering.open; // else the space around it is the batch's
    if (alone)
        parts_put_space(run, &parts->body);
    draft_put(&parts->body, "{");
    bool comma = false;
    for (unsigned step = 0; step < 4; step++) {
        unsigned which = (start + step * stride) % 4;
        if (which == 1 && record->kind != RECORD_ASK)
            continue;
        draft_put(&parts->body, comma ? "," : "");
        comma = true;
        parts_put_space(run, &parts->body);
        if (which == 0)
            draft_put(&parts->body, "\"jsonrpc\":\"2.0\"");
        else if (which == 1)
            parts_put_id(record, parts);
        else if (which == 2)
            draft_put(&parts->body, "\"method\" : \"%s\"", method);
        else
            put_params(run, record, parts, extra);
        parts_put_space(run, &parts->body);
    }
    draft_put(&parts->body, "}");
    if (alone)
        parts_put_space(run, &parts->body);
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
    struct record *record = parts_record(run, guest, kind);
    if (!record)
        return NULL;
    struct parts parts = {0};
    record->to = to;
    record->name = name;
    record->lane = random_chance(run->random, 850) || to == TO_HUB;
    record->expect = expected(run, record);
    if (kind == RECORD_ASK)
        parts_next_id(run, guest, parts.id);
    parts_put_fields(run, guest, record, &parts.fields);
    put_call(run, record, &parts, method, extra);
    parts_seal(run, guest, record, &parts);
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
                 guest->name, parts_level_names[guest->level]);
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
    struct record *record = parts_record(run, guest, RECORD_ANSWER);
    if (!record)
        return NULL;
    struct parts parts = {0};
    put_answer_id(run, &parts, id);
    parts_put_fields(run, guest, record, &parts.fields);
    bool id_first = random_chance(run->random, 500), error = random_chance(run->random, 200);
    draft_put(&parts.body, "{");
    if (id_first) {
        parts_put_id(record, &parts);
        draft_put(&parts.body, " ,");
    }
    draft_put(&parts.body,
              error ? "\"error\":{\"code\":-1,\"message\":\"no\",\"data\":{\"tag\":%d,"
                    : "\"result\":{\"tag\":%d,",
              record_tag(run, record));
    parts_put_filler(run, &parts.body);
    draft_put(&parts.body, error ? "}}%s" : "}%s", extra);
    if (!id_first) {
        draft_put(&parts.body, ", ");
        parts_put_id(record, &parts);
    }
    draft_put(&parts.body, "}");
    parts_seal(run, guest, record, &parts);
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
