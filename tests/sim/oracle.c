// Effects that each message must have had, and those that it must not. The oracle compares whole frames with those that
// were sent, byte by byte but for the id. By its books each request ends once, no message comes twice, and none
// overtakes another.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/flood.h"

struct totals totals;

void oracle_fail(const struct run *run, int tag, const struct naive_frame *frame, const char *what) {
    fprintf(stderr, "oracle: %s\n", what);
    if (tag != NOBODY) {
        const struct record *record = run->records[tag];
        fprintf(stderr,
                "  message %d: kind %d from guest %d to %d/%d, expects %d, ended %u, delivered %u to %d\n",
                tag, record->kind, record->source, record->to, record->name, record->expect, record->ended,
                record->delivered, record->delivered_to);
        fprintf(stderr, "  sent: %.*s | %.*s\n", (int)record->fields.count,
                (const char *)record->fields.bytes,
                (int)(record->body.count < 400 ? record->body.count : 400), (const char *)record->body.bytes);
    }
    if (frame)
        fprintf(stderr, "  came: %.*s | %.*s\n", (int)frame->fields.count, (const char *)frame->fields.bytes,
                (int)(frame->body.count < 400 ? frame->body.count : 400), (const char *)frame->body.bytes);
    abort();
}

static struct record *record_at(struct run *run, const struct naive_frame *frame, const char *path,
                                int *tag) {
    uint64_t number = bit_number(naive_find(frame->body, path));
    *tag = NOBODY;
    if (number >= run->record_count)
        return NULL;
    *tag = (int)number;
    return run->records[number];
}

// An answer comes in an array if its request went in one.
static void check_form(const struct run *run, const struct record *request, const struct naive_frame *frame) {
    if (request->batched != run->in_array)
        oracle_fail(run, record_tag(run, request), frame,
                    "an answer came in an array that wasn't due there, or the other way round");
}

static bool same_but_id(const struct run *run, const struct record *record, const struct naive_frame *frame,
                        struct bit id) {
    bool fields_same = run->in_array ? frame->fields.count == 0 : splices_fields_same(record, frame);
    return fields_same && reports_same(record, frame, id);
}

static bool meant_for(const struct run *run, const struct guest *guest, const struct record *record) {
    if (record->attaches)
        return guest->name == record->to_attach;
    if (record->to == TO_ASKER)
        return guest->index == run->records[record->name]->source;
    if (record->to == TO_NAME)
        return guest->name == record->name;
    return record->to == TO_METHOD && guest->methods >> record->name & 1 && guest->index != record->source;
}

// Returns whether somebody else may have taken the guest's name over, which it may not have read yet.
static bool contended(const struct run *run, const struct guest *guest) {
    for (unsigned index = 0; index < run->guest_count; index++)
        if ((int)index != guest->index && run->guests[index]->name == guest->name)
            return true;
    return false;
}

// Returns whether nobody was known to be there, or somebody whom it may have been routed to has left.
static bool somebody_left(const struct run *run, const struct record *record) {
    for (unsigned index = 0; index < run->guest_count; index++) {
        const struct guest *guest = run->guests[index];
        if (meant_for(run, guest, record) && (guest->leaving || guest->gone || contended(run, guest)))
            return true;
    }
    return record->expect == NOBODY;
}

// --- Requests and notifications arrive

void oracle_order(struct run *run, struct guest *guest, const struct record *record, int tag,
                  const struct naive_frame *frame) {
    int *last = &guest->last_tag[record->source][record->lane];
    if (tag < *last)
        oracle_fail(run, tag, frame, "a message was overtaken by a later one of its source");
    *last = tag;
}

// A report comes as long as its request lasts. Returns the token that it must bear.
static struct bit check_report(const struct run *run, const struct record *report, int tag,
                               const struct naive_frame *frame) {
    const struct record *request = run->records[report->name];
    if (request->ended && !request->guessed)
        oracle_fail(run, tag, frame, "a report came on a request that had ended");
    return reports_token(run, report);
}

