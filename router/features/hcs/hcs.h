// HCS: sessions in which an agent streams chunks of text to clients (seed: HCS Streaming Protocol, draft v0.2).
//
//     a client's shard              the session's shard                  the producer's shard
//     entry: start ─── join ──────▶ starting: a producer is chosen ──▶   its queue
//                                   saying ◀────── init, chunk … ──────  entry
//     client: shed or queued ◀───── giving: a share of each chunk
//                    │ reads too slowly
//                    └── report ──▶ mood: pause, resume ───────────────▶ its queue
//
// A session lives on the shard that its name tells, so that each shard finds it without a table in common. All frames
// of the session go there first, and stay there a while, for clients that come later or come back.
#pragma once

#include "router/engine/message/message.h"
#include "router/engine/request/completion.h"
#include "router/engine/shard/shard.h"

struct home;

// A peer is a client of nothing any more.
void hcs_leave(struct shard *shard, struct peer *peer);
