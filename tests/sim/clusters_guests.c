#include "tests/sim/clusters.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kernel.h"
#include "tests/sim/naive.h"

void letter_fails(const char *what, unsigned tag) {
    static const char *const kinds[] = {"request", "notification", "event"};
    static const char *const addresses[] = {"an agent", "a team", "a method",
                                            "nobody",   "all",    "the child of hub"};
    const struct letter *letter = &stage.letters[tag];
    kernel_fail("%s: %s %u of guest %u (hub %u, user %d) to %s %u, level %d, sent in epoch %u of %u%s%s%s%s, "
                "copies %u, by %u, "
                "ended %u, checkpoint %s, said %x",
                what, kinds[letter->kind], tag, letter->source, stage.guests[letter->source].site,
                letter->user, addresses[letter->address], letter->name, letter->level, letter->epoch,
                stage.epoch, letter->sure ? ", sure" : "", letter->peopled ? ", peopled" : "",
                letter->big ? ", big" : "", letter->cancelled ? ", cancelled" : "", letter->copies,
                letter->by, letter->ended, letter->checkpoint, letter->said);
}

unsigned stage_holder(unsigned name) {
    unsigned by = 0;
    while (by < stage.guest_count && !stage.guests[by].holds[name])
        by++;
    return by;
}

// --- Hearing

static struct letter *letter_of(uint64_t tag) {
    if (tag >= stage.letter_count)
        kernel_fail("something came that nobody sent");
    return &stage.letters[tag];
}

// --- What may come

// Where users are on, the letter names its source's user once, as the source's hub knows that user. Nothing else names
// a user.
static void check_signer(unsigned by, const struct naive_frame *frame, const struct letter *letter,
                         unsigned tag) {
    static const char key[] = "Patchbay-User: ";
    char wanted[64], name[16];
    const struct guest *guest = &stage.guests[by];
    struct bit rest = frame->fields;
    unsigned count = 0;
    if (!stage.known[guest->site] || guest->http_owner.way != FRAMES)
        return;
    if (letter->user == NOBODY)
        letter_fails("it came, and nobody knows whose it is", tag);
    model_user_name((unsigned)letter->user, name);
    int bytes = snprintf(wanted, sizeof wanted, "%s%s\r", key, name);
    for (const uint8_t *at; rest.count && (at = memmem(rest.bytes, rest.count, key, strlen(key))); count++) {
        size_t skipped = (size_t)(at - rest.bytes);
        if (rest.count - skipped < (size_t)bytes || memcmp(at, wanted, (size_t)bytes) != 0)
            letter_fails("it came as another user's", tag);
        rest.bytes += skipped + 1;
        rest.count -= skipped + 1;
    }
    if (count != 1)
        letter_fails("whose it is was told twice, or not at all", tag);
}

// By the files of both hubs.
static bool may_be_reached(const struct letter *letter, unsigned site, unsigned name) {
    return rights_may_reach(letter, site, name) &&
           rights_may_reach(letter, stage.guests[letter->source].site, name);
}

// The names for which it may have come to a guest, unless they have changed since it was sent, and then 0. A name that
// the guest has asked for is found before the server knows the name, too, and before the guest is told.
static unsigned names_meant(unsigned by, const struct letter *letter) {
    const struct guest *guest = &stage.guests[by];
    unsigned offers = letter->address == TO_TEAM     ? OFFERS_TEAM
                      : letter->address == TO_METHOD ? OFFERS_METHODS
                      : letter->address == TO_ALL    ? OFFERS_TELLING | OFFERS_METHODS
                                                     : 0;
    unsigned names = 0;
    if (letter->epoch != stage.epoch || letter->kind == KIND_NEWS)
        return 0;
    if (letter->address == TO_AGENT)
        return 1U << letter->name;
    for (unsigned name = 0; name < NAMES; name++)
        names |= (unsigned)((guest->holds[name] && guest->offers[name] & offers) ||
                            (guest->claims[name].open && guest->claims[name].offers & offers))
                 << name;
    return names;
}

