// Rules of users, connections, names and subscriptions when a burst is over and its letters have been judged.
#include <string.h>

#include "tests/sim/users.h"

enum { CREDENTIAL_S = 10 };

// --- What is pending

// Returns the requests that agents haven't answered, and those that are held. (In an array an answer may be
// there already.)
static unsigned owed_by(unsigned user) {
    unsigned count = 0;
    for (unsigned by = 0; by < PLAYERS; by++) {
        const struct player *agent = &stage.players[by];
        for (unsigned at = 0; is_here(agent) && at < agent->duty_count; at++) {
            const struct letter *letter = &stage.letters[agent->duties[at].letter];
            const struct player *source = &stage.players[letter->player];
            count += letter->user == (int)user && source->generation == letter->generation &&
                     is_here(source) && !letter->cancelled;
        }
    }
    for (unsigned at = 0; at < stage.letter_count; at++) {
        const struct letter *letter = &stage.letters[at];
        const struct player *source = &stage.players[letter->player];
        count += letter->held && letter->is_request && letter->user == (int)user &&
                 source->generation == letter->generation && is_here(source);
    }
    return count;
}

static void judge_pending(unsigned user) {
    uint64_t before = MODEL_LIMIT(&stage.before, user, pending), now = MODEL_LIMIT(&stage.now, user, pending);
    uint64_t most = before && now ? (before > now ? before : now) : 0;
    unsigned owed = owed_by(user);
    if (most && owed > stage.owed[user] && owed > most)
        kernel_fail("user %u has %u requests pending", user, owed);
    for (unsigned at = stage.burst_begin; at < stage.letter_count; at++) {
        const struct letter *letter = &stage.letters[at];
        if (letter->user == (int)user && letter->ended && letter->code == OVERLOADED && !letter->over &&
            !(letter->is_full && stage.is_narrow))
            oracle_fails("it was refused for a limit that nobody has", at);
    }
    stage.owed[user] = owed;
}

// --- Connections

void oracle_close(struct player *player) {
    if (player->http_owner.cable)
        cable_close(player->http_owner.cable);
    player->http_owner.cable = NULL;
    player->standing = GONE;
}

static void judge_guess(struct player *player) {
    const struct letter *letter = &stage.letters[player->guess];
    uint64_t waited_ns = stage.settled_ns - player->guessed_ns;
    bool ended = cable_at_end(player->http_owner.cable);
    if (player->doubtful) { // it was somebody's, who has gone
        oracle_close(player);
        return;
    }
    if ((ended || letter->ended) && waited_ns < SECOND / 10)
        oracle_fails("a wrong credential was answered at once", number_of(letter));
    if (ended && !letter->ended)
        oracle_fails("a wrong credential wasn't answered", number_of(letter));
    if (!ended && waited_ns > 8 * SECOND)
        oracle_fails("a connection with a wrong credential stays", number_of(letter));
    if (ended)
        oracle_close(player);
}

static bool has_connections_limit(const struct model *model, const struct player *player) {
    int bearer = papers_bearer(model, player);
    return bearer != NOBODY && MODEL_LIMIT(model, (unsigned)bearer, connections);
}

// A silent connection is one of its user's by its own credential, and one too many has the time of one
// without a credential.
static bool is_early(struct player *player, bool bears) {
    uint64_t age_ns = stage.settled_ns - player->since_ns;
    player->may_be_over |=
        has_connections_limit(&stage.before, player) || has_connections_limit(&stage.now, player);
    if (player->may_be_over)
        return stage.settled_ns - player->came_ns < CREDENTIAL_S * SECOND;
    return bears || age_ns < CREDENTIAL_S * SECOND;
}

static void judge_player(unsigned by) {
    struct player *player = &stage.players[by];
    if (!player->http_owner.cable)
        return;
    bool ended = cable_at_end(player->http_owner.cable);
    uint64_t age_ns = stage.settled_ns - player->since_ns;
    if (player->standing == GUESSED) {
        judge_guess(player);
        return;
    }
    bool bears = papers_bearer(&stage.now, player) != NOBODY;
    bool may_end = posts_speaks(player) && posts_may_end(player);
    if (player->standing == FRESH && !bears && !ended && age_ns > (CREDENTIAL_S + 1) * SECOND)
        kernel_fail("player %u stays without a credential", by);
    bool is_over_early = is_early(player, bears);
    if (player->standing == FRESH && ended && !may_end && is_over_early)
        kernel_fail("player %u was closed before its time", by);
    bool listens = player->http_owner.way == EVENTS && player->standing == KNOWN && !player->doubtful;
    if (listens)
        streams_judge(by);
    if (player->standing == KNOWN && !player->doubtful && ended && !may_end && !listens)
        kernel_fail("player %u was closed for nothing", by);
    if (player->doubtful && !ended)
        kernel_fail("player %u, whose credential is gone, stays", by);
    if (ended || player->standing == GONE)
        oracle_close(player);
}

