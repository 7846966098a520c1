// Servers that a NATS server names: they are dialled, too.
#pragma once

#include "router/transport/link.h"

// Another server in its cluster, HOST:PORT as INFO has it.
void learning_note(struct link *link, const char *url, size_t bytes);
