// Takes incoming frames, on the shard of their connection.
#pragma once

#include "router/engine/message/message.h"
#include "router/engine/shard/peer.h"
#include "router/features/hcs/hcs_client.h"
#include "router/features/hcs/hcs_dispatch.h"

enum { HCS_INGRESS_MADE_UP_BYTES = 2 * SIPHASH_BYTES };

// Takes a body that is a frame of HCS, and no member of a batch.
void hcs_ingress_route(struct shard *shard, const struct message *message);
// Makes a session name that nobody can guess, of HCS_INGRESS_MADE_UP_BYTES at `id`, and sets it in `fields`. The
// session's shard is this shard.
void hcs_ingress_generate(struct shard *shard, char *id, struct hcs_start_fields *fields);

// --- HTTP: a query instead of a start, and frames in requests of their own

// A question for a session by a query instead of a start (GET /hcs). Texts are decoded; NULL: not given.
struct hcs_query {
    const char *request_id, *user_id, *session_id, *target, *last_event_id;
    uint32_t request_id_bytes, user_id_bytes, session_id_bytes, target_bytes, last_event_id_bytes;
    bool has_after;
    uint64_t after_seq;
    enum governance required;
};

enum hcs_http_opening {
    HCS_HTTP_OPENING,   // `on_streamed` is called with the outcome
    HCS_HTTP_BAD_QUERY, // 400: *error is the frame with the reason; NULL without memory
    HCS_HTTP_BAD_PLACE, // 400: Last-Event-ID can't be read
    HCS_HTTP_FORBIDDEN, // 403: the user may not start a session; *error as above
    HCS_HTTP_AT_END,    // 204: the session had ended at this place
    HCS_HTTP_OVERLOADED // there is no memory; *error as above
};
enum hcs_http_opening hcs_http_open(struct shard *shard, struct peer *peer, const struct hcs_query *query,
                                    hcs_streamed *on_streamed, struct parcel **error);

// Makes the frame that refuses a query for this fault. Returns NULL without memory.
struct parcel *hcs_http_refuse(struct shard *shard, const struct hcs_query *query, const char *fault);

// Takes a frame that is the body of a request (POST /hcs). The frame acts for streams that were opened with the same
// session_id and request_id. `on_done` is called once, perhaps before this function returns. `on_done` gets and takes
// the frame that refuses the request, or NULL if it is accepted. The peer is NULL if it has left. Without memory for an
// answer the peer is closed, and is NULL, too.
void hcs_http_post(struct shard *shard, struct peer *peer, const struct frame *frame, hcs_http_done *on_done,
                   void *context);
// Handles HCS_MAIL_DONE.
void hcs_http_posted(struct shard *shard, struct hcs_http_frame *http_frame);