// Wants one of these names to be one that the source may reach, by the files of both hubs.
static void check_reach(const struct letter *letter, unsigned tag, unsigned site, unsigned names) {
    bool any = names == 0 || letter->address == TO_AGENT;
    for (unsigned name = 0; name < NAMES; name++)
        any |= names >> name & 1 && may_be_reached(letter, site, name);
    if (!any)
        letter_fails("it came to whom a file denies its source", tag);
}

// Returns whether some name of this guest's is among those that it is for, and may be reached and supports its level.
static bool may_have(unsigned by, const struct letter *letter) {
    const struct guest *guest = &stage.guests[by];
    bool is_free = stage.gated[stage.guests[letter->source].site] && gate_may_hold(letter);
    for (unsigned name = 0; name < NAMES; name++) {
        bool meant = letter->address == TO_AGENT  ? name == letter->name
                     : letter->address == TO_TEAM ? guest->offers[name] & OFFERS_TEAM
                                                  : guest->offers[name] & OFFERS_METHODS;
        bool reached = letter->address == TO_AGENT || may_be_reached(letter, guest->site, name);
        if (guest->holds[name] && meant && reached && (is_free || guest->levels[name] >= letter->level))
            return true;
    }
    return false;
}

void letter_arrives(const struct letter *letter, unsigned to) {
    unsigned from = stage.guests[letter->source].site, tag = (unsigned)(letter - stage.letters);
    if (!rights_may_be(letter, from, JUDGED_ALLOWED))
        letter_fails("it came though its own hub doesn't allow it", tag);
    if (to != from && !rights_may_be(letter, to, JUDGED_ALLOWED))
        letter_fails("it came though the hub it came to doesn't allow it", tag);
    if (to != from && stage.known[to] && !stage.known[from])
        letter_fails("it came from a hub that knows no users", tag);
    if (!stage_together(to, from))
        letter_fails("it came from a hub with another REALM", tag);
    gate_arrival(letter, tag);
}

static void check_arrival(unsigned by, const struct naive_frame *frame, const struct letter *letter,
                          unsigned tag) {
    unsigned site = stage.guests[by].site, names = names_meant(by, letter);
    letter_arrives(letter, site);
    check_reach(letter, tag, site, names);
    gate_arrival_at(letter, tag, site, names);
    check_signer(by, frame, letter, tag);
}

void kid_is_asked(unsigned site, unsigned tag, bool has_id) {
    struct letter *letter = letter_of(tag);
    if (letter->address != TO_KID || letter->name != site || letter->kind == KIND_NEWS)
        letter_fails("a child was asked what isn't for it", tag);
    if (letter->copies || has_id != (letter->kind == KIND_REQUEST))
        letter_fails("a child was asked twice, or otherwise", tag);
    if (!kids_serve(site, stage.guests[letter->source].site))
        letter_fails("a child was asked by another hub, and is its own hub's guests' alone", tag);
    letter_arrives(letter, site);
    letter->copies++;
    letter->by = GUESTS_MAX + site;
    sums.crossed += site != stage.guests[letter->source].site;
}

// Takes a copy of a letter to all: each guest gets one copy, in order.
static void take_copy(unsigned by, const struct naive_frame *frame, unsigned tag) {
    struct letter *letter = letter_of(tag);
    struct guest *guest = &stage.guests[by];
    bool in_order = guest->last[letter->source] < (int)tag;
    bool is_own = by == letter->source && guest->life == letter->life;
    bool for_all = letter->kind == KIND_NEWS || letter->address == TO_ALL;
    if (!for_all || letter->got >> by & 1 || is_own)
        letter_fails("an event came twice, or to who has sent it", tag);
    if (!in_order && stage_still(letter->epoch) && !letter->checkpoint[0] && !gate_may_hold(letter) &&
        stage.letters[guest->last[letter->source]].epoch == letter->epoch)
        letter_fails("an event came behind a later one", tag);
    check_arrival(by, frame, letter, tag);
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
    guest_say(&stage.guests[by], "", line);
}

