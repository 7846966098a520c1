// Messages that the gate may hold, and must, by the model of users alone. The end of a held letter depends on its
// approver, its user, that user's rights at that time, and the length of its wait.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "router/features/gate/gate.h"
#include "tests/sim/users.h"

enum { CODE_REJECTED = -32011, CODE_REVISED = -32012, CODE_CANCELLED = -32800, CODE_DISCONNECTED = -32050 };

#define SLACK_NS (SECOND / 50)
static const char notice_event[] = "approval-needed";

// --- What is seen

static struct letter *letter_tagged(uint64_t number) {
    if (number >= stage.letter_count)
        kernel_fail("something is held that nobody sent");
    return &stage.letters[number];
}

// The preview is the body as a string: its tag stands behind an escaped quote.
static struct letter *letter_shown(struct bit entry) {
    static const char mark[] = "\\\"tag\\\":";
    struct bit preview = naive_find(entry, "artifact.preview");
    const uint8_t *found = preview.bytes ? memmem(preview.bytes, preview.count, mark, strlen(mark)) : NULL;
    if (!found || !naive_find(entry, "checkpoint").bytes)
        kernel_fail("what is held isn't shown");
    return letter_tagged(strtoul((const char *)found + strlen(mark), NULL, 10));
}

static void check_checkpoint(struct letter *letter, struct bit checkpoint) {
    if (checkpoint.count < 3 || checkpoint.count - 2 >= CHECKPOINT_ROOM)
        kernel_fail("a checkpoint is none");
    char text[CHECKPOINT_ROOM];
    snprintf(text, sizeof text, "%.*s", (int)checkpoint.count - 2, (const char *)checkpoint.bytes + 1);
    if (letter->checkpoint[0] && strcmp(letter->checkpoint, text) != 0)
        oracle_fails("it has two checkpoints", number_of(letter));
    memcpy(letter->checkpoint, text, sizeof text);
}

void gate_notice(unsigned by, struct bit body) {
    struct bit entry = naive_find(body, "params.data");
    struct letter *letter = letter_shown(entry);
    check_checkpoint(letter, naive_find(entry, "checkpoint"));
    if (letter->burst != stage.burst || letter->noticed >> by & 1)
        oracle_fails("a notice came late, or twice", number_of(letter));
    letter->noticed |= 1U << by;
    users_sums.notices++;
}

void gate_list(struct letter *letter, struct bit result) {
    struct naive_item item;
    struct bit all = naive_find(result, "approvals");
    for (size_t at = 0; naive_next(all, &at, &item);) {
        struct letter *shown = letter_shown(item.value);
        check_checkpoint(shown, naive_find(item.value, "checkpoint"));
        if (!shown->held && shown->burst != stage.burst && letter->burst == stage.burst)
            oracle_fails("what isn't held is listed", number_of(shown));
        letter->shown_held += shown->held;
    }
}

int gate_any(void) {
    int found = NOBODY;
    for (unsigned tries = 0; tries < 40 && stage.letter_count; tries++) {
        unsigned number = random_below(&stage.random, stage.letter_count);
        const struct letter *letter = &stage.letters[number];
        if (!letter->checkpoint[0])
            continue;
        found = (int)number;
        if (letter->held)
            break;
    }
    return random_chance(&stage.random, 950) ? found : NOBODY;
}

static void observe(const struct held_message *held) {
    struct bit body = {frame_body(&held->frame), held->frame.body.bytes};
    struct letter *letter = letter_tagged(bit_number(naive_find(body, "params.tag")));
    char checkpoint[CHECKPOINT_BYTES];
    checkpoint_write(&held->checkpoint, checkpoint);
    snprintf(letter->checkpoint, sizeof letter->checkpoint, "%.*s", (int)sizeof checkpoint, checkpoint);
    if (letter->held)
        oracle_fails("it is held twice", number_of(letter));
    letter->held = true;
    if (!letter->was_held)
        letter->held_ns = kernel_now(stage.world.kernel);
}

void gate_observe(void) {
    for (unsigned at = 0; at < stage.letter_count; at++) {
        struct letter *letter = &stage.letters[at];
        bool is_new = letter->burst == stage.burst && letter->checkpoint[0]; // held and seen within it
        letter->was_held = letter->held || is_new;
        letter->held = false;
        letter->held_ns = is_new ? stage.settled_ns : letter->held_ns;
    }
    for (unsigned index = 0; stage.gated && index < stage.world.shard_count; index++) {
        const struct gate *gate = gate_of(stage.world.shards[index]);
        if (!list_empty(&gate->released))
            kernel_fail("what was approved waits");
        for (const struct list *node = gate->held.next; node != &gate->held; node = node->next)
            observe(list_entry(node, struct held_message, by_age));
    }
}

