// What guests of several hubs have sent, and what may come of it: what clusters.c (the play) and clusters_guests.c (what
// guests say and hear) share.
#pragma once

#include "tests/sim/fleet.h"

enum {
    GUESTS_A_SITE = 5,
    GUESTS_MAX = GUESTS_A_SITE * SITES_MAX,
    NAMES = 6, // agent-0 and so on
    LETTERS_MAX = 500,
    LATE_MAX = 200,
    STRAY_MAX = 200,
    STRAYS_KEPT = 8,
};

enum kind { KIND_REQUEST, KIND_NOTE, KIND_EVENT };
enum address {
    TO_AGENT,
    TO_TEAM,
    TO_METHOD,
    TO_NOBODY,
    ADDRESSES,
    TO_ALL = ADDRESSES
}; // all: of notifications

// A message.
struct letter {
    enum kind kind;
    enum address address;
    unsigned source, life, name; // life: the source's
    unsigned epoch;              // when it was sent
    bool sure;                   // nothing was wrong then, and whoever is to get it was there
    bool big, timed, cancelled;
    unsigned copies; // that have come
    uint32_t got;    // bits: guests
    unsigned by;     // who got it last
    char id[32];     // under which it came there
    unsigned ended;
    bool good;
};

// What a guest has asked of a name, and the hub has not answered.
struct claim {
    bool open;
    unsigned epoch;
    bool sure_taken, sure_free; // nothing was wrong, and somebody had it, or nobody did
    uint64_t sent_ns;
};

// A connection, one life after another.
struct guest {
    struct cable *cable; // NULL: it has left
    uint8_t *in;
    size_t count;
    unsigned site, life, listening; // listening: patterns that the hub has confirmed
    bool holds[NAMES];              // the hub has said so, and not taken it back
    uint64_t since_ns[NAMES];       // when it asked for it
    struct claim claims[NAMES];
    int last[GUESTS_MAX];    // of each source: the last event that came
    unsigned late[LATE_MAX]; // requests that it will answer some time
    unsigned late_count;
    char strays[STRAYS_KEPT][32]; // ids of requests of who is no hub, the last ones
    unsigned stray_count;
    unsigned lists_asked, lists_got; // of all hubs' agents
    bool list_complete;
    uint32_t listed; // bits: names in the last one
};

struct cluster_stage {
    struct fleet fleet;
    struct random random;
    struct guest guests[GUESTS_MAX];
    struct letter letters[LETTERS_MAX];
    unsigned guest_count, letter_count, epoch;
    uint64_t freed_ns[NAMES];    // when somebody gave a name up, or left
    unsigned settled;            // the epoch in which all last knew of all
    bool scarce;                 // allocations fail until the end
    struct broker_client *stray; // a client of the first server that is no hub; NULL: there is none
    struct {
        uint8_t bytes[1 << 20];
        size_t count;
    } heard;
    unsigned stray_asked, stray_answers[STRAY_MAX];
    bool calm;                             // nothing is wrong, and what was has been got over
    bool had_faults;                       // in this run
    bool busy;                             // most answers come late, and most is asked of groups
    bool events_only, no_events, no_names; // no_names: nobody asks for a name that another one has
};
extern struct cluster_stage stage;

struct sums {
    uint64_t letters, good, failed, crossed, events, copies, refused, replaced, faults, cancels, progress,
        strays, offers, offers_back;
};
extern struct sums sums;

// Something has changed (or is wrong from now on): what is under way may have met it.
void stage_disturb(bool wrong);
// Who holds a name as far as it has been told; guest_count: nobody.
unsigned stage_holder(unsigned name);

void guest_enter(unsigned by);
// Its connection is reset, so that the hub knows at once.
void guest_leave(unsigned by);
void guest_claim(unsigned by, unsigned name);
void guest_unclaim(unsigned by, unsigned name);
void guest_send(unsigned by, enum kind kind, enum address address, unsigned name);
void guest_cancel(void);
// Asks for the agents of all hubs.
void guest_list(unsigned by);
// All is well: everybody who holds a name was in the last list, which was complete; and each that was asked for has come.
void guest_check_list(unsigned by);
// A client that is no hub asks an agent, or who is there; reads what it is answered.
void stray_ask(void);
bool stray_hear(void);
void stray_leave(void);
// Answers one of those that wait, or all.
void guest_answer(unsigned by, bool all);
// Reads what has come; false when there was nothing.
bool guest_hear(unsigned by);
// A message has done all that it will.
void letter_check(unsigned tag);
