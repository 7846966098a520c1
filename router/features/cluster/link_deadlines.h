// Who waits for what comes over a link, registrations and lists of all hubs: for how long, in one place.
#pragma once

#include "router/features/cluster/link.h"

// Ends the waiting of those who have waited long enough: at the current link.
void link_deadlines_expire(struct link *link);
// When the next one will have; UINT64_MAX: nobody waits. Nobody has yet.
uint64_t link_deadlines_due_ms(const struct link *link);
