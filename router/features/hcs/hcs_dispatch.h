// What arrives for a session, on its shard: a start, which joins the session or begins it; and frames of its producer, of
// its clients, and of any other peer, which is refused.
#pragma once

#include <assert.h>

#include "core/base/limits.h"
#include "router/features/hcs/hcs_types.h"

// --- Frames

typedef void hcs_http_done(struct shard *shard, struct peer *peer, void *context, struct parcel *error);

// A frame that came over HTTP by a request of its own, and what became of it.
struct hcs_http_frame {
    struct mail mail;
    uint64_t connection; // whose request it was
    const struct user *user;
    struct parcel *parcel; // on its way there
    struct parcel *error;  // on its way back: the frame that refuses it, or NULL
    bool failed;           // there was no memory for that
    hcs_http_done *on_done;
    void *context;
};

// HCS_MAIL_FRAME: takes the parcel, whose body is the whole of its first piece.
void hcs_dispatch_frame(struct shard *shard, struct parcel *parcel);
// HCS_MAIL_HTTP_FRAME.
void hcs_dispatch_http_frame(struct shard *shard, struct hcs_http_frame *http_frame);

// --- Starts: how a start becomes a client of a session
//
// The session is one that there is, or a new one, for which a producer is chosen.

// The name of a session's start while it waits in its producer's queue (struct parcel): above all marks of
// clients, and all hub ids.
#define HCS_OPEN_ID_BIT ((uint64_t)1 << 63)
static inline uint64_t hcs_open_id(uint32_t shard, uint64_t handle) {
    assert(shard < SHARDS_MAX && handle < HCS_OPEN_ID_BIT >> HUB_ID_SHARD_BITS);
    return HCS_OPEN_ID_BIT | handle << HUB_ID_SHARD_BITS | shard;
}
static inline bool hcs_open_is_id(uint64_t id) {
    return id & HCS_OPEN_ID_BIT;
}

// HCS_MAIL_JOIN.
void hcs_open_join(struct shard *shard, struct hcs_client *client);
// HCS_MAIL_START, on the producer's shard; and HCS_MAIL_TURNED.
void hcs_open_arrived(struct shard *shard, struct parcel *parcel);
void hcs_open_turned(struct shard *shard, struct parcel *parcel);

// --- Access: whether a user may be a client of a session
//
// The rights that are in effect now decide, not those of the session's beginning.

enum hcs_access {
    HCS_ACCESS_ALLOWED,
    HCS_ACCESS_DENIED, // for want of `call`
    HCS_ACCESS_HELD    // a `hold` names its producer, and the gate can't hold what goes on (docs/gate.md)
};
// Static: what who may not is told.
const char *hcs_access_text(enum hcs_access access);
// NULL, as in client->user: users aren't on. `user` may be of an edition that has passed.
enum hcs_access hcs_access_check(const struct shard *shard, const struct hcs_session *session,
                                 const struct user *user);
// Counts a start that is refused for that, and has it in the journal. `target` as it was asked for; bytes 0: it wasn't.
void hcs_access_note_refused(struct shard *shard, uint64_t source, const struct user *user,
                             enum hcs_access access, const char *target, size_t target_bytes);
// Rights have changed: who may not be a client any more of a session that lives here is told so, and isn't one.
void hcs_access_review(struct shard *shard);
