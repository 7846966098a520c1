// Plays a case against a backend, once for each of its rows.
#pragma once

#include "tests/corpus/backend.h"
#include "tests/corpus/case.h"

// False when an expectation failed; which one, and what came instead, is then on standard error.
bool play_case(const struct corpus_case *one, const struct backend *backend, const struct setup *setup);
// The case and line that are being played, for a crash to name; static memory.
const char *play_where(void);
