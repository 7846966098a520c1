#include "router/features/hcs/hcs_ingress.h"

#include <assert.h>
#include <string.h>

#include "core/hcs/last_event_id.h"
#include "core/lookup/hcs_fields.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/identity.h"
#include "router/engine/shard/peer_cold.h"
#include "router/features/hcs/hcs_frames.h"
#include "router/features/hcs/hcs_shard.h"
#include "router/rights/authn.h"
#include "router/rights/authz.h"

enum { TEXT_BYTES_MAX = 256 };

// A frame that is being read.
struct hcs_entry {
    const struct message *message;
    struct hcs_fields frame;
    char id[SESSION_ID_BYTES_MAX + 8], request_id[TEXT_BYTES_MAX], target[TEXT_BYTES_MAX];
    struct hcs_start_fields fields;
    bool request_id_read; // request_id is a good string
};

// --- Refusals

static size_t read_text(const struct hcs_entry *entry, enum hcs_fields_key key, char *out, size_t capacity) {
    return hcs_fields_text(&entry->frame, entry->message->body, key, out, capacity);
}

static void entry_refuse(struct shard *shard, const struct hcs_entry *entry, enum hcs_frames_code code,
                         const char *message, bool retriable) {
    char type[TEXT_BYTES_MAX];
    struct peer *peer = entry->message->peer;
    size_t type_bytes = read_text(entry, STREAM_TYPE, type, sizeof type);
    bool is_named = entry->fields.id_bytes && !entry->fields.is_generated;
    struct hcs_frame_subject subject = {is_named ? entry->id : NULL,
                                        entry->request_id_read ? entry->request_id : NULL,
                                        entry->fields.id_bytes, entry->fields.request_id_bytes};
    drop_one(shard, FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_REFUSED), peer->connection_id,
             entry->message->frame->body.bytes);
    if (hcs_fields_is(&entry->frame, entry->message->body, STREAM_TYPE, "error") &&
        hcs_fields_has(&entry->frame, STREAM_REFUSED))
        return; // an error that answers a frame gets no answer
    struct parcel *error = hcs_frames_error(shard, subject, code, message, retriable, type,
                                            type_bytes == SIZE_MAX ? 0 : type_bytes);
    if (error)
        hcs_mail_send(shard, peer->connection_id, error, true);
    else
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
}

static bool refuse_header_of(struct shard *shard, const struct hcs_entry *entry) {
    const struct directives *directives = &entry->message->frame->unit->directives;
    bool is_bad = directives_is_bad(directives);
    if (is_bad)
        entry_refuse(shard, entry, HCS_FRAMES_INVALID_REQUEST,
                     directives->version == VERSION_OTHER ? "protocol version not supported"
                     : directives->governance_bad         ? "Governance-Level is none"
                     : directives->timeout_bad            ? "Custom-Timeout-Ms is none"
                                                          : "Custom-Idle-Timeout-Ms is none",
                     false);
    return is_bad;
}

// --- Reading

// Reads the names of the session and of the request, if they are good.
static void read_names(struct hcs_entry *entry) {
    size_t id_bytes = read_text(entry, STREAM_SESSION_ID, entry->id, sizeof entry->id);
    if (id_bytes != SIZE_MAX && session_id_valid(entry->id, id_bytes))
        entry->fields.id_bytes = (uint32_t)id_bytes;
    size_t bytes = read_text(entry, STREAM_REQUEST_ID, entry->request_id, sizeof entry->request_id);
    entry->request_id_read = bytes != SIZE_MAX;
    entry->fields.request_id_bytes = bytes == SIZE_MAX ? 0 : (uint32_t)bytes;
    entry->fields.id = entry->id;
    entry->fields.request_id = entry->request_id;
}

static bool has_but(const struct hcs_entry *entry, enum hcs_fields_key key, enum json_type type) {
    return hcs_fields_has(&entry->frame, key) && entry->frame.type[key] != type;
}

