// Held letters. A letter is held once: at the hub of its target, or at the hub of its source where the letter goes to
// all. An approver at any hub decides.
#include "tests/sim/clusters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/requests/checkpoint.h"
#include "tests/sim/kernel.h"
#include "tests/sim/naive.h"

enum { STRICTEST = 3, TRIES = 30 };
#define SLACK_NS UINT64_C(20000000)

static unsigned site_of(const struct letter *letter) {
    return stage.guests[letter->source].site;
}

// --- What is held

static bool holds_by_name(const struct model *model, const struct letter *letter) {
    unsigned user = (unsigned)letter->user;
    return model_holds(model, user, A_METHOD, letter_method(letter)) ||
           (letter->kind == KIND_NEWS && model_holds(model, user, AN_EVENT, letter_event(letter))) ||
           (letter->kind != KIND_NEWS && letter->address == TO_TEAM &&
            model_holds(model, user, A_CAPABILITY, "c1")) ||
           (letter->kind != KIND_NEWS && letter->address == TO_AGENT &&
            model_holds(model, user, AN_AGENT, model_agents[letter->name]));
}

static bool holds_by_target(const struct model *model, const struct letter *letter) {
    bool any = false;
    for (unsigned name = 0; letter->kind != KIND_NEWS && letter->address != TO_AGENT && name < NAMES; name++)
        any |= model_holds(model, (unsigned)letter->user, AN_AGENT, model_agents[name]);
    return any;
}

// By some edition of a hub's file since it was sent.
static bool may_be_held_by(const struct letter *letter, unsigned site) {
    bool any = false;
    for (unsigned at = letter->editions[site]; letter->user != NOBODY && at <= stage.edition[site]; at++)
        any |= holds_by_name(&stage.models[site][at], letter) ||
               holds_by_target(&stage.models[site][at], letter);
    return stage.gated[site] && stage.known[site] && any;
}

// Returns whether a letter to all may be held at a hub: a name at the hub is held.
static bool may_be_held_at(const struct letter *letter, unsigned site) {
    bool any = false;
    for (unsigned at = site < SITES_MAX ? letter->editions[site] : UINT32_MAX;
         letter->user != NOBODY && site < SITES_MAX && at <= stage.edition[site]; at++)
        any |= holds_by_target(&stage.models[site][at], letter);
    return any;
}

bool gate_may_hold(const struct letter *letter) {
    unsigned site = site_of(letter);
    return stage.gated[site] && (letter->level == STRICTEST || may_be_held_by(letter, site));
}

static unsigned site_named(const char *checkpoint) {
    const char *name = strchr(checkpoint, '@');
    for (unsigned site = 0; name && site < stage.fleet.options.site_count; site++) {
        char node[NODE_BYTES];
        if (!stage.fleet.sites[site].runs)
            continue;
        hub_node(stage.fleet.sites[site].world.hub, node);
        if (memcmp(name + 1, node, sizeof node) == 0)
            return site;
    }
    return SITES_MAX;
}

unsigned gate_site(const struct letter *letter) {
    return site_named(letter->checkpoint);
}

// By each edition since it was sent: itself, or every one of these names, of whom one got it.
static bool must_be_held_by(const struct letter *letter, unsigned site, unsigned names) {
    bool all = letter->user != NOBODY && stage.gated[site] && stage.known[site];
    for (unsigned at = letter->editions[site]; all && at <= stage.edition[site]; at++) {
        const struct model *model = &stage.models[site][at];
        bool each = names != 0 && letter->kind != KIND_NEWS;
        for (unsigned name = 0; name < NAMES; name++)
            each &= !(names >> name & 1) ||
                    model_holds(model, (unsigned)letter->user, AN_AGENT, model_agents[name]);
        all = each || holds_by_name(model, letter);
    }
    return all;
}

void gate_arrival_at(const struct letter *letter, unsigned tag, unsigned to, unsigned names) {
    bool is_approved = letter->said >> APPROVED & 1;
    if (!is_approved && must_be_held_by(letter, to, names))
        letter_fails("it came though the hub it came to holds it, and nobody has approved it", tag);
}

bool gate_must_hold(const struct letter *letter) {
    unsigned site = site_of(letter);
    bool all = letter->user != NOBODY;
    for (unsigned at = letter->editions[site]; all && at <= stage.edition[site]; at++)
        all = holds_by_name(&stage.models[site][at], letter);
    return stage.gated[site] && (all || letter->level == STRICTEST);
}