// A receiver of an id may answer it, and then that request ends. So the request must have been sent to an agent, and
// not to the hub, to subscribers or to the source. No other request may have had its id.
static void check_asked(struct run *run, const struct naive_frame *frame) {
    int tag;
    struct bit id = naive_find(frame->body, "id");
    const struct record *record = record_at(run, frame, "params.tag", &tag);
    if (!id.bytes)
        return;
    if (!record || record->kind != RECORD_ASK || (record->to != TO_NAME && record->to != TO_METHOD))
        oracle_fail(run, tag, frame, "a notification came with an id");
    for (unsigned other = 0; other < run->record_count; other++)
        if (run->records[other]->hub_id == bit_number(id))
            oracle_fail(run, tag, frame, "two requests came with one id");
}

// A message that the journal keeps, told to an agent that lists its method.
static void check_copy(struct run *run, struct guest *guest, struct record *record, int tag,
                       const struct naive_frame *frame) {
    if (record->never || record->delivered++ || !guest->logs || record->governance > guest->level ||
        guest->index == record->source)
        oracle_fail(run, tag, frame,
                    "an entry of the journal was told to somebody who must not get it, or twice");
    if (!splices_told(record, frame))
        oracle_fail(run, tag, frame, "an entry of the journal was changed on its way");
    oracle_order(run, guest, record, tag, frame);
    totals.delivered++;
}

static bool check_call(struct run *run, struct guest *guest, const struct naive_frame *frame) {
    int tag;
    struct record *record = record_at(run, frame, "params.tag", &tag);
    struct bit id = naive_find(frame->body, "id");
    if (!record || record->kind == RECORD_ANSWER)
        oracle_fail(run, tag, frame, "a call came that nobody sent");
    if (record->to == TO_TOPIC) {
        events_check(run, guest, record, tag, frame);
        return false;
    }
    if (record->copied) {
        check_copy(run, guest, record, tag, frame);
        return false;
    }
    if ((record->kind == RECORD_ASK) != (id.bytes != NULL))
        oracle_fail(run, tag, frame, "a call came with an id too many or too few");
    if (record->never || record->delivered++)
        oracle_fail(run, tag, frame, "a call was delivered that must not be, or twice");
    if (!meant_for(run, guest, record))
        oracle_fail(run, tag, frame, "a call came to somebody else");
    if (record->to == TO_ASKER)
        id = check_report(run, record, tag, frame);
    else if (record->governance > guest->level)
        oracle_fail(run, tag, frame, "a call passed a governance level that forbids it");
    if (!same_but_id(run, record, frame, id))
        oracle_fail(run, tag, frame, "a call was changed on its way");
    oracle_order(run, guest, record, tag, frame);
    record->delivered_to = guest->index;
    totals.delivered++;
    if (record->kind == RECORD_TELL)
        return false;
    uint64_t hub_id = bit_number(id);
    if (!hub_id || hub_id >= UINT64_C(1) << 53)
        oracle_fail(run, tag, frame, "a hub id isn't a whole number below 2^53");
    record->hub_id = hub_id;
    reports_note(record, frame);
    run->seen[run->seen_count % 64].id = hub_id;
    run->seen[run->seen_count++ % 64].guest = guest->index;
    if (guest->duty_count == DUTIES_MAX) {
        record->ignored = true;
        return false;
    }
    struct duty *duty = &guest->duties[guest->duty_count++];
    duty->tag = tag;
    snprintf(duty->id, sizeof duty->id, "%llu", (unsigned long long)hub_id);
    return true;
}

// --- Answers arrive

static struct bit id_of(const struct record *record) {
    return (struct bit){record->body.bytes + record->id_at, record->id_bytes};
}

// Another request of the same source with the same id that has not ended.
static struct record *twin_of(struct run *run, const struct record *record) {
    for (unsigned tag = 0; tag < run->record_count; tag++) {
        struct record *other = run->records[tag];
        if (other != record && !other->endless && other->kind == RECORD_ASK &&
            other->source == record->source && !other->ended && other->batched == record->batched &&
            bit_equal(id_of(other), id_of(record)))
            return other;
    }
    return NULL;
}

