// HCS sessions: their begin, clients and end.
#pragma once

#include "core/agents/agent.h"
#include "router/features/hcs/hcs_types.h"

// Makes a session with this producer. The caller has counted the session among the pending requests of the client's
// account; the session takes over that count. Returns NULL without memory: then the caller must undo the count.
struct hcs_session *hcs_session_make(struct shard *shard, const struct hcs_client *client,
                                     const struct agent *producer);
struct hcs_session *hcs_session_find(const struct shard *shard, const char *id, size_t bytes);
// Returns the client of this session at a connection, or NULL.
struct hcs_client *hcs_session_client(const struct shard *shard, const struct hcs_session *session,
                                      uint64_t connection);

// Adds a client to the session, and sends it the frames that it lacks. Returns false without memory.
bool hcs_session_enter(struct shard *shard, struct hcs_session *session, struct hcs_client *client);
// Removes a client, and sends it back to its shard.
void hcs_session_remove(struct shard *shard, struct hcs_session *session, struct hcs_client *client,
                        enum hcs_refusal refusal);
// Removes a client, which the caller keeps.
void hcs_session_lose(struct shard *shard, struct hcs_session *session, struct hcs_client *client);

// Sends a frame of the producer to all clients: init, control, or an error that doesn't end the session. Takes the
// parcel.
void hcs_session_broadcast(struct shard *shard, struct hcs_session *session, struct parcel *parcel,
                           enum hcs_type type);
// Adds a chunk, whose seq must rise. Takes the parcel.
void hcs_session_add(struct shard *shard, struct hcs_session *session, struct parcel *parcel, uint64_t seq,
                     enum stream_lod lod);
// Ends the session with this frame. Takes the parcel. NULL: there was no memory for the frame, and the peers of the
// clients are closed.
void hcs_session_end(struct shard *shard, struct hcs_session *session, struct parcel *parcel,
                     enum hcs_type type);

// Ends every pause of clients in a session that has ended, because the hub ends. The clients get the frames that
// waited.
void hcs_session_end_pauses(struct shard *shard, struct hcs_session *session);

// hcs_session_pause notes that a client pauses or goes on. hcs_session_note_reading notes whether its peer is over or
// stuck (REPORT_ bits).
void hcs_session_pause(struct shard *shard, struct hcs_session *session, struct hcs_client *client,
                       bool paused);
void hcs_session_note_reading(struct shard *shard, struct hcs_session *session, struct hcs_client *client,
                              uint8_t reading);
// Drops chunks that are held for the client, or that the client hasn't got from the history.
void hcs_session_flush(struct shard *shard, struct hcs_session *session, struct hcs_client *client);
// Sends all clients more of the chunks behind their places.
void hcs_session_retry(struct shard *shard, struct hcs_session *session);
// Frees a session that has ended. Its clients get the frames that wait for them, and go back to their shards.
void hcs_session_forget(struct shard *shard, struct hcs_session *session);

// --- Retention: chunks and other frames that a session keeps, within the bounds of the session and of the shard

// Returns the parcel to keep for a long time instead of this one. A small parcel is copied, so that no buffer is kept
// for it. A large parcel is kept itself.
struct parcel *hcs_retention_copy(struct shard *shard, struct parcel *parcel);
// Adds a chunk whose seq rises to the history, which takes the parcel. Returns false without memory: then the caller
// keeps the parcel.
bool hcs_retention_add(struct shard *shard, struct hcs_session *session, struct parcel *parcel, uint64_t seq);
// Drops the oldest chunks until the histories are within their bounds.
void hcs_retention_bound(struct shard *shard, struct hcs_session *session);
// Drops all chunks of a session.
void hcs_retention_forget(struct shard *shard, struct hcs_session *session);
// Frees memory: the history of the first ended session that has one, or else half of the history of each other session.
void hcs_retention_relieve(struct shard *shard);

// --- Flow control: tells a session's producer about its clients, and sets the session's timer

// Tells the producer to pause or to go on, if the session's state differs from what the producer was told last.
void hcs_flow_control_signal(struct shard *shard, struct hcs_session *session);
// Notes that the producer knows the state already, by a client's own frame.
void hcs_flow_control_signalled(struct shard *shard, struct hcs_session *session, enum hcs_flow_state state);
// Arms the session's timer for the next event.
void hcs_flow_control_watch(struct shard *shard, struct hcs_session *session);
// Return the time at which the producer has been silent too long, and the time at which the session has been kept long
// enough; UINT64_MAX: never.
uint64_t hcs_flow_control_silence_ms(const struct shard *shard, const struct hcs_session *session);
uint64_t hcs_flow_control_linger_ms(const struct shard *shard, const struct hcs_session *session);

// --- Owners of streams over HTTP
//
// Request_ids by which streams of a session were opened over HTTP. A later request with such a request_id acts for
// these streams, also while none is open.
struct hcs_http_owner {
    struct list link;
    uint32_t streams;        // open streams
    const struct user *user; // the user who opened the streams; NULL: there is no users file
    uint32_t bytes;
    char request_id[];
};

// Returns the owner of this request_id and user, or NULL.
struct hcs_http_owner *hcs_http_owner_find(const struct hcs_session *session, const char *request_id,
                                           size_t bytes, const struct user *user);
// Returns the client's owner, made if there is none, and counts one more open stream. Returns NULL without memory.
struct hcs_http_owner *hcs_http_owner_take(struct shard *shard, struct hcs_session *session,
                                           const struct hcs_client *client);
void hcs_http_owner_give_all(struct shard *shard, struct hcs_session *session);

// --- Delivery: frames of a session to its clients
//
// Each client has a place in the history. Chunks behind the place come live or from the history. Chunks are held while
// the client pauses.

// A chunk that has just come.
struct hcs_live_chunk {
    struct parcel *parcel;
    uint64_t seq;
    enum stream_lod lod;
};

// Sends a client a share of a frame. Returns false without memory.
bool hcs_delivery_share(struct shard *shard, struct hcs_client *client, struct parcel *original,
                        struct hcs_tag tag);
// Sends a client a frame of its own. Takes the parcel.
void hcs_delivery_parcel(struct shard *shard, struct hcs_client *client, struct parcel *parcel,
                         struct hcs_tag tag);
// Sends a client chunks behind its place, some at a time. `live` is the last chunk if it has just come, or NULL.
// Returns false if there are more chunks. If the client's place is unchanged then, memory was short.
bool hcs_delivery_catch_up(struct shard *shard, struct hcs_session *session, struct hcs_client *client,
                           const struct hcs_live_chunk *live);
// Holds a chunk for a client that has paused, if there is room and no chunk before it is missing.
void hcs_delivery_hold(struct shard *shard, const struct hcs_session *session, struct hcs_client *client,
                       const struct hcs_live_chunk *live);
// Sends the held chunks to a client that goes on.
void hcs_delivery_held(struct shard *shard, struct hcs_client *client);
// Frees chunks that are held for paused clients, when memory is short. Begins with the client that was held first, and
// frees a sixteenth of the memory. A client that goes on gets these chunks from the history, or is told that they are
// gone. Returns false if nothing was held.
bool hcs_delivery_relieve(struct shard *shard);
// Drops the chunks held for a client, and counts them.
void hcs_delivery_drop_held(struct shard *shard, struct hcs_client *client, unsigned counter);
