// State that the parts of patchbay_children share: programs and clients, requests, and their wires.
#pragma once

#include <inttypes.h>

#include "router/features/children/child.h"
#include "tests/sim/kernel.h"
#include "tests/sim/naive.h"
#include "tests/sim/programs.h"
#include "tests/sim/world.h"

enum {
    KINDS_MAX = 4,
    CLIENTS_MAX = 5,
    PLAYED_MAX = 96,
    PROGRAMS_MAX = 2048, // in a run
    PENDING_MAX = 512,
    ASKS_MAX = 4096,
    ACTS = 300,
    ROOM = 1 << 16,
    MILLISECOND = 1000000,
    NOBODY = -1,
    ASKS_ON_SECONDS = 30, // a program asks about what was given up for so long
};

// A speaker: a client, or a program.
struct mouth {
    struct cable *from, *to;
    bool lines;
    uint8_t *in, *out;
    size_t in_count, out_at, out_count;
};

struct client {
    struct mouth mouth;
    bool here;
    uint64_t noted[PROGRAMS_MAX]; // the last note of each program's
    bool uses[KINDS_MAX];         // a server of MCP that clients share
    bool stale[KINDS_MAX];        // of that, another program has its place, and it hasn't heard so
};

// The settings of a section.
struct kind {
    char name[16];
    enum child_protocol protocol;
    bool lines, on_demand, each, ever_each, idle, absent, asks;
    bool acp, ever_acp, ever_lsp; // how the hub says its own cancels: now, and in any section so far
    unsigned instances, version;
    uint64_t gone_ns;    // when one of its children last was removed
    uint64_t ends, away; // how often one of its children was to end, or has; was down, stopped or gone
};

struct ask {
    int client; // NOBODY: it has left
    unsigned kind;
    bool command, modern, cancelled, cancelled_acp, ended, delivered, answered, failed;
    uint64_t at_ns, ends, away, reloads;
    uint64_t
        given_up_ns; // when its client gave it up, or was told that it has failed; 0: it didn't, and wasn't
    bool was_removed, was_ending, was_waiting,
        was_away; // when it was asked: one that ends, or is gone, may be known to few shards
};

// A program that runs.
struct played {
    struct program *program; // NULL: none
    struct mouth mouth;
    unsigned kind, number; // among all programs of the run
    int user;              // where each has its own
    bool greeted, mute;
    unsigned pending_count, asked, answered;
    uint64_t notes;
    struct owed {
        uint64_t id;
        unsigned ask;
    } pending[PENDING_MAX];
};

struct children_stage {
    struct world world;
    struct random random;
    struct kind kinds[KINDS_MAX];
    struct client clients[CLIENTS_MAX];
    struct played played[PLAYED_MAX];
    struct ask asks[ASKS_MAX];
    unsigned kind_count, client_count, ask_count, program_count;
    uint64_t notes_said, notes_heard;
    bool is_known; // the agent to whom they are said
    bool steady;   // likewise, and nothing is started anew, so that each note comes
    bool calm;     // nobody does anything wrong, so that each request ends with what its child said
    bool faulty;   // memory fails now and then
    bool narrow;   // little fits between shards
    bool ending;   // the hub ends
    bool good;     // from now on everybody behaves
    uint64_t timeout_ns;
};

struct sums {
    uint64_t asks, answers, lost, away, late, full, cancelled, programs, ends, reloads, questions, put;
    uint64_t
        told[2]; // cancels that programs were told, by whether they had the form of the Agent Client Protocol
};

extern struct children_stage stage;
extern struct sums sums;

// Returns whether somebody does something wrong now.
static inline bool misbehaves(unsigned per_mille) {
    return !stage.calm && !stage.good && random_chance(&stage.random, per_mille);
}

// Returns the kind of the child with this name.
struct kind *kind_named(const char *name);
// Returns whether any of this kind is in one of these states, and whether the one that has the name can't be asked.
bool kind_any_is(const struct kind *kind, uint32_t least, uint32_t most);
bool kind_is_away(const struct kind *kind);
// Returns whether all of it has gone, or ends and nothing of it runs.
bool kind_is_removed(const struct kind *kind);
// Fails where somebody rests and has a program.
void check_programs(void);
// Fails where somebody has gone for long, and has its place still.
void check_places(void);

void mouth_open(struct mouth *mouth, struct cable *from, struct cable *to, bool lines);
void mouth_close(struct mouth *mouth);
// Has bytes, or a body, wait to be said.
void mouth_put(struct mouth *mouth, const char *bytes, size_t count);
__attribute__((format(printf, 2, 3))) void mouth_say(struct mouth *mouth, const char *format, ...);
// Says a part of what waits, or all.
void mouth_flush(struct mouth *mouth, bool all);
// The next body that has come; its bytes stay until the next call.
bool mouth_listen(struct mouth *mouth, struct bit *body, size_t *done);

// Has each program do something; whether any did.
bool programs_drive(void);
// A program that chance chooses says something, or does something that no program should.
void programs_act(void);
// Parts a program that nobody plays any more.
void programs_part(struct played *played);
