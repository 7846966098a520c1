// Judges, by the model of users alone, what may have become of each letter of a burst. Where the file changed in the
// burst, either edition may have judged a letter. Where an agent or a subscription came or went in the burst, either
// state may have.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/users.h"

enum { NOT_ALLOWED = -32001, NOT_INITIALIZED = -32054 };

static const char *text_of(const char *text) {
    return text ? text : "";
}

void oracle_fails(const char *what, unsigned number) {
    const struct letter *letter = &stage.letters[number];
    char file[MODEL_TEXT_BYTES];
    if (getenv("USERS_SAY")) {
        fprintf(stderr, "%.*s\n--- now\n", (int)model_write(&stage.before, file), file);
        fprintf(stderr, "%.*s\n", (int)model_write(&stage.now, file), file);
    }
    kernel_fail("%s: letter %u of burst %u%s, verb %u of player %u, user %d: target %s%s, tool %s, method "
                "%s, event %s, "
                "source %s, agent %d, events %x; delivered %x, ended %u, code %" PRId64 " %s",
                what, number, stage.burst, stage.reloads ? " with a reload" : "", letter->verb,
                letter->player, letter->user, letter->to_group ? "@" : "", text_of(letter->target),
                text_of(letter->tool), text_of(letter->method), text_of(letter->event),
                text_of(letter->source), letter->agent, letter->events, letter->delivered, letter->ended,
                letter->code, letter->rule);
}

bool oracle_refused(const struct letter *letter, const char *rule) {
    return letter->ended && letter->code == NOT_ALLOWED && strcmp(letter->rule, rule) == 0;
}

// A post that the model is sure of.
static bool is_sure(unsigned agent) {
    const struct post *post = &stage.posts[agent];
    return post->holder != NOBODY && !post->touched;
}

static bool may_be(unsigned agent) {
    return stage.posts[agent].holder != NOBODY || stage.posts[agent].touched;
}

static unsigned index_of(const char *name, const char *const *names) {
    unsigned at = 0;
    while (strcmp(names[at], name) != 0)
        at++;
    return at;
}

// --- The rules that a letter may break

typedef bool breaking(const struct model *model, const struct letter *letter);

static bool names_approver(const struct letter *letter) {
    return !letter->target && letter->approver && strcmp(letter->method, "governance/approval") == 0 &&
           may_be(index_of(letter->approver, model_agents));
}

static bool breaks_call(const struct model *model, const struct letter *letter) {
    unsigned user = (unsigned)letter->user;
    const char *method = letter->verb == PUBLISH ? "event" : letter->method;
    enum model_kind by = letter->target ? letter->to_group ? A_CAPABILITY : AN_AGENT
                         : strcmp(method, "tool/integration") == 0 ? A_TOOL
                         : names_approver(letter)                  ? AN_AGENT
                                                                   : A_METHOD;
    const char *address = letter->target   ? letter->target
                          : by == A_TOOL   ? letter->tool
                          : by == AN_AGENT ? letter->approver
                                           : method;
    if (letter->verb == PUBLISH && !letter->target)
        return false;
    bool is_log = strcmp(method, "audit/log") == 0; // may be what the journal is for
    return !model_may(model, user, MAY_CALL, by, address) ||
           (is_log && !model_may(model, user, MAY_CALL, A_METHOD, method)) ||
           (letter->tool && model_denies(model, user, MAY_CALL, A_TOOL, letter->tool)) ||
           model_denies(model, user, MAY_CALL, A_METHOD, method);
}

static bool breaks_publish(const struct model *model, const struct letter *letter) {
    return letter->verb == PUBLISH &&
           !model_may(model, (unsigned)letter->user, MAY_PUBLISH, AN_EVENT, letter->event);
}

static bool breaks_register(const struct model *model, const struct letter *letter) {
    return !model_may(model, (unsigned)letter->user, MAY_REGISTER, AN_AGENT, model_agents[letter->agent]);
}