bool gate_may_end(const struct letter *letter, int64_t code) {
    if (!gate_may_hold(letter))
        return false;
    bool waited = stage.fleet.now_ns - letter->sent_ns + SLACK_NS >= stage.gate_wait_ns;
    return (code == -32011 && letter->said >> REJECTED & 1) ||
           (code == -32012 && (waited || letter->said >> REVISED & 1));
}

// --- Who is told

void gate_watch(unsigned by) {
    struct guest *guest = &stage.guests[by];
    if (!stage.gated[guest->site] ||
        (by % GUESTS_A_SITE < GUESTS_A_SITE - 1 && random_chance(&stage.random, 700)))
        return;
    char body[128];
    snprintf(body, sizeof body,
             "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"hub/"
             "subscribe\",\"params\":{\"events\":[\"approval-needed\"]}}",
             ID_WATCH);
    guest_say(guest, "", body);
}

// The preview is the body as a string: its tag stands behind an escaped quote.
static unsigned tag_shown(struct bit entry) {
    static const char mark[] = "\\\"tag\\\":";
    struct bit preview = naive_find(entry, "artifact.preview");
    const uint8_t *found = preview.bytes ? memmem(preview.bytes, preview.count, mark, strlen(mark)) : NULL;
    if (!found)
        kernel_fail("what is held isn't shown");
    return (unsigned)strtoul((const char *)found + strlen(mark), NULL, 10);
}

static bool is_for_all(const struct letter *letter) {
    return letter->kind == KIND_NEWS || letter->address == TO_ALL;
}

// The letter was approved at its source's hub, and then went to another hub, which judges by itself. A letter to all
// reaches one agent there by its method, and that agent's name may be held. A letter to one agent here has lost that
// agent meanwhile.
static bool is_held_behind(const struct letter *letter, unsigned site) {
    return letter->said >> APPROVED & 1 && letter->held_at == site_of(letter) && site != letter->held_at &&
           (is_for_all(letter) ? may_be_held_at(letter, site) : gate_may_hold(letter));
}

// One agent gets a copy of the letter by the letter's method. The gate holds for that agent's name that copy alone.
static bool is_one_of_many(const struct letter *letter, unsigned site) {
    bool is_here = site == site_of(letter);
    return letter->address == TO_ALL &&
           (!is_here || (may_be_held_at(letter, site) && !gate_must_hold(letter)));
}

void gate_arrival(const struct letter *letter, unsigned tag) {
    if (gate_must_hold(letter) && !(letter->said >> APPROVED & 1))
        letter_fails("it came, and nobody has approved it", tag);
    bool is_other = letter->checkpoint[0] && is_one_of_many(letter, letter->held_at);
    if (letter->decided != UNDECIDED && letter->decided != APPROVED && !is_other)
        letter_fails("it came, and was turned down", tag);
    if (letter->checkpoint[0] && !(letter->said >> APPROVED & 1) && !is_other)
        letter_fails("it came though it is held", tag);
}

static void check_notice(unsigned by, const struct letter *letter, unsigned tag, unsigned site) {
    if (is_for_all(letter) && stage_still(letter->epoch) && site != site_of(letter) &&
        !may_be_held_at(letter, site))
        letter_fails("it goes to all, and is held at another hub than its source's", tag);
    if (!stage_together(stage.guests[by].site, site_of(letter)))
        letter_fails("it is told to a hub with another REALM", tag);
    if (!gate_may_hold(letter))
        letter_fails("it is held, and nothing says that it should be", tag);
    if (letter->copies && !letter->said &&
        !is_one_of_many(letter, site)) // how it ended others may have heard before
        letter_fails("it is held though it has come", tag);
    if (letter->noticed >> by & 1)
        letter_fails("it is held twice", tag);
    if (!rights_may_be(letter, site_of(letter), JUDGED_ALLOWED))
        letter_fails("it is held though it may not be sent", tag);
}

