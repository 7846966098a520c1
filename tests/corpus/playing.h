// A case that is being played: what its lines share.
#pragma once

#include "tests/corpus/match.h"
#include "tests/corpus/play.h"
#include "tests/corpus/player.h"

enum { PEERS_MAX = 24 };

struct play {
    const struct corpus_case *one;
    const struct backend *backend;
    struct player peers[PEERS_MAX];
    unsigned peer_count;
    struct variables variables;
    enum play_wires wires;
    unsigned rounds; // of pings that prove that nothing is under way
    unsigned pings;
    size_t journal_at; // what has been read of it
    struct text why;   // it failed
};

// Notes why, before what was noted so far. False.
bool playing_fail(struct play *play, const char *what);
// Notes what came instead of what was expected. False.
bool playing_fail_with(struct play *play, const struct naive_frame *frame);

// The peer of this name, or NULL.
struct player *playing_find(struct play *play, const char *name, size_t bytes);
// Returns the wire of the next peer where the case names none.
enum line_wire playing_wire(const struct play *play);
bool playing_add(struct play *play, const char *name, enum line_wire wire);
// All whose names stand there.
bool playing_add_all(struct play *play, char *names, enum line_wire wire);

// Pings every peer that can be pinged: earlier messages are under way no more.
bool playing_ping_round(struct play *play);
// As many as show that nothing is.
bool playing_ping_rounds(struct play *play);
// A peer that can't be pinged must at least not have ended, unless the case says so.
bool playing_expect_quiet(struct play *play, const struct player *peer);
bool playing_expect_nothing(struct play *play, const struct player *peer);