static void take_work(unsigned by, const struct naive_frame *frame, struct bit body) {
    unsigned tag = (unsigned)bit_number(naive_find(body, "params.tag"));
    struct letter *letter = letter_of(tag);
    struct guest *guest = &stage.guests[by];
    struct bit id = naive_find(body, "id");
    if (letter->kind == KIND_NEWS || letter->address == TO_NOBODY || letter->address == TO_KID ||
        letter->copies)
        letter_fails("a message came twice, or to somebody else", tag);
    if ((letter->kind == KIND_REQUEST) != (id.bytes != NULL) || id.count >= sizeof letter->id)
        letter_fails("a message came with an id too many or too few", tag);
    if (letter->sure && letter->peopled && stage_still(letter->epoch) && !may_have(by, letter))
        letter_fails("a message came to who mustn't get it", tag);
    check_arrival(by, frame, letter, tag);
    letter_comes(by, letter);
    letter->copies++;
    letter->by = by;
    sums.crossed += guest->site != stage.guests[letter->source].site;
    if (!id.bytes)
        return;
    tell_progress(by, body);
    snprintf(letter->id, sizeof letter->id, "%.*s", (int)id.count, (const char *)id.bytes);
    if (guest->late_count == LATE_MAX || random_chance(&stage.random, stage.busy ? 100 : 500))
        guest_answer_one(by, letter->id, tag);
    else
        guest->late[guest->late_count++] = tag;
}

// Checks the number of cancels: as many as the source sent, and one more where the hub gives the request up.
static void check_cancel(struct letter *letter) {
    unsigned most = letter->cancels + !(letter->sure && stage_still(letter->epoch) && !letter->timed);
    if (++letter->cancels_heard > most)
        letter_fails("a request is cancelled twice", (unsigned)(letter - stage.letters));
}

// A cancel names what has come, under the id under which it came: the last such, since a hub that starts again counts
// anew.
static void take_cancel(unsigned by, struct bit id) {
    for (unsigned at = 0; at < STRAYS_KEPT; at++)
        if (bit_is(id, stage.guests[by].strays[at]))
            return;
    for (unsigned tag = stage.letter_count; tag-- > 0;)
        if (stage.letters[tag].by == by && bit_is(id, stage.letters[tag].id)) {
            check_cancel(&stage.letters[tag]);
            return;
        }
    kernel_fail("guest %u is told to cancel %.*s, which it never got", by, (int)id.count,
                (const char *)id.bytes);
}

// Returns whether the guest that got the letter hasn't answered yet.
static bool waits_at_target(const struct letter *letter) {
    const struct guest *target = letter->copies && letter->by < GUESTS_MAX ? &stage.guests[letter->by] : NULL;
    for (unsigned at = 0; target && at < target->late_count; at++)
        if (&stage.letters[target->late[at]] == letter)
            return true;
    return false;
}

// Returns whether a hub that the letter may have come to judges so.
static bool may_be_elsewhere(const struct letter *letter, enum judged judged) {
    unsigned from = stage.guests[letter->source].site;
    bool is_known =
        letter->sure && letter->peopled && stage_still(letter->epoch) && letter->address == TO_AGENT;
    unsigned holder = stage_holder(letter->name);
    for (unsigned site = 0; site < stage.fleet.options.site_count; site++) {
        bool is_there = !is_known || holder == stage.guest_count || stage.guests[holder].site == site;
        if (site != from && is_there && rights_may_be(letter, site, judged))
            return true;
    }
    return false;
}

// Somebody of those that it is for doesn't support its level.
static bool may_be_too_strict(const struct letter *letter) {
    if (letter->address == TO_KID)
        return letter->level && !gate_must_hold(letter);
    return letter->level && letter->address != TO_NOBODY &&
           !(letter->sure && letter->peopled && stage_still(letter->epoch)) && !gate_must_hold(letter);
}

// The hub that has refused it; NOBODY: it may have been one or another.
static int refuser(const struct letter *letter) {
    unsigned from = stage.guests[letter->source].site, found = 0;
    int by = NOBODY;
    if (!rights_may_be(letter, from, JUDGED_ALLOWED))
        return (int)from;
    if (rights_may_be(letter, from, JUDGED_REFUSED))
        return NOBODY;
    if (letter->address == TO_KID)
        return (int)letter->name;
    for (unsigned site = 0; site < stage.fleet.options.site_count; site++)
        if (site != from && rights_may_be(letter, site, JUDGED_REFUSED)) {
            by = (int)site;
            found++;
        }
    unsigned holder = stage_holder(letter->name);
    if (letter->address == TO_AGENT && letter->sure && letter->peopled && stage_still(letter->epoch) &&
        holder < stage.guest_count)
        return (int)stage.guests[holder].site;
    return found == 1 ? by : NOBODY;
}

