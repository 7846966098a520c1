// What the hub tells of the time and of its connections. The wall clock is set, and the machine sleeps in between. Each
// time that the hub tells must be one that the clock showed between the event and now. A connection has one name, which
// is no other's, and the journal knows it by the same.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/sim/run.h"

enum { SMALL_MS = 5000, HOUR_MS = 3600000, DAYS = 10, SESSION_DIGITS = 32 };

// --- The clock

struct moment witness_now(const struct run *run) {
    return (struct moment){run->wall.steps, kernel_wall_ms(run->world.kernel)};
}

void witness_set_clock(struct run *run) {
    struct wall *wall = &run->wall;
    if (wall->steps + 1 == WALL_STEPS_MAX)
        return;
    int64_t by_ms = random_chance(run->random, 300)
                        ? 1 + random_below(run->random, SMALL_MS)
                        : HOUR_MS * (1 + (int64_t)random_below(run->random, 24 * DAYS));
    witness_journal(run);
    wall->ended_ms[wall->steps++] = kernel_wall_ms(run->world.kernel);
    kernel_step_wall(run->world.kernel, random_chance(run->random, 500) ? by_ms : -by_ms);
    wall->begun_ms[wall->steps] = kernel_wall_ms(run->world.kernel);
}

void witness_begin(struct run *run) {
    run->wall.begun_ms[0] = kernel_wall_ms(run->world.kernel);
    if (random_chance(run->random, 500)) // before anybody comes
        witness_set_clock(run);
}

// Returns whether the clock showed this between the two.
static bool was_shown(const struct run *run, uint64_t ms, struct moment from, struct moment to) {
    const struct wall *wall = &run->wall;
    for (unsigned step = from.step; step <= to.step; step++)
        if (ms >= (step == from.step ? from.ms : wall->begun_ms[step]) &&
            ms <= (step == to.step ? to.ms : wall->ended_ms[step]))
            return true;
    return false;
}

// --- Answers

static void check_session(const struct run *run, struct guest *guest, struct bit session,
                          const struct naive_frame *frame) {
    if (session.count != SESSION_DIGITS + 2)
        oracle_fail(run, NOBODY, frame, "a sessionId has another length");
    if (*guest->session && !bit_is(session, guest->session))
        oracle_fail(run, NOBODY, frame, "a connection has two sessionIds");
    snprintf(guest->session, sizeof guest->session, "%.*s", (int)session.count, (const char *)session.bytes);
    for (size_t digit = 0; digit < session.count; digit++)
        kernel_trace(run->world.kernel, session.bytes[digit]);
    for (unsigned index = 0; index < run->guest_count; index++)
        if ((int)index != guest->index && strcmp(run->guests[index]->session, guest->session) == 0)
            oracle_fail(run, NOBODY, frame, "two connections have the same sessionId");
}

// Returns whether the guest can be the agent that was registered then.
static bool came_then(const struct run *run, const struct guest *guest, uint64_t since_ms) {
    return was_shown(run, since_ms, guest->arrived,
                     guest->registered ? guest->heard_registered : witness_now(run));
}

static void check_agent(const struct run *run, struct bit agent, const struct naive_frame *frame) {
    char name[32];
    bool known = false;
    for (unsigned index = 0; index < run->guest_count; index++) {
        const struct guest *guest = run->guests[index];
        snprintf(name, sizeof name, "\"agent-%d\"", guest->name);
        if (guest->name == NOBODY || !bit_is(naive_find(agent, "agentId"), name))
            continue;
        known = true;
        if (came_then(run, guest, bit_number(naive_find(agent, "connectedSince"))))
            return;
    }
    if (known)
        oracle_fail(run, NOBODY, frame, "an agent was registered at another time than the hub says");
}

void witness_answer(struct run *run, struct guest *guest, const struct naive_frame *frame) {
    struct bit session = naive_find(frame->body, "result.sessionId");
    struct bit agents = naive_find(frame->body, "result.agents");
    struct naive_item agent;
    if (session.bytes)
        check_session(run, guest, session, frame);
    for (size_t at = 0; agents.bytes && naive_next(agents, &at, &agent);)
        check_agent(run, agent.value, frame);
}

// --- The journal

static uint64_t time_of(struct bit time) {
    struct tm utc = {0};
    unsigned ms;
    char text[40];
    snprintf(text, sizeof text, "%.*s", (int)time.count, (const char *)time.bytes);
    if (sscanf(text, "\"%d-%d-%dT%d:%d:%d.%3uZ\"", &utc.tm_year, &utc.tm_mon, &utc.tm_mday, &utc.tm_hour,
               &utc.tm_min, &utc.tm_sec, &ms) != 7)
        return 0;
    utc.tm_year -= 1900;
    utc.tm_mon--;
    return (uint64_t)timegm(&utc) * 1000 + ms;
}

// The message that a line is about, or NULL: an outcome tells it by the number that its target knows.
static const struct record *subject(const struct run *run, struct bit line) {
    uint64_t tag = bit_number(naive_find(line, "entry.tag")),
             hub_id = bit_number(naive_find(line, "request"));
    if (tag < run->record_count)
        return run->records[tag];
    for (unsigned index = 0; index < run->record_count && hub_id != UINT64_MAX; index++)
        if (run->records[index]->hub_id == hub_id)
            return run->records[index];
    return NULL;
}

// The earliest that a line can be of: when the message that it is about was composed, or the answer that it
// tells of.
static struct moment earliest(const struct run *run, const struct record *record, struct bit line) {
    struct bit outcome = naive_find(line, "outcome");
    bool answered = bit_is(outcome, "\"result\"") || bit_is(outcome, "\"error\"");
    for (unsigned index = 0; answered && index < run->record_count; index++) {
        const struct record *answer = run->records[index];
        if (answer->kind == RECORD_ANSWER && answer->answers == record_tag(run, record))
            return answer->composed;
    }
    return record->composed;
}

static void check_line(const struct run *run, struct bit line) {
    const struct record *record = subject(run, line);
    struct bit connection = naive_find(line, "source.connection");
    struct moment from = record ? earliest(run, record, line) : (struct moment){0, run->wall.begun_ms[0]};
    struct naive_frame shown = {.body = line};
    if (!was_shown(run, time_of(naive_find(line, "time")), from, witness_now(run)))
        oracle_fail(run, record ? record_tag(run, record) : NOBODY, &shown,
                    "a line of the journal has a wrong time");
    const char *session = record ? run->guests[record->source]->session : "";
    if (*session && !bit_is(connection, session))
        oracle_fail(run, record_tag(run, record), &shown, "the journal knows a connection by another name");
    totals.witnessed++;
}

// Of a file, only what is synced can't be taken back.
void witness_journal(struct run *run) {
    size_t count, synced;
    const uint8_t *bytes;
    for (uint32_t file = 0;
         file < JOURNALS_MAX && (bytes = disk_file(run->world.kernel, file, &count, &synced)); file++) {
        size_t *checked = &run->wall.journal_checked[file];
        const uint8_t *end;
        while (*checked < synced && (end = memchr(bytes + *checked, '\n', synced - *checked))) {
            struct bit line = {bytes + *checked, (size_t)(end - bytes) - *checked};
            if (naive_valid(line)) // else it was torn by a write that failed
                check_line(run, line);
            *checked += line.count + 1;
        }
    }
}
