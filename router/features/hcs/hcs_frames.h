// Frames of HCS: their types, the tags with which they travel, and the frames that the hub itself makes.
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

// The kind of a parcel that travels to a client: in its hub_id meanwhile.
struct hcs_tag {
    enum hcs_type type;
    enum stream_lod lod; // of a chunk that may be shed
    bool ends;           // it ends the session
    uint64_t seq;        // of a chunk
};
uint64_t hcs_tag_pack(struct hcs_tag tag);
struct hcs_tag hcs_tag_unpack(uint64_t packed);

// Which session, and which request of it, a frame is about. NULL: it isn't known.
struct hcs_frame_subject {
    const char *id, *request_id;
    uint32_t id_bytes, request_id_bytes;
};

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
