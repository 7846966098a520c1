// A line about the hub's journal.
#pragma once

#include "tests/corpus/playing.h"

// `journal <~ LINE`, `journal nothing`
bool play_journal_line(struct play *play, const char *rest);
