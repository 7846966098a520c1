// What hubs tell each other besides the body, and what its source said of it: one line, the first of a message's headers.
//
//     NATS/1.0
//     Patchbay: 1 hub=0123…cdef time=29998 level=2
//     Content-Length: 83            from here on as any frame of a peer's: the source's own fields,
//     Request-Id: 17                and nothing that it writes there can be taken for a hub's
//
//     {"jsonrpc":…
//
// A key that isn't known means nothing: hubs of several versions may be there.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/governance.h"
#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/cluster/subject.h"
#include "core/json/json.h"
#include "core/rights/users.h"

enum { HUB_HEADER_NUMBERS_BYTES_MAX = 2048 }; // of a list

struct hub_header {
    bool given;               // the line is there, and of a version that can be read
    uint32_t bytes;           // from the begin of the headers to where the source's own fields begin
    char hub[HUB_NAME_BYTES]; // who says it
    bool has_hub;             // and says so
    uint32_t time_ms;         // that is left for a request; 0: nothing is said of it
    enum governance level;    // that is required
    uint64_t offered;         // it is for whoever owes less than this; 0: for whoever is there
    uint64_t answered;        // the request of the other hub's that this answers; 0: its subject says so
    bool is_joint;            // answers to this hub's may come on one subject, each with its number
    bool is_back;             // an offer that nobody takes
    uint64_t owed;            // what who owes least there owes; 0: there is none who might
    bool refused;             // an error of that hub's own: nobody there was asked
    bool probes;   // whether anybody is there is asked, and nothing else: what it owes is 1 then, or 0
    bool attaches; // likewise, for a connection to be attached to it: 2 where it serves its own hub's alone
    bool unsaid;   // an error that the source isn't told, if it has cancelled what it is for
    struct span user;  // whose the message is, where that hub knows its users; bytes 0: it says nobody
    struct span agent; // in whose name it is said, of the agents of its source; bytes 0: in none's
    // Lists of requests, hexadecimal numbers with commas; bytes 0: none.
    struct span taken;        // that it took
    struct span asked, gone;  // whether they are owed still; that they aren't
    struct span sought, none; // who took them; that it didn't
    uint64_t cancelled;       // a request; 0: none
    bool is_nobodys;          // and nobody waits for its answer any more
    uint64_t inquired;        // who is there is asked, under this number; 0: it isn't
    struct span capability;   // and of what capability, as in a subject; bytes 0: of any
    uint64_t part;            // of the answer to that inquiry; 0: it is none
    bool more, cut;           // more parts follow; some agents are left out
    uint64_t holder;          // whether an agent's name is held is asked, under this number
    bool takes_over;          // and it may be taken from whoever has it
    struct span free, held;   // lists of such numbers: what is answered
    uint64_t claim, claims;   // what is held from this serial on is asked for; is told
    uint64_t last;            // and up to which one it was told
    bool yields;              // what is named is to yield to who says so
    bool names;               // the body says what agents name for themselves
    bool settle;              // this hub is to be asked what it holds
    bool leaves;              // this is the last that it says
    struct span denied,
        holds; // patterns of agents that a message's source is denied, or is held from (remote_acl.h); bytes 0: none
    bool is_approved; // somebody has approved it
    bool
        is_judged; // with `probes`: the body is what would be sent, and whether it would be refused is asked, too
    bool is_held;      // with `is_back`: somebody must approve it first
    bool knows_fences; // in a beat: this hub heeds all of these
};

// What is owed, in the answer to whether anybody is there.
enum { PROBE_NOBODY, PROBE_SOMEBODY, PROBE_SERVES_HERE };

// Reads what stands in these headers; they begin with NATS/1.0.
void hub_header_read(const uint8_t *bytes, struct span headers, struct hub_header *out);
// The next number of a list; false at its end, or where it is none.
bool hub_header_next(const uint8_t *bytes, struct span *list, uint64_t *number);

// Who a message is from, as its hub has judged it: the user (NULL: none), and in the name of which agent (bytes 0: of none).
struct hub_header_source {
    const char *user, *agent;
    size_t agent_bytes;
};

// Writes "NATS/1.0" and a whole line for a message that requires this level, and of a request how long it may take (0:
// nothing is said of that), and, where it is an offer, who owes less than what it is for (0: it is none), or of an answer to
// which request it is (0: that isn't said), and what is said besides; returns its length.
enum hub_header_flag {
    HUB_HEADER_REFUSED = 1,
    HUB_HEADER_PROBES = 2,
    HUB_HEADER_ATTACHES = 4,
    HUB_HEADER_UNSAID = 8
}; // one of them, or none
enum {
    HUB_HEADER_BYTES_MAX = 10 + 11 + 5 + HUB_NAME_BYTES + 6 + 16 + 7 + 16 + 7 + 16 + 4 + 16 + 10 + 6 +
                           USER_NAME_BYTES_MAX + 7 + AGENT_ID_BYTES_MAX + 2
};
size_t hub_header_write(char out[HUB_HEADER_BYTES_MAX], const char hub[HUB_NAME_BYTES], uint32_t time_ms,
                        enum governance level, uint32_t offered, uint64_t answered, unsigned flags,
                        const struct hub_header_source *source);
// Adds pairs to such a line, a blank before each; returns its length then.
size_t hub_header_add(char *line, size_t bytes, const char *pairs, size_t pairs_bytes);
// Writes "NATS/1.0" and the begin of the line, up to who says it.
void hub_header_begin(struct text *out, const char hub[HUB_NAME_BYTES]);
void hub_header_number(struct text *out, const char *key, uint64_t number);
// Ends the line.
void hub_header_end(struct text *out);
// Writes a number as hubs do: lower-case hexadecimal digits. Returns their number; what is behind them in `out` isn't kept.
size_t hub_header_digits(char out[16], uint64_t number);
// The same with zeros before them, 16 in all.
void hub_header_all_digits(char out[16], uint64_t number);
bool hub_header_read_digits(const uint8_t *bytes, struct span digits, uint64_t *out);