void oracle_end_once(struct run *run, struct record *record, const struct naive_frame *frame) {
    struct record *twin = record->guessed ? twin_of(run, record) : NULL;
    if (twin) { // the error was the twin's
        twin->ended++;
        twin->guessed = true;
        record->guessed = false; // unless this end is a guess too
        return;
    }
    if (record->ended++)
        oracle_fail(run, record_tag(run, record), frame, "a request ended twice");
}

static void check_answer(struct run *run, struct guest *guest, struct record *answer, int tag,
                         const struct naive_frame *frame) {
    if (answer->never || answer->answers == NOBODY)
        oracle_fail(run, tag, frame, "an answer was delivered that must not be");
    struct record *request = run->records[answer->answers];
    if (request->source != guest->index)
        oracle_fail(run, answer->answers, frame, "an answer came to somebody who didn't ask");
    check_form(run, request, frame);
    if (answer->delivered++)
        oracle_fail(run, tag, frame, "an answer came twice");
    if (!same_but_id(run, answer, frame, id_of(request)))
        oracle_fail(run, tag, frame, "an answer was changed on its way");
    oracle_end_once(run, request, frame);
    totals.answered++;
}

static void check_pong(struct run *run, struct guest *guest, struct record *ping, int tag,
                       const struct naive_frame *frame) {
    if (ping->source != guest->index ||
        !naive_came(frame, naive_find(frame->body, "result"), naive_find(ping->body, "params")) ||
        !bit_equal(naive_find(frame->body, "id"), id_of(ping)))
        oracle_fail(run, tag, frame, "a ping was answered wrongly");
    check_form(run, ping, frame);
    oracle_end_once(run, ping, frame);
}

// --- The hub answers

static bool somebody_forbids(const struct run *run, const struct record *record) {
    for (unsigned index = 0; index < run->guest_count; index++)
        if (meant_for(run, run->guests[index], record) && run->guests[index]->level < record->governance)
            return true;
    return false;
}

// Returns whether a change of names may have been refused, or overtaken by its guest's leaving.
static bool unsure(const struct run *run, const struct record *record) {
    const struct guest *source = run->guests[record->source];
    return run->profile.lossy || run->profile.tight || run->draining || source->leaving || source->doomed;
}

// Returns whether one of the group surely could have taken it.
static bool somebody_able(const struct run *run, const struct record *record) {
    const struct guest *able = record->able == NOBODY ? NULL : run->guests[record->able];
    return able && !able->leaving && !able->gone && !able->doomed && !able->ended_by_hub &&
           !contended(run, able);
}

static bool code_allowed(const struct run *run, const struct record *record, int64_t code,
                         const struct naive_frame *frame) {
    bool leaves = record->trial && run->guests[record->source]->leaving;
    if (code == -32052 && (leaves || (record->refusal == -32601 && run->draining)))
        return true;
    if (record->refusal)
        return (code == record->refusal && dues_data_fits(frame, record->data)) ||
               (code == -32052 && run->draining); // it was read too late to be judged
    const struct guest *source = run->guests[record->source];
    bool loose = run->profile.lossy || run->draining || source->doomed;
    if (record->to == TO_TOPIC && code != -32055)
        return code == -32052 && loose;
    if (code == -32010 && record->attaches)
        return loose || somebody_left(run, record);
    if (code == -32010 && record->to == TO_HUB)
        return record->result.path && (record->absent || unsure(run, record));
    switch (code) {
    case -32001:
        return record->own_source && (source->leaving || contended(run, source));
    case -32003:
        return record->journaled && !run->profile.clean;
    case -32002:
    case -32010:
    case -32601:
        return code == record->unroutable && record->to != TO_HUB && (loose || somebody_left(run, record));
    case -32011:
        return somebody_forbids(run, record) && (loose || !somebody_able(run, record));
    case -32050:
        return loose || (somebody_left(run, record) && !record->secured);
    case -32051:
        return record->short_timeout || record->ignored || loose || run->late;
    case -32052:
        return loose || run->profile.tight;
    case -32053:
        return record->to == TO_HUB && record->name != NOBODY;
    case -32800:
        return record->to != TO_HUB && source->cancels;
    case -32055:
        return record->batched || source->caller.on; // answers that wait for others
    case -32603:
        return record->broken_answer || run->profile.lossy;
    default:
        return false;
    }
}

