// What goes wrong with a NATS server, in the hub's own log: the same once a minute, and nothing more often than once a second.
#pragma once

#include "router/features/cluster/link.h"

// What the server calls a fault.
void nats_fault_said(struct link *link, const uint8_t *bytes, uint32_t count);
// What is wrong with the server, or with what it is to be shown.
void nats_fault_found(struct link *link, const char *what);