// Returns whether the source's credential has gone. A hub that holds the letter may know that before the source's hub,
// which then tells the source before it closes the source's connection.
static bool is_revoked(const struct letter *letter) {
    const struct guest *source = &stage.guests[letter->source];
    return gate_may_hold(letter) && source->user != NOBODY &&
           source->generation != rights_generation(source->site, source->user);
}

static bool may_fail(const struct letter *letter, int64_t code) {
    bool sure = letter->sure && stage_still(letter->epoch), found = sure && letter->peopled;
    unsigned from = stage.guests[letter->source].site;
    if ((stage.scarce && (code == -32603 || code == -32003)) || gate_may_end(letter, code))
        return true;
    switch (code) {
    case -32001:
        return rights_may_be(letter, from, JUDGED_REFUSED) || may_be_elsewhere(letter, JUDGED_REFUSED) ||
               is_revoked(letter);
    case -32054:
        return may_be_elsewhere(letter, JUDGED_UNKNOWN);
    case -32011:
        return may_be_too_strict(letter);
    case -32010:
        return letter->address == TO_NOBODY || (!found && letter->address != TO_METHOD);
    case -32601:
        return !found && letter->address == TO_METHOD;
    case -32050:
        return !sure;
    case -32051: // what else is owed is asked after, whatever was lost but between two servers
        return letter->timed || waits_at_target(letter) ||
               (stage.had_cuts &&
                stage.fleet.now_ns - letter->sent_ns + UINT64_C(1000000) >= // a millisecond, as timers count
                    stage.fleet.options.world.settings->limits.request_timeout_ns);
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
    if (letter->source != by || letter->by_call)
        letter_fails("a request ended for somebody else", tag);
    letter_end(tag, body);
}

void letter_end(unsigned tag, struct bit body) {
    struct letter *letter = letter_of(tag);
    unsigned by = letter->source;
    struct bit error = naive_find(body, "error");
    if (letter->kind != KIND_REQUEST || stage.guests[by].life != letter->life || letter->ended++)
        letter_fails("a request ended twice, or for somebody else", tag);
    letter->good = !error.bytes;
    sums.good += letter->good;
    sums.failed += !letter->good;
    sums.denied += bit_integer(naive_find(error, "code")) == -32001;
    sums.foreign += bit_integer(naive_find(error, "code")) == -32054;
    if (letter->good && (!letter->copies || bit_number(naive_find(body, "result.tag")) != tag ||
                         bit_number(naive_find(body, "result.by")) != letter->by))
        letter_fails("a request has another one's answer", tag);
    int64_t code = letter->code = bit_integer(naive_find(error, "code"));
    if (code == -32800 && letter->copies && letter->address != TO_KID) // guests never say so
        letter_fails("a request is taken back that has come", tag);
    letter->refused_by = code == -32001 && !is_revoked(letter) ? refuser(letter) : NOBODY;
    if (!letter->good && !may_fail(letter, code)) {
        fprintf(stderr, "%.*s\n", (int)body.count, (const char *)body.bytes);
        letter_fails("a request ended as it must not", tag);
    }
}

static void take_claim(unsigned by, unsigned name, struct bit body) {
    struct guest *guest = &stage.guests[by];
    struct claim claim = guest->claims[name];
    bool good = !naive_find(body, "error").bytes;
    int64_t code = bit_integer(naive_find(body, "error.code"));
    if (!claim.open)
        kernel_fail("guest %u is answered a registration that it hasn't asked for", by);
    bool denied = !good && code == -32001;
    if (!good && !denied && code != -32053 && code != -32052 && !stage.scarce)
        kernel_fail("guest %u is refused a name with %lld", by, (long long)code);
    if ((good || denied) &&
        !rights_may_register(guest->site, guest->user, claim.edition, name, claim.offers, claim.level, good))
        kernel_fail("guest %u at hub %u, user %d, is %s %s, which its file doesn't say", by, guest->site,
                    guest->user, good ? "given" : "denied", model_agents[name]);
    if (!denied && stage_still(claim.epoch) && ((good && claim.sure_taken) || (!good && claim.sure_free)))
        kernel_fail("guest %u at hub %u is %s %s, which %s", by, guest->site, good ? "given" : "refused",
                    model_agents[name], good ? "another one has" : "nobody has");
    guest->claims[name].open = false;
    guest->holds[name] = good;
    guest->since_ns[name] = claim.sent_ns;
    guest->held_ns[name] = stage.fleet.now_ns;
    guest->levels[name] = claim.level;
    guest->offers[name] = claim.offers;
    sums.refused += !good;
    stage_disturb(false);
}

// Of all guests who still have the name (hubs that are apart have one each), one had the name before this guest, as far
// as can be told from here. A hub may have told of a name late, or another guest may have had the name meanwhile.
static void check_older(unsigned by, unsigned name) {
    const uint64_t slack_ns = UINT64_C(5000000000), since_ns = stage.guests[by].since_ns[name];
    unsigned later = stage.guest_count;
    if (stage.freed_ns[name] + slack_ns > since_ns)
        return;
    for (unsigned other = 0; other < stage.guest_count; other++) {
        if (!stage.guests[other].holds[name])
            continue;
        if (stage.guests[other].since_ns[name] <= stage.guests[by].held_ns[name] + slack_ns)
            return;
        later = other;
    }
    if (later < stage.guest_count)
        kernel_fail("guest %u lost %s to guest %u, which came later", by, model_agents[name], later);
}

static void take_replaced(unsigned by, struct bit body) {
    struct guest *guest = &stage.guests[by];
    struct bit id = naive_find(body, "params.agentId");
    char wanted[32];
    bool recalled = false;
    for (unsigned name = 0; name < NAMES; name++) {
        snprintf(wanted, sizeof wanted, "\"%s\"", model_agents[name]);
        if (!bit_is(id, wanted))
            continue;
        recalled =
            guest->holds[name] && !rights_may_register(guest->site, guest->user, stage.edition[guest->site],
                                                       name, guest->offers[name], guest->levels[name], true);
        guest->holds[name] = false;
        if (recalled)
            stage.freed_ns[name] = stage.fleet.now_ns;
        else
            check_older(by, name);
    }
    bool may_race = stage.fleet.options.brokers.count > 1; // who asks at two servers at once may be told late
    bool may_differ = stage.edition[0] > 0;                // while files change hubs are strangers
    if (!stage.had_faults && !recalled && !may_race && !may_differ)
        kernel_fail("guest %u lost %.*s though the hubs were never apart", by, (int)id.count,
                    (const char *)id.bytes);
    sums.replaced++;
    stage_disturb(false);
}

static void answer_stray(unsigned by, struct bit id, unsigned number) {
    char line[128];
    struct guest *guest = &stage.guests[by];
    if (stage.known[guest->site])
        kernel_fail("guest %u is asked by who is no hub, and nobody knows whose that is", by);
    stray_comes(by, number);
    snprintf(guest->strays[guest->stray_count++ % STRAYS_KEPT], sizeof guest->strays[0], "%.*s",
             (int)id.count, (const char *)id.bytes);
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":\"found\"}", (int)id.count,
             (const char *)id.bytes);
    guest_say(&stage.guests[by], "", line);
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
        int bytes = snprintf(wanted, sizeof wanted, "\"agentId\":\"%s\"", model_agents[name]);
        guest->listed |= (uint32_t)(memmem(body.bytes, body.count, wanted, (size_t)bytes) != NULL) << name;
    }
}

