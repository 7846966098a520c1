// Servers that a NATS server names: they are dialled, too.
#pragma once

#include "router/features/cluster/link.h"

// Another server in its cluster, HOST:PORT as INFO has it.
void link_servers_learn(struct link *link, const char *url, size_t bytes);
