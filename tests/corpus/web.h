// A peer that speaks HTTP: what a case's lines say of requests, answers, events, and bytes as they are.
#pragma once

#include "tests/corpus/match.h"
#include "tests/corpus/player.h"

struct web_play {
    struct player *peer;
    const struct backend *backend;
    struct variables *variables;
    struct text *why;
};

// Does what the line says behind the peer's name. False, with the reason in `why`, when it doesn't come true;
// *known is whether it is one of these lines at all.
bool web_line(const struct web_play *play, const char *rest, bool *known);
// Waits for the end of what the hub sends, of which nothing may be left. False with the reason.
bool web_at_end(const struct web_play *play, bool reset_allowed);
