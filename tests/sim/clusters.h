// The state that the files of the simulator of clusters share. Guests (connections to several hubs) send letters
// (messages). An oracle judges where each letter may come, and how it may end.
//
//   clusters.c           the play: the order of steps, faults, and the end of a run
//   clusters_speak.c     guests send
//   clusters_guests.c    guests receive
//   clusters_ends.c      how letters end
//   clusters_rights.c    rights, by the model of users
//   clusters_gate.c      held letters
//   clusters_children.c  hubs' children (kids)
//   clusters_orders.c    notifications that go by a command or a method (orders)
//   clusters_streams.c   HCS
//   clusters_callers.c   requests over HTTP (calls)
//   clusters_journal.c   journals
//   clusters_presence.c  subscribers to presence
//   clusters_strays.c    a client of the NATS server that is no hub (the stray)
//
// In all files "is sure" means that nothing was wrong when the thing was sent, so that the oracle demands one result.
#pragma once

#include "tests/sim/fleet.h"
#include "tests/sim/users_model.h"
#include "tests/sim/voices.h"

enum {
    GUESTS_A_SITE = 5,
    GUESTS_MAX = GUESTS_A_SITE * SITES_MAX,
    NAMES = 6,    // of model_agents
    PATTERNS = 6, // of events
    EDITIONS_MAX = 6,
    NOBODY = -1,
    NAME_IDS = 100000, // of requests that register a name
    OTHER_IDS = 200000,
    ID_UNREGISTER = OTHER_IDS,
    ID_SUBSCRIBE,
    ID_LIST,
    ID_ENTER,
    ID_WATCH,           // subscribes to what is held
    ID_DECIDE = 300000, // and the letter's number
    LETTERS_MAX = 500,
    LATE_MAX = 200,
    STRAY_MAX = 200,
    STRAYS_KEPT = 8,
    ORDERS_MAX = 200,
    NAME_ORDERS = 0,  // the agent of this name may offer the method of orders
    NAME_COMMAND = 1, // the agent of this name may carry out a command
    CALLERS = 8,
    SESSIONS_MAX = 256,
    TOLD_MAX = 4, // the most hubs at which a subscriber is told that a name is
};

enum kind { KIND_REQUEST, KIND_NOTE, KIND_NEWS };
enum recipient {
    TO_AGENT,
    TO_TEAM,
    TO_METHOD,
    TO_NOBODY,
    ADDRESSES,
    TO_ALL = ADDRESSES, // of notifications
    TO_KID,             // to a hub's child; the number of the hub stands in `name`
};

// Bits: the kinds of capabilities that an agent registers.
enum { OFFERS_TEAM = 1, OFFERS_METHODS = 2, OFFERS_TELLING = 4, OFFERS_STREAMS = 8, OFFERS_ALL = 15 };

enum decision { UNDECIDED, APPROVED, REJECTED, REVISED };

// A message.
struct letter {
    enum kind kind;
    enum recipient address;
    unsigned source, life, name; // life: the source's
    unsigned epoch;              // at which the letter was sent
    bool sure;                   // nothing was wrong then
    bool peopled;                // and a receiver was there
    bool big, timed, cancelled;
    bool bare; // it has no header field and no progress token, so that hubs may pack it
    int level; // that the letter requires
    int user;  // of the source; NOBODY: its hub has no users
    unsigned
        editions[SITES_MAX]; // the first edition of each hub's users file by which the letter may be judged
    unsigned copies;         // that have come to guests
    unsigned cancels, cancels_heard; // sent by the source; sent by a hub to the receiver
    uint32_t got;                    // bits: guests that have got the letter
    unsigned by;                     // the guest that got it last
    char id[32];                     // of the request as that guest got it
    unsigned ended;                  // how often the source was told of the end
    bool good;                       // the end was a result
    int64_t code;                    // of the error
    int refused_by;                  // the hub that must have refused the letter; NOBODY: any may have
    bool by_call;                    // the letter was sent over HTTP
    uint32_t site_life[SITES_MAX];   // of each hub, when the letter was sent
    char checkpoint[96]; // of the held letter; empty: nobody has been told that the letter is held
    unsigned held_at;    // the hub that holds it; SITES_MAX: that hub has gone
    uint32_t noticed;    // bits: guests that were told that the letter is held
    uint64_t sent_ns;
    unsigned said;             // bits: decisions of guests that may decide
    enum decision decided;     // the decision that counts, as far as anybody was told
    uint32_t asked_by;         // bits: guests that wait to hear whether their decision counts
    uint8_t words[GUESTS_MAX]; // the decision of each of these guests
};

