// Registrations that are answered once the server knows of them, on shard 0: whoever asks after that answer, on any hub of that
// server, finds the agent. Each waits for the answer to a PING that was said behind its subscriptions, and no longer than a
// second: then, or where there is no link, it is answered as it is.
#pragma once

#include "router/features/cluster/link.h"

// Once a turn, behind what was said of the registry.
void register_barrier_follow(struct link *link);
// The server has answered the PINGs that link->pongs counts.
void register_barrier_answered(struct link *link);
// It is another link: what the one before was asked to confirm, this one is asked.
void register_barrier_again(struct link *link);
// Those that have waited too long wait no more.
void register_barrier_expire(struct link *link);
// When the next one has; UINT64_MAX: none waits.
uint64_t register_barrier_due_ms(const struct link *link);
