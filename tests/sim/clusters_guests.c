#include "tests/sim/clusters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kernel.h"
#include "tests/sim/naive.h"

enum { NAME_IDS = 100000, OTHER_IDS = 200000, BIG_BYTES = 40000 };

static void fail(const char *what, unsigned tag) {
    static const char *const kinds[] = {"request", "notification", "event"};
    static const char *const addresses[] = {"an agent", "a team", "a method", "nobody", "all"};
    const struct letter *letter = &stage.letters[tag];
    kernel_fail(
        "%s: %s %u of guest %u (hub %u) to %s %u, sent in epoch %u of %u%s%s%s, copies %u, by %u, ended %u",
        what, kinds[letter->kind], tag, letter->source, stage.guests[letter->source].site,
        addresses[letter->address], letter->name, letter->epoch, stage.epoch, letter->sure ? ", sure" : "",
        letter->big ? ", big" : "", letter->cancelled ? ", cancelled" : "", letter->copies, letter->by,
        letter->ended);
}

void stage_disturb(bool wrong) {
    stage.epoch++;
    stage.calm &= !wrong;
    stage.had_faults |= wrong;
}

unsigned stage_holder(unsigned name) {
    unsigned by = 0;
    while (by < stage.guest_count && !stage.guests[by].holds[name])
        by++;
    return by;
}

static bool anybody_claims(unsigned name) {
    for (unsigned by = 0; by < stage.guest_count; by++)
        if (stage.guests[by].claims[name].open)
            return true;
    return false;
}

// Nothing is wrong, and all know of all.
static bool is_well(void) {
    return stage.calm && stage.settled == stage.epoch;
}

// Nothing has changed since, and nothing is wrong.
static bool still(unsigned epoch) {
    return stage.calm && stage.epoch == epoch;
}

// --- Saying

static void say(struct guest *guest, const char *fields, const char *body) {
    char head[128];
    if (!guest->cable)
        return;
    int count = snprintf(head, sizeof head, "Content-Length: %zu\r\n%s\r\n", strlen(body), fields);
    cable_write(guest->cable, head, (size_t)count);
    cable_write(guest->cable, body, strlen(body));
}

void guest_enter(unsigned by) {
    struct guest *guest = &stage.guests[by];
    struct site *site = &stage.fleet.sites[guest->site];
    if (guest->cable || !site->runs)
        return;
    guest->cable = world_dial(&site->world);
    guest->life++;
    if (!guest->cable)
        return;
    for (unsigned source = 0; source < GUESTS_MAX; source++)
        guest->last[source] = -1;
    for (unsigned tag = 0; tag < stage.letter_count; tag++)
        stage.letters[tag].got &= ~(UINT32_C(1) << by);
    if (by % 2 && !stage.no_events)
        say(guest, "",
            "{\"jsonrpc\":\"2.0\",\"id\":200001,\"method\":\"hub/subscribe\",\"params\":{\"events\":"
            "[\"news-*\",\"news-1\",\"n*\"]}}");
    stage_disturb(false);
}

void guest_leave(unsigned by) {
    struct guest *guest = &stage.guests[by];
    if (!guest->cable)
        return;
    cable_reset(guest->cable);
    cable_close(guest->cable);
    guest->cable = NULL;
    guest->count = guest->late_count = guest->listening = 0;
    guest->lists_asked = guest->lists_got = 0;
    for (unsigned name = 0; name < NAMES; name++)
        if (guest->holds[name] || guest->claims[name].open)
            stage.freed_ns[name] = stage.fleet.now_ns;
    memset(guest->holds, 0, sizeof guest->holds);
    memset(guest->claims, 0, sizeof guest->claims);
    stage_disturb(false);
}

void guest_list(unsigned by) {
    struct guest *guest = &stage.guests[by];
    guest->lists_asked += guest->cable != NULL;
    say(guest, "",
        "{\"jsonrpc\":\"2.0\",\"id\":200002,\"method\":\"hub/agents\",\"params\":{\"cluster\":true}}");
}

