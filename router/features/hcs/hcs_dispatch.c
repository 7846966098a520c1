#include "router/features/hcs/hcs_dispatch.h"

#include <assert.h>
#include <string.h>

#include "core/hcs/last_event_id.h"
#include "core/lookup/hcs_fields.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/features/hcs/hcs_frames.h"
#include "router/features/hcs/hcs_open.h"
#include "router/features/hcs/hcs_session.h"
#include "router/features/hcs/hcs_shard.h"

enum { TEXT_BYTES_MAX = 256 };

struct incoming_frame {
    uint64_t from;                     // connection
    struct hcs_http_frame *http_frame; // NULL: it came on the connection that it is from
    struct parcel *parcel;             // until it is taken
    const uint8_t *body;
    struct hcs_fields frame;
    enum hcs_type type;
    struct hcs_session *session;       // NULL: there is none of this name
    struct hcs_http_owner *http_owner; // of such a frame
    bool finished;                     // that is on its way back
};

static enum hcs_type type_of(const struct incoming_frame *incoming) {
    for (enum hcs_type type = TYPE_OTHER + 1; type < TYPES_COUNT; type++)
        if (hcs_fields_is(&incoming->frame, incoming->body, STREAM_TYPE, hcs_type_text(type)))
            return type;
    return TYPE_OTHER;
}

static size_t read_text(const struct incoming_frame *incoming, enum hcs_fields_key key,
                        char out[TEXT_BYTES_MAX]) {
    size_t bytes = hcs_fields_text(&incoming->frame, incoming->body, key, out, TEXT_BYTES_MAX);
    return bytes == SIZE_MAX ? 0 : bytes;
}

// --- Effects

static void finish(struct shard *shard, struct incoming_frame *incoming, struct parcel *error, bool failed) {
    struct hcs_http_frame *http_frame = incoming->http_frame;
    assert(http_frame && !incoming->parcel && !incoming->finished);
    incoming->finished = true;
    http_frame->error = error;
    http_frame->failed = failed;
    hcs_mail_post(shard, connection_shard(http_frame->connection), &http_frame->mail, HCS_MAIL_DONE);
}

static void release_parcel(struct shard *shard, struct incoming_frame *incoming) {
    send_release(shard, incoming->parcel);
    incoming->parcel = NULL;
}

static struct parcel *take(struct incoming_frame *incoming) {
    struct parcel *parcel = incoming->parcel;
    assert(parcel);
    incoming->parcel = NULL;
    return parcel;
}

static void drop(struct shard *shard, struct incoming_frame *incoming, unsigned counter) {
    drop_one(shard, counter, incoming->from, incoming->parcel->bytes);
    release_parcel(shard, incoming);
}

static struct parcel *refusal_of(struct shard *shard, const struct incoming_frame *incoming,
                                 const char *message) {
    char id[TEXT_BYTES_MAX], request_id[TEXT_BYTES_MAX], type[TEXT_BYTES_MAX];
    size_t id_bytes = read_text(incoming, STREAM_SESSION_ID, id);
    size_t request_id_bytes = read_text(incoming, STREAM_REQUEST_ID, request_id);
    size_t type_bytes = read_text(incoming, STREAM_TYPE, type);
    struct hcs_frame_subject subject = {id_bytes ? id : NULL, request_id_bytes ? request_id : NULL,
                                        (uint32_t)id_bytes, (uint32_t)request_id_bytes};
    return hcs_frames_error(shard, subject, HCS_FRAMES_INVALID_REQUEST, message, false, type, type_bytes);
}

static bool is_answer(const struct incoming_frame *incoming) {
    return incoming->type == TYPE_ERROR && hcs_fields_has(&incoming->frame, STREAM_REFUSED);
}

// An error that answers a frame is never answered: two that did so would never come to an end.
static void hcs_dispatch_refuse(struct shard *shard, struct incoming_frame *incoming, const char *message,
                                unsigned counter) {
    bool answers = is_answer(incoming);
    struct parcel *error = answers && !incoming->http_frame ? NULL : refusal_of(shard, incoming, message);
    drop(shard, incoming, counter);
    if (incoming->http_frame)
        finish(shard, incoming, error, !error);
    else if (error)
        hcs_mail_send(shard, incoming->from, error, true);
    else if (!answers)
        drop_one(shard, COUNT_DROP_NO_MEMORY, incoming->from, 0);
}

// --- By the producer

static enum stream_lod lod_of(const struct incoming_frame *incoming) {
    if (hcs_fields_is(&incoming->frame, incoming->body, STREAM_LOD, "atomic"))
        return LOD_ATOMIC;
    return hcs_fields_is(&incoming->frame, incoming->body, STREAM_LOD, "micro") ? LOD_MICRO : LOD_KEPT;
}

