// What guests of several hubs have sent, and what may come of it: what clusters.c (the play), clusters_speak.c (what guests say),
// clusters_guests.c (what they hear), clusters_ends.c (what becomes of it), clusters_rights.c (what they may), clusters_gate.c (what is held), clusters_orders.c
// (what goes by its command or its method) and clusters_strays.c (who is no hub) share.
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
    NAME_ORDERS = 0,  // who has it may offer the method of orders
    NAME_COMMAND = 1, // and who has this one a command
    CALLERS = 8,
    SESSIONS_MAX = 256,
    TOLD_MAX = 4, // hubs at which a name is told to be
};

enum kind { KIND_REQUEST, KIND_NOTE, KIND_NEWS };
enum address {
    TO_AGENT,
    TO_TEAM,
    TO_METHOD,
    TO_NOBODY,
    ADDRESSES,
    TO_ALL = ADDRESSES, // of notifications
    TO_KID,             // of a hub; its number is the name
};

// What an agent says that it offers.
enum { OFFERS_TEAM = 1, OFFERS_METHODS = 2, OFFERS_TELLING = 4, OFFERS_STREAMS = 8, OFFERS_ALL = 15 };

enum decision { UNDECIDED, APPROVED, REJECTED, REVISED };

// A message.
struct letter {
    enum kind kind;
    enum address address;
    unsigned source, life, name; // life: the source's
    unsigned epoch;              // when it was sent
    bool sure;                   // nothing was wrong then
    bool peopled;                // and whoever is to get it was there
    bool big, timed, cancelled;
    int level;                       // that it requires
    int user;                        // whose it is; NOBODY: its hub knows no users
    unsigned editions[SITES_MAX];    // of the users' files, the first by which it may have been judged there
    unsigned copies;                 // that have come
    unsigned cancels, cancels_heard; // said by its source, and by its hub to who got it
    uint32_t got;                    // bits: guests
    unsigned by;                     // who got it last
    char id[32];                     // under which it came there
    unsigned ended;
    bool good;
    int64_t code;                  // of its error
    int refused_by;                // which hub did that for sure; NOBODY: any may have
    bool by_call;                  // it was sent over HTTP
    uint32_t site_life[SITES_MAX]; // of each hub, as it was sent
    char checkpoint[96];           // under which it is held; empty: nobody has been told that it is
    unsigned held_at;              // at which hub; SITES_MAX: that has gone
    uint32_t noticed;              // bits: guests who have
    uint64_t sent_ns;
    unsigned said;             // bits: decisions of those who may decide
    enum decision decided;     // that counts, as far as anybody was told
    uint32_t asked_by;         // bits: guests who wait to hear whether theirs counts
    uint8_t words[GUESTS_MAX]; // and what they said
};

// What a guest has asked of a name, and the hub has not answered.
struct claim {
    bool open;
    unsigned epoch;
    bool sure_taken, sure_free; // nothing was wrong, and somebody had it, or nobody did
    uint64_t sent_ns;
    int level;
    unsigned offers, edition; // edition: of the users' file, the first by which it may have been judged
};

// A connection, one life after another.
struct guest {
    struct voice http_owner;
    uint8_t *in;
    size_t count;
    unsigned site, life;
    int user;                   // NOBODY: its hub knows none
    unsigned generation;        // of the credential that it shows
    bool entered;               // the hub has said so
    unsigned wanted, listening; // bits: patterns that it has asked for, and those that are in force
    bool holds[NAMES];          // the hub has said so, and not taken it back
    int levels[NAMES];          // that it supports under that name
    unsigned offers[NAMES];
    uint64_t since_ns[NAMES]; // when it asked for it
    struct claim claims[NAMES];
    int last[GUESTS_MAX];    // of each source: the last event that came
    int worked[GUESTS_MAX];  // likewise of what was for one agent
    unsigned late[LATE_MAX]; // requests that it will answer some time
    unsigned late_count;
    char strays[STRAYS_KEPT][32]; // ids of requests of who is no hub, the last ones
    unsigned stray_count;
    unsigned lists_asked, lists_got; // of all hubs' agents
    bool list_complete;
    uint32_t listed; // bits: names in the last one
    bool watching;   // it is told what is held
    bool hears;      // of all agents, and has missed none since
    uint64_t heard_ns;
    unsigned heard_edition;
    struct told {
        bool is_there;
        char hub[HUB_NAME_BYTES_MAX + 1]; // empty: its own
    } told[NAMES][TOLD_MAX];
};

// A request over HTTP.
struct caller {
    struct cable *cable; // NULL: there is none
    unsigned tag;
    uint8_t *in;
    size_t count;
};

// What who is no hub asks one, and what has come of it.
struct question {
    unsigned answers, by_hubs; // by_hubs: those that aren't the server's, which found nobody there
    bool is_sure;              // nothing was wrong
    unsigned epoch, wrongs;    // when it was asked
    bool is_hubs_own;          // what a hub answers itself, and not for others
    unsigned name, copies;     // that have come to somebody
    bool is_found;             // who got it has said so
};

