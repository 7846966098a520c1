// How a session's frames come to its clients: each gets what lies behind its place, as it comes or from the
// history, or has it held while it pauses.
#pragma once

#include "router/features/hcs/hcs_types.h"

// A chunk that has just come.
struct hcs_live_chunk {
    struct parcel *parcel;
    uint64_t seq;
    enum stream_lod lod;
};

// Gives a client a share of a frame. False without memory.
bool hcs_delivery_share(struct shard *shard, struct hcs_client *client, struct parcel *origin,
                        struct hcs_tag tag);
// Gives it a frame of its own, which is taken.
void hcs_delivery_parcel(struct shard *shard, struct hcs_client *client, struct parcel *parcel,
                         struct hcs_tag tag);
// Gives it what lies behind its place, some of it at a time; `live` is the last chunk if that has only just come,
// or NULL. False: there is more, and where its place is still the same memory is short.
bool hcs_delivery_catch_up(struct shard *shard, struct hcs_session *session, struct hcs_client *client,
                           const struct hcs_live_chunk *live);
// The client has paused: holds a chunk for it, if there is room and nothing is missing before.
void hcs_delivery_hold(struct shard *shard, const struct hcs_session *session, struct hcs_client *client,
                       const struct hcs_live_chunk *live);
// Gives held chunks to a client that goes on.
void hcs_delivery_held(struct shard *shard, struct hcs_client *client);
// Memory is short: lets go chunks that are held for clients that have paused, longest first, a sixteenth of
// the memory at a time. A client that goes on gets them from the history, or is told that they are gone.
// False: nothing was held.
bool hcs_delivery_relieve(struct shard *shard);
// Drops what was held.
void hcs_delivery_drop_held(struct shard *shard, struct hcs_client *client, enum counter counter);
