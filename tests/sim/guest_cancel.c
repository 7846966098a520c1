// Cancels: guests send them in every form, as requests, as notifications, in batches. A target is told by a
// notification without an id, once, of a request that it has got, and for a reason.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/parts.h"

enum { OWN_BYTES_MAX = 128, FORMS = 3 };

// How a cancel may be said: by the protocol of language servers, by MCP, and by the Agent Client Protocol.
static const struct form {
    const char *method, *member;
} forms[FORMS] = {
    {"$/cancelRequest", "id"}, {"notifications/cancelled", "requestId"}, {"$/cancel_request", "requestId"}};

static struct bit id_of(const struct record *record) {
    return (struct bit){record->body.bytes + record->id_at, record->id_bytes};
}

// The id in some spelling of the same value.
static void put_named(struct run *run, struct draft *extra, struct bit id) {
    bool plain = bit_number(id) != UINT64_MAX && id.count < 16;
    static const char *const behind[] = {"", "", "", "", ".0", "e0", "0e-1", ".00E+0"};
    draft_add(extra, id.bytes, id.count);
    draft_put(extra, "%s,", plain ? behind[random_below(run->random, 8)] : "");
}

void cancelling_compose(struct run *run, struct guest *guest, const struct record *record) {
    struct draft extra = {0};
    const struct form *form = &forms[random_below(run->random, FORMS)];
    bool ask = random_chance(run->random, 400);
    draft_put(&extra, "\"%s\":", form->member);
    put_named(run, &extra, id_of(record));
    draft_add(&extra, "", 1);
    struct call call = {.kind = ask ? RECORD_ASK : RECORD_TELL,
                        .to = TO_HUB,
                        .name = NOBODY,
                        .method = form->method,
                        .extra = extra.bytes,
                        .flaw =
                            compose_flaw(run, guest, ask ? FLAW_IN_ASK : FLAW_IN_TELL, run->profile.flaws)};
    struct record *cancel = compose_call(run, guest, &call);
    draft_deinit(&extra);
    guest->cancels = true;
    if (cancel)
        cancel->cancels = record_tag(run, record);
}

// --- What arrives

static struct record *request_of(const struct run *run, const struct guest *guest, uint64_t hub_id) {
    for (unsigned tag = 0; tag < run->record_count; tag++) {
        struct record *record = run->records[tag];
        if (record->kind == RECORD_ASK && record->delivered_to == guest->index && record->hub_id == hub_id)
            return record;
    }
    return NULL;
}

// The source wants it, has gone, or has been told that it took too long.
static void check_reason(const struct run *run, const struct record *request,
                         const struct naive_frame *frame) {
    const struct guest *source = run->guests[request->source];
    bool reason = source->cancels || source->gone || source->leaving || source->doomed || request->ended ||
                  request->short_timeout || request->ignored || run->profile.lossy || run->late ||
                  run->draining;
    if (!reason || request->cancelled)
        oracle_fail(run, record_tag(run, request), frame, "a cancel came that nobody wanted, or twice");
}

// The hub's own words.
static void check_own(const struct run *run, const struct naive_frame *frame, uint64_t hub_id) {
    char text[OWN_BYTES_MAX];
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":%llu}}",
             (unsigned long long)hub_id);
    if (frame->fields.count || !bit_is(frame->body, text))
        oracle_fail(run, NOBODY, frame, "the hub's own cancel has the wrong form");
}

// Returns whether a cancel is as its source sent it, but for its own id, which is cut out, and the one that
// it names.
static bool is_same(const struct record *cancel, const struct naive_frame *frame, const char *path,
                    struct bit hub_id) {
    struct bit named = naive_find(cancel->body, path);
    if (!named.bytes || !splices_fields_same(cancel, frame))
        return false;
    struct splice id = splices_id_member(cancel);
    struct splice name = {(size_t)(named.bytes - cancel->body.bytes), named.count, hub_id};
    bool first = id.at < name.at;
    struct splice both[] = {first ? id : name, first ? name : id};
    return id.bytes ? splices_same(cancel->body, both, 2, frame)
                    : splices_same(cancel->body, &name, 1, frame);
}

// The form of a cancel; NULL: it is none.
static const struct form *form_of(struct bit body) {
    struct bit method = naive_find(body, "method");
    char quoted[32];
    for (unsigned at = 0; at < FORMS; at++) {
        snprintf(quoted, sizeof quoted, "\"%s\"", forms[at].method);
        if (bit_is(method, quoted))
            return &forms[at];
    }
    return NULL;
}

bool cancelling_is(struct bit body) {
    return form_of(body) != NULL;
}

void cancelling_check(struct run *run, struct guest *guest, const struct naive_frame *frame) {
    const struct form *form = form_of(frame->body);
    char path[32];
    snprintf(path, sizeof path, "params.%s", form->member);
    struct bit named = naive_find(frame->body, path);
    struct record *request = request_of(run, guest, bit_number(named));
    if (!request)
        oracle_fail(run, NOBODY, frame, "a cancel came for what was never asked here");
    check_reason(run, request, frame);
    request->cancelled = true;
    uint64_t tag = bit_number(naive_find(frame->body, "params.tag"));
    if (tag == UINT64_MAX) {
        check_own(run, frame, bit_number(named));
        return;
    }
    struct record *cancel = tag < run->record_count ? run->records[tag] : NULL;
    if (!cancel || cancel->cancels == NOBODY || cancel->never || cancel->delivered++)
        oracle_fail(run, NOBODY, frame, "a cancel came that nobody sent, or twice");
    if (cancel->source != request->source || !bit_equal(id_of(run->records[cancel->cancels]), id_of(request)))
        oracle_fail(run, (int)tag, frame, "a cancel came for another request than it named");
    if (!is_same(cancel, frame, path, named))
        oracle_fail(run, (int)tag, frame, "a cancel was changed on its way, or came with an id");
    totals.cancels++;
}
