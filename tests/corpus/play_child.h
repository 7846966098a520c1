// Lines about children, and the keeper that starts them.
#pragma once

#include "tests/corpus/playing.h"

// Plays an act of a child, or a signal to it; *known: whether the words mean something.
bool play_child_words(struct play *play, struct player *peer, const char *words, bool *known);
// `child NAME [as PEER]`, `child NAME fails ERRNO`, `child NAME waits`
bool play_child_start(struct play *play, char *text);
// `keeper is busy`, `keeper is free`
bool play_child_occupy_keeper(struct play *play, const char *rest);