// A guest's registration of a name, which the hub has not answered.
struct claim {
    bool open;
    unsigned epoch;
    bool sure_taken, sure_free; // nothing was wrong, and another guest had the name, or none had
    uint64_t sent_ns;
    int level;
    unsigned offers, edition; // edition: the first of the users file by which the claim may be judged
};

// A connection, one life after another.
struct guest {
    struct voice http_owner;
    uint8_t *in;
    size_t count;
    unsigned site, life;
    int user;                   // NOBODY: its hub has no users
    unsigned generation;        // of the credential that the guest shows
    bool entered;               // the hub has accepted the guest's initialize
    unsigned wanted, listening; // bits: patterns that the guest has asked for; patterns that are in force
    bool holds[NAMES];          // the hub has registered the name for the guest, and not taken it back
    int levels[NAMES];          // that the guest supports under each name
    unsigned offers[NAMES];
    uint64_t since_ns[NAMES]; // when the guest asked for each name
    uint64_t held_ns[NAMES];  // when the hub answered that: a hub that stands still answers late
    struct claim claims[NAMES];
    int last[GUESTS_MAX];    // of each source: the last event that came
    int worked[GUESTS_MAX];  // of each source: the last message for one agent that came
    unsigned late[LATE_MAX]; // requests that the guest will answer some time
    unsigned late_count;
    char strays[STRAYS_KEPT][32]; // ids of the last requests that came from the stray
    unsigned stray_count;
    unsigned lists_asked, lists_got; // of all hubs' agents
    bool list_complete;
    uint32_t listed; // bits: names in the last list
    bool watching;   // the guest is told of held letters
    bool hears;      // the guest is subscribed to presence, and has missed no change since
    uint64_t heard_ns;
    unsigned heard_edition;
    struct told { // where the guest was told that each name is
        bool is_there;
        char hub[HUB_NAME_BYTES_MAX + 1]; // empty: the guest's own hub
    } told[NAMES][TOLD_MAX];
};

// A request over HTTP.
struct caller {
    struct cable *cable; // NULL: no request is under way
    unsigned tag;
    uint8_t *in;
    size_t count;
};

// A request that the stray sends to a hub.
struct question {
    unsigned answers, by_hubs; // by_hubs: answers of hubs; the others are the server's, which found nobody
    bool is_sure;              // nothing was wrong
    unsigned epoch, wrongs;    // when the question was asked
    bool is_hubs_own;          // the hub itself answers, and not for others
    unsigned name, copies;     // copies: how often the question came to a guest
    bool is_found;             // the guest that got it has answered
};

// A notification of the method command/execute.
struct order {
    unsigned source, epoch, copies;
    unsigned by;   // the guest that has got it
    bool is_named; // the order names the agent NAME_ORDERS
    bool is_known; // an agent may be there that carries out the command
    bool is_sure;  // nothing was wrong when the order was given, and its receiver is known
};

// How a hub's child is shared: like any agent, by several clients (MCP), or with a process for each client. The last
// kind serves guests of its own hub alone.
enum kid_kind { KID_PLAIN, KID_MCP, KID_EACH, KID_KINDS };

// A process of a hub's child: what the process has read, and asked its clients.
struct kid {
    struct kid *next;
    uint8_t *in;
    size_t count;
    unsigned site;
    int number;    // of its process
    uint32_t life; // of the hub
    unsigned asked, answered;
};

struct cluster_stage {
    struct fleet fleet;
    struct random random;
    struct guest guests[GUESTS_MAX];
    struct letter letters[LETTERS_MAX];
    unsigned guest_count, letter_count, epoch;
    unsigned wrongs;             // faults so far
    uint64_t freed_ns[NAMES];    // when a guest last gave a name up, or left
    unsigned settled;            // the last epoch in which all hubs knew of all
    bool scarce;                 // allocations fail until the end
    struct broker_client *stray; // a client of the first server that is no hub; or NULL
    struct {
        uint8_t bytes[1 << 20];
        size_t count;
    } heard;
    unsigned stray_asked;
    struct question questions[STRAY_MAX];
    struct order orders[ORDERS_MAX];
    unsigned order_count;
    bool calm;                             // nothing is wrong, and earlier faults have healed
    bool had_faults;                       // in this run
    bool had_cuts;                         // routes between servers were cut in this run
    bool probes;                           // letters sent now must arrive
    bool busy;                             // most answers come late, and most letters go to groups
    bool events_only, no_events, no_names; // no_names: no guest asks for a name that another guest has
    bool by_users;                         // some hub has users
    bool known[SITES_MAX];                 // the hubs that have users
    unsigned apart;                        // a hub of another REALM; SITES_MAX: all have the same
    struct model models[SITES_MAX][EDITIONS_MAX];
    unsigned edition[SITES_MAX];
    uint64_t changed_ns; // when all files changed last
    bool
        gated[SITES_MAX]; // the hub holds letters of the strictest level, and those that its users file holds
    uint64_t gate_wait_ns;
    bool journaled[SITES_MAX], had_scarce;
    char sessions[SESSIONS_MAX][40]; // names that hubs have given to guests, quoted
    unsigned session_count;
    bool kids, kids_wait; // hubs have children; the children start at the first request
    enum kid_kind kid_kinds[SITES_MAX];
    struct kid *kid; // all processes that have read anything, the newest first
    struct caller callers[CALLERS];
};
extern struct cluster_stage stage;

