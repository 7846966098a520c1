// What a session's producer is told of its clients, and when something comes of time.
#pragma once

#include "router/stream/parts.h"

// Tells the producer to pause or to go on, if it is to be told.
void mood_tell(struct shard *shard, struct session *session);
// The producer has been told already, by a client's own frame.
void mood_told(struct shard *shard, struct session *session, enum hcs_flow_state mood);
// Arms the session's timer for what comes next.
void mood_watch(struct shard *shard, struct session *session);
// When that is.
uint64_t mood_silence_ms(const struct shard *shard, const struct session *session);
uint64_t mood_linger_ms(const struct shard *shard, const struct session *session);
