// HCS: sessions in which an agent streams chunks of text to clients (seed: HCS Streaming Protocol, draft v0.2).
//
//     client's shard                   session's shard                        producer's shard
//     hcs_ingress: start ─── join ───▶ hcs_dispatch: chooses a producer ────▶ its queue
//                                      hcs_dispatch ◀────── init, chunk … ─── hcs_ingress
//     hcs_client: sheds or queues ◀─── hcs_session: a share of each chunk
//                    │ the peer reads too slowly
//                    └── report ─────▶ hcs_session: pause, resume ───────────▶ its queue
//
// The name of a session determines its shard, so that each shard finds the session without a common table. All frames
// of the session go there first, and are kept there for a while, for clients that join later or resume.
#pragma once

#include "router/engine/message/message.h"
#include "router/engine/request/completion.h"
#include "router/engine/shard/shard.h"

struct registrant;

// Ends all the peer's memberships in sessions.
void hcs_leave(struct shard *shard, struct peer *peer);