// Reads a start. Returns NULL, or the fault.
static const char *read_start(struct hcs_entry *entry) {
    struct hcs_start_fields *fields = &entry->fields;
    const struct attachment *attachment = message_peer_attachment(entry->message);
    if (!entry->request_id_read)
        return "a start needs a request_id: a string of up to 256 bytes";
    if (hcs_fields_has(&entry->frame, STREAM_SESSION_ID) && !fields->id_bytes)
        return "a session_id is 1 to 128 letters, digits, '-', '_', '.', ':' or '~'";
    if (has_but(entry, STREAM_USER_ID, JSON_STRING) || has_but(entry, STREAM_TARGET_AGENT, JSON_STRING))
        return "user_id and targetAgent are strings";
    fields->has_after =
        hcs_fields_number(&entry->frame, entry->message->body, STREAM_AFTER_SEQ, &fields->after_seq);
    if (hcs_fields_has(&entry->frame, STREAM_AFTER_SEQ) && !fields->has_after)
        return "after_seq is a number from 0 to 2^53-1";
    if (fields->has_after && !fields->id_bytes)
        return "after_seq needs a session_id";
    fields->required = entry->message->frame->unit->directives.governance;
    size_t bytes = read_text(entry, STREAM_TARGET_AGENT, entry->target, sizeof entry->target);
    if (hcs_fields_has(&entry->frame, STREAM_TARGET_AGENT) && (bytes == SIZE_MAX || bytes == 0)) {
        entry->target[0] = '\n'; // no agent has this name
        bytes = 1;
    }
    fields->target = entry->target;
    fields->target_bytes = bytes == SIZE_MAX ? 0 : (uint32_t)bytes;
    if (!fields->target_bytes && attachment) {
        fields->target = attachment->agent;
        fields->target_bytes = attachment->bytes;
    }
    return NULL;
}

// --- A start

void hcs_ingress_generate(struct shard *shard, char *id, struct hcs_start_fields *fields) {
    uint8_t hash[SIPHASH_BYTES];
    do {
        uint64_t entropy[3] = {UINT64_C(0x73746365726c6864), shard->index, ++hcs_of(shard)->ids};
        siphash_name(&shard->hub->start_settings.secrets.sessions, entropy, sizeof entropy, hash);
        for (unsigned digit = 0; digit < HCS_INGRESS_MADE_UP_BYTES; digit++)
            id[digit] = "0123456789abcdef"[hash[digit / 2] >> (digit % 2 ? 0 : 4) & 15];
    } while (hcs_shard_of_session(shard, id, HCS_INGRESS_MADE_UP_BYTES) != shard->index);
    fields->id = id;
    fields->id_bytes = HCS_INGRESS_MADE_UP_BYTES;
    fields->is_generated = true;
}

// Makes the parcel for the producer: the start, with the session's name if the hub has made that.
static struct parcel *start_of(struct shard *shard, const struct hcs_entry *entry) {
    static const char previous[] = "\"session_id\":\"", suffix[] = "\",";
    const struct frame *frame = entry->message->frame;
    char member[sizeof previous + HCS_INGRESS_MADE_UP_BYTES + sizeof suffix];
    if (!entry->fields.is_generated)
        return parcel_forward(&shard->parcels, frame);
    struct span inner = {entry->frame.inside, 0};
    struct parcel *parcel = parcel_create_with_holes(&shard->parcels, frame, &inner, 1);
    if (!parcel)
        return NULL;
    size_t bytes = sizeof previous - 1;
    memcpy(member, previous, bytes);
    memcpy(member + bytes, entry->id, HCS_INGRESS_MADE_UP_BYTES);
    bytes += HCS_INGRESS_MADE_UP_BYTES;
    memcpy(member + bytes, suffix, sizeof suffix - 1);
    if (parcel_fill(parcel, &(struct piece){member, bytes + sizeof suffix - 1}))
        return parcel;
    parcel_drop(parcel);
    return NULL;
}

static void enter_start(struct shard *shard, struct hcs_entry *entry) {
    const char *fault = read_start(entry);
    if (fault) {
        entry_refuse(shard, entry, HCS_FRAMES_INVALID_REQUEST, fault, false);
        return;
    }
    const struct user *user = authz_user(shard, entry->message->peer);
    entry->fields.is_barred = !authz_stream(user, entry->fields.target, entry->fields.target_bytes);
    if (entry->fields.is_barred && !entry->fields.id_bytes) {
        hcs_access_note_refused(shard, entry->message->peer->connection_id,
                                identity_user(entry->message->peer), HCS_ACCESS_DENIED, entry->fields.target,
                                entry->fields.target_bytes);
        entry_refuse(shard, entry, HCS_FRAMES_INVALID_REQUEST, hcs_access_text(HCS_ACCESS_DENIED), false);
        return;
    }
    if (shard->phase != HUB_SERVING) {
        entry_refuse(shard, entry, HCS_FRAMES_INTERNAL, "the hub ends", true);
        return;
    }
    if (!queue_limit_has_room(shard, entry->message->peer)) { // a short start may have the hub send much
        entry_refuse(shard, entry, HCS_FRAMES_INTERNAL, "overloaded: your queue is full", true);
        return;
    }
    if (!entry->fields.id_bytes)
        hcs_ingress_generate(shard, entry->id, &entry->fields);
    struct parcel *start = start_of(shard, entry);
    if (start && hcs_client_send(shard, entry->message->peer, &entry->fields, start))
        return;
    if (start)
        parcel_drop(start);
    entry_refuse(shard, entry, HCS_FRAMES_INTERNAL, "overloaded: there is no memory for a client", true);
}

