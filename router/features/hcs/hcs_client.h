// A client of HCS sessions, on its own shard: what it gets, and how it reads.
#pragma once

#include "router/features/hcs/hcs_types.h"

// Makes one, and has it join: takes the start, which goes to a producer if none has been asked yet. False
// where there is no room to keep it; then the start is the caller's still.
bool hcs_client_send(struct shard *shard, struct peer *peer, const struct hcs_start_fields *fields,
                     struct parcel *start);
// MAIL_STREAM_GIVE, _FLUSH, _OPENED, _HOME, _LEFT, _HEARD.
void hcs_client_take(struct shard *shard, struct parcel *parcel);
void hcs_client_flush(struct shard *shard, struct parcel *parcel);
void hcs_client_opened(struct shard *shard, struct hcs_client *client);
void hcs_client_returned(struct shard *shard, struct hcs_client *client);
void hcs_client_left(struct shard *shard, struct hcs_client *client);
void hcs_client_reported(struct shard *shard, struct hcs_client *client);

// The peer is a client of nothing any more.
void hcs_client_leave_all(struct shard *shard, struct peer *peer);
// Once a turn: who was over may not be any more.
void hcs_client_look_at_drained(struct shard *shard);
// The shard's timer went off: who is over may be stuck.
void hcs_client_look_at_over(struct shard *shard);
