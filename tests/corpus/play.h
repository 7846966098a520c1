// Plays a case against a backend, once for each of its rows.
#pragma once

#include "tests/corpus/backend.h"
#include "tests/corpus/case.h"

// The peers' wires where the case leaves them open: frames, lines, or the first one lines and the others in
// turns.
enum play_wires { PLAY_FRAMED, PLAY_LINES, PLAY_MIXED };

// Returns whether the case can be played so: one that is about header blocks, or says itself who speaks lines, is
// played in frames alone.
bool play_can(const struct corpus_case *one, enum play_wires wires);
// False when an expectation failed; which one, and what came instead, is then on standard error.
bool play_case(const struct corpus_case *one, const struct backend *backend, const struct setup *setup,
               enum play_wires wires);
// The case and line that are being played, for a crash to name; static memory.
const char *play_where(void);
