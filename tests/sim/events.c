// Events: who must hear of one, who may, and who must not, and the books at the end. A guest knows what it
// subscribes to from the hub's answers; between a change and its answer either may be the case.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/run.h"

static const char *const events[] = {"news/0", "news/1", "news/1/x", "other", "o"};
enum { EVENTS = sizeof events / sizeof *events };

// Patterns of guests, and behind them those that their agents list: different spellings, so that the hub's
// list tells which is which.
static const char *const patterns[] = {"news/0", "news/1", "news/*", "new*", "*",       "news/1/*",
                                       "other",  "n*",     "o*",     "o",    "news/1/x"};
enum { PATTERNS = sizeof patterns / sizeof *patterns, PATTERNS_ASKED = 7 };

// The hub lists what is in force; what exactly is judged here.
static const struct hub_result subscriptions = {"events", ""};

static bool matches(unsigned pattern, int event) {
    const char *text = patterns[pattern];
    size_t bytes = strlen(text);
    return text[bytes - 1] == '*' ? strncmp(text, events[event], bytes - 1) == 0
                                  : strcmp(text, events[event]) == 0;
}

static bool any_matches(unsigned bits, int event) {
    for (unsigned pattern = 0; pattern < PATTERNS; pattern++)
        if (bits >> pattern & 1 && matches(pattern, event))
            return true;
    return false;
}

// --- Composing

void events_list(struct run *run, struct guest *guest, char *out, size_t capacity) {
    bool object = random_chance(run->random, 500);
    size_t count = (size_t)snprintf(out, capacity, object ? "{\"news/0\":false" : "[7");
    for (unsigned pattern = PATTERNS_ASKED; pattern < PATTERNS; pattern++) {
        if (!random_chance(run->random, 200))
            continue;
        guest->hearing.listed |= 1U << pattern;
        count += (size_t)snprintf(out + count, capacity - count, object ? ",\"%s\":true" : ",\"%s\"",
                                  patterns[pattern]);
    }
    snprintf(out + count, capacity - count, object ? "}" : "]");
}

// Returns whether the name or what it is there for may change hands before the guest knows.
static bool in_flux(const struct run *run, const struct guest *guest) {
    if (guest->leaving || guest->gone || guest->doomed || guest->ended_by_hub)
        return true;
    for (unsigned index = 0; index < run->guest_count; index++)
        if (guest->name != NOBODY && (int)index != guest->index && run->guests[index]->name == guest->name)
            return true;
    return guest->name != NOBODY && !guest->registered;
}

// Returns whether it will hear of the event for certain, or else be told that it missed one.
static bool is_sure(const struct run *run, const struct guest *guest, const struct record *record) {
    if (guest->index == record->source || in_flux(run, guest))
        return false;
    int level = guest->name == NOBODY ? 0 : guest->level;
    unsigned bits = guest->hearing.sure | guest->hearing.listed;
    return record->governance <= level && any_matches(bits, record->name);
}

static void compose_one(struct run *run, struct guest *guest, bool ask, int event) {
    const char *name = events[event];
    char extra[64];
    if (random_chance(run->random, 100))
        snprintf(extra, sizeof extra, "\"event\":\"\\u00%02x%s\",", name[0], name + 1);
    else
        snprintf(extra, sizeof extra, "\"event\":\"%s\",", name);
    const struct flaw *flaw = compose_flaw(run, guest, ask ? FLAW_IN_ASK : FLAW_IN_TELL, run->profile.flaws);
    struct record *record = compose_call(run, guest,
                                         &(struct call){.kind = ask ? RECORD_ASK : RECORD_TELL,
                                                        .to = TO_TOPIC,
                                                        .name = event,
                                                        .method = "event",
                                                        .extra = extra,
                                                        .flaw = flaw});
    if (!record)
        return;
    for (unsigned index = 0; index < run->guest_count; index++)
        if (is_sure(run, run->guests[index], record))
            record->sure |= UINT64_C(1) << index;
    totals.events++;
}

// Names that are the hub's, however they are addressed and spelled: no peer may say them.
static const struct flaw own_names[] = {
#define OWN(text)                                                                                            \
    { FLAW_PARAMS, FLAW_IN_ASK | FLAW_IN_TELL, text, -32001, "{\"rule\":\"own\"}", false, false }
    OWN("\"event\":\"hub-agent-left\""),
    OWN("\"event\":\"hub-\""),
    OWN("\"event\":\"h\\u0075b-agent-registered\""),
    OWN("\"event\":\"hub-x\",\"targetAgent\":\"agent-1\""),
    OWN("\"targetAgent\":\"nobody\",\"event\":\"hub-x\""),
#undef OWN
};
enum { OWN_NAMES = sizeof own_names / sizeof *own_names };