struct sums {
    uint64_t letters, good, failed, crossed, events, copies, refused, replaced, faults, frozen, unbeaten,
        cancels, progress, strays, strays_sure, foreign_beats, late_beats, orders, orders_crossed, denied,
        foreign, strangers, reloads, revoked, revoked_away, held, approved, turned_down, kids, kids_ask,
        calls, starts, started, journaled, presence, presence_sure, halves, joined, bursts;
};
extern struct sums sums;

// Begins an epoch: something has changed, or is `wrong` from now on. Letters under way may have met the change.
void stage_disturb(bool wrong);
// Returns the guest that holds a name as far as that guest was told; guest_count: none.
unsigned stage_holder(unsigned name);

// Returns whether two hubs serve each other.
static inline bool stage_together(unsigned one, unsigned other) {
    return (one == stage.apart) == (other == stage.apart);
}
// Returns whether nothing is wrong, and all hubs know of all.
static inline bool stage_is_well(void) {
    return stage.calm && stage.settled == stage.epoch;
}
// Returns whether nothing has changed since the epoch, and nothing is wrong.
static inline bool stage_still(unsigned epoch) {
    return stage.calm && stage.epoch == epoch;
}
__attribute__((noreturn)) void letter_fails(const char *what, unsigned tag);

// --- clusters_speak.c

extern const char *const cluster_patterns[PATTERNS];

void guest_say(struct guest *guest, const char *fields, const char *body);
void guest_enter(unsigned by);
// Resets the guest's connection, so that the hub knows at once.
void guest_leave(unsigned by);
void guest_claim(unsigned by, unsigned name);
void guest_unclaim(unsigned by, unsigned name);
void guest_send(unsigned by, enum kind kind, enum recipient address, unsigned name);
void guest_cancel(void);
// Sends several requests, one behind the other, and cancels some. A hub sends requests of one turn to another hub
// together. A burst of many bare requests leaves in packs.
void guest_send_several(unsigned by, enum recipient address, unsigned name);
// Asks for the agents of all hubs.
void guest_list(unsigned by);
// Answers one of the requests that wait, or all.
void guest_answer(unsigned by, bool all);
// Answers one request.
void guest_answer_one(unsigned by, const char *id, unsigned tag);
// Returns whether a letter to all must go to the guest: the guest was told that it holds the name, or is subscribed.
bool guest_wants(unsigned by, const struct letter *letter);
const char *letter_method(const struct letter *letter);
const char *letter_event(const struct letter *letter);
// Returns whether a receiver is there, as far as anybody was told, and nothing keeps the letter from it at any hub.
bool letter_is_peopled(const struct letter *letter);

// --- clusters_guests.c

// Reads what has come for a guest; false when there was nothing.
bool guest_hear(unsigned by);
// Checks, when all is well, that each list that was asked for has come, and that the last one was complete and had all
// holders.
void guest_check_list(unsigned by);

// --- clusters_ends.c

// Checks that the letter may come to the guest: the letter names the guest, or a group of the guest's.
void letter_comes(unsigned by, const struct letter *letter);
// Checks, once everything under way has arrived, that the source of a letter without a receiver was told so.
void letter_check_known(unsigned tag);
// Checks a letter at the end of a run, when nothing more can come of it.
void letter_check(unsigned tag);
// Returns whether the letter's source is there and doesn't know how the letter ended.
bool letter_waits(unsigned tag);

// --- clusters_rights.c: by the model of users alone

enum judged { JUDGED_ALLOWED, JUDGED_REFUSED, JUDGED_UNKNOWN }; // unknown: the user isn't known

