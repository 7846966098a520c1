#include "router/features/hcs/hcs_dispatch.h"

#include <assert.h>
#include <string.h>

#include "core/hcs/session_id.h"
#include "core/lookup/hcs_fields.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/features/hcs/hcs_access.h"
#include "router/features/hcs/hcs_frames.h"
#include "router/features/hcs/hcs_mail.h"
#include "router/features/hcs/hcs_session.h"

enum { TEXT_BYTES_MAX = 256 };

struct saying {
    uint64_t from;                 // connection
    struct hcs_http_frame *errand; // NULL: it came on the connection that it is from
    struct parcel *parcel;         // until it is taken
    const uint8_t *body;
    struct hcs_fields frame;
    enum hcs_type type;
    struct hcs_session *session;       // NULL: there is none of this name
    struct hcs_http_owner *http_owner; // of an errand
    bool finished;                     // that is on its way back
};

static enum hcs_type type_of(const struct saying *saying) {
    for (enum hcs_type type = TYPE_OTHER + 1; type < TYPES_COUNT; type++)
        if (hcs_fields_is(&saying->frame, saying->body, STREAM_TYPE, hcs_type_text(type)))
            return type;
    return TYPE_OTHER;
}

static size_t read_text(const struct saying *saying, enum hcs_fields_key key, char out[TEXT_BYTES_MAX]) {
    size_t bytes = hcs_fields_text(&saying->frame, saying->body, key, out, TEXT_BYTES_MAX);
    return bytes == SIZE_MAX ? 0 : bytes;
}

// --- Effects

static void finish(struct shard *shard, struct saying *saying, struct parcel *error, bool failed) {
    struct hcs_http_frame *errand = saying->errand;
    assert(errand && !saying->parcel && !saying->finished);
    saying->finished = true;
    errand->error = error;
    errand->failed = failed;
    hcs_mail_post(shard, connection_shard(errand->connection), &errand->mail, MAIL_STREAM_DONE);
}

static void let_go(struct shard *shard, struct saying *saying) {
    send_release(shard, saying->parcel);
    saying->parcel = NULL;
}

static struct parcel *take(struct saying *saying) {
    struct parcel *parcel = saying->parcel;
    assert(parcel);
    saying->parcel = NULL;
    return parcel;
}

static void drop(struct shard *shard, struct saying *saying, enum counter counter) {
    drop_one(shard, counter, saying->from, saying->parcel->bytes);
    let_go(shard, saying);
}

static struct parcel *refusal_of(struct shard *shard, const struct saying *saying, const char *message) {
    char id[TEXT_BYTES_MAX], request_id[TEXT_BYTES_MAX], type[TEXT_BYTES_MAX];
    size_t id_bytes = read_text(saying, STREAM_SESSION_ID, id);
    size_t request_id_bytes = read_text(saying, STREAM_REQUEST_ID, request_id);
    size_t type_bytes = read_text(saying, STREAM_TYPE, type);
    struct hcs_frame_subject about = {id_bytes ? id : NULL, request_id_bytes ? request_id : NULL,
                                      (uint32_t)id_bytes, (uint32_t)request_id_bytes};
    return hcs_frames_error(shard, about, HCS_FRAMES_INVALID_REQUEST, message, false, type, type_bytes);
}

static bool is_answer(const struct saying *saying) {
    return saying->type == TYPE_ERROR && hcs_fields_has(&saying->frame, STREAM_REFUSED);
}

// An error that answers a frame is never answered: two that did so would never come to an end.
static void hcs_dispatch_refuse(struct shard *shard, struct saying *saying, const char *message,
                                enum counter counter) {
    bool answers = is_answer(saying);
    struct parcel *error = answers && !saying->errand ? NULL : refusal_of(shard, saying, message);
    drop(shard, saying, counter);
    if (saying->errand)
        finish(shard, saying, error, !error);
    else if (error)
        hcs_mail_say(shard, saying->from, error, true);
    else if (!answers)
        drop_one(shard, COUNT_DROP_NO_MEMORY, saying->from, 0);
}

// --- By the producer

static enum stream_lod lod_of(const struct saying *saying) {
    if (hcs_fields_is(&saying->frame, saying->body, STREAM_LOD, "atomic"))
        return LOD_ATOMIC;
    return hcs_fields_is(&saying->frame, saying->body, STREAM_LOD, "micro") ? LOD_MICRO : LOD_KEPT;
}