// --- All frames

static void refuse_unreadable(struct shard *shard, const struct message *message,
                              const struct hcs_fields *frame) {
    struct text data;
    bool is_broken = frame->verdict == LOOKUP_NOT_JSON;
    if (shard->settings->users)
        authn_charge(shard, message->peer, message->frame->body.bytes);
    text_init(&data);
    reply_data_text(&data, "fault",
                    is_broken                            ? "the body is not JSON"
                    : frame->verdict == LOOKUP_AMBIGUOUS ? "this key must occur once and without escapes"
                                                         : "the type of a frame is a string");
    if (is_broken)
        reply_data_number(&data, "offset", message->frame->unit->body_at + (int64_t)frame->fault_at);
    else
        reply_data_text(&data, "key", frame->fault_key ? frame->fault_key : "type");
    reply_error(shard, message->peer, (struct reply_to){0}, is_broken ? ERROR_PARSE : ERROR_INVALID_REQUEST,
                &data);
}

static void pass_on(struct shard *shard, const struct hcs_entry *entry) {
    const struct message *message = entry->message;
    struct parcel *parcel = parcel_forward(&shard->parcels, message->frame);
    if (!parcel) {
        entry_refuse(shard, entry, HCS_FRAMES_INTERNAL, "overloaded: there is no memory for this", true);
        return;
    }
    parcel->mail.connection = message->peer->connection_id;
    hcs_mail_post(shard, hcs_shard_of_session(shard, entry->id, entry->fields.id_bytes), &parcel->mail,
                  HCS_MAIL_FRAME);
}

void hcs_ingress_route(struct shard *shard, const struct message *message) {
    struct hcs_entry entry;
    assert(message->lookup.kind == BODY_STREAM && !message->exchange);
    stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_HCS, HCS_COUNT_FRAMES));
    entry.message = message;
    entry.fields = (struct hcs_start_fields){0};
    hcs_fields_read(&entry.frame, message->body, message->frame->body.bytes);
    if (entry.frame.verdict != LOOKUP_GOOD || has_but(&entry, STREAM_TYPE, JSON_STRING)) {
        refuse_unreadable(shard, message, &entry.frame);
        return;
    }
    read_names(&entry);
    const char *unknown =
        shard->settings->users ? authn_fault(shard, message->peer, message->frame->body.bytes) : NULL;
    if (unknown) {
        entry_refuse(shard, &entry, HCS_FRAMES_INVALID_REQUEST, unknown, false);
        return;
    }
    if (refuse_header_of(shard, &entry))
        return;
    if (!message->peer->initialized && shard->settings->require_initialize)
        entry_refuse(shard, &entry, HCS_FRAMES_INVALID_REQUEST, "not initialized", false);
    else if (hcs_fields_is(&entry.frame, message->body, STREAM_TYPE, "start"))
        enter_start(shard, &entry);
    else if (!entry.fields.id_bytes)
        entry_refuse(shard, &entry, HCS_FRAMES_INVALID_REQUEST, "this frame needs a session_id", false);
    else
        pass_on(shard, &entry);
}

// --- HTTP: queries

enum { REQUEST_ID_BYTES_MAX = 256, POSTED_TYPE_BYTES_MAX = 256 };

static struct hcs_frame_subject about_query(const struct hcs_query *query) {
    return (struct hcs_frame_subject){query->session_id, query->request_id, query->session_id_bytes,
                                      query->request_id_bytes};
}

static struct parcel *query_error(struct shard *shard, const struct hcs_query *query,
                                  enum hcs_frames_code code, const char *message, bool retriable) {
    struct hcs_query named = *query;
    if (named.session_id && !session_id_valid(named.session_id, named.session_id_bytes))
        named.session_id = NULL;
    drop_one(shard, FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_REFUSED), 0, 0);
    return hcs_frames_error(shard, about_query(&named), code, message, retriable, "start", strlen("start"));
}

struct parcel *hcs_http_refuse(struct shard *shard, const struct hcs_query *query, const char *fault) {
    assert(fault);
    return query_error(shard, query, HCS_FRAMES_INVALID_REQUEST, fault, false);
}

