// The state that the files of the world of traces share: requests, as their sources and targets know them, and tappers.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/sim/naive.h"
#include "tests/sim/random.h"
#include "tests/sim/world.h"

enum {
    GUESTS = 4, // each has an agent, asks and answers
    ASKS_MAX = 400,
    IN_BYTES_MAX = 1 << 20,
    BODY_BYTES_MAX = 4096,
    ASK_BYTES_MAX = 640,
    PARENT_DIGITS = 16,
    GUEST_UID = 1000,
    WATCHER_UID = 1001,
    SPY_UID = 1002,
};

// Where a request bears its context.
enum place { NOWHERE, IN_META, IN_FIELD, IN_BOTH, PLACES };
enum ending { UNDER_WAY, RESULT, ERROR_OF_TARGET, ERROR_OF_HUB, ABANDONED };

struct asked {
    enum place place;
    bool flag, in_array;
    bool is_log;        // an audit/log, which the hub answers once it is in the journal
    int source, target; // guests; target -1: nobody
    uint64_t asked_ns, ended_ns;
    size_t bytes; // of its body; 0: of one in an array, which isn't told apart
    enum ending ending;
    int64_t code;
    bool was_seen;            // its target has it
    char seen[PARENT_DIGITS]; // the parent that the target found; 0: none
    unsigned spans;
    char parent[PARENT_DIGITS]; // of its span
    char span[PARENT_DIGITS];
    char text[ASK_BYTES_MAX]; // its body
};

struct talk {
    struct cable *cable; // NULL: none
    uint8_t in[IN_BYTES_MAX];
    size_t count;
};

extern struct asked asks[ASKS_MAX];
extern unsigned ask_count;
extern struct world world;
extern struct random dice;

// Lets all that is on its way arrive; no time passes.
void traces_settle(void);
// Each guest that is there asks for something.
void traces_ask_each(void);
const char *traces_method(const struct asked *asked);
void traces_write(struct talk *wire, const char *fields, const char *body);

// --- Those who tap

// A word in each credential, which no tapper may ever see.
#define TAPS_SECRET "secret-credential"

// `has_users`: some of them may not tap. `is_calm`: a tap misses entries only over its rate, or while its tapper
// doesn't read.
void taps_open(bool has_users, bool is_calm);
// Somebody begins to tap, ends, reads, or reads no more.
void taps_act(void);
// Reads what has come. Returns whether something has.
bool taps_step(void);
// Fails where a tap lacks an entry that it doesn't count as missed. All requests must have ended, and time have passed.
void taps_check(void);
// The hub has ended.
void taps_close(void);
void taps_report(void);
