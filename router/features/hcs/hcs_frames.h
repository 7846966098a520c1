// The hub's own frames of HCS.
#pragma once

#include "router/features/hcs/hcs_types.h"

enum hcs_frames_code { HCS_FRAMES_INVALID_REQUEST, HCS_FRAMES_INTERNAL, HCS_FRAMES_STREAM_TIMEOUT };

// An error. `refused` is the type of the frame that it answers; NULL: it answers none, and ends the session.
// NULL without memory, as all below.
struct parcel *hcs_frames_error(struct shard *shard, struct hcs_frame_subject subject,
                                enum hcs_frames_code code, const char *message, bool retriable,
                                const char *refused, size_t refused_bytes);
// A control with one of the reasons.
struct parcel *hcs_frames_control(struct shard *shard, struct hcs_frame_subject subject, const char *action,
                                  const char *reason);
// Makes the frame about chunks that were shed for a client, now that it reads again.
struct parcel *hcs_frames_shed(struct shard *shard, struct hcs_frame_subject subject,
                               const struct shed *shed);
// Makes the frame about chunks that aren't in the history any more. after_seq NULL: there was none before.
struct parcel *hcs_frames_gone(struct shard *shard, struct hcs_frame_subject subject,
                               const uint64_t *after_seq, uint64_t first_seq);
// A start, for who has asked for a session without sending one.
struct parcel *hcs_frames_start(struct shard *shard, struct hcs_frame_subject subject, const char *user_id,
                                size_t user_id_bytes);