void guest_claim(unsigned by, unsigned name) {
    char body[256];
    struct guest *guest = &stage.guests[by];
    struct claim *claim = &guest->claims[name];
    if (!guest->cable || claim->open || guest->holds[name])
        return;
    unsigned holder = stage_holder(name);
    if (stage.no_names && (holder < stage.guest_count || anybody_claims(name)))
        return;
    bool sure = is_well() && !anybody_claims(name);
    stage_disturb(false);
    *claim = (struct claim){true, stage.epoch, sure && holder < stage.guest_count,
                            sure && holder == stage.guest_count, stage.fleet.now_ns};
    snprintf(
        body, sizeof body,
        "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"agent/register\",\"params\":{\"agentId\":\"agent-%u\","
        "\"capabilities\":{\"team\":true,\"methods\":[\"work\",\"tell\"],\"events\":[{\"name\":\"tell\"}]}}}",
        NAME_IDS + name, name);
    say(guest, "", body);
}

void guest_unclaim(unsigned by, unsigned name) {
    char body[256];
    struct guest *guest = &stage.guests[by];
    if (!guest->cable || !guest->holds[name])
        return;
    guest->holds[name] = false;
    stage.freed_ns[name] = stage.fleet.now_ns;
    stage_disturb(false);
    snprintf(body, sizeof body,
             "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"agent/"
             "unregister\",\"params\":{\"agentId\":\"agent-%u\"}}",
             OTHER_IDS, name);
    say(guest, "", body);
}

// A name that is held, by another than the source where that is asked for.
static bool is_there(const struct letter *letter) {
    unsigned holder = letter->address == TO_AGENT ? stage_holder(letter->name) : stage.guest_count;
    for (unsigned name = 0; letter->address != TO_AGENT && name < NAMES; name++)
        if (stage_holder(name) < stage.guest_count && stage_holder(name) != letter->source)
            holder = stage_holder(name);
    return holder < stage.guest_count;
}

static void compose(char *body, size_t room, const struct letter *letter, unsigned tag) {
    static char filler[BIG_BYTES];
    char id[32] = "", where[64] = "";
    size_t count = letter->big ? BIG_BYTES - 1 : random_below(&stage.random, 200);
    memset(filler, 'x', count);
    filler[count] = '\0';
    if (letter->kind == KIND_REQUEST)
        snprintf(id, sizeof id, "\"id\":%u,", tag);
    if (letter->kind == KIND_EVENT)
        snprintf(where, sizeof where, "\"event\":\"news-%u\",", tag % 3);
    else if (letter->address == TO_AGENT)
        snprintf(where, sizeof where, "\"targetAgent\":\"agent-%u\",", letter->name);
    else if (letter->address == TO_TEAM)
        snprintf(where, sizeof where, "\"targetAgent\":\"@team\",");
    else if (letter->address == TO_NOBODY)
        snprintf(where, sizeof where, "\"targetAgent\":\"nobody\",");
    snprintf(body, room,
             "{\"jsonrpc\":\"2.0\",%s\"method\":\"%s\",\"params\":{\"tag\":%u,%s\"workDoneToken\":\"t\","
             "\"x\":\"%s\"}}",
             id,
             letter->kind == KIND_EVENT  ? "event"
             : letter->address == TO_ALL ? "tell"
                                         : "work",
             tag, where, filler);
}

void guest_send(unsigned by, enum kind kind, enum address address, unsigned name) {
    static char body[BIG_BYTES + 1024];
    struct guest *guest = &stage.guests[by];
    if (!guest->cable || stage.letter_count == LETTERS_MAX)
        return;
    unsigned tag = stage.letter_count++;
    struct letter *letter = &stage.letters[tag];
    *letter = (struct letter){kind, address, by, guest->life, name, stage.epoch, .by = GUESTS_MAX};
    letter->big = random_chance(&stage.random, 20);
    letter->timed = kind == KIND_REQUEST && random_chance(&stage.random, 100);
    letter->sure =
        is_well() && !letter->big && (kind == KIND_EVENT || address == TO_NOBODY || is_there(letter));
    compose(body, sizeof body, letter, tag);
    say(guest, letter->timed ? "Custom-Timeout-Ms: 3000\r\n" : "", body);
    sums.letters++;
}