// --- Messages that must be held

// By what it names.
static bool holds_by_name(const struct model *model, const struct letter *letter) {
    unsigned user = (unsigned)letter->user;
    const char *method = letter->verb == PUBLISH ? "event" : letter->method;
    return letter->strict || model_holds(model, user, A_METHOD, method) ||
           (letter->tool && model_holds(model, user, A_TOOL, letter->tool)) ||
           (letter->target &&
            model_holds(model, user, letter->to_group ? A_CAPABILITY : AN_AGENT, letter->target)) ||
           (letter->event && model_holds(model, user, AN_EVENT, letter->event));
}

// By who it may reach: any of them, or all.
static bool holds_at(const struct model *model, const struct letter *letter, unsigned to, bool all) {
    bool any = false, every = true;
    for (unsigned by = 0; by < PLAYERS; by++)
        for (unsigned agent = 0; to >> by & 1 && agent < AGENT_NAMES; agent++)
            if (oracle_could_get(letter, by, agent)) {
                bool holds = model_holds(model, (unsigned)letter->user, AN_AGENT, model_agents[agent]);
                any |= holds;
                every &= holds;
            }
    return any && (!all || every);
}

static bool may_hold(const struct letter *letter) {
    bool goes = letter->verb == CALL || letter->target;
    unsigned everybody = (1U << PLAYERS) - 1;
    return holds_by_name(&stage.before, letter) || holds_by_name(&stage.now, letter) ||
           (goes && (holds_at(&stage.before, letter, everybody, false) ||
                     holds_at(&stage.now, letter, everybody, false)));
}

// Wherever it comes, or to these.
static bool must_hold(const struct letter *letter, unsigned to) {
    bool goes = letter->verb == CALL || letter->target;
    return (holds_by_name(&stage.before, letter) && holds_by_name(&stage.now, letter)) ||
           (goes && holds_at(&stage.before, letter, to, true) && holds_at(&stage.now, letter, to, true));
}

static bool has_limits(const struct letter *letter) {
    unsigned user = (unsigned)letter->user;
    bool any = false;
    const struct model *const models[] = {&stage.before, &stage.now};
    for (unsigned at = 0; at < 2; at++)
        any |= MODEL_LIMIT(models[at], user, rate) || MODEL_LIMIT(models[at], user, bytes) ||
               MODEL_LIMIT(models[at], user, fanout) || MODEL_LIMIT(models[at], user, pending);
    return any;
}

static bool was_admin(unsigned user) {
    return model_admin(&stage.before, user) || model_admin(&stage.now, user);
}

static bool is_admin(unsigned user) {
    return model_admin(&stage.before, user) && model_admin(&stage.now, user);
}

// The notices go to users who may approve, and to nobody else: never to the message's own user.
static void judge_notices(const struct letter *letter) {
    for (unsigned by = 0; by < PLAYERS; by++) {
        const struct player *player = &stage.players[by];
        unsigned user = (unsigned)player->user;
        bool has = letter->noticed >> by & 1;
        unsigned bits = player->hears | player->asked | oracle_agents_hear(by);
        if (has && (player->user == letter->user || !was_admin(user) ||
                    !oracle_hears(bits, notice_event, user, false)))
            oracle_fails("a notice came to somebody who mustn't get it", number_of(letter));
        if (!has && letter->held && is_here(player) && player->user != letter->user && is_admin(user) &&
            player->hears && oracle_hears(player->hears, notice_event, user, true))
            oracle_fails("a notice didn't come", number_of(letter));
    }
}

bool gate_takes(const struct letter *letter) {
    const struct player *player = &stage.players[letter->player];
    if (!stage.gated)
        return false;
    if (letter->delivered && !letter->was_held && must_hold(letter, letter->delivered))
        oracle_fails("it came though it must be held", number_of(letter));
    if (letter->held && letter->delivered)
        oracle_fails("it came though it is held", number_of(letter));
    if ((letter->held || letter->noticed) && !may_hold(letter) && !oracle_vague(letter))
        oracle_fails("it is held for nothing", number_of(letter));
    judge_notices(letter);
    users_sums.held += letter->held || letter->was_held;
    if (letter->held || letter->was_held)
        return true;
    bool is_limited =
        letter->code == OVERLOADED || (!letter->ended && (has_limits(letter) || stage.is_narrow));
    if (!is_limited && !letter->cancelled && is_here(player) && oracle_has_target(letter) &&
        !oracle_vague(letter) && must_hold(letter, (1U << PLAYERS) - 1))
        oracle_fails("it must be held, and isn't", number_of(letter));
    return letter->noticed || letter->is_full || ((letter->cancelled || is_limited) && may_hold(letter));
}

