// Faults of a message, real ones and apparent ones, and their consequences. The writer of a flaw knows by
// this table what the hub must say; nobody reads the message to find out.
//
// Some flaws count in strict validation alone: in lazy validation a message with such a flaw is forwarded.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tests/sim/random.h"

enum flaw_place {
    FLAW_VERSION,    // instead of the member jsonrpc
    FLAW_TOP,        // one member more at the top
    FLAW_ID,         // instead of a request's id
    FLAW_WHOLE,      // instead of the member params
    FLAW_PARAMS,     // one member more in params
    FLAW_OUTCOME,    // instead of an answer's result or error
    FLAW_NO_OUTCOME, // there is none: a flaw as long as the answer is owed
    FLAW_SOURCE,     // the same, in a message without a sourceAgent
    FLAW_DEEP,       // one value more in the filler
    FLAW_NEST,       // there, arrays in arrays to the deepest level that is allowed, or one deeper
    FLAW_BEHIND,     // behind the body
    FLAW_FIELD,      // the fields of a method (hugai.c)
};

// Where a flaw may stand.
enum { FLAW_IN_ASK = 1, FLAW_IN_TELL = 2, FLAW_IN_ANSWER = 4 };

struct flaw {
    enum flaw_place place;
    unsigned in;      // bits
    const char *text; // what is written
    int32_t code;     // of the error; 0: nothing is wrong
    const char *data; // members that the error's data must have
    bool strict;      // a flaw for strict validation alone
    bool voids;       // a batch with it in it is void
};

// The deepest level that strict validation reads (1 is the body's own).
enum { FLAW_LEVELS_MAX = 1024 };

// Any flaw that may stand in `in`, one of the bits. NULL is never returned.
const struct flaw *flaw_choose(struct random *random, unsigned in);
// Returns whether a hub of this depth takes it for one.
static inline bool flaw_counts(const struct flaw *flaw, bool strict) {
    return flaw && flaw->code && (strict || !flaw->strict);
}
// Returns whether the error for it bears the request's id.
static inline bool flaw_has_id(int32_t code) {
    return code != -32700 && code != -32600;
}