void guest_cancel(void) {
    char body[128];
    if (!stage.letter_count)
        return;
    unsigned tag = random_below(&stage.random, stage.letter_count);
    struct letter *letter = &stage.letters[tag];
    struct guest *guest = &stage.guests[letter->source];
    if (letter->kind != KIND_REQUEST || letter->ended || guest->life != letter->life)
        return;
    letter->cancelled = true;
    snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":%u}}",
             tag);
    say(guest, "", body);
    sums.cancels++;
}

static void answer(unsigned by, const char *id, unsigned tag) {
    char body[256];
    snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tag\":%u,\"by\":%u}}", id, tag,
             by);
    say(&stage.guests[by], "", body);
}

void guest_answer(unsigned by, bool all) {
    struct guest *guest = &stage.guests[by];
    while (guest->late_count) {
        unsigned at = random_below(&stage.random, guest->late_count);
        unsigned tag = guest->late[at];
        guest->late[at] = guest->late[--guest->late_count];
        answer(by, stage.letters[tag].id, tag);
        if (!all)
            return;
    }
}

// --- Hearing

static struct letter *letter_of(uint64_t tag) {
    if (tag >= stage.letter_count)
        kernel_fail("something came that nobody sent");
    return &stage.letters[tag];
}

// What goes to all of them: each gets one copy, in order.
static void take_copy(unsigned by, unsigned tag) {
    struct letter *letter = letter_of(tag);
    struct guest *guest = &stage.guests[by];
    bool in_order = guest->last[letter->source] < (int)tag;
    bool is_own = by == letter->source && guest->life == letter->life;
    bool for_all = letter->kind == KIND_EVENT || letter->address == TO_ALL;
    if (!for_all || letter->got >> by & 1 || is_own)
        fail("an event came twice, or to who has sent it", tag);
    if (!in_order && still(letter->epoch) &&
        stage.letters[guest->last[letter->source]].epoch == letter->epoch)
        fail("an event came behind a later one", tag);
    if (in_order)
        guest->last[letter->source] = (int)tag;
    letter->got |= 1U << by;
    letter->copies++;
    sums.copies++;
}

static void tell_progress(unsigned by, struct bit body) {
    char line[256];
    struct bit token = naive_find(body, "params.workDoneToken");
    if (!token.bytes || !random_chance(&stage.random, 300))
        return;
    snprintf(line, sizeof line,
             "{\"jsonrpc\":\"2.0\",\"method\":\"$/progress\",\"params\":{\"token\":%.*s,\"value\":1}}",
             (int)token.count, (const char *)token.bytes);
    say(&stage.guests[by], "", line);
}

static void take_work(unsigned by, struct bit body) {
    unsigned tag = (unsigned)bit_number(naive_find(body, "params.tag"));
    struct letter *letter = letter_of(tag);
    struct guest *guest = &stage.guests[by];
    struct bit id = naive_find(body, "id");
    if (letter->kind == KIND_EVENT || letter->address == TO_NOBODY || letter->copies)
        fail("a message came twice, or to somebody else", tag);
    if ((letter->kind == KIND_REQUEST) != (id.bytes != NULL) || id.count >= sizeof letter->id)
        fail("a message came with an id too many or too few", tag);
    if (letter->sure && still(letter->epoch) && letter->address == TO_AGENT && !guest->holds[letter->name])
        fail("a message came to who doesn't hold the name", tag);
    letter->copies++;
    letter->by = by;
    sums.crossed += guest->site != stage.guests[letter->source].site;
    if (!id.bytes)
        return;
    tell_progress(by, body);
    snprintf(letter->id, sizeof letter->id, "%.*s", (int)id.count, (const char *)id.bytes);
    if (guest->late_count == LATE_MAX || random_chance(&stage.random, stage.busy ? 100 : 500))
        answer(by, letter->id, tag);
    else
        guest->late[guest->late_count++] = tag;
}

// A cancel names what has come, under the id under which it came.
static void take_cancel(unsigned by, struct bit id) {
    for (unsigned tag = 0; tag < stage.letter_count; tag++)
        if (stage.letters[tag].by == by && bit_is(id, stage.letters[tag].id))
            return;
    for (unsigned at = 0; at < STRAYS_KEPT; at++)
        if (bit_is(id, stage.guests[by].strays[at]))
            return;
    kernel_fail("guest %u is told to cancel %.*s, which it never got", by, (int)id.count,
                (const char *)id.bytes);
}

