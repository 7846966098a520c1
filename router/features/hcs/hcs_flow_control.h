// Notes to a session's producer about its clients, and the ends of a session's timers.
#pragma once

#include "router/features/hcs/hcs_types.h"

// Tells the producer to pause or to go on, if it is to be told.
void hcs_flow_control_tell(struct shard *shard, struct hcs_session *session);
// The producer has been told already, by a client's own frame.
void hcs_flow_control_told(struct shard *shard, struct hcs_session *session, enum hcs_flow_state mood);
// Arms the session's timer for what comes next.
void hcs_flow_control_watch(struct shard *shard, struct hcs_session *session);
// When that is.
uint64_t hcs_flow_control_silence_ms(const struct shard *shard, const struct hcs_session *session);
uint64_t hcs_flow_control_linger_ms(const struct shard *shard, const struct hcs_session *session);
