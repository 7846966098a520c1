// Sessions of HCS streaming and their clients, as data.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/governance.h"
#include "core/base/list.h"
#include "core/hcs/hcs_flow.h"
#include "core/hcs/history.h"
#include "core/send/outbox.h"
#include "router/engine/shard/peer.h"
#include "router/features/hcs/hcs_frames.h"

struct hcs_session;
struct hcs_http_owner;

// Why a start makes no client.
enum hcs_refusal {
    HCS_REFUSAL_NONE,
    // The client would resume a session that isn't there, or that its user may not join
    HCS_REFUSAL_FORGOTTEN,
    // As HCS_REFUSAL_FORGOTTEN, and the user may not start a session at the target, either
    HCS_REFUSAL_BARRED,
    HCS_REFUSAL_OTHER, // the error frame has the reason
    HCS_REFUSAL_LOST,  // there is no memory for an error frame: the peer is closed
};

// Events of a session for a peer that asked for it by hcs_http_open.
enum streamed_kind {
    STREAMED_OPEN,    // the peer is a client; comes first
    STREAMED_FRAME,   // a frame for the client
    STREAMED_UNKNOWN, // the peer would resume a session that isn't there, and isn't a client
    STREAMED_BARRED,  // as STREAMED_UNKNOWN, and its user may not start a session at the target
    STREAMED_OVER,    // the peer isn't a client any more, or hasn't become one; comes last
};
struct streamed {
    enum streamed_kind kind;
    const char *id; // the session's name
    size_t id_bytes;
    const char *type; // `type` of the frame; static
    bool ends;        // the frame ends the session
    bool has_seq;     // the peer has got chunks, the last with `seq`
    uint64_t seq;
    // The frame: a body that fits the peer's wire but for its head (parcel_set_head). The function must take the parcel
    // and queue it by send_queue_required.
    struct parcel *parcel;
};
typedef void hcs_streamed(struct shard *shard, struct peer *peer, const struct streamed *streamed);

// A client of an HCS session: the part of a peer in one session. The peer's shard makes the client and frees it. In
// between the client belongs to both shards: each has its own fields, and both read the constant fields.
//
// The client goes once by mail to the session's shard, to join. It comes back when it leaves the session, whichever
// shard notices that. Frames for the client use the same mail, so none comes after the client has come back.
struct hcs_client {
    // Constant.
    uint64_t connection;
    uint64_t tag;              // marks its chunks in the peer's queue
    uint32_t session_shard;    // the session's shard
    bool resumes;              // the client resumes a session, and never starts one
    bool is_barred;            // its user may join a session, but not start one at the target
    bool has_after;            // the client wants the chunks after after_seq
    hcs_streamed *on_streamed; // called with each event instead of queueing bodies; NULL: bodies are queued
    bool is_generated;         // the hub has made the session's name
    uint64_t after_seq;
    enum governance required;
    const struct user *user; // the user of the peer; NULL: there is no users file
    struct account *account; // counts a session that the client opens as pending; one reference
    uint32_t id_bytes, request_id_bytes, target_bytes; // target_bytes 0: @hcs
    // The key in hcs_shard.by_client.
    struct {
        uint64_t connection, session;
    } key;

    // Of the client's shard:
    struct mail mail;   // to the session's shard and back
    struct mail leave;  // the peer has left
    struct mail report; // the peer's REPORT_ bits
    struct mail opened; // the client has joined
    struct list by_peer;
    struct shed shed;
    // is_home: `mail` has come back; has_left: the peer has left; the others: `leave` or `report` is out
    bool is_home, has_left, leaving, reporting;
    uint8_t known;     // REPORT_ bits that the session's shard knows, or will know
    uint64_t last_seq; // seq of the last chunk that the client got
    bool has_seq;
    bool has_queued; // chunks were queued since the last flush

    // Of the session's shard:
    struct parcel *start; // the start, until the session begins or the client joins
    struct hcs_session *session;
    struct list by_session;
    struct hcs_http_owner *http_owner; // over HTTP: the owner whose requests act for this client
    uint64_t next;                     // the number of the client's next chunk in the history
    uint64_t seq;                      // seq of the last chunk sent to the client; valid if `placed`
    bool placed;
    bool paused, over, stuck;
    uint64_t held_to; // while paused: the number of the first chunk that isn't held
    struct parcel_list held;
    size_t held_bytes;
    struct list holding; // in hcs_shard.holding while chunks are held

    char text[]; // the session's name, the request_id, the target
};

enum { REPORT_OVER = 1, REPORT_STUCK = 2 };

static inline const char *hcs_client_id(const struct hcs_client *client) {
    return client->text;
}
static inline const char *hcs_client_request_id(const struct hcs_client *client) {
    return client->text + client->id_bytes;
}
static inline const char *hcs_client_target(const struct hcs_client *client) {
    return client->text + client->id_bytes + client->request_id_bytes;
}

// The fields of a start. Texts are decoded.
struct hcs_start_fields {
    const char *id, *request_id, *target;
    uint32_t id_bytes, request_id_bytes, target_bytes;
    bool has_after, resumes, is_barred, is_generated;
    hcs_streamed *on_streamed;
    uint64_t after_seq;
    enum governance required;
};

// An HCS session, on the shard that its name determines: a producer, clients, and the last chunks. All frames of the
// session pass here, so that all clients see one order.
//
// A client has a place in the history, behind the last chunk that it got. Usually the place is the end of the history,
// or near the end if memory is short. While the client pauses, chunks are held for it up to the bound of its queue.
// When it goes on it gets later chunks from the history.
struct hcs_session {
    uint64_t handle;   // the key in hcs_shard.by_handle
    uint64_t producer; // the producer's connection
    struct list link;  // in hcs_shard.live or hcs_shard.ended
    struct list by_producer;
    struct list clients; // struct hcs_client.by_session
    struct list http_owners;
    uint32_t http_owner_count;
    struct timer timer;
    struct hcs_flow flow;
    struct history history;
    struct parcel *init; // the last init frame, or NULL
    bool marked;         // the start was sent before the producer's program ended (registry.h)
    bool ended;
    enum hcs_type ending_type;
    struct parcel *ending; // the frame that ended the session, or NULL
    uint64_t active_ms;    // when the producer last sent a frame, or was told to go on
    uint64_t empty_ms;     // since when there are no clients
    uint64_t ended_ms;
    uint64_t retry_ms; // when clients get more of the history; 0: no client waits
    // The user who started the session. NULL: there is no users file, and `text` has neither target nor producer.
    const struct user *user;
    // The account of the client that opened the session, which counts the session until its end. One reference.
    struct account *account;
    uint32_t id_bytes, request_id_bytes, target_bytes, agent_bytes;
    char text[]; // the session's name, the start's request_id and target, and the producer's agent id
};

static inline struct hcs_frame_subject hcs_session_subject(const struct hcs_session *session) {
    return (struct hcs_frame_subject){session->text, session->text + session->id_bytes, session->id_bytes,
                                      session->request_id_bytes};
}