static void route_chunk(struct shard *shard, struct incoming_frame *incoming) {
    uint64_t seq;
    if (!hcs_fields_number(&incoming->frame, incoming->body, STREAM_SEQ, &seq))
        hcs_dispatch_refuse(shard, incoming, "a chunk needs a seq from 0 to 2^53-1",
                            FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_REFUSED));
    else if (!history_rises(&incoming->session->history, seq))
        hcs_dispatch_refuse(shard, incoming, "seq must rise", FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_SEQ));
    else
        hcs_session_add(shard, incoming->session, take(incoming), seq, lod_of(incoming));
}

static void by_producer(struct shard *shard, struct incoming_frame *incoming) {
    struct hcs_session *session = incoming->session;
    session->active_ms = shard_now_ms(shard);
    bool ends = incoming->type == TYPE_COMPLETE || (incoming->type == TYPE_ERROR && !is_answer(incoming));
    if (incoming->type == TYPE_CHUNK)
        route_chunk(shard, incoming);
    else if (ends)
        hcs_session_end(shard, session, take(incoming), incoming->type);
    else
        hcs_session_spread(shard, session, take(incoming), incoming->type);
}

// --- By a client

static void to_producer(struct shard *shard, struct incoming_frame *incoming) {
    hcs_mail_send(shard, incoming->session->producer, take(incoming), false);
}

static void route_ack(struct shard *shard, struct incoming_frame *incoming) {
    const struct history *history = &incoming->session->history;
    bool has_seq = hcs_fields_has(&incoming->frame, STREAM_SEQ);
    uint64_t seq;
    if (has_seq && !hcs_fields_number(&incoming->frame, incoming->body, STREAM_SEQ, &seq))
        hcs_dispatch_refuse(shard, incoming, "seq must be a number from 0 to 2^53-1",
                            FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_REFUSED));
    else if (has_seq && (history->end == 0 || seq > history->last_seq))
        hcs_dispatch_refuse(shard, incoming, "this seq has not been sent",
                            FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_SEQ));
    else
        to_producer(shard, incoming);
}

// For whom it speaks, one after the other: the first one behind `before`, or the first. NULL: nobody else.
static struct hcs_client *next_client(const struct shard *shard, const struct incoming_frame *incoming,
                                      struct list *after) {
    const struct hcs_session *session = incoming->session;
    if (!incoming->http_frame)
        return after == &session->clients ? hcs_session_client(shard, session, incoming->from) : NULL;
    for (struct list *node = after->next; node != &session->clients; node = node->next) {
        struct hcs_client *client = list_entry(node, struct hcs_client, by_session);
        if (client->http_owner && client->http_owner == incoming->http_owner)
            return client;
    }
    return NULL;
}

// Drops chunks that wait in the client's queue, on the client's shard. The parcel goes there, a share for
// each.
static void flush_queue(struct shard *shard, struct incoming_frame *incoming, struct hcs_client *client) {
    struct parcel *share = parcel_share(&shard->parcels, incoming->parcel);
    if (!share) { // it stays in the queue, and so isn't dropped
        drop_one(shard, COUNT_DROP_NO_MEMORY, client->connection, 0);
        return;
    }
    share->to = client;
    hcs_mail_post(shard, connection_shard(client->connection), &share->mail, HCS_MAIL_FLUSH);
}

static void apply(struct shard *shard, struct incoming_frame *incoming, struct hcs_client *client) {
    const struct hcs_fields *frame = &incoming->frame;
    if (hcs_fields_is(frame, incoming->body, STREAM_ACTION, "flush")) {
        hcs_session_flush(shard, incoming->session, client);
        flush_queue(shard, incoming, client);
    } else {
        hcs_session_pause(shard, incoming->session, client,
                          hcs_fields_is(frame, incoming->body, STREAM_ACTION, "pause"));
    }
}

// The frames of a lone client reach the producer itself, which so is told.
static void report_single(struct shard *shard, struct incoming_frame *incoming, bool pauses) {
    struct hcs_session *session = incoming->session;
    if (session->ended || session->flow.clients != 1 || !next_client(shard, incoming, &session->clients))
        return;
    struct parcel *share = parcel_share(&shard->parcels, incoming->parcel);
    if (!share)
        return; // it is told in the hub's words
    hcs_mail_send(shard, session->producer, share, true);
    hcs_flow_control_signalled(shard, session, pauses ? HCS_FLOW_OVER : HCS_FLOW_READS);
}

