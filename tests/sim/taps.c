// Tappers in the world of traces. The oracle knows of each request what was asked and how the request ended. A tap
// whose pattern matches shows an entry of the request's end, and one with the begin of its body if bodies are wanted.
// Otherwise the tap counts these entries as missed. A tapper without the right sees nothing, and no tapper sees a
// credential.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kernel.h"
#include "tests/sim/traces.h"

enum { TAPPERS = 4, RATE_LOW = 3, RATE_HIGH = 100000 };

static struct tapper {
    struct talk wire;
    bool may;      // it has the right
    bool reads;    // it always has
    bool is_still; // it doesn't read now
    bool has_answer, is_ending, is_over;
    uint64_t tap;
    unsigned from; // requests with this number and later ones
    const char *agent, *method;
    uint32_t body, rate;
    bool errors;
    uint64_t missed, shown;
    uint64_t second, in_second;               // entries that came in this second, of one that always reads
    uint8_t begun[ASKS_MAX], ended[ASKS_MAX]; // entries of each request
    bool is_due[ASKS_MAX];                    // its source knew the answer when hub/untap was sent
    uint64_t numbers[ASKS_MAX];
} tappers[TAPPERS];

static bool has_users, is_calm;
static uint64_t entries_total, missed_total, checked_total, untapped_total;

// --- Entries

// Undoes the escapes of a string that the hub has written.
static size_t decode(struct bit string, char *out) {
    size_t bytes = 0;
    for (size_t at = 1; at + 1 < string.count; at++) {
        uint8_t byte = string.bytes[at];
        if (byte == '\\' && string.bytes[++at] == 'u') {
            char digits[5] = {0};
            memcpy(digits, string.bytes + at + 1, 4);
            byte = (uint8_t)strtoul(digits, NULL, 16);
            at += 4;
        } else if (byte == '\\') {
            byte = string.bytes[at] == 'n' ? '\n' : string.bytes[at];
        }
        out[bytes++] = (char)byte;
    }
    return bytes;
}

static void fail_entry(const char *what, struct bit entry) {
    kernel_fail("a tap shows %s: %.*s", what, (int)entry.count, (const char *)entry.bytes);
}

static bool is_guest(struct bit value, int guest) {
    char label[32];
    snprintf(label, sizeof label, "\"guest-%d\"", guest);
    return guest >= 0 && bit_is(value, label);
}

static bool matches(const char *pattern, const char *name) {
    size_t bytes = pattern ? strlen(pattern) : 0;
    if (bytes > 0 && pattern[bytes - 1] == '*')
        return strncmp(pattern, name, bytes - 1) == 0;
    return !pattern || strcmp(pattern, name) == 0;
}

static bool matches_guest(const struct tapper *tapper, int guest) {
    char label[32];
    snprintf(label, sizeof label, "guest-%d", guest);
    return matches(tapper->agent, label);
}

// Returns whether the entry of a request must come, or may.
static bool must_show(const struct tapper *tapper, const struct asked *asked) {
    return matches(tapper->method, traces_method(asked)) && (!tapper->errors || asked->ending != RESULT) &&
           !(tapper->errors && asked->ending == ABANDONED) &&
           (matches_guest(tapper, asked->source) ||
            (asked->was_seen && matches_guest(tapper, asked->target)));
}

static bool may_show(const struct tapper *tapper, const struct asked *asked) {
    return matches(tapper->method, traces_method(asked)) &&
           (matches_guest(tapper, asked->source) ||
            (asked->target >= 0 && matches_guest(tapper, asked->target)));
}

static void check_body(const struct tapper *tapper, const struct asked *asked, struct bit entry) {
    static char text[2 * ASK_BYTES_MAX];
    struct bit body = naive_find(entry, "body");
    size_t wanted = strlen(asked->text);
    if (tapper->body < wanted) {
        wanted = tapper->body;
        while (wanted > 0 && ((uint8_t)asked->text[wanted] & 0xc0) == 0x80)
            wanted--; // between two characters
    }
    if (!body.bytes || body.count > sizeof text || decode(body, text) != wanted ||
        memcmp(text, asked->text, wanted) != 0)
        fail_entry("another body", entry);
}