// --- State after it

static void check_losses(unsigned by) {
    struct player *player = &stage.players[by];
    for (unsigned agent = 0; agent < AGENT_NAMES; agent++) {
        if (player->lost[agent] == NOBODY || !is_here(player))
            continue;
        const struct letter *letter = &stage.letters[player->lost[agent]];
        bool is_revoked = oracle_breaks(&stage.now, letter) || oracle_breaks(&stage.before, letter),
             is_taken = false;
        for (unsigned at = stage.burst_begin; at < stage.letter_count; at++) {
            const struct letter *other = &stage.letters[at];
            const struct player *taker = &stage.players[other->player];
            bool counts = other->good || taker->doubtful; // who has gone since wasn't answered
            is_taken |= other->verb == REGISTER && counts && other->agent == (int)agent &&
                        other->player != by && taker->user == player->user && stage.takeover;
        }
        if (!is_revoked && !is_taken)
            oracle_fails("a registration was lost for nothing, or to another user", number_of(letter));
    }
}

static void take_stock_of(unsigned agent) {
    struct post *post = &stage.posts[agent];
    *post = (struct post){.holder = NOBODY};
    for (unsigned by = 0; by < PLAYERS; by++) {
        struct player *player = &stage.players[by];
        if (player->standing != KNOWN || player->claims[agent] == NOBODY)
            continue;
        const struct letter *letter = &stage.letters[player->claims[agent]];
        if (post->holder != NOBODY)
            oracle_fails("two hold one name", number_of(letter));
        if (oracle_breaks(&stage.now, letter))
            oracle_fails("a registration stays that isn't allowed", number_of(letter));
        *post = (struct post){(int)by,       player->user,    false,         letter->capabilities,
                              letter->tools, letter->methods, letter->events};
    }
}

static void take_stock(void) {
    for (unsigned by = 0; by < PLAYERS; by++) {
        struct player *player = &stage.players[by];
        check_losses(by);
        for (unsigned at = stage.burst_begin; at < stage.letter_count; at++) {
            const struct letter *letter = &stage.letters[at];
            if ((letter->verb == SUBSCRIBE || letter->verb == LISTEN) && letter->good &&
                letter->player == by && letter->generation == player->generation)
                player->hears |= letter->events;
        }
        for (unsigned at = 0; at < PATTERNS && player->standing == KNOWN; at++)
            if (!model_may_hear(&stage.now, (unsigned)player->user, user_patterns[at]))
                player->hears &= ~(1U << at);
    }
    for (unsigned agent = 0; agent < AGENT_NAMES; agent++)
        take_stock_of(agent);
}

// --- Progress

// No limit is in its way. (To HTTP there is no way for it.)
static void judge_progress(unsigned number) {
    struct letter *letter = &stage.letters[number];
    const struct player *source = &stage.players[letter->player];
    bool is_heard = source->generation == letter->generation && source->http_owner.way != POSTS &&
                    is_here(source) && source->http_owner.cable;
    bool is_said = !letter->cancelled && (letter->good || !letter->ended);
    for (unsigned by = 0; by < PLAYERS; by++)
        is_said &= !(letter->delivered >> by & 1) || is_here(&stage.players[by]);
    if (is_heard && is_said && letter->reported < letter->reports)
        oracle_fails("its progress didn't come", number);
    letter->reported = letter->reports; // those of this burst
}

void oracle_aftermath(uint64_t elapsed_ns) {
    for (unsigned at = 0; at < stage.letter_count; at++)
        judge_progress(at);
    for (unsigned user = 0; user < MODEL_USERS; user++)
        limits_burst(user, elapsed_ns);
    for (unsigned by = 0; by < PLAYERS; by++)
        judge_player(by);
    for (unsigned user = 0; user < MODEL_USERS; user++)
        judge_pending(user);
    take_stock();
}
