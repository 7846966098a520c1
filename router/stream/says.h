// What the hub itself says in HCS.
#pragma once

#include "router/stream/parts.h"

enum says_code { SAYS_INVALID_REQUEST, SAYS_INTERNAL, SAYS_STREAM_TIMEOUT };

// An error. `refused` is the type of the frame that it answers; NULL: it answers none, and ends the session.
// NULL without memory, as all below.
struct parcel *says_error(struct shard *shard, struct says_about about, enum says_code code,
                          const char *message, bool retriable, const char *refused, size_t refused_bytes);
// A control with one of the reasons.
struct parcel *says_control(struct shard *shard, struct says_about about, const char *action,
                            const char *reason);
// What was shed for a client, now that it reads again.
struct parcel *says_shed(struct shard *shard, struct says_about about, const struct shed *shed);
// What isn't in the history any more. after_seq NULL: there was none before.
struct parcel *says_gone(struct shard *shard, struct says_about about, const uint64_t *after_seq,
                         uint64_t first_seq);
// A start, for who has asked for a session without sending one.
struct parcel *says_start(struct shard *shard, struct says_about about, const char *user_id,
                          size_t user_id_bytes);
