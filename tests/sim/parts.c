#include "tests/sim/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPACE_BYTES_MAX = 16, // more than parts_put_space puts, on both sides of a member
    HEAD_BYTES_MAX = 160, // what may stand before a message of WebSocket, to the hub
};

#define NOT_SERVED "{\"fault\":\"messages of this kind are not served\"}"

const char *const parts_level_names[] = {"autonomous", "supervised", "human-in-the-loop", "manual"};

// --- Text

void parts_put_space(struct run *run, struct draft *draft) {
    static const char *const spaces[] = {"", "", "", " ", "\n", "\t ", " \r\n  "};
    draft_put(draft, "%s", spaces[random_below(run->random, 7)]);
}

void parts_next_id(struct run *run, struct guest *guest, char *id) {
    bool twin = guest->ids && !guest->caller.on && random_chance(run->random, 50);
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

bool parts_put_flaw(struct parts *parts, enum flaw_place place, const char *before, const char *behind) {
    struct draft *body = &parts->body;
    if (!parts->flaw || parts->flaw->place != place)
        return false;
    draft_put(body, "%s", before);
    parts->flaw_at = body->count;
    draft_put(body, "%s", parts->flaw->text);
    parts->flaw_end = body->count;
    draft_put(body, "%s", behind);
    return true;
}

// Arrays in arrays, down to the deepest level that is allowed, or one deeper.
static void put_nest(struct parts *parts) {
    unsigned levels = FLAW_LEVELS_MAX - parts->levels + (parts->flaw->code != 0);
    draft_put(&parts->body, ",");
    for (unsigned level = 0; level < levels; level++)
        draft_add(&parts->body, "[", 1);
    for (unsigned level = 0; level < levels; level++)
        draft_add(&parts->body, "]", 1);
}

static void put_odd_value(struct parts *parts) {
    if (!parts_put_flaw(parts, FLAW_DEEP, ",", "") && parts->flaw && parts->flaw->place == FLAW_NEST)
        put_nest(parts);
}

void parts_put_filler(struct run *run, struct parts *parts) {
    static const char *const values[] = {
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
    static const char broken[] = "\"a string\rin several\nlines\r\n{\\\"id\\\":1}\n\"";
    struct draft *draft = &parts->body;
    size_t bytes = filler_bytes(run), until = draft->count + bytes;
    size_t odd_from = draft->count + (parts->flaw ? random_below(run->random, (uint32_t)bytes + 1) : 0);
    draft_put(draft, "\"filler\":[0");
    for (bool odd = true; odd || draft->count < until;) {
        if (draft->count < until) {
            draft_put(draft, ",%s",
                      parts->breaks && random_chance(run->random, 100)
                          ? broken
                          : values[random_below(run->random, 10)]);
            parts_put_space(run, draft);
        }
        if (odd && draft->count >= odd_from) {
            put_odd_value(parts);
            odd = false;
        }
    }
    draft_put(draft, "]");
}

static void put_fields_of(struct run *run, struct record *record, struct draft *draft, bool typed) {
    if (typed && random_chance(run->random, 250))
        draft_put(draft, "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n");
    if (random_chance(run->random, 150))
        draft_put(draft, "HugAI-Version: 2.%u.0\r\n", random_below(run->random, 3));
    if (random_chance(run->random, 250))
        draft_put(draft, "Request-Id: r-%d\r\n", record_tag(run, record));
    if (random_chance(run->random, 150))
        draft_put(draft, "Custom-Anything:\t a  b%s\r\n", random_chance(run->random, 500) ? " \t" : "");
    if (record->kind == RECORD_ANSWER)
        return;
    if (random_chance(run->random, 100)) {
        record->governance = (int)random_below(run->random, 4);
        draft_put(draft, "Governance-Level: %s\r\n", parts_level_names[record->governance]);
    }
    if (record->kind == RECORD_ASK && random_chance(run->random, run->profile.silent ? 300 : 0)) {
        record->short_timeout = true;
        draft_put(draft, "Custom-Timeout-Ms: %u\r\n", 1 + random_below(run->random, 500));
    }
}

void parts_put_fields(struct run *run, const struct guest *guest, struct record *record,
                      struct draft *draft) {
    const struct gathering *gathering = &guest->gathering;
    if (guest->lines)
        return;
    if (guest->socket.on) {
        draft_put(draft, "%s", guest->socket.fields);
        record->governance = record->kind == RECORD_ANSWER ? 0 : guest->socket.governance;
        record->short_timeout = record->kind == RECORD_ASK && guest->socket.short_timeout;
        return;
    }
    if (!gathering->open || gathering->count == 0) {
        put_fields_of(run, record, draft, !guest->caller.on);
        return;
    }
    draft_add(draft, gathering->fields.bytes, gathering->fields.count);
    record->governance = record->kind == RECORD_ANSWER ? 0 : gathering->governance;
    record->short_timeout = record->kind == RECORD_ASK && gathering->short_timeout;
}

// --- Batches

void compose_batch_begin(const struct run *run, struct guest *guest) {
    guest->gathering.open = true;
    guest->gathering.first = run->record_count;
}

// The error for a flawed message, which stands so far behind the frame's start; an answer has none, but where
// it makes a batch void.
static struct due due_for(const struct parts *parts, size_t at) {
    struct due due = {.code = parts->flaw->code, .data = parts->flaw->data};
    if (due.code == -32700) {
        due.offset_least = at + parts->flaw_at;
        due.offset_most = at + parts->flaw_end + SPACE_BYTES_MAX;
    }
    return due;
}

static void gather_due(struct gathering *gathering, const struct record *record, const struct parts *parts) {
    struct due due = due_for(parts, gathering->members.count);
    if (parts->flaw->place == FLAW_BEHIND)
        due.offset_most = 0; // a bracket too many may be found anywhere from the array's begin on
    if (parts->flaw->voids) {
        gathering->is_void = true;
        gathering->void_due = due;
    } else if (record->endless) {
        due.batched = true;
        dues_add(&gathering->dues, due);
    }
}

static void gather(struct run *run, struct guest *guest, const struct record *record,
                   const struct parts *parts) {
    struct gathering *gathering = &guest->gathering;
    if (gathering->count++ == 0) {
        draft_add(&gathering->fields, record->fields.bytes, record->fields.count);
        gathering->governance = record->governance;
        gathering->short_timeout = record->short_timeout;
    } else {
        draft_put(&gathering->members, ",");
    }
    parts_put_space(run, &gathering->members);
    if (record->flawed)
        gather_due(gathering, record, parts);
    draft_add(&gathering->members, record->body.bytes, record->body.count);
    parts_put_space(run, &gathering->members);
    if (run->profile.rude && random_chance(run->random, 100)) {
        draft_put(&gathering->members, ",[7]");
        dues_add(&gathering->dues, (struct due){.code = -32600, .data = NOT_SERVED, .batched = true});
    }
}

// Nothing of the batch is routed.
static void void_records(struct run *run, const struct guest *guest) {
    for (unsigned tag = guest->gathering.first; tag < run->record_count; tag++) {
        struct record *record = run->records[tag];
        if (record->source != guest->index)
            continue;
        record->never = record->refused = record->voided = true;
        record->endless = record->kind == RECORD_ASK;
        if (record->answers != NOBODY)
            run->records[record->answers]->ignored = true;
    }
}

// The first member begins `head_bytes` behind the begin of what was sent.
static void settle_dues(struct run *run, struct guest *guest, size_t head_bytes) {
    struct gathering *gathering = &guest->gathering;
    if (!gathering->is_void) {
        for (unsigned index = 0; index < gathering->dues.count; index++)
            dues_add(&guest->dues, gathering->dues.list[index]);
        return;
    }
    struct due due = gathering->void_due;
    if (guest->caller.on)
        due.offset_most = 0;
    if (due.offset_most) {
        due.offset_least += head_bytes;
        due.offset_most += head_bytes + (guest->socket.on ? HEAD_BYTES_MAX : 0);
    }
    dues_add(&guest->dues, due);
    void_records(run, guest);
}

static size_t queue_batch(struct guest *guest) {
    const struct gathering *gathering = &guest->gathering;
    char line[64];
    int bytes = snprintf(line, sizeof line, "Content-Length: %zu\r\n", gathering->members.count + 2);
    queue_bytes_add(&guest->out, line, (size_t)bytes);
    queue_bytes_add(&guest->out, gathering->fields.bytes, gathering->fields.count);
    queue_bytes_add(&guest->out, "\r\n[", 3);
    queue_bytes_add(&guest->out, gathering->members.bytes, gathering->members.count);
    queue_bytes_add(&guest->out, "]", 1);
    return (size_t)bytes + gathering->fields.count + 3;
}

static bool is_bare(const struct guest *guest) {
    return guest->lines || guest->socket.on || guest->caller.on;
}

// Without a header block; returns how far the first member may be from the begin.
static size_t queue_batch_bare(struct run *run, struct guest *guest) {
    struct draft body = {0};
    draft_put(&body, "[");
    draft_add(&body, guest->gathering.members.bytes, guest->gathering.members.count);
    draft_put(&body, "]");
    struct bit fields = {(uint8_t *)guest->gathering.fields.bytes, guest->gathering.fields.count};
    if (guest->lines)
        liners_fit(&body);
    if (guest->caller.on)
        callers_put(run, guest, fields, body.bytes, body.count);
    else
        (guest->lines ? liners_put : sockets_put)(run, guest, body.bytes, body.count);
    draft_deinit(&body);
    return 1;
}

void compose_batch_end(struct run *run, struct guest *guest) {
    struct gathering *gathering = &guest->gathering;
    if (gathering->count)
        settle_dues(run, guest, is_bare(guest) ? queue_batch_bare(run, guest) : queue_batch(guest));
    draft_deinit(&gathering->fields);
    draft_deinit(&gathering->members);
    *gathering = (struct gathering){0};
}

// Writes the frame to the guest's queue, its length line first or last and more or less canonical.
static void queue_frame(struct run *run, struct guest *guest, const struct record *record,
                        const struct parts *parts) {
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
    if (record->endless)
        dues_add(&guest->dues, due_for(parts, (size_t)bytes + record->fields.count + 2));
}

static void queue_bare(struct run *run, struct guest *guest, const struct record *record,
                       const struct parts *parts) {
    if (guest->caller.on)
        callers_put(run, guest, record->fields, record->body.bytes, record->body.count);
    else
        (guest->lines ? liners_put : sockets_put)(run, guest, record->body.bytes, record->body.count);
    if (!record->endless)
        return;
    struct due due = due_for(parts, 0);
    if (guest->caller.on)
        due.offset_most = 0;
    if (guest->socket.on && due.offset_most)
        due.offset_most += HEAD_BYTES_MAX;
    dues_add(&guest->dues, due);
}

// --- Records

struct record *parts_record(struct run *run, struct guest *guest, enum record_kind kind) {
    if (run->record_count == RECORDS_MAX)
        return NULL;
    struct record *record = calloc(1, sizeof *record);
    if (!record)
        abort();
    record->kind = kind;
    record->source = guest->index;
    record->expect = record->delivered_to = record->answers = record->cancels = record->able = NOBODY;
    record->reached = -1;
    record->composed = witness_now(run);
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

// The hub must not pass it on.
static void condemn(struct record *record, const struct flaw *flaw) {
    record->flawed = record->never = record->refused = true;
    totals.flawed++;
    if (record->kind == RECORD_ANSWER)
        return;
    record->endless = !flaw_has_id(flaw->code);
    record->refusal = record->endless ? 0 : flaw->code;
    snprintf(record->data, sizeof record->data, "%s", flaw->data);
}

void parts_seal(struct run *run, struct guest *guest, struct record *record, struct parts *parts) {
    if (guest->lines)
        liners_fit(&parts->body);
    size_t fields = parts->fields.count, body = parts->body.count;
    record->memory = malloc(fields + body + 1);
    if (!record->memory)
        abort();
    if (fields)
        memcpy(record->memory, parts->fields.bytes, fields);
    memcpy(record->memory + fields, parts->body.bytes, body);
    record->fields = (struct bit){record->memory, fields};
    record->body = (struct bit){record->memory + fields, body};
    draft_deinit(&parts->fields);
    draft_deinit(&parts->body);
    record->batched = guest->gathering.open;
    if (flaw_counts(parts->flaw, parts->judged))
        condemn(record, parts->flaw);
    if (record->batched)
        gather(run, guest, record, parts);
    else if (is_bare(guest))
        queue_bare(run, guest, record, parts);
    else
        queue_frame(run, guest, record, parts);
}

void parts_put_id(struct record *record, struct parts *parts) {
    draft_put(&parts->body, "\"id\":");
    record->id_at = parts->body.count;
    record->id_bytes = strlen(parts->id);
    draft_add(&parts->body, parts->id, record->id_bytes);
}