static void compose_own(struct run *run, struct guest *guest, bool ask) {
    const struct flaw *flaw = &own_names[random_below(run->random, OWN_NAMES)];
    compose_call(run, guest,
                 &(struct call){.kind = ask ? RECORD_ASK : RECORD_TELL,
                                .to = TO_TOPIC,
                                .method = "event",
                                .extra = "",
                                .flaw = flaw});
}

// Composes one event, or some events of the same name in a row, which may travel together.
void events_compose(struct run *run, struct guest *guest, bool ask) {
    if (random_chance(run->random, 60)) {
        compose_own(run, guest, ask);
        return;
    }
    int event = (int)random_below(run->random, EVENTS);
    unsigned count = !ask && random_chance(run->random, 300) ? 2 + random_below(run->random, 8) : 1;
    for (; count > 0; count--)
        compose_one(run, guest, ask, event);
}

static unsigned bits_of(const struct wish *wish) {
    unsigned bits = 0;
    for (unsigned index = 0; index < wish->count; index++)
        bits |= 1U << wish->patterns[index];
    return bits;
}

static void change(struct wish *wish, unsigned pattern, bool want) {
    unsigned kept = 0;
    bool there = bits_of(wish) >> pattern & 1;
    if (want && !there)
        wish->patterns[wish->count++] = (uint8_t)pattern;
    if (want)
        return;
    for (unsigned index = 0; index < wish->count; index++)
        if (wish->patterns[index] != pattern)
            wish->patterns[kept++] = wish->patterns[index];
    wish->count = kept;
}

// An event that has not come yet may come after the change.
static void revise(struct run *run, const struct guest *guest) {
    unsigned bits = guest->hearing.sure | guest->hearing.listed;
    for (unsigned tag = 0; tag < run->record_count; tag++)
        if (run->records[tag]->to == TO_TOPIC && !any_matches(bits, run->records[tag]->name))
            run->records[tag]->sure &= ~(UINT64_C(1) << guest->index);
}

// Asked for by the request with this tag, or by a notification.
static void note_wish(struct hearing *hearing, const struct wish *wish, int tag) {
    unsigned bits = bits_of(wish);
    hearing->wish = *wish;
    hearing->ever |= bits;
    hearing->always &= bits;
    hearing->sure &= bits;
    if (tag == NOBODY)
        return;
    hearing->due[hearing->due_count++] = (struct wish_due){tag, *wish, hearing->ever, hearing->always};
    hearing->ever = hearing->always = bits;
}

void events_change_wish(struct run *run, struct guest *guest) {
    struct hearing *hearing = &guest->hearing;
    // Past twice the bound of its own queue a request is refused, and a notification isn't.
    bool fits = !run->profile.flood && run->world.limits.queue_bytes_max > 1000 * 1000;
    bool want = random_chance(run->random, 650), ask = random_chance(run->random, 700) && fits;
    if (hearing->due_count == WISHES_MAX || guest->leaving || guest->gathering.is_void ||
        trials_open(run, guest))
        return;
    char extra[128] = "\"events\":[";
    size_t count = strlen(extra);
    struct wish wish = hearing->wish;
    for (unsigned left = 1 + random_below(run->random, 3); left > 0; left--) {
        unsigned pattern = random_below(run->random, PATTERNS_ASKED);
        change(&wish, pattern, want);
        count += (size_t)snprintf(extra + count, sizeof extra - count, "\"%s\"%s", patterns[pattern],
                                  left > 1 ? "," : "],");
        if (want)
            hearing->until[pattern] = RECORDS_MAX;
    }
    struct call call = {.kind = ask ? RECORD_ASK : RECORD_TELL,
                        .to = TO_HUB,
                        .name = NOBODY,
                        .method = want ? "hub/subscribe" : "hub/unsubscribe",
                        .extra = extra};
    struct record *record = compose_call(run, guest, &call);
    if (!record)
        return;
    record->result = subscriptions;
    guest->gathering.stateful = guest->gathering.open;
    note_wish(hearing, &wish, ask ? record_tag(run, record) : NOBODY);
    revise(run, guest);
}