// A notification that somebody carry out a command.
struct order {
    unsigned source, epoch, copies;
    unsigned by;   // who has got it
    bool is_named; // it is for who has NAME_ORDERS
    bool is_known; // there may be who carries out that one
    bool is_sure;  // nothing was wrong when it was given, and who is to get it is known
};

// How hubs' children are shared: as any agent is, by whoever asks them (MCP), or not at all. The last are there for their own
// hub's guests alone.
enum kid_kind { KID_PLAIN, KID_MCP, KID_EACH, KID_KINDS };

// What a process of a hub's child has read, and asked its clients.
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
    unsigned wrongs;             // what has gone wrong so far
    uint64_t freed_ns[NAMES];    // when somebody gave a name up, or left
    unsigned settled;            // the epoch in which all last knew of all
    bool scarce;                 // allocations fail until the end
    struct broker_client *stray; // a client of the first server that is no hub; NULL: there is none
    struct {
        uint8_t bytes[1 << 20];
        size_t count;
    } heard;
    unsigned stray_asked;
    struct question questions[STRAY_MAX];
    struct order orders[ORDERS_MAX];
    unsigned order_count;
    bool calm;                             // nothing is wrong, and what was has been got over
    bool had_faults;                       // in this run
    bool had_cuts;                         // between servers
    bool probes;                           // what is sent now must arrive
    bool busy;                             // most answers come late, and most is asked of groups
    bool events_only, no_events, no_names; // no_names: nobody asks for a name that another one has
    bool by_users;                         // the hubs know users
    bool known[SITES_MAX];                 // this one does
    unsigned apart;                        // a hub whose REALM is another one; SITES_MAX: there is none
    struct model models[SITES_MAX][EDITIONS_MAX];
    unsigned edition[SITES_MAX];
    bool gated[SITES_MAX]; // what requires the strictest level, or what a file holds, is held
    uint64_t gate_wait_ns;
    bool journaled[SITES_MAX], had_scarce;
    char sessions[SESSIONS_MAX][40]; // as hubs have named guests, quoted
    unsigned session_count;
    bool kids, kids_wait; // hubs have children; they are started when somebody asks
    enum kid_kind kid_kinds[SITES_MAX];
    struct kid *kid; // all that have read anything, the newest first
    struct caller callers[CALLERS];
};
extern struct cluster_stage stage;

struct sums {
    uint64_t letters, good, failed, crossed, events, copies, refused, replaced, faults, frozen, unbeaten,
        cancels, progress, strays, strays_sure, foreign_beats, late_beats, orders, orders_crossed, denied,
        foreign, strangers, reloads, revoked, revoked_away, held, approved, turned_down, kids, kids_ask,
        calls, starts, started, journaled, presence, presence_sure, halves;
};
extern struct sums sums;

// Something has changed (or is wrong from now on): what is under way may have met it.
void stage_disturb(bool wrong);
// Who holds a name as far as it has been told; guest_count: nobody.
unsigned stage_holder(unsigned name);

// Whether hubs serve each other.
static inline bool stage_together(unsigned one, unsigned other) {
    return (one == stage.apart) == (other == stage.apart);
}
// Nothing is wrong, and all know of all.
static inline bool stage_is_well(void) {
    return stage.calm && stage.settled == stage.epoch;
}
// Nothing has changed since, and nothing is wrong.
static inline bool stage_still(unsigned epoch) {
    return stage.calm && stage.epoch == epoch;
}
__attribute__((noreturn)) void letter_fails(const char *what, unsigned tag);

// --- clusters_speak.c

extern const char *const cluster_patterns[PATTERNS];

void guest_say(struct guest *guest, const char *fields, const char *body);
void guest_enter(unsigned by);
// Its connection is reset, so that the hub knows at once.
void guest_leave(unsigned by);
void guest_claim(unsigned by, unsigned name);
void guest_unclaim(unsigned by, unsigned name);
void guest_send(unsigned by, enum kind kind, enum address address, unsigned name);
void guest_cancel(void);
// Several requests, one behind the other, and cancels of some: hubs say together what a turn asks one agent elsewhere.
void guest_send_several(unsigned by, enum address address, unsigned name);
// Asks for the agents of all hubs.
void guest_list(unsigned by);
// Answers one of those that wait, or all.
void guest_answer(unsigned by, bool all);
// Answers one request.
void guest_answer_one(unsigned by, const char *id, unsigned tag);
// Whether it has been told that this is its own, and is one of those to whom a message goes that is for all.
bool guest_wants(unsigned by, const struct letter *letter);
const char *letter_method(const struct letter *letter);
const char *letter_event(const struct letter *letter);
// Whoever is to get it is there, as far as anybody has been told, and nothing keeps it from them, whichever hub it comes to.
bool letter_is_peopled(const struct letter *letter);

// --- clusters_guests.c

// Reads what has come; false when there was nothing.
bool guest_hear(unsigned by);
// All is well: everybody who holds a name was in the last list, which was complete; and each that was asked for has come.
void guest_check_list(unsigned by);

// --- clusters_ends.c

