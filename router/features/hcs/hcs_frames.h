// HCS frames: their types, their tags between shards, and frames that the hub makes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/hcs/hcs_flow.h"

struct parcel;
struct shard;

// Types of frames. X(name, its `type`)
#define STREAM_TYPES(X)                                                                                      \
    X(TYPE_OTHER, "")                                                                                        \
    X(TYPE_START, "start")                                                                                   \
    X(TYPE_INIT, "init")                                                                                     \
    X(TYPE_CHUNK, "chunk")                                                                                   \
    X(TYPE_ACK, "ack")                                                                                       \
    X(TYPE_CONTROL, "control")                                                                               \
    X(TYPE_ERROR, "error")                                                                                   \
    X(TYPE_COMPLETE, "complete")
enum hcs_type {
#define X(name, text) name,
    STREAM_TYPES(X)
#undef X
        TYPES_COUNT
};
const char *hcs_type_text(enum hcs_type type);

// The kind of a parcel for a client, in the parcel's hub_id until the client's shard takes it.
struct hcs_tag {
    enum hcs_type type;
    enum stream_lod lod; // the level of detail of a chunk that may be shed
    bool ends;           // the frame ends the session
    uint64_t seq;        // seq of a chunk
};
uint64_t hcs_tag_pack(struct hcs_tag tag);
struct hcs_tag hcs_tag_unpack(uint64_t packed);

// The session and the request of a frame. NULL: not known.
struct hcs_frame_subject {
    const char *id, *request_id;
    uint32_t id_bytes, request_id_bytes;
};

enum hcs_frames_code { HCS_FRAMES_INVALID_REQUEST, HCS_FRAMES_INTERNAL, HCS_FRAMES_STREAM_TIMEOUT };

// Makes an error. `refused` is the type of the frame that the error refuses; NULL: the error ends the session. Returns
// NULL without memory, as do the functions below.
struct parcel *hcs_frames_error(struct shard *shard, struct hcs_frame_subject subject,
                                enum hcs_frames_code code, const char *message, bool retriable,
                                const char *refused, size_t refused_bytes);
// Makes a control frame with an action and a reason.
struct parcel *hcs_frames_control(struct shard *shard, struct hcs_frame_subject subject, const char *action,
                                  const char *reason);
// Makes the frame about chunks that were shed for a client, now that it reads again.
struct parcel *hcs_frames_shed(struct shard *shard, struct hcs_frame_subject subject,
                               const struct shed *shed);
// Makes the frame about chunks that aren't in the history any more. after_seq is the seq of the last chunk that the
// client has; NULL: it has none.
struct parcel *hcs_frames_gone(struct shard *shard, struct hcs_frame_subject subject,
                               const uint64_t *after_seq, uint64_t first_seq);
// Makes a start, for a client that asks for a session by a query.
struct parcel *hcs_frames_start(struct shard *shard, struct hcs_frame_subject subject, const char *user_id,
                                size_t user_id_bytes);