size_t events_query(struct run *run, struct guest *guest, char *out, size_t capacity) {
    struct hearing *hearing = &guest->hearing;
    size_t count = 0;
    for (unsigned left = 1 + random_below(run->random, 3), first = left; left > 0; left--) {
        unsigned pattern = random_below(run->random, PATTERNS_ASKED);
        change(&hearing->wish, pattern, true);
        hearing->until[pattern] = RECORDS_MAX;
        bool escaped = random_chance(run->random, 200);
        const char *text = patterns[pattern];
        count += escaped ? (size_t)snprintf(out + count, capacity - count, "%cpattern=%%%02x%s",
                                            left == first ? '?' : '&', text[0], text + 1)
                         : (size_t)snprintf(out + count, capacity - count, "%cpattern=%s",
                                            left == first ? '?' : '&', text);
    }
    hearing->ever = hearing->always = bits_of(&hearing->wish);
    return count;
}

void events_streaming(struct guest *guest) {
    guest->hearing.sure = bits_of(&guest->hearing.wish);
}

// --- Events arrive

// Returns whether the guest may hear of the event: it wants it, or did when it was sent.
static bool may_hear(const struct guest *guest, const struct record *record, int tag) {
    const struct hearing *hearing = &guest->hearing;
    int level = guest->name == NOBODY ? 0 : guest->level;
    if (guest->index == record->source || record->governance > level)
        return false;
    unsigned bits = hearing->listed;
    for (unsigned pattern = 0; pattern < PATTERNS_ASKED; pattern++)
        if (tag < hearing->until[pattern])
            bits |= 1U << pattern;
    return any_matches(bits, record->name);
}

void events_check(struct run *run, struct guest *guest, struct record *record, int tag,
                  const struct naive_frame *frame) {
    if (record->never || record->refused)
        oracle_fail(run, tag, frame, "an event came that was refused");
    if (record->heard >> guest->index & 1)
        oracle_fail(run, tag, frame, "an event came twice");
    if (!may_hear(guest, record, tag))
        oracle_fail(run, tag, frame, "an event came to somebody who doesn't want it, or must not get it");
    if (!splices_told(record, frame))
        oracle_fail(run, tag, frame, "an event was changed on its way");
    oracle_order(run, guest, record, tag, frame);
    record->heard |= UINT64_C(1) << guest->index;
    record->delivered++;
    totals.heard++;
    if (record->reached >= 0 && record->delivered > record->reached)
        oracle_fail(run, tag, frame, "more heard of an event than the hub said");
}

void events_told(struct run *run, struct guest *guest, const struct naive_frame *frame) {
    uint64_t count = bit_number(naive_find(frame->body, "params.count"));
    if (count == 0 || count > RECORDS_MAX || frame->fields.count)
        oracle_fail(run, NOBODY, frame, "hub/dropped has the wrong form");
    if (run->profile.clean)
        oracle_fail(run, NOBODY, frame, "events were missed for no reason");
    guest->hearing.told += (unsigned)count;
    totals.missed += count;
}

// --- Agents come and go

enum { EVERYTHING = 4 }; // the pattern that matches events of the hub's own

// Returns whether it may have been told of agents that came and went, and so may have missed some.
static bool may_hear_of_agents(const struct guest *guest) {
    return guest->hearing.until[EVERYTHING] > 0;
}

static bool begins(struct bit text, const char *prefix) {
    return text.count >= strlen(prefix) && memcmp(text.bytes, prefix, strlen(prefix)) == 0;
}

bool events_is_presence(const struct naive_frame *frame) {
    struct bit name = naive_find(frame->body, "params.event");
    return name.bytes && begins(name, "\"hub-agent-");
}