// It has come to one whom it names, or who is one of those.
void letter_comes(unsigned by, const struct letter *letter);
// All that was said has arrived: that nobody is there is known.
void letter_check_known(unsigned tag);
// A message has done all that it will.
void letter_check(unsigned tag);
// Whether its source is there and doesn't know how it ended.
bool letter_waits(unsigned tag);

// --- clusters_rights.c: by the model of users alone

enum judged { JUDGED_ALLOWED, JUDGED_REFUSED, JUDGED_UNKNOWN }; // unknown: whose it is

void rights_choose(void);
// What the hub is to know users by; NULL: nothing.
struct users *rights_read(unsigned site, const struct users *before);
// The file changes at all hubs, which read it again; false when it doesn't. It may be this guest's credential that goes.
bool rights_reload(unsigned by);
// Which hubs belong together with it.
void rights_realm(unsigned site, struct realm *realm);
// The hub has taken back what isn't allowed any more.
void rights_recalled(unsigned site);
// Who comes to a hub.
int rights_any_user(unsigned by);
// The generation of a user's credential there.
unsigned rights_generation(unsigned site, int user);
// Whether by some edition, since it was sent, a hub may judge so of a message.
bool rights_may_be(const struct letter *letter, unsigned site, enum judged judged);
// Whether by some edition it may go to this agent at a hub, as one of a group.
bool rights_may_reach(const struct letter *letter, unsigned site, unsigned name);
// Whether by any edition since that one a registration is allowed, or isn't.
bool rights_may_register(unsigned site, int user, unsigned edition, unsigned name, unsigned offers, int level,
                         bool allowed);
bool rights_may_hear(unsigned site, int user, unsigned patterns);
// Whether a hub shows this agent of its own to a user, by its file as it is.
bool rights_sees(unsigned site, int user, unsigned name, unsigned offers);
bool rights_is_admin(unsigned site, int user);

// --- clusters_gate.c

// Whether its source's hub holds it, by some edition since it was sent; and by each.
bool gate_may_hold(const struct letter *letter);
bool gate_must_hold(const struct letter *letter);
// Asks for what is held to be told.
void gate_watch(unsigned by);
// It is told of something that is held.
void gate_notice(unsigned by, struct bit body);
// Decides on something that is held, or not any more, at any hub.
void gate_decide(unsigned by);
// What the hub says to a decision.
void gate_decided(unsigned by, unsigned tag, struct bit body);
// The hub that holds it, or held it; SITES_MAX: nobody has been told.
unsigned gate_site(const struct letter *letter);
// It has come to somebody.
void gate_arrival(const struct letter *letter, unsigned tag);
// And at that hub to one of these names (bits; 0: nobody knows which).
void gate_arrival_at(const struct letter *letter, unsigned tag, unsigned to, unsigned names);
// Whether it may end so for the gate.
bool gate_may_end(const struct letter *letter, int64_t code);

// It has come to somebody at a hub, which may be: both hubs allow it, and no gate has it.
void letter_arrives(const struct letter *letter, unsigned site);
// Its source has been told how it ended.
void letter_end(unsigned tag, struct bit body);
// A hub's child was asked.
void kid_is_asked(unsigned site, unsigned tag, bool has_id);

// --- clusters_children.c

// The section of a hub's child; NULL: it has none.
struct child_settings *kids_read(unsigned site);
// They read what has come; false when there was nothing.
bool kids_hear(void);
// Whether those of a hub are found by guests of another one.
bool kids_serve(unsigned site, unsigned from);
// A guest is asked something by one; answers.
void kid_asks(unsigned by, struct bit body);
// All that those have asked that still run was answered.
void kids_check(void);
void kids_forget(void);

// --- clusters_orders.c

// Whether who offers methods under this name offers that of orders, or carries out a command.
static inline bool orders_are_offered(unsigned name, unsigned offers) {
    return offers & OFFERS_METHODS && (name == NAME_ORDERS || name == NAME_COMMAND) &&
           !stage.by_users; // of whom nobody says who may
}
// Gives some, one behind the other.
void orders_give(unsigned by);
void order_comes(unsigned by, struct bit body);
// All that was said has arrived: those that nothing has disturbed have come.
void orders_check(void);

// --- clusters_streams.c

void stream_start(unsigned by);
void stream_hear(unsigned by, struct bit body);

// --- clusters_callers.c

// Whether one more may be made.
bool call_may(void);
void call_send(unsigned tag, const char *body);
bool calls_hear(void);
// Who called has left.
void call_leave(unsigned by);

// --- clusters_journal.c

void journals_check(void);

// --- clusters_presence.c

// A guest's subscriptions are in force.
void told_begin(unsigned by);
// It may have missed a change.
void told_miss(unsigned by);
void told_hear(unsigned by, struct bit body);
// All is well, and everybody knows of all.
void told_check(void);

// --- clusters_strays.c

// A client that is no hub asks an agent, or who is there; reads what it is answered.
void stray_ask(void);
// What it asked an agent comes to a guest.
void stray_comes(unsigned by, unsigned number);
// It asks each agent.
void stray_ask_all(void);
bool stray_hear(void);
// All that was said has arrived: what nothing has kept from a hub, one has answered.
void stray_check(void);
void stray_leave(void);