void guest_check_list(unsigned by) {
    const struct guest *guest = &stage.guests[by];
    if (!guest->http_owner.cable || (stage.known[guest->site] && !guest->entered))
        return;
    if (guest->lists_got != guest->lists_asked)
        kernel_fail("guest %u got %u lists of %u", by, guest->lists_got, guest->lists_asked);
    for (unsigned name = 0; name < NAMES; name++) {
        unsigned holder = stage_holder(name);
        bool listed = guest->listed >> name & 1;
        if (holder == stage.guest_count || !stage_together(stage.guests[holder].site, guest->site))
            continue;
        unsigned to = stage.guests[holder].site;
        bool there = rights_sees(to, guest->user, name, stage.guests[holder].offers[name]),
             here = to == guest->site || guest->user == NOBODY ||
                    rights_sees(guest->site, guest->user, name, stage.guests[holder].offers[name]);
        if (!listed && here && there)
            kernel_fail("%s isn't in the list of all hubs though all is well", model_agents[name]);
        if (listed && !there)
            kernel_fail("%s of hub %u, which offers %x, is in the list of guest %u, user %d, who may not "
                        "call it there",
                        model_agents[name], to, stage.guests[holder].offers[name], by, guest->user);
    }
    if (guest->list_complete != (stage.apart == SITES_MAX))
        kernel_fail("guest %u is told of a list that it is %scomplete", by, guest->list_complete ? "" : "in");
}