static const char *fault_of(const struct hcs_query *query) {
    if (!query->request_id_bytes || query->request_id_bytes > REQUEST_ID_BYTES_MAX)
        return "request_id is needed: up to 256 bytes";
    if (query->session_id && !session_id_valid(query->session_id, query->session_id_bytes))
        return "a session_id is 1 to 128 letters, digits, '-', '_', '.', ':' or '~'";
    if (query->has_after && !query->session_id)
        return "after_seq needs a session_id";
    return query->target && query->target_bytes > REQUEST_ID_BYTES_MAX ? "there is no such target" : NULL;
}

static struct hcs_start_fields fields_of(const struct hcs_query *query, hcs_streamed *on_streamed) {
    return (struct hcs_start_fields){
        .id = query->session_id,
        .id_bytes = query->session_id ? query->session_id_bytes : 0,
        .request_id = query->request_id,
        .request_id_bytes = query->request_id_bytes,
        .target = query->target,
        .target_bytes = query->target ? query->target_bytes : 0,
        .has_after = query->has_after,
        .after_seq = query->after_seq,
        .required = query->required,
        .on_streamed = on_streamed,
    };
}

// Reads the session and the place from Last-Event-ID, which replaces the query's. Returns PLACE_BAD for a bad value.
static enum session_place read_place(const struct hcs_query *query, struct hcs_start_fields *fields) {
    size_t id_bytes = 0;
    enum session_place place =
        last_event_id_read(query->last_event_id, query->last_event_id_bytes, &id_bytes, &fields->after_seq);
    fields->resumes = true;
    fields->id = query->last_event_id;
    fields->id_bytes = (uint32_t)id_bytes;
    fields->has_after = place == PLACE_BEHIND;
    return place;
}

// Makes a start from a query. The start has its user's header line, like a frame that a peer sends.
static struct parcel *start_of_query(struct shard *shard, const struct peer *peer,
                                     const struct hcs_query *query, const struct hcs_start_fields *fields) {
    struct hcs_frame_subject subject = {fields->id, fields->request_id, fields->id_bytes,
                                        fields->request_id_bytes};
    struct parcel *start = hcs_frames_start(shard, subject, query->user_id, query->user_id_bytes);
    const struct user *user = identity_user(peer);
    if (start && user)
        parcel_add_line(start, &user->header);
    return start;
}

enum hcs_http_opening hcs_http_open(struct shard *shard, struct peer *peer, const struct hcs_query *query,
                                    hcs_streamed *on_streamed, struct parcel **error) {
    char generated[HCS_INGRESS_MADE_UP_BYTES];
    struct hcs_start_fields fields = fields_of(query, on_streamed);
    const char *fault = fault_of(query);
    assert(on_streamed);
    *error = NULL;
    if (fault) {
        *error = hcs_http_refuse(shard, query, fault);
        return HCS_HTTP_BAD_QUERY;
    }
    enum session_place place = query->last_event_id ? read_place(query, &fields) : PLACE_BEGIN;
    if (place == PLACE_BAD || place == PLACE_END)
        return place == PLACE_BAD ? HCS_HTTP_BAD_PLACE : HCS_HTTP_AT_END;
    fields.is_barred = !authz_stream(authz_user(shard, peer), fields.target, fields.target_bytes);
    if (fields.is_barred && !fields.id_bytes) {
        hcs_access_note_refused(shard, peer->connection_id, identity_user(peer), HCS_ACCESS_DENIED,
                                fields.target, fields.target_bytes);
        *error =
            query_error(shard, query, HCS_FRAMES_INVALID_REQUEST, hcs_access_text(HCS_ACCESS_DENIED), false);
        return HCS_HTTP_FORBIDDEN;
    }
    if (!fields.id_bytes)
        hcs_ingress_generate(shard, generated, &fields);
    stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_HCS, HCS_COUNT_FRAMES));
    struct parcel *start = start_of_query(shard, peer, query, &fields);
    if (start && hcs_client_send(shard, peer, &fields, start))
        return HCS_HTTP_OPENING;
    if (start)
        parcel_drop(start);
    *error =
        query_error(shard, query, HCS_FRAMES_INTERNAL, "overloaded: there is no memory for a client", true);
    return HCS_HTTP_OVERLOADED;
}

// --- HTTP: frames in requests of their own