static void check_end(const struct asked *asked, struct bit entry) {
    static const char *const of_hub[] = {"\"refused\"", "\"timed_out\"", "\"cancelled\"", "\"target_left\"",
                                         "\"error\""};
    struct bit outcome = naive_find(entry, "outcome"), code = naive_find(entry, "code"),
               target = naive_find(entry, "target");
    bool is_right = asked->ending == ABANDONED || !asked->ending;
    if (asked->ending == RESULT)
        is_right = bit_is(outcome, "\"result\"") && !code.bytes;
    else if (asked->ending == ERROR_OF_TARGET)
        is_right = bit_is(outcome, "\"error\"") && bit_integer(code) == asked->code;
    else if (asked->ending == ERROR_OF_HUB)
        for (size_t at = 0; at < sizeof of_hub / sizeof *of_hub; at++)
            is_right |= bit_is(outcome, of_hub[at]) && bit_integer(code) == asked->code;
    if (!is_right)
        fail_entry("another end", entry);
    if (asked->was_seen && !is_guest(target, asked->target))
        fail_entry("another target", entry);
}

// Judges an entry. The answer to an array comes once all its requests are answered, so these may end before their
// source knows.
static void take_entry(struct tapper *tapper, struct bit entry) {
    uint64_t number = bit_number(naive_find(entry, "sourceId")), n = bit_number(naive_find(entry, "n"));
    struct bit outcome = naive_find(entry, "outcome"), target = naive_find(entry, "target");
    bool has_ended = !bit_is(outcome, "null");
    char method[32];
    if (naive_find(entry, "sourceId").bytes && bit_is(naive_find(entry, "sourceId"), "\"stranger\"")) {
        if (naive_find(entry, "body").bytes)
            fail_entry("the body of somebody who isn't known", entry);
        return;
    }
    if (!bit_is(naive_find(entry, "kind"), "\"request\"") || number >= ask_count)
        fail_entry("what nobody asked", entry);
    const struct asked *asked = &asks[number];
    uint8_t *seen = has_ended ? &tapper->ended[number] : &tapper->begun[number];
    if ((*seen)++ || (!has_ended && (!tapper->body || tapper->ended[number])))
        fail_entry("one more, or out of order", entry);
    if (tapper->numbers[number] && tapper->numbers[number] != n)
        fail_entry("two numbers", entry);
    tapper->numbers[number] = n;
    if (!may_show(tapper, asked) || (tapper->errors && bit_is(outcome, "\"result\"")))
        fail_entry("what isn't wanted", entry);
    snprintf(method, sizeof method, "\"%s\"", traces_method(asked));
    if (!bit_is(naive_find(entry, "method"), method) ||
        !is_guest(naive_find(entry, "source"), asked->source) ||
        (target.bytes && !is_guest(target, asked->target)) ||
        bit_number(naive_find(entry, "bytes")) != strlen(asked->text))
        fail_entry("another request", entry);
    if (has_ended && naive_find(entry, "body").bytes)
        fail_entry("a body at the end", entry);
    if (has_ended)
        check_end(asked, entry);
    else
        check_body(tapper, asked, entry);
}

static void take_notice(struct tapper *tapper, struct bit body) {
    struct bit entries = naive_find(body, "params.entries");
    struct naive_item item;
    size_t at = 0;
    if (!tapper->may || tapper->is_over || !tapper->has_answer ||
        bit_number(naive_find(body, "params.tap")) != tapper->tap)
        fail_entry("entries of another one's, or of none", body);
    uint64_t second = kernel_now(world.kernel) / UINT64_C(1000000000);
    if (tapper->second != second)
        tapper->in_second = 0;
    tapper->second = second;
    while (naive_next(entries, &at, &item)) {
        take_entry(tapper, item.value);
        if (++tapper->in_second > 2 * tapper->rate && tapper->reads) // shards are not of one time
            fail_entry("more than its rate", item.value);
        tapper->shown++;
    }
    tapper->missed += bit_number(naive_find(body, "params.missed"));
}

// Fails unless the answer to hub/untap is the last that comes, behind all that was observed before hub/untap was sent.
static void check_untapped(const struct tapper *tapper) {
    uint64_t lacking = 0;
    for (unsigned at = tapper->from; at < ask_count; at++) {
        bool is_wanted = tapper->is_due[at] && must_show(tapper, &asks[at]);
        lacking += is_wanted && !tapper->ended[at];
        lacking += is_wanted && tapper->body && !tapper->begun[at];
        untapped_total += is_wanted;
    }
    bool misses_none = is_calm && tapper->reads && tapper->rate == RATE_HIGH;
    if (lacking > tapper->missed || (misses_none && tapper->missed > 0))
        kernel_fail("a tap that ends lacks %" PRIu64 " entries, and tells of %" PRIu64 " that it missed",
                    lacking, tapper->missed);
}