// Whoever got it hasn't answered yet.
static bool waits_at_target(const struct letter *letter) {
    const struct guest *target = letter->copies ? &stage.guests[letter->by] : NULL;
    for (unsigned at = 0; target && at < target->late_count; at++)
        if (&stage.letters[target->late[at]] == letter)
            return true;
    return false;
}

static bool may_fail(const struct letter *letter, int64_t code) {
    bool sure = letter->sure && still(letter->epoch);
    if (stage.scarce && (code == -32603 || code == -32003))
        return true;
    switch (code) {
    case -32010:
        return letter->address == TO_NOBODY || (!sure && letter->address != TO_METHOD);
    case -32601:
        return !sure && letter->address == TO_METHOD;
    case -32050:
        return !sure;
    case -32051:
        return letter->timed ||
               waits_at_target(letter); // what else is owed is asked after, whatever was lost
    case -32052:
        return !sure;
    case -32055:
        return letter->big;
    case -32800:
        return letter->cancelled;
    default:
        return false;
    }
}

static void take_end(unsigned by, unsigned tag, struct bit body) {
    struct letter *letter = letter_of(tag);
    struct bit error = naive_find(body, "error");
    if (letter->source != by || letter->kind != KIND_REQUEST || stage.guests[by].life != letter->life ||
        letter->ended++)
        fail("a request ended twice, or for somebody else", tag);
    letter->good = !error.bytes;
    sums.good += letter->good;
    sums.failed += !letter->good;
    if (letter->good && (!letter->copies || bit_number(naive_find(body, "result.tag")) != tag ||
                         bit_number(naive_find(body, "result.by")) != letter->by))
        fail("a request has another one's answer", tag);
    int64_t code = bit_integer(naive_find(error, "code"));
    if (!letter->good && !may_fail(letter, code)) {
        fprintf(stderr, "%.*s\n", (int)body.count, (const char *)body.bytes);
        fail("a request ended as it must not", tag);
    }
}

static void take_claim(unsigned by, unsigned name, struct bit body) {
    struct guest *guest = &stage.guests[by];
    struct claim claim = guest->claims[name];
    bool good = !naive_find(body, "error").bytes;
    int64_t code = bit_integer(naive_find(body, "error.code"));
    if (!claim.open)
        kernel_fail("guest %u is answered a registration that it hasn't asked for", by);
    if (!good && code != -32053 && code != -32052 && !stage.scarce)
        kernel_fail("guest %u is refused a name with %lld", by, (long long)code);
    if (still(claim.epoch) && ((good && claim.sure_taken) || (!good && claim.sure_free)))
        kernel_fail("guest %u at hub %u is %s agent-%u, which %s", by, guest->site,
                    good ? "given" : "refused", name, good ? "another one has" : "nobody has");
    guest->claims[name].open = false;
    guest->holds[name] = good;
    guest->since_ns[name] = claim.sent_ns;
    sums.refused += !good;
    stage_disturb(false);
}

// Of all who still have it (hubs that are apart have one each), one was there before, as far as can be told from here: a hub may have
// said so late, or somebody else been there meanwhile.
static void check_older(unsigned by, unsigned name) {
    const uint64_t slack_ns = UINT64_C(5000000000), since_ns = stage.guests[by].since_ns[name];
    unsigned later = stage.guest_count;
    if (stage.freed_ns[name] + slack_ns > since_ns)
        return;
    for (unsigned other = 0; other < stage.guest_count; other++) {
        if (!stage.guests[other].holds[name])
            continue;
        if (stage.guests[other].since_ns[name] <= since_ns + slack_ns)
            return;
        later = other;
    }
    if (later < stage.guest_count)
        kernel_fail("guest %u lost agent-%u to guest %u, which came later", by, name, later);
}

