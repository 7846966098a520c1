// A crowd beside the guests, which keeps no records. A peer of the crowd publishes very many tiny events, to listeners
// that don't read for a while. The bounds of memory and of queues change. Another peer, which does little, must be
// served all along.
#pragma once

#include "tests/sim/run.h"

// Sets a run up for it: a hub that has little.
void flood_choose(struct random *random, struct profile *profile, struct world_options *options);
void flood_open(struct run *run, const struct world_options *options);
// Does something; false when there is nothing to do.
bool flood_act(struct run *run);
// Returns whether a frame is one of the flood, of which guests that want all events hear, too.
bool flood_is(const struct naive_frame *frame);
// All has come to rest: nobody waits for an answer, and no event was lost in silence.
void flood_rest(const struct run *run);
void flood_close(void);