// Nobody leaves twice without having come meanwhile, unless that was missed.
void events_presence(struct run *run, struct guest *guest, const struct naive_frame *frame) {
    struct hearing *hearing = &guest->hearing;
    struct bit agent = naive_find(frame->body, "params.data.agentId"),
               reason = naive_find(frame->body, "params.data.reason");
    bool left = bit_is(naive_find(frame->body, "params.event"), "\"hub-agent-left\"");
    char digits[8] = "";
    static const char prefix[] = "\"agent-";
    if (!may_hear_of_agents(guest) || !agent.bytes || left != (reason.bytes != NULL) || frame->fields.count)
        oracle_fail(run, NOBODY, frame, "a guest was told of an agent that it hasn't asked for, or badly");
    if (left && !bit_is(reason, "\"unregistered\"") && !bit_is(reason, "\"disconnected\"") &&
        !(bit_is(reason, "\"replaced\"") && run->world.hub->start_settings.takeover))
        oracle_fail(run, NOBODY, frame, "an agent left for no reason that there is");
    if (hearing->told != hearing->told_before)
        hearing->absent = 0;
    hearing->told_before = hearing->told;
    totals.heard++;
    if (!begins(agent, prefix) || agent.count > sizeof prefix + 2)
        return; // a trial's (trials.c)
    memcpy(digits, agent.bytes + sizeof prefix - 1, agent.count - sizeof prefix);
    uint64_t bit = UINT64_C(1) << strtoul(digits, NULL, 10) % 64;
    if (left && hearing->absent & bit)
        oracle_fail(run, NOBODY, frame, "an agent left twice");
    hearing->absent = left ? hearing->absent | bit : hearing->absent & ~bit;
}

// --- The hub answers

static struct bit id_of(const struct record *record) {
    return (struct bit){record->body.bytes + record->id_at, record->id_bytes};
}

// The hub says how many it reached. The answer doesn't always tell its event: two events may have had the same id.
static void answered_event(struct run *run, struct guest *guest, const struct naive_frame *frame) {
    struct bit id = naive_find(frame->body, "id");
    struct record *meant = NULL;
    bool twins = false;
    for (unsigned tag = 0; tag < run->record_count; tag++) {
        struct record *record = run->records[tag];
        if (record->kind != RECORD_ASK || record->source != guest->index || record->to != TO_TOPIC ||
            record->batched != run->in_array || record->never || !bit_equal(id_of(record), id))
            continue;
        twins |= meant != NULL;
        if (!meant || meant->ended)
            meant = record;
    }
    uint64_t reached = bit_number(naive_find(frame->body, "result.delivered"));
    if (!meant || reached > run->guest_count)
        oracle_fail(run, NOBODY, frame, "the hub counted an event that nobody sent, or wrongly");
    oracle_end_once(run, meant, frame);
    meant->guessed = twins;
    if (!twins)
        meant->reached = (int64_t)reached;
    if (!twins && meant->delivered > reached)
        oracle_fail(run, record_tag(run, meant), frame, "more heard of an event than the hub says");
}

void events_refused(struct run *run, struct record *record) {
    record->refused = true;
    if (record->refusal)
        return; // no other one ends so
    for (unsigned tag = 0; tag < run->record_count; tag++) {
        struct record *other = run->records[tag];
        if (other == record || other->kind != RECORD_ASK || other->source != record->source ||
            !bit_equal(id_of(other), id_of(record)))
            continue;
        record->refused = false;
        record->sure = other->sure = 0;
    }
}

// The list must be what was asked for, in its order; what an agent lists may be among it.
static bool is_wish(const struct guest *guest, const struct wish *wish, struct bit list) {
    struct naive_item item;
    size_t at = 0;
    unsigned next = 0;
    while (naive_next(list, &at, &item)) {
        char text[32];
        bool listed = false;
        for (unsigned pattern = PATTERNS_ASKED; pattern < PATTERNS; pattern++) {
            snprintf(text, sizeof text, "\"%s\"", patterns[pattern]);
            listed |= guest->hearing.listed >> pattern & 1 && bit_is(item.value, text);
        }
        if (listed || (item.value.count > 2 && item.value.bytes[1] == 'z')) // or a trial's (trials.c)
            continue;
        if (next == wish->count)
            return false;
        snprintf(text, sizeof text, "\"%s\"", patterns[wish->patterns[next++]]);
        if (!bit_is(item.value, text))
            return false;
    }
    return next == wish->count;
}

// Returns the change that a list of subscriptions answers: of those whose request had this id, the first that
// asked for such a list. Changes in batches are answered when the batch is, and so in any order.
static struct wish_due *due_of(const struct run *run, struct guest *guest, const struct naive_frame *frame) {
    struct bit id = naive_find(frame->body, "id"), list = naive_find(frame->body, "result.events");
    for (unsigned index = 0; index < guest->hearing.due_count; index++) {
        struct wish_due *due = &guest->hearing.due[index];
        const struct record *record = run->records[due->tag];
        if (record->batched == run->in_array && bit_equal(id_of(record), id) &&
            (!run->profile.counted || is_wish(guest, &due->wish, list)))
            return due;
    }
    oracle_fail(run, NOBODY, frame, "the subscriptions in force aren't those that were asked for");
}