static bool may_offer(const struct model *model, const struct letter *letter, enum model_kind kind,
                      unsigned bits, const char *const *names) {
    for (unsigned at = 0; names[at]; at++)
        if (bits >> at & 1 && !model_may(model, (unsigned)letter->user, MAY_OFFER, kind, names[at]))
            return false;
    return true;
}

static bool breaks_offer(const struct model *model, const struct letter *letter) {
    return !may_offer(model, letter, A_CAPABILITY, letter->capabilities, model_capabilities) ||
           !may_offer(model, letter, A_TOOL, letter->tools, model_tools) ||
           !may_offer(model, letter, A_METHOD, letter->methods, model_methods);
}

static bool breaks_subscribe(const struct model *model, const struct letter *letter) {
    for (unsigned at = 0; at < PATTERNS; at++)
        if (letter->events >> at & 1 && !model_may_hear(model, (unsigned)letter->user, user_patterns[at]))
            return true;
    return false;
}

static bool breaks_level(const struct model *model, const struct letter *letter) {
    return letter->level > model_level(model, (unsigned)letter->user);
}

static bool breaks_admin(const struct model *model, const struct letter *letter) {
    return !model_admin(model, (unsigned)letter->user);
}

static const struct {
    enum verb verb;
    const char *name;
    breaking *breaks;
} rules[] = {
    {SAY_HELLO, "level", breaks_level},      {REGISTER, "register", breaks_register},
    {REGISTER, "offer", breaks_offer},       {REGISTER, "subscribe", breaks_subscribe},
    {REGISTER, "level", breaks_level},       {SUBSCRIBE, "subscribe", breaks_subscribe},
    {LISTEN, "subscribe", breaks_subscribe}, {CALL, "call", breaks_call},
    {PUBLISH, "publish", breaks_publish},    {PUBLISH, "call", breaks_call},
    {ASK_STATS, "admin", breaks_admin},      {ASK_APPROVALS, "admin", breaks_admin},
    {DECIDE, "admin", breaks_admin},
};
enum { RULES = sizeof rules / sizeof *rules };

bool oracle_breaks(const struct model *model, const struct letter *letter) {
    bool any = false;
    for (unsigned at = 0; at < RULES; at++)
        any |= rules[at].verb == letter->verb && rules[at].breaks(model, letter);
    return any;
}

static bool breaks_told(const struct model *model, const struct letter *letter) {
    bool any = false;
    for (unsigned at = 0; at < RULES; at++)
        any |= rules[at].verb == letter->verb && strcmp(rules[at].name, letter->rule) == 0 &&
               rules[at].breaks(model, letter);
    return any;
}

bool oracle_vague(const struct letter *letter) {
    if (letter->verb != CALL || !letter->approver || letter->target)
        return false;
    unsigned agent = index_of(letter->approver, model_agents);
    return may_be(agent) && !is_sure(agent);
}

// --- Whose it is

static uint64_t limit_of(const struct letter *letter, size_t member) {
    uint64_t before = model_limit(&stage.before, (unsigned)letter->user, member),
             now = model_limit(&stage.now, (unsigned)letter->user, member);
    return before > now ? before : now;
}
#define LIMIT(letter, member) limit_of(letter, offsetof(struct model_section, member))

// Judges what the source was told of the limit that it is over.
static void judge_over(const struct letter *letter) {
    static const size_t members[] = {
        [OVER_RATE] = offsetof(struct model_section, rate),
        [OVER_BYTES] = offsetof(struct model_section, bytes),
        [OVER_FANOUT] = offsetof(struct model_section, fanout),
        [OVER_CONNECTIONS] = offsetof(struct model_section, connections),
        [OVER_PENDING] = offsetof(struct model_section, pending),
    };
    unsigned user = (unsigned)letter->user;
    bool is_rate = letter->over && letter->over <= OVER_FANOUT;
    if (letter->over != OVER_NOTHING &&
        (letter->code != OVERLOADED || !letter->limit ||
         (letter->limit != model_limit(&stage.before, user, members[letter->over]) &&
          letter->limit != model_limit(&stage.now, user, members[letter->over]))))
        oracle_fails("it is over a limit that its user doesn't have", number_of(letter));
    if (letter->retries != is_rate)
        oracle_fails("when it would pass was told, or wasn't, as it must not", number_of(letter));
}

