// A play of users on the simulated kernel. Connections with a user, or without one, send allowed and forbidden messages
// while the users file changes. All is sent in bursts. When the hub has come to rest after a burst, each letter of the
// burst has its fate. The oracle (users_oracle.c) says which fates a letter may have. Within a burst the file changes
// once at most, so that a letter may be judged by two editions. In some runs there is a gate. At rest the messages that
// the hub holds must be those that the model holds.
#pragma once

#include "tests/sim/kernel.h"
#include "tests/sim/naive.h"
#include "tests/sim/toy.h"
#include "tests/sim/users_model.h"
#include "tests/sim/voices.h"
#include "tests/sim/world.h"

#define SECOND UINT64_C(1000000000)

enum {
    PLAYERS = 10,
    LETTERS_MAX = 1200,
    DUTIES_MAX = 64,
    AGENT_NAMES = 6,
    LISTS_MAX = 3, // of names in each list of what an agent offers
    PATTERNS = 7,
    CHECKPOINT_ROOM = 48,
    POST_FIELDS_BYTES = 512, // of a request of HTTP
    POST_IDLE_S = 75,        // a connection of HTTP that asks nothing is closed after that
    NOBODY = -1,
    OVERLOADED = -32052,
};

enum verb {
    SAY_HELLO, // initialize
    REGISTER,
    UNREGISTER,
    SUBSCRIBE,
    CALL,
    PUBLISH,
    ASK_STATS, // hub/stats
    ASK_AGENTS,
    PING,
    ASK_APPROVALS,
    DECIDE, // governance/approval of what is held
    CANCEL,
    LISTEN, // a stream of events
    VERBS
};

// A token that is shown.
struct shown {
    int user; // NOBODY: it is wrong
    unsigned which, generation;
    bool given;
};

// The limit of its user's that a letter was told it is over.
enum over { OVER_NOTHING, OVER_RATE, OVER_BYTES, OVER_FANOUT, OVER_CONNECTIONS, OVER_PENDING };

enum word { APPROVED, REJECTED, NEEDS_REVISION, WORDS };

struct letter {
    enum verb verb;
    unsigned player, generation, burst; // the player's
    bool is_request, batched, forges;
    bool watches; // it wants to be told how it gets on
    struct shown shown;
    const char *target, *tool, *method, *event, *source, *approver; // NULL: not named
    bool to_group;                                                  // the target is a capability
    int agent; // of REGISTER, UNREGISTER: index of its name
    unsigned capabilities, tools, methods,
        events;       // bits that REGISTER offers; SUBSCRIBE, LISTEN: patterns in `events`
    int level;        // that REGISTER or SAY_HELLO says
    size_t bytes;     // of its body
    unsigned weighed; // bits: deliveries that count among what its user owes
    int cancels;      // letter
    bool strict;      // its level is the gate's
    int decides;      // letter; NOBODY: there is no such checkpoint
    enum word word;

    // The end that it had.
    unsigned ended;
    bool good, cancelled;
    int64_t code;
    enum over over;
    uint64_t limit; // that it was told with it
    bool retries;   // and when it would pass
    char rule[16];
    unsigned delivered, deliveries; // bits: players; how often
    char signer[24];                // whose it is, as its receivers were told
    unsigned listed;                // bits: agents, of ASK_AGENTS
    unsigned reports, reported;     // of its progress, by whom it came to; and that came back
    bool held, was_held;            // by the gate: when all rested last, and before that
    uint64_t held_ns;
    char checkpoint[CHECKPOINT_ROOM];   // empty: it was never seen held
    unsigned noticed;                   // bits: players who were told that it is held
    unsigned shown_held;                // how many that were held an answer to ASK_APPROVALS has shown
    bool applies;                       // of DECIDE: it was told that it counts
    int applied;                        // the word that counts; NOBODY: nobody was told so of his
    bool is_full, at_gate, by_somebody; // of its error: too much is held; it names a checkpoint; an approver
    bool enters;                        // it was heard as a user's
    int user;                           // as whose it was judged; NOBODY: nobody's
};

enum standing { FRESH, KNOWN, GUESSED, GONE };

struct duty {
    unsigned letter;
    char id[24];
    char token[32]; // by which it is told how it gets on; empty: it isn't
};