static void say_chunk(struct shard *shard, struct saying *saying) {
    uint64_t seq;
    if (!hcs_fields_number(&saying->frame, saying->body, STREAM_SEQ, &seq))
        hcs_dispatch_refuse(shard, saying, "a chunk needs a seq from 0 to 2^53-1", COUNT_DROP_STREAM_REFUSED);
    else if (!history_rises(&saying->session->history, seq))
        hcs_dispatch_refuse(shard, saying, "seq must rise", COUNT_DROP_STREAM_SEQ);
    else
        hcs_session_add(shard, saying->session, take(saying), seq, lod_of(saying));
}

static void by_producer(struct shard *shard, struct saying *saying) {
    struct hcs_session *session = saying->session;
    session->heard_ms = shard_now_ms(shard);
    bool ends = saying->type == TYPE_COMPLETE || (saying->type == TYPE_ERROR && !is_answer(saying));
    if (saying->type == TYPE_CHUNK)
        say_chunk(shard, saying);
    else if (ends)
        hcs_session_end(shard, session, take(saying), saying->type);
    else
        hcs_session_spread(shard, session, take(saying), saying->type);
}

// --- By a client

static void to_producer(struct shard *shard, struct saying *saying) {
    hcs_mail_say(shard, saying->session->producer, take(saying), false);
}

static void say_ack(struct shard *shard, struct saying *saying) {
    const struct history *history = &saying->session->history;
    bool given = hcs_fields_has(&saying->frame, STREAM_SEQ);
    uint64_t seq;
    if (given && !hcs_fields_number(&saying->frame, saying->body, STREAM_SEQ, &seq))
        hcs_dispatch_refuse(shard, saying, "seq must be a number from 0 to 2^53-1",
                            COUNT_DROP_STREAM_REFUSED);
    else if (given && (history->end == 0 || seq > history->last_seq))
        hcs_dispatch_refuse(shard, saying, "this seq has not been sent", COUNT_DROP_STREAM_SEQ);
    else
        to_producer(shard, saying);
}

// For whom it speaks, one after the other: the first one behind `before`, or the first. NULL: nobody else.
static struct hcs_client *next_client(const struct shard *shard, const struct saying *saying,
                                      struct list *after) {
    const struct hcs_session *session = saying->session;
    if (!saying->errand)
        return after == &session->clients ? hcs_session_client(shard, session, saying->from) : NULL;
    for (struct list *node = after->next; node != &session->clients; node = node->next) {
        struct hcs_client *client = list_entry(node, struct hcs_client, by_session);
        if (client->http_owner && client->http_owner == saying->http_owner)
            return client;
    }
    return NULL;
}

// Drops chunks that wait in the client's queue, on the client's shard. The parcel goes there, a share for
// each.
static void flush_queue(struct shard *shard, struct saying *saying, struct hcs_client *client) {
    struct parcel *share = parcel_share(&shard->parcels, saying->parcel);
    if (!share) { // it stays in the queue, and so isn't dropped
        drop_one(shard, COUNT_DROP_NO_MEMORY, client->connection, 0);
        return;
    }
    share->to = client;
    hcs_mail_post(shard, connection_shard(client->connection), &share->mail, MAIL_STREAM_FLUSH);
}

static void apply(struct shard *shard, struct saying *saying, struct hcs_client *client) {
    const struct hcs_fields *frame = &saying->frame;
    if (hcs_fields_is(frame, saying->body, STREAM_ACTION, "flush")) {
        hcs_session_flush(shard, saying->session, client);
        flush_queue(shard, saying, client);
    } else {
        hcs_session_pause(shard, saying->session, client,
                          hcs_fields_is(frame, saying->body, STREAM_ACTION, "pause"));
    }
}

// The frames of a lone client reach the producer itself, which so is told.
static void tell_of_lone(struct shard *shard, struct saying *saying, bool pauses) {
    struct hcs_session *session = saying->session;
    if (session->ended || session->flow.clients != 1 || !next_client(shard, saying, &session->clients))
        return;
    struct parcel *share = parcel_share(&shard->parcels, saying->parcel);
    if (!share)
        return; // it is told in the hub's words
    hcs_mail_say(shard, session->producer, share, true);
    hcs_flow_control_told(shard, session, pauses ? HCS_FLOW_OVER : HCS_FLOW_READS);
}

