// The clients of HCS sessions, on the shards of their peers: frames for them, and how fast the peers read.
#pragma once

#include "router/features/hcs/hcs_types.h"

// Makes a client of the peer and sends it to the session's shard to join. Takes the start, which goes to a producer if
// the session is new. Returns false without memory: then the caller keeps the start.
bool hcs_client_send(struct shard *shard, struct peer *peer, const struct hcs_start_fields *fields,
                     struct parcel *start);
// Handle HCS_MAIL_GIVE, _FLUSH, _OPENED, _HOME, _LEFT, _HEARD.
void hcs_client_take(struct shard *shard, struct parcel *parcel);
void hcs_client_flush(struct shard *shard, struct parcel *parcel);
void hcs_client_opened(struct shard *shard, struct hcs_client *client);
void hcs_client_returned(struct shard *shard, struct hcs_client *client);
void hcs_client_left(struct shard *shard, struct hcs_client *client);
void hcs_client_reported(struct shard *shard, struct hcs_client *client);

// Makes all clients of the peer leave their sessions.
void hcs_client_leave_all(struct shard *shard, struct peer *peer);
// Checks which of the peers that have read are no longer over (hcs_flow.h). Called once a turn.
void hcs_client_look_at_drained(struct shard *shard);
// Checks which of the peers that are over are stuck, when the shard's timer goes off.
void hcs_client_look_at_over(struct shard *shard);
