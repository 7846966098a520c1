// Messages of all shapes: ids of every spelling, keys in every order, fields of every kind, bodies of every
// size.
#include <stdio.h>
#include <string.h>

#include "tests/sim/parts.h"

#define NO_MESSAGE "{\"fault\":\"the body is neither a request, a notification nor a response\"}"

static void put_target(struct run *run, struct record *record, struct draft *body) {
    if (record->to == TO_NAME)
        draft_put(body, "\"targetAgent\":\"agent%s%d\",", random_chance(run->random, 100) ? "\\u002d" : "-",
                  record->name);
    if (record->to == TO_NOBODY && random_chance(run->random, 500)) {
        draft_put(body, "\"targetAgent\":\"nobody\",");
        record->unroutable = -32010;
    }
}

static void put_params(struct run *run, struct record *record, struct parts *parts, const struct call *call) {
    struct draft *body = &parts->body;
    if (parts_put_flaw(parts, FLAW_WHOLE, "", ""))
        return;
    draft_put(body, "\"params\":{");
    bool tag_last = random_chance(run->random, 400);
    if (!tag_last)
        draft_put(body, "\"tag\":%d,", record_tag(run, record));
    if (!call->targetless)
        put_target(run, record, body);
    if (!parts_put_flaw(parts, FLAW_PARAMS, "", ","))
        parts_put_flaw(parts, FLAW_SOURCE, "", ",");
    if (record->lane == 0)
        draft_put(body, "\"priority\":\"%s\",", random_chance(run->random, 500) ? "high" : "critical");
    if (call->to == TO_NAME || call->to == TO_METHOD)
        reports_put_tokens(run, parts);
    if (call->extra)
        draft_add(body, call->extra, strlen(call->extra));
    parts_put_filler(run, parts);
    if (tag_last)
        draft_put(body, ",\"tag\":%d", record_tag(run, record));
    draft_put(body, "}");
}

static void put_version(struct parts *parts) {
    if (!parts_put_flaw(parts, FLAW_VERSION, "", ""))
        draft_put(&parts->body, "\"jsonrpc\":\"2.0\"");
}

static void put_method(struct draft *body, const char *method) {
    draft_put(body, "\"method\" : \"");
    draft_add(body, method, strlen(method));
    draft_put(body, "\"");
}

// The members of a request or notification, in any order.
static void put_call(struct run *run, struct record *record, struct parts *parts, const struct call *call) {
    unsigned start = random_below(run->random, 4), stride = random_chance(run->random, 500) ? 1 : 3;
    bool alone = !run->guests[record->source]->gathering.open; // else the space around it is the batch's
    if (alone)
        parts_put_space(run, &parts->body);
    draft_put(&parts->body, "{");
    unsigned members = 0, odd_behind = parts->flaw ? 1 + random_below(run->random, 3) : 0;
    for (unsigned step = 0; step < 4; step++) {
        unsigned which = (start + step * stride) % 4;
        if (which == 1 && record->kind != RECORD_ASK)
            continue;
        draft_put(&parts->body, members++ ? "," : "");
        parts_put_space(run, &parts->body);
        if (which == 0)
            put_version(parts);
        else if (which == 1)
            parts_put_id(record, parts);
        else if (which == 2)
            put_method(&parts->body, call->method);
        else
            put_params(run, record, parts, call);
        if (members == odd_behind)
            parts_put_flaw(parts, FLAW_TOP, ",", "");
        parts_put_space(run, &parts->body);
    }
    draft_put(&parts->body, "}");
    parts_put_flaw(parts, FLAW_BEHIND, "", "");
    if (alone)
        parts_put_space(run, &parts->body);
}

