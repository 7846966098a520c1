// The life of a session: how it begins, who its clients are, how it ends.
#pragma once

#include "core/agents/agent.h"
#include "router/features/hcs/hcs_types.h"

// Makes one that lives, whose producer this is. The session takes over the place that the caller has taken among what
// is pending in the client's account. NULL without memory; then the caller gives that place back.
struct hcs_session *hcs_session_make(struct shard *shard, const struct hcs_client *client,
                                     const struct agent *producer);
struct hcs_session *hcs_session_find(const struct shard *shard, const char *id, size_t bytes);
// The client of this session at a connection, or NULL.
struct hcs_client *hcs_session_client(const struct shard *shard, const struct hcs_session *session,
                                      uint64_t connection);

// Makes the client one of the session's; what there is for it follows. False without memory.
bool hcs_session_enter(struct shard *shard, struct hcs_session *session, struct hcs_client *client);
// Lets a client go, which isn't one any more and goes home.
void hcs_session_remove(struct shard *shard, struct hcs_session *session, struct hcs_client *client,
                        enum hcs_refusal refusal);
// Loses a client, which isn't one any more; it stays with the caller.
void hcs_session_lose(struct shard *shard, struct hcs_session *session, struct hcs_client *client);

// A frame of the producer's for all clients: init, control, error that ends nothing. Takes the parcel.
void hcs_session_spread(struct shard *shard, struct hcs_session *session, struct parcel *parcel,
                        enum hcs_type type);
// A chunk, whose seq rises. Takes the parcel.
void hcs_session_add(struct shard *shard, struct hcs_session *session, struct parcel *parcel, uint64_t seq,
                     enum stream_lod lod);
// The session ends with this frame, which is taken; NULL: without one, for lack of memory: then its clients are
// closed.
void hcs_session_end(struct shard *shard, struct hcs_session *session, struct parcel *parcel,
                     enum hcs_type type);

// The hub ends, and so does every pause in a session that has ended: what waited for it is given.
void hcs_session_end_pauses(struct shard *shard, struct hcs_session *session);

// The client pauses, or goes on; how it reads.
void hcs_session_pause(struct shard *shard, struct hcs_session *session, struct hcs_client *client,
                       bool paused);
void hcs_session_note_reading(struct shard *shard, struct hcs_session *session, struct hcs_client *client,
                              uint8_t reading);
// Drops chunks that are held for the client, or wait for it in the history.
void hcs_session_flush(struct shard *shard, struct hcs_session *session, struct hcs_client *client);
// Gives all clients more of what lies behind their places.
void hcs_session_retry(struct shard *shard, struct hcs_session *session);
// Forgets a session that has ended; its clients get the frames that are there for them, and go home.
void hcs_session_forget(struct shard *shard, struct hcs_session *session);

// --- Retention: chunks and other frames that a session keeps, within the bounds of one session and of a shard's all

// Returns the parcel to be kept for long in place of a frame: a copy of a small one, which needs no buffer;
// else itself.
struct parcel *hcs_retention_copy(struct shard *shard, struct parcel *parcel);
// Adds a chunk whose seq rises; false without memory: then it isn't kept, and the caller has it still.
bool hcs_retention_add(struct shard *shard, struct hcs_session *session, struct parcel *parcel, uint64_t seq);
// Forgets the oldest, down to the bounds.
void hcs_retention_bound(struct shard *shard, struct hcs_session *session);
// Forgets all of them.
void hcs_retention_forget(struct shard *shard, struct hcs_session *session);
// Gives memory back: histories of sessions that have ended, the oldest first, then half of each other one.
void hcs_retention_relieve(struct shard *shard);

// --- Flow control: notes to a session's producer about its clients, and the ends of a session's timers

// Tells the producer to pause or to go on, if it is to be told.
void hcs_flow_control_signal(struct shard *shard, struct hcs_session *session);
// The producer has been told already, by a client's own frame.
void hcs_flow_control_signalled(struct shard *shard, struct hcs_session *session, enum hcs_flow_state state);
// Arms the session's timer for what comes next.
void hcs_flow_control_watch(struct shard *shard, struct hcs_session *session);
// When that is.
uint64_t hcs_flow_control_silence_ms(const struct shard *shard, const struct hcs_session *session);
uint64_t hcs_flow_control_linger_ms(const struct shard *shard, const struct hcs_session *session);

// --- Owners of streams over HTTP
//
// The request_ids by which streams of a session were opened over HTTP. A later request with one of them speaks for
// those streams, also between two of them.
struct hcs_http_owner {
    struct list link;
    uint32_t streams;        // that are open
    const struct user *user; // whose; NULL: users aren't on
    uint32_t bytes;
    char request_id[];
};

// The one of this name and user, or NULL.
struct hcs_http_owner *hcs_http_owner_find(const struct hcs_session *session, const char *request_id,
                                           size_t bytes, const struct user *user);
// Returns a client's owner, made if there is none; NULL without memory. One more stream is open.
struct hcs_http_owner *hcs_http_owner_take(struct shard *shard, struct hcs_session *session,
                                           const struct hcs_client *client);
void hcs_http_owner_give_all(struct shard *shard, struct hcs_session *session);

// --- Delivery: frames of a session to its clients
//
// A client has a place in the history. Chunks behind that place come live or from the history, and are held while the
// client pauses.

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
void hcs_delivery_drop_held(struct shard *shard, struct hcs_client *client, unsigned counter);