void rights_choose(void);
// Returns the users of a hub, read from its users file; NULL: the hub has none.
struct users *rights_read(unsigned site, const struct users *before);
// Changes the users file at all hubs, which read it again; false where nothing changes. The guest `by` may lose its
// credential by the change.
bool rights_reload(unsigned by);
// Writes the REALM of a hub.
void rights_realm(unsigned site, struct realm *realm);
// Takes registrations and subscriptions from the model that the hub's new users file doesn't allow.
void rights_recalled(unsigned site);
// Chooses the user of a new guest.
int rights_any_user(unsigned by);
// Returns the generation of a user's credential at a hub.
unsigned rights_generation(unsigned site, int user);
// Returns whether a hub may judge so of a letter, by some edition since the letter was sent.
bool rights_may_be(const struct letter *letter, unsigned site, enum judged judged);
// Returns whether a letter to a group may go to this agent at a hub, by some edition.
bool rights_may_reach(const struct letter *letter, unsigned site, unsigned name);
// Returns whether some edition since `edition` allows a registration; with `allowed` false, whether some edition
// refuses it.
bool rights_may_register(unsigned site, int user, unsigned edition, unsigned name, unsigned offers, int level,
                         bool allowed);
bool rights_may_hear(unsigned site, int user, unsigned patterns);
// Returns whether a hub shows this agent of its own to a user, by the current users file.
bool rights_sees(unsigned site, int user, unsigned name, unsigned offers);
bool rights_is_admin(unsigned site, int user);

// --- clusters_gate.c

// Return whether the hub of the letter's source holds the letter: by some edition since the letter was sent; by each
// edition.
bool gate_may_hold(const struct letter *letter);
bool gate_must_hold(const struct letter *letter);
// Subscribes the guest to notices of held letters.
void gate_watch(unsigned by);
// Takes a notice that a letter is held.
void gate_notice(unsigned by, struct bit body);
// Decides on a letter that is held, or was, at any hub.
void gate_decide(unsigned by);
// Takes the hub's answer to a decision.
void gate_decided(unsigned by, unsigned tag, struct bit body);
// Returns the hub that holds the letter, or held it; SITES_MAX: nobody was told.
unsigned gate_site(const struct letter *letter);
// Checks that a letter that has come to a guest was approved, if it had to be.
void gate_arrival(const struct letter *letter, unsigned tag);
// Checks the same of a letter that came to one of these names at a hub (bits; 0: nobody knows which).
void gate_arrival_at(const struct letter *letter, unsigned tag, unsigned to, unsigned names);
// Returns whether the gate may end the letter with this error.
bool gate_may_end(const struct letter *letter, int64_t code);

// Checks that a letter may come to a guest of a hub: both hubs allow it, and no gate holds the letter.
void letter_arrives(const struct letter *letter, unsigned site);
// Notes how a letter ended, as its source was told.
void letter_end(unsigned tag, struct bit body);
// Notes that a hub's child was asked.
void kid_is_asked(unsigned site, unsigned tag, bool has_id);

// --- clusters_children.c

// Returns the section of a hub's child; NULL: the hub has none.
struct child_settings *kids_read(unsigned site);
// Has all children read what has come; false when there was nothing.
bool kids_hear(void);
// Returns whether guests of the hub `from` can reach the child of the hub `site`.
bool kids_serve(unsigned site, unsigned from);
// Answers the question of a child to a guest.
void kid_asks(unsigned by, struct bit body);
// Checks that each question of a child that still runs was answered.
void kids_check(void);
void kids_forget(void);

// --- clusters_orders.c

// Returns whether an agent of this name with these offers carries out orders: by the method, or by the command.
static inline bool orders_are_offered(unsigned name, unsigned offers) {
    return offers & OFFERS_METHODS && (name == NAME_ORDERS || name == NAME_COMMAND) &&
           !stage.by_users; // the model of users says nothing about orders
}
// Sends some orders, one behind the other.
void orders_give(unsigned by);
void order_comes(unsigned by, struct bit body);
// Checks, once everything under way has arrived, that each undisturbed order has come.
void orders_check(void);

// --- clusters_streams.c

void stream_start(unsigned by);
void stream_hear(unsigned by, struct bit body);

// --- clusters_callers.c

// Returns whether one more call may be made.
bool call_may(void);
void call_send(unsigned tag, const char *body);
bool calls_hear(void);
// Ends the calls of a guest that has left.
void call_leave(unsigned by);

// --- clusters_journal.c

void journals_check(void);

// --- clusters_presence.c

// Begins to judge what a guest is told, once its subscriptions are in force.
void told_begin(unsigned by);
// Notes that the guest may have missed a change.
void told_miss(unsigned by);
void told_hear(unsigned by, struct bit body);
// Checks, when all is well, that each guest was told of all agents.
void told_check(void);

// --- clusters_strays.c

// Has the stray ask an agent, or all hubs who is there.
void stray_ask(void);
// Notes that a question of the stray has come to a guest.
void stray_comes(unsigned by, unsigned number);
// Has the stray ask each agent.
void stray_ask_all(void);
// Reads the answers to the stray; false when there was nothing.
bool stray_hear(void);
// Checks, once everything under way has arrived, that a hub has answered each question that could reach a hub.
void stray_check(void);
void stray_leave(void);
