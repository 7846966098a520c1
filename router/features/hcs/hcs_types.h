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

// Why a start comes to nothing.
enum hcs_refusal {
    HCS_REFUSAL_NONE,
    HCS_REFUSAL_FORGOTTEN, // a place in a session that isn't there, or isn't for its user
    HCS_REFUSAL_BARRED,    // the same, and its user may not call what it has asked for besides
    HCS_REFUSAL_OTHER,     // the error frame says it
    HCS_REFUSAL_LOST,      // there is no memory to say what: the peer is closed
};

// The fate of a session for a peer that asked for one by hcs_http_open.
enum streamed_kind {
    STREAMED_OPEN,    // the session is there, and the peer a client; before anything else
    STREAMED_FRAME,   // a frame for it
    STREAMED_UNKNOWN, // it asked for its place in a session that isn't there: it isn't a client
    STREAMED_BARRED,  // the same, and its user may not call what it has asked for
    STREAMED_OVER,    // it isn't a client any more, or hasn't become one; behind all else
};
struct streamed {
    enum streamed_kind kind;
    const char *id; // the session's
    size_t id_bytes;
    const char *type; // of a frame: its `type`; static
    bool ends;        // and whether it ends the session
    bool has_seq;     // the peer has got a chunk, the last one with this seq
    uint64_t seq;
    // A frame: a body that fits the peer's wire but for its head (parcel_set_head), taken over and to be
    // queued by send_queue_required.
    struct parcel *parcel;
};
typedef void hcs_streamed(struct shard *shard, struct peer *peer, const struct streamed *streamed);

// A client of an HCS session: one peer, as one session knows it. The peer's shard makes the client and frees it. In
// between the client belongs to both shards: each has fields of its own, and reads the constant ones.
//
// The client travels once to the session's shard, to join, and comes home when it isn't a client any more:
// whichever side finds that. Frames for it follow each other by the same way, so that none comes behind its
// return.
struct hcs_client {
    // Constant.
    uint64_t connection;
    uint64_t tag;              // of its chunks in its peer's queue
    uint32_t home;             // the session's shard
    bool resumes;              // it only comes back: it never starts a session
    bool is_barred;            // its user may join a session, but not start one at its target
    bool has_after;            // it asked for what follows after_seq
    hcs_streamed *on_streamed; // is told what becomes of it, in place of bodies; NULL: it has bodies
    bool is_generated;         // the session's name is the hub's
    uint64_t after_seq;
    enum governance required;
    const struct user *user; // for whom it asked; NULL: users aren't on
    struct account *account; // in which a session that it opens counts as pending; one reference
    uint32_t id_bytes, request_id_bytes, target_bytes; // target 0: @hcs
    // The session's key in its shard's table of clients.
    struct {
        uint64_t connection, session;
    } key;

    // Its shard's own.
    struct mail mail;   // there and back
    struct mail leave;  // its peer has gone
    struct mail report; // how it reads
    struct mail opened; // it has joined
    struct list by_peer;
    struct shed shed;
    bool is_home, has_left, leaving, reporting; // the last two: that mail is out
    uint8_t known;                              // what the session knows, or will: REPORT_ bits
    uint64_t last_seq;                          // of the last chunk that it got
    bool has_seq;
    bool has_queued; // chunks, since those were last flushed

    // The session's shard's own.
    struct parcel *start; // on its way there
    struct hcs_session *session;
    struct list by_session;
    struct hcs_http_owner *http_owner; // over HTTP: under which name it may be spoken for
    uint64_t next;                     // its place in the history
    uint64_t seq;                      // of the last chunk that went to it; valid where placed
    bool placed;
    bool paused, over, stuck;
    uint64_t held_to; // while it has paused: the number of the first chunk that isn't held
    struct parcel_list held;
    size_t held_bytes;
    struct list holding; // in streams.holding while something is held

    char text[]; // the session's id, the request's, the target
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

// An HCS session, on the shard that its name tells: a producer, clients, and the last of its chunks. All
// frames of the session come by here, so that all of its clients see one order.
//
// A client has a place in the history, behind the last chunk that it got. While it doesn't pause that is the
// end, or as near to it as there is memory. While it pauses, chunks are held for it, and past the bound of
// its queue it falls back on the history when it goes on.
struct hcs_session {
    uint64_t handle;   // its key
    uint64_t producer; // connection
    struct list link;  // in streams.live or streams.ended
    struct list by_producer;
    struct list clients; // struct hcs_client.by_session
    struct list http_owners;
    uint32_t http_owner_count;
    struct timer timer;
    struct hcs_flow flow;
    struct history history;
    struct parcel *init; // the last one, or NULL
    bool marked;         // its start was sent before the program of its producer ended (registry.h)
    bool ended;
    enum hcs_type ending_type;
    struct parcel *ending; // the frame that ended it, or NULL
    uint64_t active_ms;    // when its producer last said something, or was told to go on
    uint64_t empty_ms;     // since when it has no clients
    uint64_t ended_ms;
    uint64_t retry_ms;       // when somebody is to be given more of the history; 0: nobody is
    const struct user *user; // who started it; NULL: users aren't on, and the last two aren't in the text
    struct account *account; // of who opened it, in which it counts until it ends; one reference
    uint32_t id_bytes, request_id_bytes, target_bytes, agent_bytes;
    char text[]; // its id, the request_id and the target of the start, and its producer's id
};

static inline struct hcs_frame_subject hcs_session_subject(const struct hcs_session *session) {
    return (struct hcs_frame_subject){session->text, session->text + session->id_bytes, session->id_bytes,
                                      session->request_id_bytes};
}