// Returns the number of connections that this user has for sure. A connection that a reload or a wrong credential ends
// leaves its place to another one in the same burst.
unsigned oracle_known_as(int user) {
    unsigned count = 0;
    for (unsigned by = 0; by < PLAYERS; by++)
        count += is_here(&stage.players[by]) && stage.players[by].user == user;
    return count;
}

static void be_gone(struct player *player) {
    player->standing = GONE;
}

// Returns whether the player's connection may count for the user already, by the credential that it bears. Since a
// reload the user may have fewer connections.
static bool may_count_already(const struct player *player, int user) {
    return player->bore_before &&
           (papers_bearer(&stage.before, player) == user || papers_bearer(&stage.now, player) == user);
}

// A user's connection, or one too many. (Of several that come in one burst, any may have been the last one.)
bool oracle_becomes(struct letter *letter, struct player *player, int user) {
    letter->user = user;
    if (letter->over == OVER_CONNECTIONS) {
        judge_over(letter);
        be_gone(player);
        return false;
    }
    if ((player->standing != KNOWN || player->user != user) && !may_count_already(player, user))
        stage.entered |= 1U << user;
    users_sums.by_certificate += player->certificate[0] && !letter->shown.given;
    player->standing = KNOWN;
    player->user = user;
    player->token = letter->shown;
    return true;
}

// Of connections that came and went within a burst none is judged by itself.
static void judge_connections(void) {
    for (int user = 0; user < MODEL_USERS; user++) {
        uint64_t before = MODEL_LIMIT(&stage.before, (unsigned)user, connections),
                 now = MODEL_LIMIT(&stage.now, (unsigned)user, connections);
        if (stage.entered >> user & 1 && before && now &&
            oracle_known_as(user) > (before > now ? before : now))
            kernel_fail("user %d has a connection too many", user);
    }
}

bool oracle_token_is_right(struct letter *letter, struct player *player) {
    const struct shown *shown = &letter->shown;
    if (shown->user != NOBODY &&
        model_has_token(&stage.now, (unsigned)shown->user, shown->which, shown->generation))
        return true;
    player->standing = GUESSED;
    player->guessed_ns = stage.settled_ns;
    player->guess = (int)number_of(letter);
    users_sums.authn_throttle++;
    return false;
}

static bool judge_shown(struct letter *letter, struct player *player) {
    const struct shown *shown = &letter->shown;
    if (!oracle_token_is_right(letter, player))
        return false;
    if (player->standing == FRESH)
        return oracle_becomes(letter, player, shown->user);
    letter->user = player->user;
    if (player->user == shown->user)
        return true;
    bool is_limited = letter->code == OVERLOADED && (LIMIT(letter, rate) || LIMIT(letter, bytes));
    if (!oracle_refused(letter, "credential") && !is_limited)
        oracle_fails("another user's credential was taken", number_of(letter));
    return false;
}

// False: no more is to be said of it.
static bool judge_entry(struct letter *letter, struct player *player) {
    if (player->standing == GUESSED) {
        if (letter->ended || letter->delivered)
            oracle_fails("what follows a wrong credential was read", number_of(letter));
        return false;
    }
    if (player->standing == GONE || player->doubtful)
        return false;
    if (posts_speaks(player))
        return posts_judge(letter, player);
    if (letter->shown.given)
        return judge_shown(letter, player);
    letter->user = player->user;
    if (player->standing == KNOWN)
        return true;
    int bearer = papers_bearer(&stage.now, player);
    if (bearer != NOBODY)
        return oracle_becomes(letter, player, bearer);
    if (letter->delivered || !letter->ended || letter->code != NOT_INITIALIZED)
        oracle_fails("it was heard without a credential", number_of(letter));
    return false;
}