static void take_replaced(unsigned by, struct bit body) {
    struct bit id = naive_find(body, "params.agentId");
    char wanted[32];
    for (unsigned name = 0; name < NAMES; name++) {
        snprintf(wanted, sizeof wanted, "\"agent-%u\"", name);
        if (!bit_is(id, wanted))
            continue;
        stage.guests[by].holds[name] = false;
        check_older(by, name);
    }
    if (!stage.had_faults)
        kernel_fail("guest %u lost %.*s though the hubs were never apart", by, (int)id.count,
                    (const char *)id.bytes);
    sums.replaced++;
    stage_disturb(false);
}

static void answer_stray(unsigned by, struct bit id) {
    char line[128];
    struct guest *guest = &stage.guests[by];
    snprintf(guest->strays[guest->stray_count++ % STRAYS_KEPT], sizeof guest->strays[0], "%.*s",
             (int)id.count, (const char *)id.bytes);
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":\"found\"}", (int)id.count,
             (const char *)id.bytes);
    say(&stage.guests[by], "", line);
}

static void take_list(unsigned by, struct bit body) {
    struct guest *guest = &stage.guests[by];
    bool good = naive_find(body, "result").bytes != NULL;
    int64_t code = bit_integer(naive_find(body, "error.code"));
    if (guest->lists_got++ == guest->lists_asked)
        kernel_fail("guest %u got a list that it hasn't asked for", by);
    if (!good && code != -32052 && code != -32055 && !stage.scarce)
        kernel_fail("guest %u is refused a list with %lld", by, (long long)code);
    guest->list_complete = bit_is(naive_find(body, "result.complete"), "true");
    guest->listed = 0;
    for (unsigned name = 0; name < NAMES; name++) {
        char wanted[32];
        int bytes = snprintf(wanted, sizeof wanted, "\"agentId\":\"agent-%u\"", name);
        guest->listed |= (uint32_t)(memmem(body.bytes, body.count, wanted, (size_t)bytes) != NULL) << name;
    }
}

void guest_check_list(unsigned by) {
    const struct guest *guest = &stage.guests[by];
    if (!guest->cable)
        return;
    if (guest->lists_got != guest->lists_asked)
        kernel_fail("guest %u got %u lists of %u", by, guest->lists_got, guest->lists_asked);
    for (unsigned name = 0; name < NAMES; name++)
        if (stage_holder(name) < stage.guest_count && !(guest->listed >> name & 1))
            kernel_fail("agent-%u isn't in the list of all hubs though all is well", name);
    if (!guest->list_complete)
        kernel_fail("guest %u gets an incomplete list though all is well", by);
}

static void take(unsigned by, struct bit body) {
    struct guest *guest = &stage.guests[by];
    struct bit method = naive_find(body, "method");
    uint64_t id = bit_number(naive_find(body, "id"));
    if (!naive_valid(body))
        kernel_fail("a body isn't JSON");
    if (bit_is(method, "\"event\"") || bit_is(method, "\"tell\""))
        take_copy(by, (unsigned)bit_number(naive_find(body, "params.tag")));
    else if (bit_is(method, "\"work\""))
        take_work(by, body);
    else if (bit_is(method, "\"stray\""))
        answer_stray(by, naive_find(body, "id"));
    else if (bit_is(method, "\"hub/replaced\""))
        take_replaced(by, body);
    else if (bit_is(method, "\"$/progress\"")) {
        if (!bit_is(naive_find(body, "params.token"), "\"t\""))
            kernel_fail("progress came with another one's token");
        sums.progress++;
    } else if (bit_is(method, "\"$/cancelRequest\""))
        take_cancel(by, naive_find(body, "params.id"));
    else if (bit_is(method, "\"hub/dropped\"") && !stage.had_faults)
        kernel_fail("guest %u is told of events that it has missed though nothing was wrong", by);
    else if (method.bytes)
        return;
    else if (id < NAME_IDS)
        take_end(by, (unsigned)id, body);
    else if (id < NAME_IDS + NAMES)
        take_claim(by, (unsigned)(id - NAME_IDS), body);
    else if (id == OTHER_IDS + 2)
        take_list(by, body);
    else if (id == OTHER_IDS + 1)
        guest->listening++, stage_disturb(false);
}