static void note_session(struct bit id) {
    if (id.bytes && id.count < sizeof stage.sessions[0] && stage.session_count < SESSIONS_MAX)
        snprintf(stage.sessions[stage.session_count++], sizeof stage.sessions[0], "%.*s", (int)id.count,
                 (const char *)id.bytes);
}

// Something that its hub has said to what it asked for itself.
static void take_own(unsigned by, unsigned id, struct bit body) {
    struct guest *guest = &stage.guests[by];
    bool good = !naive_find(body, "error").bytes;
    int64_t code = bit_integer(naive_find(body, "error.code"));
    if (id == ID_ENTER) {
        if (!good && !stage.scarce && stage.calm)
            kernel_fail("guest %u isn't let in: %lld", by, (long long)code);
        guest->entered = good;
        note_session(naive_find(body, "result.sessionId"));
    } else if (id == ID_SUBSCRIBE) {
        bool may = rights_may_hear(guest->site, guest->user, guest->wanted);
        if (stage.calm && good != may)
            kernel_fail("guest %u at hub %u may %s, and is told otherwise", by, guest->site,
                        may ? "subscribe" : "not subscribe");
        guest->listening = good ? guest->wanted : 0;
        told_begin(by);
        stage_disturb(false);
    } else if (id == ID_WATCH) {
        guest->watching = good;
    }
}

static void take_answer(unsigned by, uint64_t id, struct bit body) {
    if (id < NAME_IDS)
        take_end(by, (unsigned)id, body);
    else if (id < NAME_IDS + NAMES)
        take_claim(by, (unsigned)(id - NAME_IDS), body);
    else if (id == ID_LIST)
        take_list(by, body);
    else if (id >= ID_DECIDE && id < ID_DECIDE + LETTERS_MAX)
        gate_decided(by, (unsigned)(id - ID_DECIDE), body);
    else if (id >= OTHER_IDS && id < ID_DECIDE)
        take_own(by, (unsigned)id, body);
}

static void say_it(unsigned by, struct bit body) {
    if (getenv("CLUSTER_SAY"))
        fprintf(stderr, "%" PRIu64 " guest %u hears %.*s\n", stage.fleet.now_ns, by, (int)body.count,
                (const char *)body.bytes);
}

// Returns whether some hub could not publish an event: the link was full, or the event is larger than the server takes.
static bool has_dropped_events(void) {
    bool any = false;
    for (unsigned site = 0; site < stage.fleet.options.site_count; site++)
        any |= stage.fleet.sites[site].runs && stage.fleet.sites[site].world.hub->events_dropped != 0;
    return any;
}