static void take_answer(struct tapper *tapper, struct bit body) {
    bool is_refused = bit_integer(naive_find(body, "error.code")) == -32001;
    if (bit_is(naive_find(body, "id"), "\"untap\"")) {
        if (naive_find(body, "error").bytes)
            kernel_fail("hub/untap was answered so: %.*s", (int)body.count, (const char *)body.bytes);
        check_untapped(tapper);
        tapper->is_over = true;
        return;
    }
    if (!bit_is(naive_find(body, "id"), "\"tap\"") || is_refused == tapper->may)
        kernel_fail("a tap was answered so: %.*s", (int)body.count, (const char *)body.bytes);
    tapper->has_answer = true;
    tapper->tap = is_refused ? 0 : bit_number(naive_find(body, "result.tap"));
}

static bool read_tapper(struct tapper *tapper) {
    struct talk *wire = &tapper->wire;
    struct naive_frame frame;
    if (!wire->cable || tapper->is_still)
        return false;
    size_t more = cable_read(wire->cable, wire->in + wire->count, IN_BYTES_MAX - wire->count);
    wire->count += more;
    while (wire->count > 0 && naive_frame(&frame, wire->in, wire->count) == NAIVE_WHOLE) {
        if (memmem(frame.body.bytes, frame.body.count, TAPS_SECRET, sizeof TAPS_SECRET - 1))
            fail_entry("a credential", frame.body);
        if (naive_find(frame.body, "method").bytes)
            take_notice(tapper, frame.body);
        else
            take_answer(tapper, frame.body);
        memmove(wire->in, wire->in + frame.bytes, wire->count - frame.bytes);
        wire->count -= frame.bytes;
    }
    return more > 0;
}

bool taps_step(void) {
    bool any = false;
    for (unsigned at = 0; at < TAPPERS; at++)
        any |= read_tapper(&tappers[at]);
    return any;
}

// --- What they do

static void put_pattern(char *out, size_t capacity, const char *key, const char *pattern) {
    if (pattern)
        snprintf(out + strlen(out), capacity - strlen(out), "%s\"%s\":\"%s\"",
                 out[strlen(out) - 1] == '{' ? "" : ",", key, pattern);
}

static void choose(struct tapper *tapper) {
    static const char *const agents[] = {NULL, NULL, "*", "guest-*", "guest-0", "guest-2", "nobody"};
    static const char *const methods[] = {NULL, NULL, "work", "wo*", "other", "audit/*"};
    tapper->agent = agents[random_below(&dice, sizeof agents / sizeof *agents)];
    tapper->method = methods[random_below(&dice, sizeof methods / sizeof *methods)];
    tapper->body = random_chance(&dice, 500) ? random_between(&dice, 1, 300) : 0;
    tapper->errors = !tapper->body && random_chance(&dice, 300);
    tapper->rate = random_chance(&dice, 300) ? RATE_LOW : RATE_HIGH;
}

// From here on each request is the tap's. Others may be under way.
static void begin(struct tapper *tapper, unsigned place) {
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":\"tap\",\"method\":\"hub/tap\",\"params\":{";
    char body[400];
    if (random_chance(&dice, 500))
        traces_settle();
    memset(tapper, 0, offsetof(struct tapper, wire.in));
    memset(&tapper->wire.count, 0, sizeof *tapper - offsetof(struct tapper, wire.count));
    tapper->wire.cable = world_dial(&world);
    tapper->may = !has_users || place > 0;
    if (has_users)
        cable_of_user(tapper->wire.cable, tapper->may ? WATCHER_UID : SPY_UID);
    choose(tapper);
    tapper->reads = true;
    snprintf(body, sizeof body, "%s", head);
    put_pattern(body, sizeof body, "agent", tapper->agent);
    put_pattern(body, sizeof body, "method", tapper->method);
    size_t bytes = strlen(body);
    const char *comma = body[bytes - 1] == '{' ? "" : ",";
    bytes += (size_t)snprintf(body + bytes, sizeof body - bytes, "%s\"rate\":%u,\"errors\":%s", comma,
                              tapper->rate, tapper->errors ? "true" : "false");
    if (tapper->body)
        bytes += (size_t)snprintf(body + bytes, sizeof body - bytes, ",\"body\":%u", tapper->body);
    snprintf(body + bytes, sizeof body - bytes, "}}");
    traces_write(&tapper->wire, "", body);
    if (random_chance(&dice, 500))
        traces_ask_each();
    traces_settle();
    if (!tapper->has_answer)
        kernel_fail("a tap isn't answered");
    tapper->from = ask_count;
}