static void say_control(struct shard *shard, struct saying *saying) {
    struct hcs_session *session = saying->session;
    bool pauses = hcs_fields_is(&saying->frame, saying->body, STREAM_ACTION, "pause");
    bool resumes = hcs_fields_is(&saying->frame, saying->body, STREAM_ACTION, "resume");
    bool flushes = hcs_fields_is(&saying->frame, saying->body, STREAM_ACTION, "flush");
    if (!pauses && !resumes && !flushes) {
        if (session->ended)
            drop(shard, saying, COUNT_DROP_STREAM_ENDED);
        else
            to_producer(shard, saying);
        return;
    }
    if (!flushes)
        tell_of_lone(shard, saying, pauses);
    for (struct list *at = &session->clients, *next; at; at = next) {
        struct hcs_client *client = next_client(shard, saying, at);
        next = NULL;
        if (!client)
            break;
        struct list *before = client->by_session.prev;
        apply(shard, saying, client);
        next = client->session ? &client->by_session : before; // it may have got the end
    }
    let_go(shard, saying);
}

// --- Who it is

static bool is_by_producer(const struct saying *saying) {
    bool its = saying->type == TYPE_INIT || saying->type == TYPE_CHUNK || saying->type == TYPE_COMPLETE ||
               saying->type == TYPE_ERROR || saying->type == TYPE_CONTROL;
    return its && !saying->errand && saying->from == saying->session->producer;
}

static bool is_by_client(const struct shard *shard, const struct saying *saying) {
    return saying->errand ? saying->http_owner != NULL
                          : hcs_session_client(shard, saying->session, saying->from) != NULL;
}

static void hcs_dispatch_judge(struct shard *shard, struct saying *saying) {
    struct hcs_session *session = saying->session;
    bool by_clients = saying->type == TYPE_ACK || saying->type == TYPE_CONTROL;
    if (!session)
        hcs_dispatch_refuse(shard, saying, "there is no such session", COUNT_DROP_STREAM_REFUSED);
    else if (is_by_producer(saying) && !session->ended)
        by_producer(shard, saying);
    else if (by_clients && is_by_client(shard, saying) && (!session->ended || saying->type == TYPE_CONTROL))
        (saying->type == TYPE_ACK ? say_ack : say_control)(shard, saying);
    else if (by_clients && session->ended)
        drop(shard, saying, COUNT_DROP_STREAM_ENDED); // it has crossed the end
    else
        hcs_dispatch_refuse(shard, saying, "this frame isn't for you to say in this session",
                            COUNT_DROP_STREAM_REFUSED);
}

static void hcs_dispatch_begin(struct shard *shard, struct saying *saying) {
    char id[SESSION_ID_BYTES_MAX + 8];
    const struct piece *body = &saying->parcel->pieces[0];
    assert(saying->parcel->piece_count == 1);
    saying->body = body->bytes;
    hcs_fields_read(&saying->frame, saying->body, (uint32_t)body->count);
    assert(saying->frame.verdict == LOOKUP_GOOD); // as it was where it came in
    size_t bytes = hcs_fields_text(&saying->frame, saying->body, STREAM_SESSION_ID, id, sizeof id);
    saying->type = type_of(saying);
    saying->session = bytes == SIZE_MAX ? NULL : hcs_session_find(shard, id, bytes);
}

void hcs_dispatch_frame(struct shard *shard, struct parcel *parcel) {
    struct saying saying = {.from = parcel->mail.connection, .parcel = parcel};
    hcs_dispatch_begin(shard, &saying);
    hcs_dispatch_judge(shard, &saying);
    assert(!saying.parcel);
}

void hcs_dispatch_errand(struct shard *shard, struct hcs_http_frame *errand) {
    char request_id[TEXT_BYTES_MAX];
    struct saying saying = {.from = errand->connection, .errand = errand, .parcel = errand->parcel};
    errand->parcel = NULL;
    hcs_dispatch_begin(shard, &saying);
    size_t bytes = read_text(&saying, STREAM_REQUEST_ID, request_id);
    if (saying.session && bytes)
        saying.http_owner = hcs_http_owner_find(saying.session, request_id, bytes, errand->user);
    if (saying.http_owner && hcs_access_judge(shard, saying.session, errand->user) != HCS_ACCESS_ALLOWED)
        saying.http_owner = NULL;
    // Behind the end it speaks for those alone that still wait for it: they have paused.
    bool good = saying.http_owner && (!saying.session->ended || saying.http_owner->streams > 0);
    if (!good) {
        hcs_dispatch_refuse(shard, &saying, "this is no stream that is open", COUNT_DROP_STREAM_REFUSED);
        return;
    }
    hcs_dispatch_judge(shard, &saying);
    if (!saying.finished)
        finish(shard, &saying, NULL, false);
}