// Returns the agents whose answer had been read, by now, that they can be reached in this way.
int compose_expected(const struct run *run, const struct record *record) {
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

// Returns the member of a group, of those, that supports the level.
static int find_able(const struct run *run, const struct record *record) {
    for (unsigned index = 0; index < run->guest_count; index++) {
        const struct guest *guest = run->guests[index];
        if (guest->methods >> record->name & 1 && guest->index != record->source && guest->registered &&
            !guest->leaving && !guest->gone && guest->level >= record->governance)
            return guest->index;
    }
    return NOBODY;
}

const struct flaw *compose_flaw(struct run *run, const struct guest *guest, unsigned in, uint32_t per_mille) {
    const struct gathering *gathering = &guest->gathering;
    if (!random_chance(run->random, per_mille) || guest->dues.count + GUESTS_MAX > DUES_MAX)
        return NULL;
    const struct flaw *flaw = flaw_choose(run->random, in);
    bool none = flaw->place == FLAW_NO_OUTCOME, whole = none || flaw->place == FLAW_OUTCOME || flaw->voids;
    if (none && !run->profile.clean)
        return NULL; // the request may end otherwise before that comes
    if (guest->socket.on && strstr(flaw->data, "UTF-8"))
        return NULL; // is not for its body to say (sockets.c)
    if (whole && flaw->strict && !run->profile.strict)
        return NULL; // lazily it goes its way, but the oracle couldn't read it
    if (flaw->voids && gathering->open &&
        (gathering->is_void || gathering->stateful || !random_chance(run->random, 200)))
        return NULL;
    return flaw;
}

struct record *compose_call(struct run *run, struct guest *guest, const struct call *call) {
    struct record *record = parts_record(run, guest, call->kind);
    if (!record)
        return NULL;
    struct parts parts = {.flaw = call->flaw,
                          .judged = run->profile.strict || call->judged,
                          .breaks = !run->profile.strict && !call->judged && !guest->gathering.open,
                          .levels = 3 + guest->gathering.open};
    record->to = call->to;
    record->name = call->name;
    record->lane = random_chance(run->random, 850) || call->to == TO_HUB || call->plain;
    record->expect = compose_expected(run, record);
    record->unroutable = call->unroutable                           ? call->unroutable
                         : call->to == TO_NAME && !call->targetless ? -32010
                                                                    : -32601;
    if (call->kind == RECORD_ASK)
        parts_next_id(run, guest, parts.id);
    if (call->flaw && call->flaw->place == FLAW_ID)
        snprintf(parts.id, sizeof parts.id, "%s", call->flaw->text);
    parts_put_fields(run, guest, record, &parts.fields);
    record->able = record->to == TO_METHOD ? find_able(run, record) : NOBODY;
    put_call(run, record, &parts, call);
    parts_seal(run, guest, record, &parts);
    return record;
}

static unsigned bit_of(enum record_kind kind) {
    return kind == RECORD_ASK ? FLAW_IN_ASK : FLAW_IN_TELL;
}

static struct record *routed(struct run *run, struct guest *guest, enum record_kind kind,
                             enum address_kind to, int name) {
    char method[32];
    snprintf(method, sizeof method, to == TO_METHOD ? "work/%d" : "any/%d", name);
    const struct flaw *flaw = compose_flaw(run, guest, bit_of(kind), run->profile.flaws);
    struct record *record = compose_call(
        run, guest, &(struct call){.kind = kind, .to = to, .name = name, .method = method, .flaw = flaw});
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
    const struct flaw *flaw = compose_flaw(run, guest, FLAW_IN_ASK, run->profile.flaws);
    struct record *record = compose_call(
        run, guest,
        &(struct call){.kind = RECORD_ASK, .to = TO_HUB, .name = NOBODY, .method = "hub/ping", .flaw = flaw});
    if (record)
        record->ping = true;
    return record;
}

void compose_question(struct run *run, struct guest *guest) {
    struct call call = {.kind = RECORD_ASK, .to = TO_HUB, .name = NOBODY, .method = "hub/agents"};
    bool who = random_chance(run->random, 500);
    if (who) {
        call.method = "initialize";
        call.extra =
            "\"processId\":null,\"agentId\":\"me\",\"capabilities\":{},\"governanceLevel\":\"autonomous\",";
    }
    struct record *record = compose_call(run, guest, &call);
    if (record)
        record->result = (struct hub_result){who ? "sessionId" : "agents", NULL};
}

struct record *compose_register(struct run *run, struct guest *guest) {
    char extra[512], events[256];
    events_list(run, guest, events, sizeof events);
    const char *form =
        random_chance(run->random, 300)
            ? "\"agentId\":\"agent-%d\",\"capabilities\":{\"governanceLevel\":\"%s\",\"methods\":["
            : "\"agentId\":\"agent-%d\",\"governanceLevel\":\"%s\",\"capabilities\":{\"methods\":[";
    int count = snprintf(extra, sizeof extra, form, guest->name, parts_level_names[guest->level]);
    const char *comma = "";
    for (int method = 0; method < METHODS_MAX; method++) {
        if (!(guest->methods >> method & 1))
            continue;
        count += snprintf(extra + count, sizeof extra - (size_t)count, "%s\"work/%d\"", comma, method);
        comma = ",";
    }
    if (guest->logs)
        count += snprintf(extra + count, sizeof extra - (size_t)count, "%s\"audit/log\"", comma);
    snprintf(extra + count, sizeof extra - (size_t)count, "],\"events\":%s},", events);
    struct call call = {
        .kind = RECORD_ASK, .to = TO_HUB, .name = guest->name, .method = "agent/register", .extra = extra};
    struct record *record = compose_call(run, guest, &call);
    if (record) {
        record->result = (struct hub_result){"registered", "true"};
        guest->registration = record_tag(run, record);
    }
    return record;
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

static void put_outcome(struct run *run, struct record *record, struct parts *parts) {
    struct draft *body = &parts->body;
    if (parts_put_flaw(parts, FLAW_OUTCOME, "", "") || parts_put_flaw(parts, FLAW_NO_OUTCOME, "", ""))
        return;
    bool error = random_chance(run->random, 200);
    parts->levels += error;
    draft_put(body,
              error ? "\"error\":{\"code\":-1,\"message\":\"no\",\"data\":{\"tag\":%d,"
                    : "\"result\":{\"tag\":%d,",
              record_tag(run, record));
    parts_put_filler(run, parts);
    draft_put(body, error ? "}}" : "}");
    parts_put_flaw(parts, FLAW_TOP, ",", "");
}

static void put_answer(struct run *run, struct record *record, struct parts *parts) {
    struct draft *body = &parts->body;
    unsigned start = random_below(run->random, 3);
    bool version = run->profile.strict || parts->flaw || random_chance(run->random, 500), comma = false;
    draft_put(body, "{");
    for (unsigned step = 0; step < 3; step++) {
        unsigned which = (start + step) % 3;
        if (which == 0 && !version)
            continue;
        draft_put(body, comma ? " ," : "");
        comma = true;
        if (which == 0)
            put_version(parts);
        else if (which == 1)
            parts_put_id(record, parts);
        else
            put_outcome(run, record, parts);
    }
    draft_put(body, "}");
    parts_put_flaw(parts, FLAW_BEHIND, "", "");
}

static struct record *answer(struct run *run, struct guest *guest, const char *id) {
    struct record *record = parts_record(run, guest, RECORD_ANSWER);
    if (!record)
        return NULL;
    struct parts parts = {.flaw = compose_flaw(run, guest, FLAW_IN_ANSWER, run->profile.flaws),
                          .judged = run->profile.strict,
                          .breaks = !run->profile.strict && !guest->gathering.open,
                          .levels = 3 + guest->gathering.open};
    put_answer_id(run, &parts, id);
    parts_put_fields(run, guest, record, &parts.fields);
    put_answer(run, record, &parts);
    parts_seal(run, guest, record, &parts);
    return record;
}

struct record *compose_answer(struct run *run, struct guest *guest, const struct duty *duty) {
    struct record *record = answer(run, guest, duty->id);
    if (!record)
        return NULL;
    record->answers = duty->tag;
    run->records[duty->tag]->broken_answer |= record->flawed;
    return record;
}

struct record *compose_spoof(struct run *run, struct guest *guest, uint64_t id) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)id);
    struct record *record = answer(run, guest, text);
    if (record)
        record->never = true;
    return record;
}

