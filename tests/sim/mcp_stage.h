// State that the parts of patchbay_mcp share: the server's processes, its clients, and their calls.
#pragma once

#include "tests/sim/naive.h"
#include "tests/sim/programs.h"
#include "tests/sim/world.h"

enum {
    SESSIONS_MAX = 5,
    CALLS_MAX = 400,
    EXCHANGES_MAX = 96,
    OWED_MAX = 256,
    QUESTIONS_MAX = 400,
    SERVERS_MAX = 16,
    DELAYED_MAX = 32,
    ACTS = 250,
    ROOM = 1 << 18,
    ID_BYTES = 80,
    MILLISECOND = 1000000,
    SECTIONS = 2,
    USERS = SESSIONS_MAX + 1, // a session's user has its number, and the last one is that of the modern era
    BURST = 30,
    NOBODY = -1
};

// A call: of a session, or of a client of the modern era (NOBODY).
struct call {
    int session;
    bool arrived, answered, failed; // at the server; by it
    bool cancelled, dropped;        // by its client; its client's connection is gone
    bool is_left;                   // its client has ended the session
    bool told;                      // the server, that it was cancelled
    unsigned reported;              // progress, by the server
    unsigned progress;              // that has come to the client
    unsigned ends;                  // answers that have come to the client
    bool has_token, may_fail;
    bool is_gated;         // it needs approval
    bool is_unknown;       // no server has its tool
    bool is_forbidden;     // its user may not call the tool, whatever the hub has read
    bool may_be_forbidden; // its user may not, or could not for a while
    unsigned serial;       // of its session
    char place[ID_BYTES];  // of the last event of its stream; empty: none
};

enum kind { OPEN, CALL, LIST, LISTEN, NOTE, CLOSE };

// A request over HTTP, on a connection of its own.
struct exchange {
    struct cable *cable; // NULL: none
    enum kind kind;
    int session, call; // call NOBODY: GET's own stream, or none
    bool of_all;       // at /mcp
    bool has_head, is_stream, is_chunked, is_over;
    unsigned status, stream; // stream: of GET, its number
    size_t length;           // of the content, where it isn't chunked
    uint8_t *raw, *text;
    size_t raw_count, text_count;
};

struct session {
    bool is_here, is_asked;       // its id is known; its `initialize` is under way
    bool of_all;                  // at /mcp
    unsigned serial;              // how many sessions this client has had
    unsigned streams, placed;     // of GET: that were opened; the one of `place`
    bool is_unsure;               // two were asked for at a time, or one was left before it began
    char id[64], place[ID_BYTES]; // place: of the last event of GET's stream
};

// A process of the server: one for each era, and those that come after a death.
struct server {
    struct program *program; // NULL: none
    uint8_t in[ROOM];
    size_t in_count;
    struct {
        uint64_t id;
        unsigned call;
        char token[48]; // of its progress, as the hub has spelled it; empty: none
    } owed[OWED_MAX];
    unsigned owed_count;
    struct {
        uint64_t id;
        const char *result;
    } delayed[DELAYED_MAX]; // of the hub's own questions, for later
    unsigned delayed_count;
};

struct mcp_stage {
    struct world world;
    struct random random;
    struct session sessions[SESSIONS_MAX];
    struct call calls[CALLS_MAX];
    struct exchange exchanges[EXCHANGES_MAX];
    struct {
        unsigned call;
        const struct server *server;
        bool put, answered;
    } questions[QUESTIONS_MAX];
    struct server servers[SERVERS_MAX];
    unsigned session_count, call_count, question_count, serial, deaths;
    uint64_t timeout_ns;
    // SIGHUP changes, removes and adds sections, the gate holds calls, and the servers are slow to open.
    bool is_turbulent;
    bool is_each; // each client has a process of its own
    // There are users, whom SIGHUP removes, brings back and gives other rights, and a journal of their calls.
    bool has_users;
    struct {
        bool is_absent, is_forbidden; // is_forbidden: no tool may be called
        unsigned answered;            // calls that have an answer, and must be in the journal
        unsigned sent;
    } users[USERS];
    struct {
        bool is_absent;
        unsigned version;
    } sections[SECTIONS];
    unsigned reloads;
    bool alone;  // there is one client, so that the server may ask it
    bool calm;   // nobody dies
    bool good;   // from now on everybody behaves
    bool ending; // the hub ends
};

struct mcp_sums {
    uint64_t calls, answers, errors, progress, questions, told, resumed, gone, cancels, reloads, decisions,
        forbidden, lines, lists;
};

extern struct mcp_stage stage;
extern struct mcp_sums sums;

// Starts programs that were ordered, and has each take what has come; whether any did.
bool drive_programs(void);
// Has a process do something.
void serve_act(struct server *server);
// The sections that the hub reads, as they are now.
struct child_settings *sections_now(void);
// Changes, removes or adds one, and has the hub read them.
void sections_reload(void);
// Asks which calls are held.
void approver_act(void);
// Takes what the hub has said, and decides on calls that are held: all of them where everybody behaves. Whether
// anything has come.
bool approver_hear(void);
void approver_leave(void);

// The user of a session; NOBODY: of the modern era.
unsigned user_of(int session);
// The line of a head with a user's credential, and with `user` USERS the approver's token. Empty without users.
const char *user_field(unsigned user);
// The users file, as it is now.
struct users *users_file(const struct users *before);
// Removes users, brings some back, or changes what they may call, and has the hub read the file.
void users_reload(void);
// A user has sent a call; and the hub has answered it, though not for want of a credential.
void users_note_sent(int session);
void users_note_answered(int session);
// Checks the lines of calls in the journal: each call that was answered has one or is counted, and refused calls are
// bounded.
void users_check_journal(void);