// While users files change, hubs are strangers to each other. A hub that then waits for another hub's list of agents
// can't tell which agents have gone. So that hub tells its subscribers to presence that something was missed.
// Hubs know of a change by the beats after it.
static bool had_other_files(void) {
    // The hubs' times: between two beats, for a list, until a silent hub is gone
    enum { BEAT_MS = 1000, LIST_MS = 1000, GONE_MS = 3500 };
    // Both hubs change in turn: each time the other one waits for a beat, and then for a list. One may be silent first.
    uint64_t excused_ms = 2 * (BEAT_MS + LIST_MS) + GONE_MS;
    return stage.edition[0] > 0 && stage.fleet.now_ns - stage.changed_ns < excused_ms * 1000000;
}

static void take(unsigned by, const struct naive_frame *frame) {
    struct bit body = frame->body, method = naive_find(body, "method");
    uint64_t id = bit_number(naive_find(body, "id"));
    say_it(by, body);
    if (!naive_valid(body))
        kernel_fail("a body isn't JSON");
    if (memmem(body.bytes, body.count, "secret-", 7))
        kernel_fail("a secret has come out");
    if (naive_find(body, "type").bytes)
        stream_hear(by, body);
    else if (bit_is(naive_find(body, "params.event"), "\"approval-needed\""))
        gate_notice(by, body);
    else if (bit_is(naive_find(body, "params.event"), "\"hub-agent-registered\"") ||
             bit_is(naive_find(body, "params.event"), "\"hub-agent-left\""))
        told_hear(by, body);
    else if (bit_is(method, "\"event\"") || bit_is(method, "\"m/2\""))
        take_copy(by, frame, (unsigned)bit_number(naive_find(body, "params.tag")));
    else if (bit_is(method, "\"m/1\""))
        take_work(by, frame, body);
    else if (bit_is(method, "\"command/execute\""))
        order_comes(by, body);
    else if (bit_is(method, "\"kid/asks\""))
        kid_asks(by, body);
    else if (bit_is(method, "\"stray\""))
        answer_stray(by, naive_find(body, "id"), (unsigned)bit_number(naive_find(body, "params.number")));
    else if (bit_is(method, "\"hub/replaced\""))
        take_replaced(by, body);
    else if (bit_is(method, "\"$/progress\"")) {
        if (!bit_is(naive_find(body, "params.token"), "\"t\""))
            kernel_fail("progress came with another one's token");
        sums.progress++;
    } else if (bit_is(method, "\"$/cancelRequest\""))
        take_cancel(by, naive_find(body, "params.id"));
    else if (bit_is(method, "\"hub/dropped\"")) {
        if (!stage.had_faults && !has_dropped_events() && !had_other_files())
            kernel_fail("guest %u is told of events that it has missed though nothing was wrong", by);
        if (bit_number(naive_find(body, "params.count")) > 0)
            told_miss(by);
    } else if (!method.bytes)
        take_answer(by, id, body);
}

// A hub that is about to end, or has no memory, takes up no WebSocket.
static bool is_turned_away(const struct guest *guest) {
    return guest->http_owner.way == SOCKET && !guest->http_owner.is_upgraded && (stage.scarce || !stage.calm);
}

bool guest_hear(unsigned by) {
    struct guest *guest = &stage.guests[by];
    struct cable *cable = guest->http_owner.cable;
    size_t more = cable ? cable_readable(cable) : 0, at = 0;
    struct naive_frame frame;
    if (cable && !more && cable_at_end(cable))
        guest_leave(by);
    if (!more)
        return false;
    guest->in = realloc(guest->in, guest->count + more);
    if (!guest->in)
        abort();
    guest->count += cable_read(cable, guest->in + guest->count, more);
    for (enum naive_result result; at < guest->count; at += frame.bytes) {
        result = voice_read(&guest->http_owner, &frame, guest->in + at, guest->count - at);
        bool is_refused =
            guest->http_owner.way == SOCKET && !guest->http_owner.is_upgraded && result == NAIVE_WHOLE;
        if ((result == NAIVE_BAD || is_refused) && is_turned_away(guest)) {
            guest_leave(by);
            return true;
        }
        if (result == NAIVE_BAD || is_refused)
            kernel_fail("the hub sent what is no message");
        if (result == NAIVE_PARTIAL)
            break;
        if (frame.body.bytes)
            take(by, &frame);
    }
    memmove(guest->in, guest->in + at, guest->count - at);
    guest->count -= at;
    return true;
}