// The answered wish and all wishes composed before it are in force now. Wishes composed later may be.
static void answered_wish(const struct run *run, struct guest *guest, const struct wish_due *answered) {
    struct hearing *hearing = &guest->hearing;
    unsigned sure = bits_of(&answered->wish) & hearing->always,
             ever = bits_of(&answered->wish) | hearing->ever;
    hearing->answered = answered->tag;
    for (unsigned index = 0; index < hearing->due_count; index++) {
        if (hearing->due[index].tag <= answered->tag)
            continue;
        sure &= hearing->due[index].always;
        ever |= hearing->due[index].ever;
    }
    hearing->sure = sure;
    for (unsigned pattern = 0; pattern < PATTERNS_ASKED; pattern++)
        if (!(ever >> pattern & 1) && hearing->until[pattern] > (int)run->record_count)
            hearing->until[pattern] = (int)run->record_count;
}

bool events_answered(struct run *run, struct guest *guest, const struct naive_frame *frame) {
    struct hearing *hearing = &guest->hearing;
    if (naive_find(frame->body, "result.delivered").bytes) {
        answered_event(run, guest, frame);
        return true;
    }
    if (!naive_find(frame->body, "result.events").bytes)
        return false;
    struct wish_due *due = due_of(run, guest, frame);
    struct record *request = run->records[due->tag];
    if (due->tag > hearing->answered)
        answered_wish(run, guest, due);
    memmove(due, due + 1, (size_t)(&hearing->due[--hearing->due_count] - due) * sizeof *due);
    oracle_end_once(run, request, frame);
    request->guessed = true;
    return true;
}

// --- The books

// Returns whether all that the source sent has been dealt with.
static bool has_settled(const struct guest *source) {
    return !source->gone && !source->doomed && !source->ended_by_hub && !source->deaf &&
           source->out.at == source->out.count;
}

static bool stays(const struct guest *guest) {
    return !guest->gone && !guest->leaving && !guest->ended_by_hub && !guest->doomed && !guest->deaf;
}

// A guest has been told to have missed exactly the events that it hasn't heard.
static void check_missed(const struct run *run, const struct guest *guest) {
    unsigned least = 0, most = 0;
    uint64_t bit = UINT64_C(1) << guest->index;
    int example = NOBODY;
    for (unsigned tag = 0; tag < run->record_count; tag++) {
        const struct record *record = run->records[tag];
        if (record->to != TO_TOPIC || record->kind == RECORD_ANSWER || record->heard & bit ||
            record->refused || !may_hear(guest, record, (int)tag))
            continue;
        bool sure = record->sure & bit && has_settled(run->guests[record->source]);
        least += sure;
        most++;
        example = sure ? (int)tag : example;
    }
    if (guest->hearing.told >= least && (guest->hearing.told <= most || may_hear_of_agents(guest)))
        return;
    fprintf(stderr, "  guest %d missed %u to %u events and was told of %u\n", guest->index, least, most,
            guest->hearing.told);
    oracle_fail(run, example, NULL, "events were missed in silence, or told without need");
}

// As many heard of an event as the hub says, but for those that left.
static void check_reached(const struct run *run, int tag) {
    const struct record *record = run->records[tag];
    unsigned left = 0;
    for (unsigned index = 0; index < run->guest_count; index++) {
        const struct guest *guest = run->guests[index];
        left += !stays(guest) && !(record->heard >> index & 1) && may_hear(guest, record, tag);
    }
    if (record->delivered + left < record->reached)
        oracle_fail(run, tag, NULL, "fewer heard of an event than the hub says");
}

void events_rest(const struct run *run) {
    for (unsigned index = 0; run->profile.counted && index < run->guest_count; index++)
        if (stays(run->guests[index]) && run->guests[index]->name == NOBODY)
            check_missed(run, run->guests[index]);
        else if (stays(run->guests[index]) && !in_flux(run, run->guests[index]))
            check_missed(run, run->guests[index]);
    for (unsigned tag = 0; tag < run->record_count; tag++)
        if (run->records[tag]->to == TO_TOPIC)
            check_reached(run, (int)tag);
}