bool guest_hear(unsigned by) {
    struct guest *guest = &stage.guests[by];
    size_t more = guest->cable ? cable_readable(guest->cable) : 0, at = 0;
    struct naive_frame frame;
    if (guest->cable && !more && cable_at_end(guest->cable))
        guest_leave(by);
    if (!more)
        return false;
    guest->in = realloc(guest->in, guest->count + more);
    if (!guest->in)
        abort();
    guest->count += cable_read(guest->cable, guest->in + guest->count, more);
    for (enum naive_result result; at < guest->count; at += frame.bytes) {
        result = naive_frame(&frame, guest->in + at, guest->count - at);
        if (result == NAIVE_BAD)
            kernel_fail("the hub sent what is no frame");
        if (result == NAIVE_PARTIAL)
            break;
        take(by, frame.body);
    }
    memmove(guest->in, guest->in + at, guest->count - at);
    guest->count -= at;
    return true;
}

// --- Who is no hub

static void stray_say(const char *text) {
    broker_hear(stage.stray, text, strlen(text));
}

void stray_ask(void) {
    static const char *const services[] = {"$SRV.PING", "$SRV.INFO", "$SRV.STATS"};
    char line[512], body[128];
    if (stage.stray && broker_over(stage.stray))
        stray_leave();
    if (!stage.stray && !(stage.stray = broker_join(stage.fleet.brokers, 0)))
        return;
    if (!broker_connected(stage.stray))
        stray_say("CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\nSUB _INBOX.stray.* "
                  "1\r\n");
    if (random_chance(&stage.random, 200)) {
        snprintf(line, sizeof line, "PUB %s _INBOX.stray.all 0\r\n\r\n",
                 services[random_below(&stage.random, 3)]);
        stray_say(line);
    } else if (stage.stray_asked < STRAY_MAX) {
        unsigned number = stage.stray_asked++;
        snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"stray\",\"params\":{}}",
                 number);
        snprintf(line, sizeof line,
                 "PUB patchbay." CLUSTER_NAME ".agent.agent-%u _INBOX.stray.%u %zu\r\n%s\r\n",
                 random_below(&stage.random, NAMES), number, strlen(body), body);
        stray_say(line);
    }
}

void stray_leave(void) {
    if (stage.stray)
        broker_leave(stage.stray);
    stage.stray = NULL;
    stage.heard.count = 0;
}

// One message of what has come; false: there is none that is whole.
static bool stray_take(void) {
    char line[512] = "", subject[128] = "";
    size_t head = 0, count = 0;
    const uint8_t *bytes = stage.heard.bytes, *feed = memchr(bytes, '\n', stage.heard.count);
    if (!feed || (size_t)(feed - bytes) >= sizeof line)
        return false;
    size_t length = (size_t)(feed - bytes) + 1;
    memcpy(line, bytes, length);
    bool headed = sscanf(line, "HMSG %127s 1 %zu %zu", subject, &head, &count) == 3;
    bool is_message = headed || sscanf(line, "MSG %127s 1 %zu", subject, &count) == 2;
    size_t whole = length + (is_message ? count + 2 : 0);
    if (stage.heard.count < whole)
        return false;
    if (is_message && strcmp(subject, "_INBOX.stray.all") != 0) {
        unsigned number = (unsigned)strtoul(subject + strlen("_INBOX.stray."), NULL, 10);
        if (number >= stage.stray_asked || stage.stray_answers[number]++)
            kernel_fail("a client that is no hub is answered twice: %.*s", (int)count,
                        (const char *)feed + 1);
        sums.strays++;
    }
    memmove(stage.heard.bytes, stage.heard.bytes + whole, stage.heard.count - whole);
    stage.heard.count -= whole;
    return true;
}

bool stray_hear(void) {
    if (!stage.stray)
        return false;
    size_t more = broker_say(stage.stray, stage.heard.bytes + stage.heard.count,
                             sizeof stage.heard.bytes - stage.heard.count);
    stage.heard.count += more;
    while (stray_take())
        ;
    return more > 0;
}

// --- In the end

void letter_check(unsigned tag) {
    const struct letter *letter = &stage.letters[tag];
    const struct guest *source = &stage.guests[letter->source];
    bool there = source->cable && source->life == letter->life;
    if (letter->kind == KIND_REQUEST && there && letter->ended != 1)
        fail("a request has not ended", tag);
}