// Returns whether the hub's result is one for this request.
static bool is_result(const struct run *run, const struct record *record, const struct naive_frame *frame) {
    if (record->to != TO_HUB || record->ping || record->never || (record->absent && !unsure(run, record)))
        return false;
    struct bit result = naive_find(frame->body, "result"), value = result;
    if (record->result.path)
        value = naive_find(result, record->result.path);
    return record->result.path && !record->result.value
               ? value.bytes != NULL
               : bit_is(value, record->result.path ? record->result.value : "null");
}

// Returns a request of the guest's with this id that may end so. The request is open, or was taken for another with the
// same id. The end is then the other's.
static struct record *fitting_request(struct run *run, const struct guest *guest, struct bit id, int64_t code,
                                      const struct naive_frame *frame) {
    struct record *mistaken = NULL;
    for (unsigned tag = 0; tag < run->record_count; tag++) {
        struct record *record = run->records[tag];
        if (record->kind != RECORD_ASK || record->source != guest->index || !bit_equal(id_of(record), id) ||
            record->batched != run->in_array || (record->endless && !(code == -32052 && run->draining)) ||
            !(code ? code_allowed(run, record, code, frame) : is_result(run, record, frame)))
            continue;
        if (!record->ended)
            return record;
        if (record->guessed && twin_of(run, record))
            mistaken = record;
    }
    return mistaken;
}

static void check_hub_answer(struct run *run, struct guest *guest, const struct naive_frame *frame) {
    struct bit id = naive_find(frame->body, "id"), code_text = naive_find(frame->body, "error.code");
    int64_t code = code_text.bytes ? bit_integer(code_text) : 0;
    if (frame->fields.count || (code_text.bytes && !naive_find(frame->body, "error.data").bytes))
        oracle_fail(run, NOBODY, frame, "the hub's own answer has the wrong form");
    if (bit_is(id, "null")) {
        dues_check(run, guest, frame, code);
        return;
    }
    if (!code && events_answered(run, guest, frame))
        return;
    struct record *record = fitting_request(run, guest, id, code, frame);
    if (!record)
        oracle_fail(run, NOBODY, frame, "the hub answered what wasn't asked, or in a way that can't be");
    oracle_end_once(run, record, frame);
    record->guessed = true;
    if (record->attaches)
        attaching_answered(guest, record, frame);
    if (code)
        events_refused(run, record);
    else
        witness_answer(run, guest, frame);
    totals.refused += code != 0;
    if (!code && record->to == TO_HUB && record->name != NOBODY && !guest->leaving) {
        if (!guest->registered)
            guest->heard_registered = witness_now(run);
        guest->registered = run->settled = true;
    }
}

static void check_array(struct run *run, struct guest *guest, const struct naive_frame *frame) {
    struct naive_frame one = *frame;
    struct naive_item item;
    size_t at = 0;
    if (frame->fields.count || run->in_array)
        oracle_fail(run, NOBODY, frame, "an array of answers has the wrong form");
    run->in_array = true;
    for (; naive_next(frame->body, &at, &item);) {
        one.body = item.value;
        if (naive_find(one.body, "method").bytes)
            oracle_fail(run, NOBODY, frame, "a call came in an array of answers");
        oracle_frame(run, guest, &one);
    }
    run->in_array = false;
    if (at == 0)
        oracle_fail(run, NOBODY, frame, "an array of answers is empty");
}

