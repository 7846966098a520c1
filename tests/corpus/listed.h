// Cases that don't hold where peers are at several hubs, each under its reason. The list reads
//
//     # anything
//     A reason, which holds for all that follow.
//       4-events/batch
//       4-events/other xyy     it does hold where its first peer is at the one hub and all others are at the other
//
// and is kept true: what stands there and does hold in turns, isn't there, or needn't be played so fails the run.
#pragma once

#include <stdbool.h>

struct listed {
    char *name;  // the case's path without its ending
    char *order; // as struct setup has it; "": there is none in which it holds
    char *reason;
    bool met, failed; // there is such a case; and it doesn't hold in turns
};

// False, with what is wrong on standard error, when it can't be read.
bool listed_read(const char *path);
// NULL: it isn't there.
struct listed *listed_find(const char *path);
// Returns whether its order has so many peers at both hubs; said, where it doesn't.
bool listed_parts(const struct listed *listed, unsigned peer_count);
// Says which ones were not met, and which have not failed; false when there are any.
bool listed_is_true(void);
void listed_forget(void);