bool oracle_source(const struct letter *letter) {
    if (!letter->source)
        return true;
    unsigned agent = index_of(letter->source, model_agents);
    bool is_told = oracle_refused(letter, "sourceAgent"),
         is_own = stage.posts[agent].holder == (int)letter->player;
    bool is_taken = letter->delivered || (letter->ended && !is_told && letter->code != OVERLOADED);
    if (!stage.posts[agent].touched && is_own && is_told)
        oracle_fails("its own name was refused", number_of(letter));
    if (!stage.posts[agent].touched && !is_own && is_taken)
        oracle_fails("another's name was taken", number_of(letter));
    bool is_vague = stage.posts[agent].touched && !letter->ended && !letter->delivered;
    return is_own && !is_told && !is_vague;
}

// --- Where it has come

static bool offers(const struct letter *letter, unsigned capabilities, unsigned tools, unsigned methods) {
    if (letter->target)
        return capabilities >> index_of(letter->target, model_capabilities) & 1;
    if (letter->tool && strcmp(letter->method, "tool/integration") == 0)
        return tools >> index_of(letter->tool, model_tools) & 1;
    for (unsigned at = 0; model_methods[at]; at++)
        if (strcmp(letter->method, model_methods[at]) == 0)
            return methods >> at & 1;
    return false;
}

static bool is_named(const struct letter *letter, unsigned agent) {
    bool approves = letter->verb == CALL && names_approver(letter);
    const char *name = letter->target ? letter->target : letter->approver;
    return (letter->target ? !letter->to_group : approves) && index_of(name, model_agents) == agent;
}

static bool is_by_name(const struct letter *letter) {
    return letter->target ? !letter->to_group : letter->verb == CALL && names_approver(letter);
}

// Of a group, none is reached that is denied by name.
static bool may_reach(const struct model *model, const struct letter *letter, unsigned agent) {
    return !model_denies(model, (unsigned)letter->user, MAY_CALL, AN_AGENT, model_agents[agent]);
}

static bool may_reach_once(const struct letter *letter, unsigned agent) {
    return may_reach(&stage.before, letter, agent) || may_reach(&stage.now, letter, agent);
}

bool oracle_could_get(const struct letter *letter, unsigned by, unsigned agent) {
    const struct post *post = &stage.posts[agent];
    bool fits = is_named(letter, agent) ||
                (!is_by_name(letter) && by != letter->player && may_reach_once(letter, agent));
    if (fits && post->holder == (int)by &&
        (is_by_name(letter) || offers(letter, post->capabilities, post->tools, post->methods)))
        return true;
    for (unsigned at = stage.burst_begin; fits && post->touched && at < stage.letter_count; at++) {
        const struct letter *other = &stage.letters[at];
        if (other->verb == REGISTER && other->player == by && other->agent == (int)agent && other->good &&
            (is_by_name(letter) || offers(letter, other->capabilities, other->tools, other->methods)))
            return true;
    }
    return false;
}

// Somebody who is there for sure.
static bool must_get(const struct letter *letter) {
    for (unsigned agent = 0; agent < AGENT_NAMES; agent++) {
        const struct post *post = &stage.posts[agent];
        bool is_member = !is_by_name(letter) && post->holder != (int)letter->player &&
                         offers(letter, post->capabilities, post->tools, post->methods) &&
                         may_reach(&stage.before, letter, agent) && may_reach(&stage.now, letter, agent);
        if (is_sure(agent) && (is_named(letter, agent) || is_member))
            return true;
    }
    return false;
}

bool oracle_has_target(const struct letter *letter) {
    return (letter->verb == PUBLISH && !letter->target) || must_get(letter);
}

