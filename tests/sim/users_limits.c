// Rates, by what a user owes of each at least and at most: what passed must have had room, and what was refused none.
// Time stands still in a burst, so all that it sends is weighed together, in whatever order the hub took it.
#include "tests/sim/users.h"

enum { OTHERS = 64 }; // messages that count but are no letters: what agents answer
#define SLACK    1000.0
#define A_SECOND ((double)SECOND)

// The addition of a burst to a debt, in nanoseconds.
struct burden {
    double sure, maybe; // what has passed, and what may have
    double largest;     // of all that
    double large;       // of what is sure, the largest that is over a second; 0: nothing is
    double refused;     // the smallest that was refused; 0: nothing was
};

static void pass(struct burden *burden, double cost, bool is_sure) {
    *(is_sure ? &burden->sure : &burden->maybe) += cost;
    if (cost > burden->largest)
        burden->largest = cost;
    if (is_sure && cost > A_SECOND && cost > burden->large)
        burden->large = cost;
}

static void refuse(struct burden *burden, double cost) {
    if (burden->refused <= 0 || cost < burden->refused)
        burden->refused = cost;
    users_sums.limited++;
}

// While a shard is in the middle of a turn it may have taken so much ahead of what all may have at once.
static double taken_ahead(void) {
    enum { PARTS = 16 };
    bool is_torn = stage.world.kernel->faults.preempt > 0;
    return is_torn ? A_SECOND / PARTS * (stage.world.shard_count - 1) : 0;
}

static double larger(double one, double other) {
    return one > other ? one : other;
}

// A message that is larger than a second's worth passes when nothing is owed; else all that passes fits one.
// `is_exact`: the messages that passed cost no more than was asked for them. `is_metered`: each message costs
// something.
static void weigh(struct debt *debt, const struct burden *burden, const char *what, unsigned user,
                  bool is_exact, bool is_metered) {
    double least = debt->least + burden->sure, most = debt->most + burden->sure + burden->maybe;
    bool fits = burden->sure <= 0 || least <= A_SECOND + SLACK ||
                (burden->large > 0 && least - burden->large <= SLACK);
    if (is_exact && !fits)
        kernel_fail("user %u is over its %s, and was let through", user, what);
    if (burden->refused > 0 && most + burden->refused < A_SECOND - SLACK - (is_metered ? taken_ahead() : 0))
        kernel_fail("user %u was refused within its %s", user, what);
    double cap = larger(larger(A_SECOND, debt->most), burden->largest);
    *debt = (struct debt){least < cap ? least : cap, most < cap ? most : cap};
}

static void pay_off(struct debt *debt, uint64_t elapsed_ns) {
    debt->least = larger(debt->least - (double)elapsed_ns, 0);
    debt->most = larger(debt->most - (double)elapsed_ns, 0);
}

// Returns the cost of one unit; 0: nothing is to be judged, since there is no limit, or it has changed.
static double cost_of(struct debt *debt, unsigned user, size_t member, uint64_t elapsed_ns) {
    uint64_t now = model_limit(&stage.now, user, member), before = model_limit(&stage.before, user, member);
    pay_off(debt, elapsed_ns);
    if (now != before)
        *debt = (struct debt){0, larger(debt->most, 20 * A_SECOND)};
    return now && now == before ? A_SECOND / (double)now : 0;
}

static bool is_its(const struct letter *letter, unsigned user) {
    return letter->user == (int)user && letter->over != OVER_CONNECTIONS && letter->verb != LISTEN;
}

// Returns whether the letter surely counts against this user's limits. A cancel of the user's own is never refused, and
// of some letters the user isn't known.
static bool is_sure(const struct letter *letter, unsigned user) {
    return is_its(letter, user) && letter->verb != CANCEL && (letter->ended || letter->delivered);
}