bool oracle_frame(struct run *run, struct guest *guest, const struct naive_frame *frame) {
    if (guest->silenced)
        oracle_fail(run, NOBODY, frame, "something came behind the answer to a framing error");
    if (!naive_valid(frame->body))
        oracle_fail(run, NOBODY, frame, "a body isn't JSON");
    if (frame->body.bytes[0] == '[') {
        check_array(run, guest, frame);
        return false;
    }
    struct bit method = naive_find(frame->body, "method");
    int tag;
    if (flood_is(frame))
        return false;
    if (method.bytes)
        check_asked(run, frame);
    if (bit_is(method, "\"hub/replaced\"")) {
        if (!contended(run, guest) || !run->world.hub->start_settings.takeover || frame->fields.count)
            oracle_fail(run, NOBODY, frame, "a guest was told that it was replaced, by nobody");
        guest->leaving = true;
        return false;
    }
    if (events_is_presence(frame)) {
        events_presence(run, guest, frame);
        return false;
    }
    if (bit_is(method, "\"hub/dropped\"")) {
        events_told(run, guest, frame);
        return false;
    }
    if (cancelling_is(frame->body)) {
        cancelling_check(run, guest, frame);
        return false;
    }
    if (method.bytes)
        return check_call(run, guest, frame);
    struct record *record = record_at(run, frame, "result.tag", &tag);
    if (!record)
        record = record_at(run, frame, "error.data.tag", &tag);
    if (!record)
        check_hub_answer(run, guest, frame);
    else if (record->kind == RECORD_ANSWER)
        check_answer(run, guest, record, tag, frame);
    else
        check_pong(run, guest, record, tag, frame);
    return false;
}

// --- Ends

static void check_all_ended(const struct run *run, const struct guest *guest, const char *what) {
    for (unsigned tag = 0; tag < run->record_count; tag++) {
        const struct record *record = run->records[tag];
        bool due = !record->endless && !record->while_draining && (!run->draining || record->delivered);
        if (record->kind == RECORD_ASK && record->source == guest->index && due && record->ended != 1)
            oracle_fail(run, (int)tag, NULL, what);
    }
}

void oracle_end(struct run *run, struct guest *guest) {
    guest->ended_by_hub = true;
    totals.lost += !guest->shut && !guest->doomed && !run->draining;
    if (sockets_turned_away(run, guest) || callers_ended(run, guest))
        return;
    patience_closed(run, guest);
    bool left = guest->shut && run->profile.leave; // it is cut off where it is
    if (left || (run->profile.lossy && !patience_is_answered(run, guest)))
        return;
    sockets_end(run, guest);
    if (!run->draining)
        pace_check_end(run, guest);
    if (guest->doomed) {
        if (!guest->null_errors && !run->draining)
            oracle_fail(run, NOBODY, NULL, "a connection was ended without a word");
        return;
    }
    if (!guest->shut && !run->draining) {
        fprintf(stderr, "  guest %d\n", guest->index);
        oracle_fail(run, NOBODY, NULL, "the hub ended a connection for no reason");
    }
    check_all_ended(run, guest, "a connection was ended before a request of it was");
}

static void check_clean(const struct run *run, int tag) {
    const struct record *record = run->records[tag];
    if (record->never)
        return;
    if (record->kind == RECORD_TELL && record->expect != NOBODY && record->to != TO_HUB &&
        !record->delivered && !record->governance)
        oracle_fail(run, tag, NULL, "a notification was lost");
    if (record->kind == RECORD_ANSWER && !record->delivered)
        oracle_fail(run, tag, NULL, "an answer was lost");
    bool goes_on = record->kind == RECORD_ASK && record->to != TO_HUB;
    if (goes_on && record->expect != NOBODY && !record->governance && !record->delivered)
        oracle_fail(run, tag, NULL, "a request was refused for no reason");
}

void oracle_rest(struct run *run, bool stopped) {
    for (unsigned index = 0; index < run->guest_count; index++) {
        struct guest *guest = run->guests[index];
        if (guest->gone || guest->ended_by_hub || guest->deaf || guest->halted || stopped)
            continue;
        check_all_ended(run, guest, "a request never ended");
    }
    if (!stopped)
        events_rest(run);
    if (!stopped)
        dues_rest(run);
    if (!stopped)
        sockets_rest(run);
    if (!stopped)
        callers_rest(run);
    if (!stopped)
        trials_rest(run);
    for (unsigned tag = 0; run->profile.clean && !stopped && tag < run->record_count; tag++)
        check_clean(run, (int)tag);
}