static void authz_call(const struct letter *letter) {
    bool could = letter->delivered == 0;
    for (unsigned by = 0; by < PLAYERS; by++)
        for (unsigned agent = 0; letter->delivered >> by & 1 && agent < AGENT_NAMES; agent++)
            could |= oracle_could_get(letter, by, agent);
    if (!could || letter->deliveries > 1)
        oracle_fails("a call came to somebody else, or twice", number_of(letter));
    bool is_limited =
        letter->code == OVERLOADED ||
        (!letter->ended && (LIMIT(letter, rate) || LIMIT(letter, bytes) || LIMIT(letter, pending)));
    if (!letter->delivered && !is_limited && !letter->cancelled && must_get(letter))
        oracle_fails("a call didn't come", number_of(letter));
    if (letter->delivered && letter->ended && letter->code == OVERLOADED)
        oracle_fails("a call came, and was refused", number_of(letter));
}

// --- Events

bool oracle_hears(unsigned bits, const char *event, unsigned user, bool now_only) {
    for (unsigned at = 0; at < PATTERNS; at++) {
        const char *pattern = user_patterns[at];
        bool is_allowed = model_may_hear(&stage.now, user, pattern) ||
                          (!now_only && model_may_hear(&stage.before, user, pattern));
        if (bits >> at & 1 && model_matches(pattern, event) && is_allowed)
            return true;
    }
    return false;
}

unsigned oracle_agents_hear(unsigned by) {
    unsigned bits = 0;
    for (unsigned agent = 0; agent < AGENT_NAMES; agent++)
        bits |= stage.posts[agent].holder == (int)by ? stage.posts[agent].events : 0;
    return bits;
}

static void judge_event(const struct letter *letter) {
    bool is_limited =
        letter->code == OVERLOADED ||
        (!letter->ended && (LIMIT(letter, rate) || LIMIT(letter, bytes) || LIMIT(letter, fanout)));
    if (letter->deliveries != (unsigned)__builtin_popcount(letter->delivered))
        oracle_fails("an event came twice", number_of(letter));
    if (letter->delivered && letter->ended && letter->code)
        oracle_fails("an event came, and was refused", number_of(letter));
    for (unsigned by = 0; by < PLAYERS; by++) {
        const struct player *player = &stage.players[by];
        bool has = letter->delivered >> by & 1;
        unsigned bits = player->hears | player->asked | oracle_agents_hear(by);
        if (has && (by == letter->player || (player->standing != KNOWN && !player->leaves) ||
                    !oracle_hears(bits, letter->event, (unsigned)player->user, false)))
            oracle_fails("an event came to somebody who mustn't get it", number_of(letter));
        if (!has && !is_limited && by != letter->player && is_here(player) && player->hears &&
            oracle_hears(player->hears, letter->event, (unsigned)player->user, true))
            oracle_fails("an event didn't come", number_of(letter));
    }
}

// --- The hub's own

static bool sees(const struct model *model, unsigned user, unsigned agent, const struct post *post) {
    if (model_admin(model, user) || model_may(model, user, MAY_CALL, AN_AGENT, model_agents[agent]))
        return true;
    // A member of its capabilities is one, whatever it says.
    static const char *const members[] = {"tasks", "tools", "methods", "events", NULL};
    bool any = false;
    for (unsigned at = 0; members[at]; at++)
        any |= model_may(model, user, MAY_CALL, A_CAPABILITY, members[at]);
    for (unsigned at = 0; model_capabilities[at]; at++)
        any |= post->capabilities >> at & 1 &&
               model_may(model, user, MAY_CALL, A_CAPABILITY, model_capabilities[at]);
    for (unsigned at = 0; model_tools[at]; at++)
        any |= post->tools >> at & 1 && model_may(model, user, MAY_CALL, A_TOOL, model_tools[at]);
    for (unsigned at = 0; model_methods[at]; at++)
        any |= post->methods >> at & 1 && model_may(model, user, MAY_CALL, A_METHOD, model_methods[at]);
    return any && !model_denies(model, user, MAY_CALL, AN_AGENT, model_agents[agent]);
}