static void route_control(struct shard *shard, struct incoming_frame *incoming) {
    struct hcs_session *session = incoming->session;
    bool pauses = hcs_fields_is(&incoming->frame, incoming->body, STREAM_ACTION, "pause");
    bool resumes = hcs_fields_is(&incoming->frame, incoming->body, STREAM_ACTION, "resume");
    bool flushes = hcs_fields_is(&incoming->frame, incoming->body, STREAM_ACTION, "flush");
    if (!pauses && !resumes && !flushes) {
        if (session->ended)
            drop(shard, incoming, FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_ENDED));
        else
            to_producer(shard, incoming);
        return;
    }
    if (!flushes)
        report_single(shard, incoming, pauses);
    for (struct list *at = &session->clients, *next; at; at = next) {
        struct hcs_client *client = next_client(shard, incoming, at);
        next = NULL;
        if (!client)
            break;
        struct list *previous = client->by_session.prev;
        apply(shard, incoming, client);
        next = client->session ? &client->by_session : previous; // it may have got the end
    }
    release_parcel(shard, incoming);
}

// --- Who it is

static bool is_by_producer(const struct incoming_frame *incoming) {
    bool its = incoming->type == TYPE_INIT || incoming->type == TYPE_CHUNK ||
               incoming->type == TYPE_COMPLETE || incoming->type == TYPE_ERROR ||
               incoming->type == TYPE_CONTROL;
    return its && !incoming->http_frame && incoming->from == incoming->session->producer;
}

static bool is_by_client(const struct shard *shard, const struct incoming_frame *incoming) {
    return incoming->http_frame ? incoming->http_owner != NULL
                                : hcs_session_client(shard, incoming->session, incoming->from) != NULL;
}

static void hcs_dispatch_check(struct shard *shard, struct incoming_frame *incoming) {
    struct hcs_session *session = incoming->session;
    bool by_clients = incoming->type == TYPE_ACK || incoming->type == TYPE_CONTROL;
    if (!session)
        hcs_dispatch_refuse(shard, incoming, "there is no such session",
                            FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_REFUSED));
    else if (is_by_producer(incoming) && !session->ended)
        by_producer(shard, incoming);
    else if (by_clients && is_by_client(shard, incoming) &&
             (!session->ended || incoming->type == TYPE_CONTROL))
        (incoming->type == TYPE_ACK ? route_ack : route_control)(shard, incoming);
    else if (by_clients && session->ended)
        drop(shard, incoming, FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_ENDED)); // it has crossed the end
    else
        hcs_dispatch_refuse(shard, incoming, "this frame isn't for you to say in this session",
                            FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_REFUSED));
}

static void hcs_dispatch_begin(struct shard *shard, struct incoming_frame *incoming) {
    char id[SESSION_ID_BYTES_MAX + 8];
    const struct piece *body = &incoming->parcel->pieces[0];
    assert(incoming->parcel->piece_count == 1);
    incoming->body = body->bytes;
    hcs_fields_read(&incoming->frame, incoming->body, (uint32_t)body->count);
    assert(incoming->frame.verdict == LOOKUP_GOOD); // as it was where it came in
    size_t bytes = hcs_fields_text(&incoming->frame, incoming->body, STREAM_SESSION_ID, id, sizeof id);
    incoming->type = type_of(incoming);
    incoming->session = bytes == SIZE_MAX ? NULL : hcs_session_find(shard, id, bytes);
}

void hcs_dispatch_frame(struct shard *shard, struct parcel *parcel) {
    struct incoming_frame incoming = {.from = parcel->mail.connection, .parcel = parcel};
    hcs_dispatch_begin(shard, &incoming);
    hcs_dispatch_check(shard, &incoming);
    assert(!incoming.parcel);
}

void hcs_dispatch_http_frame(struct shard *shard, struct hcs_http_frame *http_frame) {
    char request_id[TEXT_BYTES_MAX];
    struct incoming_frame incoming = {
        .from = http_frame->connection, .http_frame = http_frame, .parcel = http_frame->parcel};
    http_frame->parcel = NULL;
    hcs_dispatch_begin(shard, &incoming);
    size_t bytes = read_text(&incoming, STREAM_REQUEST_ID, request_id);
    if (incoming.session && bytes)
        incoming.http_owner = hcs_http_owner_find(incoming.session, request_id, bytes, http_frame->user);
    if (incoming.http_owner &&
        hcs_access_check(shard, incoming.session, http_frame->user) != HCS_ACCESS_ALLOWED)
        incoming.http_owner = NULL;
    // Behind the end it speaks for those alone that still wait for it: they have paused.
    bool ok = incoming.http_owner && (!incoming.session->ended || incoming.http_owner->streams > 0);
    if (!ok) {
        hcs_dispatch_refuse(shard, &incoming, "this is no stream that is open",
                            FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_REFUSED));
        return;
    }
    hcs_dispatch_check(shard, &incoming);
    if (!incoming.finished)
        finish(shard, &incoming, NULL, false);
}