// --- Decisions

// A player that is about to go isn't sure to have been anybody.
void gate_decision(const struct letter *letter) {
    struct letter *of = letter->decides == NOBODY ? NULL : &stage.letters[letter->decides];
    bool was_held = of && of->was_held, is_held = of && of->held;
    bool is_sure = of && of->enters, told_own = oracle_refused(letter, "own");
    bool is_own = is_sure && of->user == letter->user;
    bool may_now = is_admin((unsigned)letter->user);
    if (letter->ended && !letter->good && letter->code != -32001 && letter->code != OVERLOADED)
        oracle_fails("a decision was answered by something else", number_of(letter));
    if (told_own && !(was_held && (is_own || !is_sure)))
        oracle_fails("a decision on what isn't one's own was refused as such", number_of(letter));
    if (letter->good && letter->applies) {
        if (!was_held || is_own || is_held || of->applied != NOBODY)
            oracle_fails("a decision counts that mustn't", number_of(letter));
        of->applied = (int)letter->word;
    } else if (letter->good && may_now && is_held && was_held) {
        oracle_fails(is_own ? "a decision on one's own wasn't refused" : "a decision doesn't count",
                     number_of(letter));
    }
}

void gate_listing(const struct letter *letter) {
    unsigned count = 0;
    for (unsigned at = 0; at < stage.letter_count; at++)
        count +=
            stage.letters[at].burst != stage.burst && stage.letters[at].was_held && stage.letters[at].held;
    if (letter->good && letter->ended && letter->shown_held < count)
        oracle_fails("what is held isn't listed", number_of(letter));
}

// --- Ends

// Returns the decisions in this burst of users who may decide, as bits.
static unsigned words_on(const struct letter *of) {
    unsigned words = 0;
    for (unsigned at = stage.burst_begin; at < stage.letter_count; at++) {
        const struct letter *letter = &stage.letters[at];
        int user =
            letter->enters ? letter->user : stage.players[letter->player].user; // it may be about to go
        bool counts = letter->verb == DECIDE && letter->decides == (int)number_of(of) && user != NOBODY &&
                      user != of->user && was_admin((unsigned)user);
        bool is_told = letter->ended && !letter->applies && !letter->batched;
        words |= counts && !is_told ? 1U << letter->word : 0;
    }
    return words;
}

static bool is_cancelled_now(const struct letter *of) {
    bool any = false;
    for (unsigned at = stage.burst_begin; at < stage.letter_count; at++) {
        const struct letter *letter = &stage.letters[at];
        any |= letter->verb == CANCEL && letter->cancels == (int)number_of(of) && letter->enters &&
               letter->player == of->player && !letter->source;
    }
    return any && of->is_request;
}

static bool source_is_here(const struct letter *letter) {
    const struct player *player = &stage.players[letter->player];
    return player->generation == letter->generation && player->http_owner.cable && is_here(player);
}

// A player that has closed may just have nothing more to say, and wait for its answers.
static bool has_left(const struct letter *letter) {
    const struct player *player = &stage.players[letter->player];
    return player->generation == letter->generation && !player->http_owner.cable && player->was_reset;
}

// Returns whether its credential is gone, also where its source has left since.
static bool is_credential_gone(const struct letter *letter) {
    const struct shown *shown = &letter->shown;
    if (shown->given)
        return !model_has_token(&stage.now, (unsigned)shown->user, shown->which, shown->generation);
    return source_is_here(letter) &&
           papers_bearer(&stage.now, &stage.players[letter->player]) != letter->user;
}

// A connection of HTTP stays; any other is closed.
static bool has_lost_credential(const struct letter *letter) {
    return stage.players[letter->player].http_owner.way == POSTS && source_is_here(letter) &&
           is_credential_gone(letter);
}

void gate_revoke(void) {
    unsigned from = stage.letter_count ? random_below(&stage.random, stage.letter_count) : 0;
    for (unsigned at = 0; at < stage.letter_count; at++) {
        const struct letter *letter = &stage.letters[(from + at) % stage.letter_count];
        const struct shown *shown = &letter->shown;
        if (!letter->held || !shown->given || stage.players[letter->player].http_owner.way != POSTS ||
            !source_is_here(letter) || has_lost_credential(letter))
            continue;
        unsigned *generation = &stage.now.users[shown->user].generation[shown->which];
        *generation = shown->which ? 0 : *generation + 1;
        return;
    }
}