// Makes an error with the refused frame's request_id and type, if they can be read.
static struct parcel *post_error(struct shard *shard, const struct frame *frame,
                                 const struct hcs_fields *posted, const char *message) {
    char request_id[REQUEST_ID_BYTES_MAX + 1], type[POSTED_TYPE_BYTES_MAX];
    const uint8_t *body = frame_body(frame);
    size_t bytes = SIZE_MAX, type_bytes = SIZE_MAX;
    if (posted->verdict == LOOKUP_GOOD) {
        bytes = hcs_fields_text(posted, body, STREAM_REQUEST_ID, request_id, sizeof request_id);
        type_bytes = hcs_fields_text(posted, body, STREAM_TYPE, type, sizeof type);
    }
    struct hcs_frame_subject subject = {.request_id = bytes == SIZE_MAX ? NULL : request_id,
                                        .request_id_bytes = bytes == SIZE_MAX ? 0 : (uint32_t)bytes};
    drop_one(shard, FEATURE_COUNTER(FEATURE_HCS, HCS_DROP_REFUSED), 0, 0);
    return hcs_frames_error(shard, subject, HCS_FRAMES_INVALID_REQUEST, message, false, type,
                            type_bytes == SIZE_MAX ? 0 : type_bytes);
}

// Reads the frame of a request. Returns NULL, or the fault; *id is the session's name. `posted` can be read in any
// case.
static const char *read_posted(struct shard *shard, const struct frame *frame, struct hcs_fields *posted,
                               char *id, size_t *id_bytes) {
    struct lookup lookup;
    const uint8_t *body = frame_body(frame);
    *posted = (struct hcs_fields){.verdict = LOOKUP_GOOD};
    (shard->settings->strict ? lookup_body_strict : lookup_body)(&lookup, body, frame->body.bytes,
                                                                 shard_limits(shard)->id_bytes_max);
    if (lookup.verdict != LOOKUP_GOOD || lookup.kind != BODY_STREAM)
        return "this is no frame";
    hcs_fields_read(posted, body, frame->body.bytes);
    if (posted->verdict != LOOKUP_GOOD || posted->type[STREAM_TYPE] != JSON_STRING)
        return posted->verdict == LOOKUP_AMBIGUOUS ? "a key occurs twice or is escaped" : "this is no frame";
    *id_bytes = hcs_fields_text(posted, body, STREAM_SESSION_ID, id, SESSION_ID_BYTES_MAX + 8);
    if (*id_bytes == SIZE_MAX || !session_id_valid(id, *id_bytes))
        return "this frame needs a session_id";
    return NULL;
}

static struct hcs_http_frame *http_frame_make(struct shard *shard, const struct peer *peer,
                                              const struct frame *frame) {
    assert(frame->body.bytes > 0 && !frame->unit->names_user);
    struct hcs_http_frame *http_frame = quota_take_zeroed(&shard->quota, 1, sizeof *http_frame);
    if (!http_frame)
        return NULL;
    http_frame->connection = peer->connection_id;
    http_frame->user = authz_user(shard, peer);
    http_frame->parcel = parcel_forward(&shard->parcels, frame);
    if (http_frame->parcel)
        return http_frame;
    quota_give(&shard->quota, http_frame);
    return NULL;
}

void hcs_http_post(struct shard *shard, struct peer *peer, const struct frame *frame, hcs_http_done *on_done,
                   void *context) {
    char id[SESSION_ID_BYTES_MAX + 8];
    size_t id_bytes;
    struct hcs_fields posted;
    stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_HCS, HCS_COUNT_FRAMES));
    const char *fault = read_posted(shard, frame, &posted, id, &id_bytes);
    struct hcs_http_frame *http_frame = fault ? NULL : http_frame_make(shard, peer, frame);
    if (http_frame) {
        http_frame->on_done = on_done;
        http_frame->context = context;
        hcs_of(shard)->out++;
        hcs_mail_post(shard, hcs_shard_of_session(shard, id, id_bytes), &http_frame->mail,
                      HCS_MAIL_HTTP_FRAME);
        return;
    }
    struct parcel *error = fault ? post_error(shard, frame, &posted, fault) : NULL;
    if (!error)
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
    on_done(shard, error ? peer : NULL, context, error);
}

void hcs_http_posted(struct shard *shard, struct hcs_http_frame *http_frame) {
    struct peer *peer = peer_find(shard, http_frame->connection);
    struct parcel *error = http_frame->error;
    assert(hcs_of(shard)->out > 0 && !http_frame->parcel);
    hcs_of(shard)->out--;
    if (peer && http_frame->failed) {
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
        peer = NULL;
    }
    if (!peer && error)
        send_release(shard, error);
    http_frame->on_done(shard, peer, http_frame->context, peer ? error : NULL);
    quota_give(&shard->quota, http_frame);
}