void gate_notice(unsigned by, struct bit body) {
    struct bit entry = naive_find(body, "params.data"), checkpoint = naive_find(entry, "checkpoint");
    unsigned tag = tag_shown(entry);
    struct letter *letter = &stage.letters[tag];
    char text[sizeof letter->checkpoint];
    if (tag >= stage.letter_count || checkpoint.count < 3 || checkpoint.count - 2 >= sizeof text)
        kernel_fail("something is held that nobody sent");
    snprintf(text, sizeof text, "%.*s", (int)checkpoint.count - 2, (const char *)checkpoint.bytes + 1);
    unsigned site = site_named(text);
    if (is_held_behind(letter, site)) // nobody decides on that one
        return;
    check_notice(by, letter, tag, site);
    if (letter->checkpoint[0] && strncmp(letter->checkpoint, text, CHECKPOINT_BYTES) != 0)
        letter_fails("it is held twice", tag);
    sums.held += !letter->checkpoint[0];
    letter->held_at = letter->checkpoint[0] ? letter->held_at : site;
    memcpy(letter->checkpoint, text, sizeof text);
    letter->noticed |= UINT32_C(1) << by;
    if (random_chance(&stage.random, 600))
        gate_decide(by);
}

// --- Deciding

static struct letter *something_held(void) {
    for (unsigned tries = 0; tries < TRIES && stage.letter_count; tries++) {
        struct letter *letter = &stage.letters[random_below(&stage.random, stage.letter_count)];
        if (letter->checkpoint[0])
            return letter;
    }
    return NULL;
}

// Returns whether the letter is the guest's own: its source must not decide.
static bool is_own(unsigned by, const struct letter *letter) {
    const struct guest *guest = &stage.guests[by];
    bool is_known =
        letter->kind == KIND_REQUEST || gate_site(letter) == site_of(letter); // of others its hub isn't told
    return guest->user == NOBODY
               ? by == letter->source && guest->life == letter->life && !letter->by_call && is_known
               : guest->user == letter->user;
}

void gate_decide(unsigned by) {
    static const char *const words[] = {
        [APPROVED] = "approved", [REJECTED] = "rejected", [REVISED] = "needs_revision"};
    struct guest *guest = &stage.guests[by];
    struct letter *letter = guest->http_owner.cable ? something_held() : NULL;
    char body[512];
    if (!letter || letter->asked_by >> by & 1) // its answer names the message alone
        return;
    enum decision decision = random_chance(&stage.random, 700)   ? APPROVED
                             : random_chance(&stage.random, 500) ? REJECTED
                                                                 : REVISED;
    unsigned tag = (unsigned)(letter - stage.letters);
    letter->asked_by |= UINT32_C(1) << by;
    letter->words[by] = (uint8_t)decision;
    if (rights_is_admin(guest->site, guest->user) && !is_own(by, letter)) {
        if (decision == APPROVED && !letter->said) {
            letter->epoch = stage.epoch;
            letter->sure = stage_is_well() && !letter->big;
            letter->peopled =
                letter->kind == KIND_NEWS || letter->address == TO_NOBODY || letter_is_peopled(letter);
        }
        letter->said |= 1U << decision;
    }
    snprintf(
        body, sizeof body,
        "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"governance/approval\",\"params\":{\"checkpoint\":\"%s\","
        "\"artifact\":{},\"approver\":\"somebody\",\"decision\":\"%s\"}}",
        ID_DECIDE + tag, letter->checkpoint, words[decision]);
    guest_say(guest, "", body);
}

void gate_decided(unsigned by, unsigned tag, struct bit body) {
    struct guest *guest = &stage.guests[by];
    struct letter *letter = &stage.letters[tag];
    bool applied = bit_is(naive_find(body, "result.applied"), "true");
    int64_t code = bit_integer(naive_find(body, "error.code"));
    if (tag >= stage.letter_count || !(letter->asked_by >> by & 1))
        kernel_fail("guest %u is answered a decision that it hasn't made", by);
    letter->asked_by &= ~(UINT32_C(1) << by);
    if (naive_find(body, "error").bytes && code != -32001 && !stage.scarce && stage.calm)
        letter_fails("a decision is refused as it must not be", tag);
    if (code == -32001 && rights_is_admin(guest->site, guest->user) && !is_own(by, letter) && !stage.by_users)
        letter_fails("who may decide is refused", tag);
    if (!applied)
        return;
    if (is_own(by, letter) || letter->decided)
        letter_fails("it was decided on twice, or by who sent it", tag);
    letter->decided = (enum decision)letter->words[by];
    sums.approved += letter->decided == APPROVED;
    sums.turned_down += letter->decided != APPROVED;
}
