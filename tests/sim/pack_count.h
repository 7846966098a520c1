// Counts the frames that hubs pack (core/send/pack.h). The program must be linked with --wrap=outbox_pack and
// --wrap=outbox_unpack.
#pragma once

#include <stdint.h>

extern uint64_t pack_count;
// Requests and answers packed for the link to other hubs, with an envelope, and those requests taken out of their
// packs.
extern uint64_t pack_count_requests, pack_count_answers, pack_count_taken_out;