// Bits: names that a text has as strings of JSON.
static unsigned names_in(struct bit text, const char *const *names) {
    unsigned bits = 0;
    char string[64];
    for (unsigned at = 0; text.bytes && names[at]; at++) {
        int bytes = snprintf(string, sizeof string, "\"%s\"", names[at]);
        bits |= (unsigned)(memmem(text.bytes, text.count, string, (size_t)bytes) != NULL) << at;
    }
    return bits;
}

// Judges an event of presence. An agent that comes has its offers in the event. The offers of an agent that goes are
// known as long as no letter of this burst was about that agent.
void oracle_presence(unsigned by, struct bit body) {
    const struct player *player = &stage.players[by];
    struct bit offers = naive_find(body, "params.data.capabilities"),
               id = naive_find(body, "params.data.agentId");
    bool left = bit_is(naive_find(body, "params.event"), "\"hub-agent-left\"");
    unsigned everything = 1, agent = 0; // the first pattern
    char string[64];
    for (; agent < AGENT_NAMES; agent++) {
        snprintf(string, sizeof string, "\"%s\"", model_agents[agent]);
        if (bit_is(id, string))
            break;
    }
    if (agent == AGENT_NAMES || left == (offers.bytes != NULL))
        kernel_fail("player %u was told of an agent badly: %.*s", by, (int)body.count,
                    (const char *)body.bytes);
    if (!((player->hears | player->asked | oracle_agents_hear(by)) & everything))
        kernel_fail("player %u was told of an agent unasked: %.*s", by, (int)body.count,
                    (const char *)body.bytes);
    struct post said = {.capabilities = names_in(offers, model_capabilities),
                        .tools = names_in(offers, model_tools),
                        .methods = names_in(offers, model_methods)};
    const struct post *post = left ? &stage.posts[agent] : &said;
    bool is_known = player->user >= 0 && !player->doubtful && !(left && stage.posts[agent].touched);
    users_sums.presence++;
    if (is_known && !sees(&stage.before, (unsigned)player->user, agent, post) &&
        !sees(&stage.now, (unsigned)player->user, agent, post))
        kernel_fail("player %u was told of an agent that its user may not see: %.*s", by, (int)body.count,
                    (const char *)body.bytes);
}

static void judge_list(const struct letter *letter) {
    for (unsigned agent = 0; letter->good && agent < AGENT_NAMES; agent++) {
        const struct post *post = &stage.posts[agent];
        bool before = sees(&stage.before, (unsigned)letter->user, agent, post),
             now = sees(&stage.now, (unsigned)letter->user, agent, post);
        bool is_listed = letter->listed >> agent & 1;
        if (is_sure(agent) && before == now && is_listed != now)
            oracle_fails(now ? "an agent isn't shown" : "an agent is shown that may not be called",
                         number_of(letter));
    }
}

static void judge_refusal(const struct letter *letter) {
    bool told = letter->ended && letter->code == NOT_ALLOWED;
    if (letter->verb == DECIDE && oracle_refused(letter, "own"))
        return; // users_gate.c
    bool before = oracle_breaks(&stage.before, letter), now = oracle_breaks(&stage.now, letter);
    bool is_limited = letter->ended && letter->code == OVERLOADED;
    if (told && !breaks_told(&stage.before, letter) && !breaks_told(&stage.now, letter) &&
        !oracle_vague(letter))
        oracle_fails("it was refused what is allowed", number_of(letter));
    if (!before || !now || oracle_vague(letter))
        return;
    if (letter->delivered)
        oracle_fails("it came though it isn't allowed", number_of(letter));
    if (letter->is_request && letter->ended && !told && !is_limited)
        oracle_fails("what isn't allowed wasn't refused", number_of(letter));
    if (letter->is_request && !letter->ended && !letter->batched)
        oracle_fails("what isn't allowed has no answer", number_of(letter));
}