// --- What isn't right

#define BAD_LENGTH "{\"fault\":\"Content-Length must be 1 to 10 decimal digits\"}"

void compose_junk(struct run *run, struct guest *guest, bool framing) {
    static const struct {
        const char *text;
        struct due due;
    } blocks[] = {
        {"Content-Length: +3\r\n\r\n{} ", {.code = -32700, .data = BAD_LENGTH}},
        {"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
         {.code = -32700, .data = "{\"fault\":\"this field may occur once only\"}"}},
        {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", {.code = -32700, .data = "{\"offset\":3}"}},
        {"Content-Length: 2\n\n{}", {.code = -32700, .data = "{\"fault\":\"lines end in CR LF\"}"}},
        {"Content-Length: 0\r\n\r\n",
         {.code = -32700, .data = "{\"fault\":\"Content-Length must not be zero\"}"}},
        {"Content-Length: 99999999999\r\n\r\n{}", {.code = -32700, .data = BAD_LENGTH}},
        {"X-Y: z\r\n\r\n{}", {.code = -32700, .data = "{\"fault\":\"Content-Length is missing\"}"}},
        {"Content-Length: 4000000000\r\n\r\n{}",
         {.code = -32055, .data = "{\"fault\":\"the body is over the limit\"}"}},
    };
    static const struct {
        const char *text;
        struct due due;
    } bodies[] = {
        {"{", {.code = -32700, .data = "{}"}},
        {"{\"id\":null,\"method\":\"x\"}", {.code = -32600, .data = "{\"limit\":256}"}},
        {"[]", {.code = -32600, .data = "{\"limit\":1000}"}},
        {"{\"id\":1,\"id\":1,\"method\":\"x\"}", {.code = -32600, .data = "{\"key\":\"id\"}"}},
        {"\"text\"", {.code = -32600, .data = NO_MESSAGE}},
        {"{\"id\":{},\"method\":\"work/1\"}", {.code = -32600, .data = "{\"limit\":256}"}},
        {"{\"method\":\"x\xff\"}", {.code = -32600, .data = "{\"fault\":\"the body is not UTF-8\"}"}},
        {"{\"jsonrpc\":\"2.0\"}", {.code = -32600, .data = NO_MESSAGE}},
    };
    uint32_t which = random_below(run->random, 8);
    if (guest->lines && (framing || which & 1)) {
        liners_junk(run, guest, framing);
        return;
    }
    if (guest->caller.on && framing) {
        callers_junk(run, guest);
        return;
    }
    if (guest->socket.on && (framing || which == 6)) {
        sockets_junk(run, guest);
        return;
    }
    if (framing) {
        struct due due = blocks[which].due;
        due.last = true;
        queue_bytes_add(&guest->out, blocks[which].text, strlen(blocks[which].text));
        dues_add(&guest->dues, due);
        guest->breaks = guest->doomed = guest->leaving = true;
        return;
    }
    char text[64];
    size_t bytes = strlen(bodies[which].text);
    int count = snprintf(text, sizeof text, "Content-Length: %zu\r\n\r\n", bytes);
    dues_add(&guest->dues, bodies[which].due);
    if (guest->caller.on) {
        callers_put(run, guest, (struct bit){0}, bodies[which].text, bytes);
        guest->caller.due[guest->caller.count - 1].first = run->record_count;
        return;
    }
    if (guest->lines || guest->socket.on) {
        (guest->lines ? liners_put : sockets_put)(run, guest, bodies[which].text, bytes);
        return;
    }
    queue_bytes_add(&guest->out, text, (size_t)count);
    queue_bytes_add(&guest->out, bodies[which].text, bytes);
}
