// How a session's frames come to its clients: each gets what lies behind its place, as it comes or from the
// history, or has it held while it pauses.
#pragma once

#include "router/stream/parts.h"

// A chunk that has just come.
struct live {
    struct parcel *parcel;
    uint64_t seq;
    enum stream_lod lod;
};

// Gives a client a share of a frame. False without memory.
bool giving_share(struct shard *shard, struct stream_client *client, struct parcel *origin,
                  struct given given);
// Gives it a frame of its own, which is taken.
void giving_parcel(struct shard *shard, struct stream_client *client, struct parcel *parcel,
                   struct given given);
// Gives it what lies behind its place, some of it at a time; `live` is the last chunk if that has only just come,
// or NULL. False: there is more, and where its place is still the same memory is short.
bool giving_catch_up(struct shard *shard, struct session *session, struct stream_client *client,
                     const struct live *live);
// The client has paused: holds a chunk for it, if there is room and nothing is missing before.
void giving_hold(struct shard *shard, const struct session *session, struct stream_client *client,
                 const struct live *live);
// It goes on: gives it what was held.
void giving_held(struct shard *shard, struct stream_client *client);
// Drops what was held.
void giving_drop_held(struct shard *shard, struct stream_client *client, enum counter counter);