static void say_letter(const struct letter *letter) {
    if (getenv("USERS_SAY"))
        fprintf(stderr,
                "burst %u.%d letter %u verb %u player %u as %d agent %d tasks %x events %x shown %d/%d ended "
                "%u %d %s delivered %x cancels %d decides %d held %d\n",
                stage.burst, stage.reloads, number_of(letter), letter->verb, letter->player, letter->user,
                letter->agent, letter->capabilities, letter->events, letter->shown.given, letter->shown.user,
                letter->ended, (int)letter->code, letter->rule, letter->delivered, letter->cancels,
                letter->decides, letter->held);
}

// Or might have been.
static bool is_turned_away(const struct letter *letter) {
    return letter->code == NOT_ALLOWED || oracle_breaks(&stage.before, letter) ||
           oracle_breaks(&stage.now, letter);
}

static void judge_routed(const struct letter *letter) {
    if (letter->verb == PUBLISH && !letter->target)
        judge_event(letter);
    else
        authz_call(letter);
}

void oracle_routed(const struct letter *letter) {
    judge_refusal(letter);
    if (!is_turned_away(letter))
        judge_routed(letter);
}

static void judge_letter(struct letter *letter) {
    char name[16];
    struct player *player = &stage.players[letter->player];
    say_letter(letter);
    if (letter->enters)
        judge_over(letter);
    if (!letter->enters || !oracle_source(letter))
        return;
    model_user_name((unsigned)letter->user, name);
    if (letter->signer[0] && strcmp(letter->signer, name) != 0)
        oracle_fails("it bears another user's name", number_of(letter));
    users_sums.checked++;
    users_sums.refused += letter->code == NOT_ALLOWED;
    if (letter->verb == DECIDE)
        gate_decision(letter);
    judge_refusal(letter);
    if (is_turned_away(letter))
        return;
    if (letter->verb == CALL || letter->verb == PUBLISH) {
        if (!gate_takes(letter))
            judge_routed(letter);
    } else if (letter->verb == ASK_APPROVALS) {
        gate_listing(letter);
    }
    if (letter->verb == ASK_AGENTS)
        judge_list(letter);
    if ((letter->verb == SUBSCRIBE || letter->verb == LISTEN) && letter->good)
        player->asked |= letter->events;
}

void oracle_late(const struct letter *letter) {
    if (letter->held)
        return; // users_gate.c judges it
    bool is_told = letter->code == -32050 || (letter->code == -32800 && letter->cancelled);
    bool is_guess = stage.players[letter->player].guess == (int)number_of(letter);
    if (is_guess ? !oracle_refused(letter, "credential")
                 : !is_told && !(letter->good && (letter->delivered || letter->batched)) && !letter->batched)
        oracle_fails("a request ended late as it must not", number_of(letter));
}

void oracle_burst(void) {
    uint64_t now_ns = kernel_now(stage.world.kernel), elapsed_ns = now_ns - stage.settled_ns;
    stage.settled_ns = now_ns;
    gate_observe();
    for (unsigned at = stage.burst_begin; at < stage.letter_count; at++) {
        struct letter *letter = &stage.letters[at];
        struct player *player = &stage.players[letter->player];
        letter->enters = letter->generation == player->generation && judge_entry(letter, player);
    }
    judge_connections();
    for (unsigned at = stage.burst_begin; at < stage.letter_count; at++)
        judge_letter(&stage.letters[at]);
    gate_burst();
    oracle_aftermath(elapsed_ns);
}

void oracle_end(void) {
    for (unsigned at = 0; at < stage.letter_count; at++) {
        const struct letter *letter = &stage.letters[at];
        const struct player *player = &stage.players[letter->player];
        if (letter->is_request && !letter->ended && letter->generation == player->generation &&
            player->standing == KNOWN)
            oracle_fails("a request has no end", at);
    }
}
