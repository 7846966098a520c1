// Progress. Requests carry tokens of their source's choice, and their targets report under the tokens that
// they were given. The reports reach the source, under its own token, as long as the request lasts, and from
// its target alone.
#include <stdio.h>
#include <string.h>

#include "tests/sim/parts.h"

static const char *const paths[PROGRESS_TOKENS] = {"params.workDoneToken", "params.partialResultToken",
                                                   "params._meta.progressToken"};

// Strings and numbers are tokens.
static bool is_token(struct bit value) {
    return value.bytes && strchr("\"-0123456789", value.bytes[0]);
}

// --- Tokens in requests

static void put_token(struct run *run, struct draft *out) {
    static const char *const values[] = {
        "7",
        "\"t\"",
        "\"\\u0074\\\"\"",
        "-1.5e2",
        "\"\xc3\xa9, a token that is longer than what the hub puts in its place\"",
        "\"\"",
        "null",
        "true",
        "{\"progressToken\":1}",
        "[\"t\"]"};
    draft_put(out, "%s", values[random_below(run->random, 10)]);
}

void reports_put_tokens(struct run *run, struct parts *parts) {
    struct draft *body = &parts->body;
    enum flaw_place place = parts->flaw ? parts->flaw->place : FLAW_FIELD;
    if (place == FLAW_PARAMS || !random_chance(run->random, run->profile.tokens))
        return;
    unsigned bits = 1 + random_below(run->random, (1 << PROGRESS_TOKENS) - 1);
    static const char *const befores[PROGRESS_TOKENS] = {
        "\"workDoneToken\":", "\"partialResultToken\":", "\"_meta\":{\"progressToken\" : "};
    for (unsigned which = 0; which < PROGRESS_TOKENS; which++) {
        if (!(bits >> which & 1))
            continue;
        draft_put(body, "%s", befores[which]);
        put_token(run, body);
        draft_put(body, which == PROGRESS_TOKENS - 1 ? "}," : ",");
    }
}

// --- What arrives

// A stretch of a record's body in whose place something else arrives.
struct hole {
    size_t at, bytes;
    struct bit value; // what; nothing: a string
};

struct holes {
    struct hole list[1 + PROGRESS_TOKENS];
    unsigned count;
};

static void add_hole(struct holes *holes, struct hole hole) {
    unsigned at = holes->count++;
    for (; at > 0 && holes->list[at - 1].at > hole.at; at--)
        holes->list[at] = holes->list[at - 1];
    holes->list[at] = hole;
}

static bool has_tokens(const struct record *record) {
    return record->kind == RECORD_ASK && (record->to == TO_NAME || record->to == TO_METHOD);
}

static void find_holes(const struct record *record, struct bit id, struct holes *holes) {
    add_hole(holes, (struct hole){record->id_at, record->id_bytes, id});
    for (unsigned which = 0; has_tokens(record) && which < PROGRESS_TOKENS; which++) {
        struct bit token = naive_find(record->body, paths[which]);
        if (is_token(token))
            add_hole(holes, (struct hole){(size_t)(token.bytes - record->body.bytes), token.count, {0}});
    }
}

// Takes `count` bytes off the front; what is left is no shorter than nothing.
static struct bit take(struct bit *rest, size_t count) {
    struct bit front = {rest->bytes, count < rest->count ? count : rest->count};
    rest->bytes += front.count;
    rest->count -= front.count;
    return front;
}

bool reports_same(const struct record *record, const struct naive_frame *frame, struct bit id) {
    struct holes holes = {.count = 0};
    struct bit sent = record->body, body = frame->body;
    find_holes(record, id, &holes);
    for (unsigned index = 0; index < holes.count; index++) {
        const struct hole *hole = &holes.list[index];
        struct bit before = take(&sent, hole->at - (size_t)(sent.bytes - record->body.bytes));
        take(&sent, hole->bytes);
        if (!naive_came(frame, take(&body, before.count), before))
            return false;
        bool given = hole->value.bytes || hole->at == record->id_at;
        struct bit value = take(&body, given ? hole->value.count : naive_value(body));
        if (given ? !bit_equal(value, hole->value) : !value.count || value.bytes[0] != '"')
            return false;
    }
    return naive_came(frame, body, sent);
}

void reports_note(struct record *record, const struct naive_frame *frame) {
    for (unsigned which = 0; which < PROGRESS_TOKENS; which++) {
        struct bit token = naive_find(frame->body, paths[which]);
        if (is_token(naive_find(record->body, paths[which])))
            snprintf(record->given[which], sizeof record->given[which], "%.*s", (int)token.count,
                     (const char *)token.bytes);
    }
}

struct bit reports_token(const struct run *run, const struct record *report) {
    const struct record *request = run->records[report->name];
    return naive_find(request->body, paths[report->token]);
}

// --- Reporting

// Chooses one of the tokens that the request came with; any token when the request has none.
static unsigned choose_token(struct run *run, const struct record *request) {
    unsigned first = random_below(run->random, PROGRESS_TOKENS);
    for (unsigned step = 0; step < PROGRESS_TOKENS; step++)
        if (*request->given[(first + step) % PROGRESS_TOKENS])
            return (first + step) % PROGRESS_TOKENS;
    return first;
}

// A report by this guest on a request, by one of its tokens; NULL when it has none. Sent as a request it is
// none: it goes where other requests of that method would, which nobody offers.
static struct record *report(struct run *run, struct guest *guest, int tag, bool ask) {
    const struct record *request = run->records[tag];
    unsigned which = choose_token(run, request);
    bool mcp = random_chance(run->random, 300);
    ask &= !guest->attaches;
    const char *key = mcp ? "progressToken" : "token";
    if (!*request->given[which])
        return NULL;
    char extra[96], path[32];
    snprintf(extra, sizeof extra, "\"%s\":%s,", key, request->given[which]);
    snprintf(path, sizeof path, "params.%s", key);
    struct call call = {.kind = ask ? RECORD_ASK : RECORD_TELL,
                        .to = ask ? TO_NOBODY : TO_ASKER,
                        .name = tag,
                        .targetless = true,
                        .unroutable = -32601,
                        .method = mcp ? "notifications/progress" : "$/progress",
                        .extra = extra,
                        .flaw =
                            compose_flaw(run, guest, ask ? FLAW_IN_ASK : FLAW_IN_TELL, run->profile.flaws)};
    struct record *record = compose_call(run, guest, &call);
    if (!record || ask)
        return record;
    record->token = which;
    record->expect = run->guests[request->source]->caller.on ? NOBODY : request->source; // there is no place
    struct bit token = naive_find(record->body, path);
    if (token.bytes) { // else there is a flaw before it
        record->id_at = (size_t)(token.bytes - record->body.bytes);
        record->id_bytes = token.count;
    }
    totals.reports++;
    return record;
}

bool reports_compose(struct run *run, struct guest *guest, int tag) {
    return report(run, guest, tag, random_chance(run->random, 100)) != NULL;
}

void reports_spoof(struct run *run, struct guest *guest, int tag) {
    struct record *record = report(run, guest, tag, false);
    if (record)
        record->never = true;
}