static void weigh_messages(unsigned user, uint64_t elapsed_ns) {
    double cost = cost_of(&stage.rate[user], user, offsetof(struct model_section, rate), elapsed_ns);
    struct burden burden = {.maybe = OTHERS * cost};
    for (unsigned at = stage.burst_begin; cost > 0 && at < stage.letter_count; at++) {
        const struct letter *letter = &stage.letters[at];
        bool told = letter->over == OVER_RATE || letter->over == OVER_BYTES;
        if (is_its(letter, user) && letter->over == OVER_RATE)
            refuse(&burden, cost);
        else if (!told && (is_its(letter, user) || letter->user == NOBODY))
            pass(&burden, cost, is_sure(letter, user));
    }
    if (cost > 0)
        weigh(&stage.rate[user], &burden, "rate", user, true, true);
}

static void weigh_bytes(unsigned user, uint64_t elapsed_ns) {
    double cost = cost_of(&stage.bytes[user], user, offsetof(struct model_section, bytes), elapsed_ns);
    struct burden burden = {.maybe = 0};
    for (unsigned at = stage.burst_begin; cost > 0 && at < stage.letter_count; at++) {
        const struct letter *letter = &stage.letters[at];
        bool told = letter->over == OVER_RATE || letter->over == OVER_BYTES;
        if (is_its(letter, user) && letter->over == OVER_BYTES)
            refuse(&burden, cost * (double)letter->bytes);
        else if (!told && (is_its(letter, user) || letter->user == NOBODY))
            pass(&burden, cost * (double)letter->bytes, is_sure(letter, user));
    }
    for (unsigned by = 0; by < PLAYERS; by++)
        if (stage.players[by].user == (int)user)
            burden.maybe += cost * (double)stage.players[by].answered;
    if (cost > 0)
        weigh(&stage.bytes[user], &burden, "bytes", user, true, true);
}

// As many as there may be subscriptions to it.
static unsigned foreseen(const char *event) {
    unsigned count = 0;
    for (unsigned by = 0; by < PLAYERS; by++) {
        const struct player *player = &stage.players[by];
        unsigned bits = player->hears | player->asked | oracle_agents_hear(by);
        for (unsigned at = 0; at < PATTERNS; at++)
            count += bits >> at & 1 && model_matches(user_patterns[at], event);
    }
    return count;
}

static bool any_subscribes(void) {
    bool any = stage.reloads;
    for (unsigned by = 0; by < PLAYERS; by++)
        any |= stage.players[by].asked != 0;
    return any;
}

// Held messages go out in a later burst than the one in which they were sent.
static void weigh_deliveries(unsigned user, uint64_t elapsed_ns) {
    double cost = cost_of(&stage.fanout[user], user, offsetof(struct model_section, fanout), elapsed_ns);
    struct burden burden = {.maybe = 0};
    for (unsigned at = 0; at < stage.letter_count; at++) {
        struct letter *letter = &stage.letters[at];
        bool is_now = letter->burst == stage.burst, is_event = letter->verb == PUBLISH && !letter->target;
        if (!is_event || (!is_its(letter, user) && letter->user != NOBODY))
            continue;
        unsigned made = (unsigned)__builtin_popcount(letter->delivered & ~letter->weighed);
        bool is_known = letter->user != NOBODY;
        if (is_known)
            letter->weighed = letter->delivered;
        if (cost > 0 && letter->over == OVER_FANOUT && is_now && is_known)
            refuse(&burden, cost * foreseen(letter->event));
        else if (cost > 0 && made)
            pass(&burden, cost * made, is_known);
        if (cost > 0 && (is_now || letter->was_held) && letter->over != OVER_FANOUT)
            burden.maybe += cost * foreseen(letter->event); // until it is known whom it reaches
    }
    if (cost > 0)
        weigh(&stage.fanout[user], &burden, "fan-out", user, !any_subscribes(), false);
}

void limits_burst(unsigned user, uint64_t elapsed_ns) {
    weigh_messages(user, elapsed_ns);
    weigh_bytes(user, elapsed_ns);
    weigh_deliveries(user, elapsed_ns);
}