static void judge_stay(const struct letter *letter) {
    uint64_t waited_ns = stage.settled_ns - letter->held_ns;
    if (letter->applied != NOBODY || letter->ended || letter->delivered)
        oracle_fails("it is held though it has ended", number_of(letter));
    if (waited_ns > stage.gate_wait_ns + SLACK_NS)
        oracle_fails("it is held too long", number_of(letter));
    if (has_left(letter) || is_cancelled_now(letter))
        oracle_fails("it is held though its source has left, or cancelled it", number_of(letter));
    if (has_lost_credential(letter))
        oracle_fails("it is held though the credential by which it came is gone", number_of(letter));
}

// Returns whether the code of a request that wasn't delivered says what has become of it.
static bool is_told_rightly(const struct letter *letter, unsigned words, bool is_due) {
    if (letter->code == CODE_REJECTED)
        return letter->at_gate && letter->by_somebody && words >> REJECTED & 1;
    if (letter->code == CODE_REVISED)
        return letter->at_gate && (letter->by_somebody ? words >> NEEDS_REVISION & 1 : is_due);
    if (letter->code == CODE_CANCELLED)
        return letter->cancelled;
    if (is_credential_gone(letter) && oracle_refused(letter, "credential"))
        return letter->at_gate;
    return words >> APPROVED & 1;
}

static void judge_applied(const struct letter *letter) {
    static const int codes[WORDS] = {0, CODE_REJECTED, CODE_REVISED};
    users_sums.approved += letter->applied == APPROVED;
    users_sums.turned_down += letter->applied != APPROVED;
    if (letter->applied != APPROVED && letter->delivered)
        oracle_fails("it came though it was turned down", number_of(letter));
    if (!source_is_here(letter))
        return;
    if (letter->applied == APPROVED && !letter->cancelled && oracle_source(letter))
        oracle_routed(letter);
    if (letter->applied != APPROVED && letter->is_request && !letter->batched &&
        (!letter->ended || letter->code != codes[letter->applied]))
        oracle_fails("what was turned down wasn't told so", number_of(letter));
}

static void judge_end(const struct letter *letter) {
    unsigned words = letter->applied == NOBODY ? words_on(letter) : 1U << letter->applied;
    bool is_due = stage.settled_ns - letter->held_ns + SLACK_NS >= stage.gate_wait_ns;
    if (letter->delivered && !(words >> APPROVED & 1))
        oracle_fails("it came though nobody has approved it", number_of(letter));
    bool is_revoked = has_lost_credential(letter);
    users_sums.dropped += is_revoked && oracle_refused(letter, "credential");
    if (!words && !is_due && !letter->cancelled && !is_revoked && source_is_here(letter))
        oracle_fails("it isn't held any more, for nothing", number_of(letter));
    if (letter->ended && !letter->delivered && !is_told_rightly(letter, words, is_due))
        oracle_fails("what was held ended as it must not", number_of(letter));
    if (!words && letter->is_request && !letter->batched && source_is_here(letter) && !letter->ended)
        oracle_fails("what was held has no answer", number_of(letter));
    if (letter->applied != NOBODY)
        judge_applied(letter);
}

static void check_bounds(void) {
    unsigned of[MODEL_USERS] = {0}, all = 0;
    for (unsigned at = 0; at < stage.letter_count; at++) {
        const struct letter *letter = &stage.letters[at];
        if (!letter->held)
            continue;
        all++;
        if (letter->user != NOBODY && ++of[letter->user] > stage.held_max / 4)
            oracle_fails("too much of one user's is held", at);
    }
    if (all > stage.held_max)
        kernel_fail("too much is held");
}

void gate_burst(void) {
    for (unsigned at = 0; stage.gated && at < stage.letter_count; at++) {
        const struct letter *letter = &stage.letters[at];
        if (letter->was_held && letter->held)
            judge_stay(letter);
        else if (letter->was_held)
            judge_end(letter);
    }
    check_bounds();
}

void gate_drained(void) {
    for (unsigned at = 0; at < stage.letter_count; at++) {
        struct letter *letter = &stage.letters[at];
        if (letter->held && letter->is_request && source_is_here(letter) &&
            (!letter->ended || letter->code != CODE_DISCONNECTED))
            oracle_fails("what was held when the hub drained wasn't told so", at);
        letter->held = false;
    }
}