struct player {
    struct voice http_owner;
    struct shown posted;   // of POSTS, with what it is about to ask
    unsigned due, due_end; // letters that it has asked together, and that haven't been answered
    uint64_t active_ns;    // when it has asked last, or was answered
    uint8_t *in;
    size_t count;
    enum standing standing;
    unsigned generation;                     // how often somebody has come to this place
    int uid_user;                            // whose process it is; NOBODY: it came over TCP
    char certificate[TOY_CERTIFICATE_BYTES]; // that it shows (toy.h); empty: none
    bool enters;                             // it has come just now
    bool is_turned_away;                     // as one connection too many, or of a stream
    int user;
    struct shown token; // by which it is known, if not by the process or the certificate
    uint64_t came_ns, since_ns, guessed_ns;
    bool bore_before;        // a credential itself, when the users were read anew
    bool may_be_over;        // whose it is by what it bears has a limit of connections, or had one
    bool was_reset;          // it has left without a word
    bool doubtful;           // in this burst it isn't sure what it is, or whether it is
    bool leaves;             // in this burst it shows a wrong credential, and what it had ends
    int guess;               // the letter with the wrong credential; or NOBODY
    int claims[AGENT_NAMES]; // the letter by which it has read that it holds the name; or NOBODY
    int lost[AGENT_NAMES];   // what it claimed, and was told in this burst that it has lost; or NOBODY
    unsigned hears, asked;   // bits: patterns in force when the burst began; meddled with in it
    size_t answered;         // bytes, in this burst
    struct duty duties[DUTIES_MAX];
    unsigned duty_count;
};

// An agent's name, and who has it.
struct post {
    int holder; // when the burst began
    int owner;  // user
    bool touched;
    unsigned capabilities, tools, methods, events;
};

// A user's debt of a rate, in nanoseconds: that much at least and at most.
struct debt {
    double least, most;
};

struct users_stage {
    struct world world;
    struct random random;
    struct model before, now; // editions; the same but in a burst in which the file changes
    bool reloads;             // in this burst
    const char *one_target;   // of all that is said now; NULL: each letter has its own
    struct player players[PLAYERS];
    struct letter letters[LETTERS_MAX];
    unsigned letter_count, burst, burst_begin;
    struct post posts[AGENT_NAMES];
    unsigned entered; // bits: users who have got a connection in this burst
    struct debt rate[MODEL_USERS], bytes[MODEL_USERS], fanout[MODEL_USERS];
    unsigned owed[MODEL_USERS]; // requests that were pending when the burst began
    uint64_t settled_ns;
    bool takeover, gated, is_narrow; // few messages may be held
    bool has_glutton;                // a user whose part of what peers may have kept is full
    uint64_t gate_wait_ns;
    unsigned held_max;
};
extern struct users_stage stage;

struct users_sums {
    uint64_t letters, refused, delivered, authn_throttle, reloads, revoked, limited, checked, held, approved,
        turned_down, dropped, notices, by_certificate, streams, ended_streams, presence, gluttons, flocks;
};
extern struct users_sums users_sums;

extern const char *const user_patterns[PATTERNS + 1];

// --- users_speak.c

// Sends one message of a player's, or several in an array.
void speak_any(unsigned by);
// Answers something that a player was asked, or tells how it gets on.
void speak_answer(unsigned by, bool all);
// Reads what has come to a player; false when there was nothing.
bool speak_hear(unsigned by);

// A token to show; and as it is spelled.
struct shown speak_token(const struct player *player);
void speak_secret(const struct shown *shown, char token[MODEL_TOKEN_BYTES]);
// Takes what has come; of an error, which limit it is about.
void speak_take(unsigned by, const struct naive_frame *frame, struct bit body);
void speak_over(struct letter *letter, struct bit error);

static inline unsigned number_of(const struct letter *letter) {
    return (unsigned)(letter - stage.letters);
}
// Somebody's, for sure, and to stay.
static inline bool is_here(const struct player *player) {
    return player->standing == KNOWN && !player->doubtful && !player->leaves;
}

// --- users_papers.c

// A certificate for a player who has dialled and said nothing.
void papers_choose(struct player *player);
// papers_bearer returns the user of a player's connection by the connection's own credential, or NOBODY. papers_settled
// returns whether both editions agree on that user.
int papers_bearer(const struct model *model, const struct player *player);
bool papers_settled(const struct player *player);
// Notes that its upgrade wasn't answered by one.
void papers_refused(struct player *player);
// All has come to rest after some have come.
void papers_entered(void);

// --- users_posts.c

