// How frames come in, on the shard of the connection that they came on.
#pragma once

#include "router/engine/message/message.h"
#include "router/engine/shard/peer.h"
#include "router/features/hcs/hcs_client.h"
#include "router/features/hcs/hcs_dispatch.h"

enum { HCS_INGRESS_MADE_UP_BYTES = 2 * SIPHASH_BYTES };

// A body that is a frame of HCS, and no member of a batch.
void hcs_ingress_route(struct shard *shard, const struct message *message);
// Gives a start the name of a session that nobody can guess, of HCS_INGRESS_MADE_UP_BYTES at `id`. The session
// will live on this shard.
void hcs_ingress_generate(struct shard *shard, char *id, struct hcs_start_fields *fields);

// --- HTTP: a query in place of a start, and frames by requests of their own

// A session that is asked for without a start (GET /hcs). Texts are decoded; NULL: not given.
struct hcs_query {
    const char *request_id, *user_id, *session_id, *target, *last_event_id;
    uint32_t request_id_bytes, user_id_bytes, session_id_bytes, target_bytes, last_event_id_bytes;
    bool has_after;
    uint64_t after_seq;
    enum governance required;
};

enum hcs_http_opening {
    HCS_HTTP_OPENING,   // `on_streamed` is told what becomes of it
    HCS_HTTP_BAD_QUERY, // 400: *error is the frame that says why, if there was memory for it
    HCS_HTTP_BAD_PLACE, // 400: Last-Event-ID is none
    HCS_HTTP_FORBIDDEN, // 403: its user may not; *error as above
    HCS_HTTP_AT_END,    // 204: the session had ended there
    HCS_HTTP_OVERLOADED // there is no memory; *error as above
};
enum hcs_http_opening hcs_http_open(struct shard *shard, struct peer *peer, const struct hcs_query *query,
                                    hcs_streamed *on_streamed, struct parcel **error);

// The frame that refuses a query for what is wrong with it; NULL without memory.
struct parcel *hcs_http_refuse(struct shard *shard, const struct hcs_query *query, const char *fault);

// Takes a frame that came by a request of its own (POST /hcs), from a peer that speaks for streams that were
// opened with the same session_id and request_id. `done` is called once, perhaps before this returns: with
// the frame that refuses it, which is taken over, or NULL where it is taken; with a peer of NULL when that
// has gone. Where there is no memory to say anything, the peer is closed, and `done` called with NULL for it.
void hcs_http_post(struct shard *shard, struct peer *peer, const struct frame *frame, hcs_http_done *on_done,
                   void *context);
// HCS_MAIL_DONE.
void hcs_http_posted(struct shard *shard, struct hcs_http_frame *http_frame);
