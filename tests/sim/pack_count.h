// Counts the frames that hubs pack (core/send/pack.h). The program must be linked with --wrap=outbox_pack.
#pragma once

#include <stdint.h>

extern uint64_t pack_count;