// Speaks HTTP, and each request shows whose it is.
static inline bool posts_speaks(const struct player *player) {
    return player->http_owner.way == POSTS || player->http_owner.way == EVENTS;
}
static inline bool posts_waits(const struct player *player) {
    return player->due != player->due_end;
}
// Chooses the credential of the next request, and the header fields that say so, behind more of them.
struct shown posts_choose(const struct player *player);
void posts_fields(const struct shown *shown, const char *more, char out[POST_FIELDS_BYTES]);
// posts_asked notes that the letters from `first` to the last were asked, posts_hear that they are answered.
void posts_asked(struct player *player, unsigned first);
void posts_hear(unsigned by, const struct naive_frame *frame);
// As whose a letter is judged: false: nobody's.
bool posts_judge(struct letter *letter, struct player *player);
// Returns whether its connection has been silent for so long that the hub may have ended it.
bool posts_may_end(const struct player *player);

// --- users_streams.c

// Asks for a stream, unless there is one.
void streams_ask(unsigned by);
void streams_hear(unsigned by, const struct naive_frame *frame);
// A player who listens has asked, and is somebody's: whether there must be a stream.
void streams_judge(unsigned by);

// --- users_oracle.c

__attribute__((noreturn)) void oracle_fails(const char *what, unsigned letter);
// A letter of an earlier burst has ended.
void oracle_late(const struct letter *letter);
// All has come to rest: judges the letters of the burst.
void oracle_burst(void);
// Returns whether its user, by this edition, may not send such a letter.
bool oracle_breaks(const struct model *model, const struct letter *letter);
// Returns whether it was refused by this rule.
bool oracle_refused(const struct letter *letter, const char *rule);
// Returns whether the credential that a letter shows is right; else its player is heard no more.
bool oracle_token_is_right(struct letter *letter, struct player *player);
// How many connections are this user's for sure.
unsigned oracle_known_as(int user);
// Makes it one of this user's connections; returns whether that may be.
bool oracle_becomes(struct letter *letter, struct player *player, int user);
// Asserts that no answer is due.
void oracle_end(void);

// Returns whether its user, by either edition, may get this event by these patterns.
bool oracle_hears(unsigned bits, const char *event, unsigned user, bool now_only);
// The bits of what the agents of a player want to get.
unsigned oracle_agents_hear(unsigned by);
// A player was told of an agent that came or went, which its user must be able to see.
void oracle_presence(unsigned by, struct bit body);
// Somebody is there for it for sure; or it goes to whoever hears it.
bool oracle_has_target(const struct letter *letter);
// Returns whether the approver that it names is there isn't sure.
bool oracle_vague(const struct letter *letter);
// Returns whether it may have come to a player because the player has this agent.
bool oracle_could_get(const struct letter *letter, unsigned by, unsigned agent);
// Returns whether it was said in nobody's name or its player's own, by what it was told; nobody may be told otherwise.
bool oracle_source(const struct letter *letter);
// Notes that it was routed in this burst.
void oracle_routed(const struct letter *letter);

// --- users_gate.c

// Tells a player what is held, or lists it.
void gate_notice(unsigned by, struct bit body);
void gate_list(struct letter *letter, struct bit result);
// Something to decide on; or NOBODY.
int gate_any(void);
// The file changes: the token by which something came over HTTP that is held goes, if there is such a one.
void gate_revoke(void);
// Looks at the messages that the hub holds now.
void gate_observe(void);
// A letter of this burst that may be sent, and was let in: whether the gate has it.
bool gate_takes(const struct letter *letter);
// A decision of this burst.
void gate_decision(const struct letter *letter);
void gate_listing(const struct letter *letter);
// All letters of the burst have been judged: what has become of what was held.
void gate_burst(void);
// The hub has drained: nothing is held.
void gate_drained(void);

// --- users_limits.c

// Judges the debts of this user's rates, after a burst before which so much time has passed.
void limits_burst(unsigned user, uint64_t elapsed_ns);

// --- users_glutton.c

enum { GLUTTON_UID = 78 };

// Writes the glutton's section of the users file; returns its bytes.
size_t glutton_write(char *text, size_t capacity);
// Connects, and asks for more until the hub refuses. `settle` lets the hub come to rest, and calls glutton_hear.
void glutton_fill(void (*settle)(void));
// Reads what the hub has answered; false: nothing.
bool glutton_hear(void);
// Asks for more again, which the hub must refuse.
void glutton_go_on(void (*settle)(void));
void glutton_leave(void);

// --- users_aftermath.c

// The player's connection has ended.
void oracle_close(struct player *player);
// Judges what there is after a burst, before which so much time has passed.
void oracle_aftermath(uint64_t elapsed_ns);
