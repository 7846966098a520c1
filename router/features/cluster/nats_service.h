// The hub as a service of NATS (its ADR 32): what `nats micro list`, `info` and `stats` show of it, and of who can be asked here.
#pragma once

#include "core/wire/nats.h"
#include "router/features/cluster/link.h"

// Answers a message whose subject is one of such a question's. False: it isn't.
bool nats_service_take(struct link *link, const uint8_t *bytes, const struct nats_message *said);
