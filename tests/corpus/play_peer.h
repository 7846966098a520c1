// A line that is a peer's. Each is false where it doesn't come true, with the reason in play.why.
#pragma once

#include "tests/corpus/playing.h"

// Plays the line behind the peer's name.
bool play_peer_line(struct play *play, struct player *peer, const char *rest);
// Sends a body, of which `[Name: value]` before it are header fields.
bool play_peer_send(struct play *play, struct player *peer, const char *text);
// Expects a body like this one, or, not by its members, exactly this one.
bool play_peer_expect(struct play *play, struct player *peer, const char *pattern, bool by_members);