// Somebody whose credential isn't known says something that may be one.
static void speak_as_stranger(void) {
    static struct talk wire;
    wire.cable = world_dial(&world);
    traces_write(&wire, "",
                 "{\"jsonrpc\":\"2.0\",\"id\":\"stranger\",\"method\":\"work\",\"params\":{\"targetAgent\":"
                 "\"guest-1\",\"token\":\"" TAPS_SECRET "\",\"_meta\":{\"traceparent\":"
                 "\"00-00000000000000000000000000000abc-0000000000000abc-00\"}}}");
    traces_settle();
    cable_close(wire.cable);
    wire.cable = NULL;
}

// The hub's own method may bear a credential, whoever says it.
static void say_credential(struct tapper *tapper) {
    traces_write(&tapper->wire, "",
                 "{\"jsonrpc\":\"2.0\",\"method\":\"hub/ping\",\"params\":{\"token\":\"" TAPS_SECRET "\"}}");
}

static void untap(struct tapper *tapper) {
    char body[160];
    for (unsigned at = 0; at < ask_count; at++)
        tapper->is_due[at] = asks[at].ending == RESULT || asks[at].ending == ERROR_OF_TARGET ||
                             asks[at].ending == ERROR_OF_HUB;
    tapper->is_ending = true;
    snprintf(body, sizeof body,
             "{\"jsonrpc\":\"2.0\",\"id\":\"untap\",\"method\":\"hub/untap\",\"params\":{\"tap\":%" PRIu64
             "}}",
             tapper->tap);
    traces_write(&tapper->wire, "", body);
}

void taps_act(void) {
    unsigned place = random_below(&dice, TAPPERS);
    struct tapper *tapper = &tappers[place];
    uint32_t chance = random_below(&dice, 100);
    if (!tapper->wire.cable) {
        begin(tapper, place);
    } else if (cable_hub_closed(tapper->wire.cable) && !tapper->reads) {
        cable_close(tapper->wire.cable);
        tapper->wire.cable = NULL; // the hub didn't wait for it
    } else if (chance < 50) {
        tapper->is_still = !tapper->is_still;
        tapper->reads = false;
    } else if (chance < 62 && tapper->may && !tapper->is_ending) {
        untap(tapper);
    } else if (chance < 72) {
        cable_close(tapper->wire.cable);
        tapper->wire.cable = NULL;
    } else if (has_users) {
        speak_as_stranger();
    } else {
        say_credential(tapper);
    }
}

// --- The end

static void check_tapper(struct tapper *tapper) {
    uint64_t lacking = 0, possible = 0;
    for (unsigned at = tapper->from; at < ask_count; at++) {
        bool is_wanted = must_show(tapper, &asks[at]);
        lacking += is_wanted && !tapper->ended[at];
        lacking += is_wanted && tapper->body && !tapper->begun[at];
        checked_total++;
    }
    possible = (tapper->body ? 2 : 1) * (uint64_t)(ASKS_MAX + 1000);
    if (lacking > tapper->missed || tapper->missed > possible ||
        (is_calm && tapper->reads && tapper->rate == RATE_HIGH && tapper->missed > 0))
        kernel_fail("a tap lacks %" PRIu64 " entries, has %" PRIu64 " and tells of %" PRIu64
                    " that it missed",
                    lacking, tapper->shown, tapper->missed);
    entries_total += tapper->shown;
    missed_total += tapper->missed;
}

void taps_check(void) {
    for (unsigned at = 0; at < TAPPERS; at++) {
        struct tapper *tapper = &tappers[at];
        bool is_there = tapper->wire.cable && !cable_hub_closed(tapper->wire.cable);
        if (is_there && tapper->may && !tapper->is_over && !tapper->is_still)
            check_tapper(tapper);
    }
}

void taps_open(bool with_users, bool calm) {
    has_users = with_users;
    is_calm = calm;
    memset(tappers, 0, sizeof tappers);
}

void taps_close(void) {
    for (unsigned at = 0; at < TAPPERS; at++)
        if (tappers[at].wire.cable)
            cable_close(tappers[at].wire.cable);
}

void taps_report(void) {
    printf("taps: %" PRIu64 " entries, %" PRIu64 " missed, of %" PRIu64 " requests checked, and %" PRIu64
           " before hub/untap\n",
           entries_total, missed_total, checked_total, untapped_total);
}
