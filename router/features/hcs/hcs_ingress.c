#include "router/features/hcs/hcs_ingress.h"

#include <assert.h>
#include <string.h>

#include "core/hcs/session_id.h"
#include "core/lookup/hcs_fields.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/annex.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/identity.h"
#include "router/features/hcs/hcs_access.h"
#include "router/features/hcs/hcs_frames.h"
#include "router/features/hcs/hcs_mail.h"
#include "router/rights/authn.h"
#include "router/rights/authz.h"

enum { TEXT_BYTES_MAX = 256 };

// A frame on its way in.
struct entering {
    const struct message *message;
    struct hcs_fields frame;
    char id[SESSION_ID_BYTES_MAX + 8], request_id[TEXT_BYTES_MAX], target[TEXT_BYTES_MAX];
    struct hcs_start_fields fields;
    bool request_id_read; // and it is good
};

// --- Refusing

static size_t read_text(const struct entering *entering, enum hcs_fields_key key, char *out,
                        size_t capacity) {
    return hcs_fields_text(&entering->frame, entering->message->body, key, out, capacity);
}

static void entering_refuse(struct shard *shard, const struct entering *entering, enum hcs_frames_code code,
                            const char *message, bool retriable) {
    char type[TEXT_BYTES_MAX];
    struct peer *peer = entering->message->peer;
    size_t type_bytes = read_text(entering, STREAM_TYPE, type, sizeof type);
    bool is_named = entering->fields.id_bytes && !entering->fields.made_up;
    struct hcs_frame_subject about = {is_named ? entering->id : NULL,
                                      entering->request_id_read ? entering->request_id : NULL,
                                      entering->fields.id_bytes, entering->fields.request_id_bytes};
    drop_one(shard, COUNT_DROP_STREAM_REFUSED, peer->name, entering->message->frame->body.bytes);
    if (hcs_fields_is(&entering->frame, entering->message->body, STREAM_TYPE, "error") &&
        hcs_fields_has(&entering->frame, STREAM_REFUSED))
        return; // an answer isn't answered
    struct parcel *error = hcs_frames_error(shard, about, code, message, retriable, type,
                                            type_bytes == SIZE_MAX ? 0 : type_bytes);
    if (error)
        hcs_mail_send(shard, peer->name, error, true);
    else
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
}

static bool refuse_header_of(struct shard *shard, const struct entering *entering) {
    const struct directives *directives = &entering->message->frame->unit->directives;
    bool bad = directives_is_bad(directives);
    if (bad)
        entering_refuse(shard, entering, HCS_FRAMES_INVALID_REQUEST,
                        directives->version == VERSION_OTHER ? "protocol version not supported"
                        : directives->governance_bad         ? "Governance-Level is none"
                        : directives->timeout_bad            ? "Custom-Timeout-Ms is none"
                                                             : "Custom-Idle-Timeout-Ms is none",
                        false);
    return bad;
}

// --- Reading

// Reads the names of the session and of the request, as far as they can be read.
static void read_names(struct entering *entering) {
    size_t id_bytes = read_text(entering, STREAM_SESSION_ID, entering->id, sizeof entering->id);
    if (id_bytes != SIZE_MAX && session_id_valid(entering->id, id_bytes))
        entering->fields.id_bytes = (uint32_t)id_bytes;
    size_t bytes = read_text(entering, STREAM_REQUEST_ID, entering->request_id, sizeof entering->request_id);
    entering->request_id_read = bytes != SIZE_MAX;
    entering->fields.request_id_bytes = bytes == SIZE_MAX ? 0 : (uint32_t)bytes;
    entering->fields.id = entering->id;
    entering->fields.request_id = entering->request_id;
}

static bool has_but(const struct entering *entering, enum hcs_fields_key key, enum json_type type) {
    return hcs_fields_has(&entering->frame, key) && entering->frame.type[key] != type;
}

// NULL, or what is wrong with a start.
static const char *read_start(struct entering *entering) {
    struct hcs_start_fields *fields = &entering->fields;
    const struct attachment *attachment =
        entering->message->peer->annex ? entering->message->peer->annex->attachment : NULL;
    if (!entering->request_id_read)
        return "a start needs a request_id: a string of up to 256 bytes";
    if (hcs_fields_has(&entering->frame, STREAM_SESSION_ID) && !fields->id_bytes)
        return "a session_id is 1 to 128 letters, digits, '-', '_', '.', ':' or '~'";
    if (has_but(entering, STREAM_USER_ID, JSON_STRING) || has_but(entering, STREAM_TARGET_AGENT, JSON_STRING))
        return "user_id and targetAgent are strings";
    fields->has_after =
        hcs_fields_number(&entering->frame, entering->message->body, STREAM_AFTER_SEQ, &fields->after_seq);
    if (hcs_fields_has(&entering->frame, STREAM_AFTER_SEQ) && !fields->has_after)
        return "after_seq is a number from 0 to 2^53-1";
    if (fields->has_after && !fields->id_bytes)
        return "after_seq needs a session_id";
    fields->required = entering->message->frame->unit->directives.governance;
    size_t bytes = read_text(entering, STREAM_TARGET_AGENT, entering->target, sizeof entering->target);
    if (hcs_fields_has(&entering->frame, STREAM_TARGET_AGENT) && (bytes == SIZE_MAX || bytes == 0)) {
        entering->target[0] = '\n'; // nobody's name
        bytes = 1;
    }
    fields->target = entering->target;
    fields->target_bytes = bytes == SIZE_MAX ? 0 : (uint32_t)bytes;
    if (!fields->target_bytes && attachment) {
        fields->target = attachment->agent;
        fields->target_bytes = attachment->bytes;
    }
    return NULL;
}

// --- A start

void hcs_ingress_make_up(struct shard *shard, char *id, struct hcs_start_fields *fields) {
    uint8_t hash[SIPHASH_BYTES];
    do {
        uint64_t what[3] = {UINT64_C(0x73746365726c6864), shard->index, ++shard->streams.ids};
        siphash_name(&shard->hub->settings.secrets.sessions, what, sizeof what, hash);
        for (unsigned digit = 0; digit < HCS_INGRESS_MADE_UP_BYTES; digit++)
            id[digit] = "0123456789abcdef"[hash[digit / 2] >> (digit % 2 ? 0 : 4) & 15];
    } while (hcs_mail_home(shard, id, HCS_INGRESS_MADE_UP_BYTES) != shard->index);
    fields->id = id;
    fields->id_bytes = HCS_INGRESS_MADE_UP_BYTES;
    fields->made_up = true;
}

// The start as it goes to a producer: with the session's name, if the hub made that up.
static struct parcel *start_of(struct shard *shard, const struct entering *entering) {
    static const char before[] = "\"session_id\":\"", behind[] = "\",";
    const struct frame *frame = entering->message->frame;
    char member[sizeof before + HCS_INGRESS_MADE_UP_BYTES + sizeof behind];
    if (!entering->fields.made_up)
        return parcel_forward(&shard->parcels, frame);
    struct span inside = {entering->frame.inside, 0};
    struct parcel *parcel = parcel_open(&shard->parcels, frame, &inside, 1);
    if (!parcel)
        return NULL;
    size_t bytes = sizeof before - 1;
    memcpy(member, before, bytes);
    memcpy(member + bytes, entering->id, HCS_INGRESS_MADE_UP_BYTES);
    bytes += HCS_INGRESS_MADE_UP_BYTES;
    memcpy(member + bytes, behind, sizeof behind - 1);
    if (parcel_fill(parcel, &(struct piece){member, bytes + sizeof behind - 1}))
        return parcel;
    parcel_drop(parcel);
    return NULL;
}

static void enter_start(struct shard *shard, struct entering *entering) {
    const char *fault = read_start(entering);
    if (fault) {
        entering_refuse(shard, entering, HCS_FRAMES_INVALID_REQUEST, fault, false);
        return;
    }
    const struct user *user = authz_user(shard, entering->message->peer);
    entering->fields.barred = !authz_stream(user, entering->fields.target, entering->fields.target_bytes);
    if (entering->fields.barred && !entering->fields.id_bytes) {
        hcs_access_note_refused(shard, entering->message->peer->name, identity_user(entering->message->peer),
                                HCS_ACCESS_DENIED, entering->fields.target, entering->fields.target_bytes);
        entering_refuse(shard, entering, HCS_FRAMES_INVALID_REQUEST, hcs_access_text(HCS_ACCESS_DENIED),
                        false);
        return;
    }
    if (shard->phase != HUB_SERVING) {
        entering_refuse(shard, entering, HCS_FRAMES_INTERNAL, "the hub ends", true);
        return;
    }
    if (!send_has_room(shard, entering->message->peer)) { // a start may have much sent
        entering_refuse(shard, entering, HCS_FRAMES_INTERNAL, "overloaded: your queue is full", true);
        return;
    }
    if (!entering->fields.id_bytes)
        hcs_ingress_make_up(shard, entering->id, &entering->fields);
    struct parcel *start = start_of(shard, entering);
    if (start && hcs_client_send(shard, entering->message->peer, &entering->fields, start))
        return;
    if (start)
        parcel_drop(start);
    entering_refuse(shard, entering, HCS_FRAMES_INTERNAL, "overloaded: there is no memory for a client",
                    true);
}

// --- All

static void refuse_unreadable(struct shard *shard, const struct message *message,
                              const struct hcs_fields *frame) {
    struct text data;
    bool broken = frame->verdict == LOOKUP_NOT_JSON;
    if (shard->settings->users)
        authn_charge(shard, message->peer, message->frame->body.bytes);
    text_init(&data);
    reply_data_text(&data, "fault",
                    broken                               ? "the body is not JSON"
                    : frame->verdict == LOOKUP_AMBIGUOUS ? "this key must occur once and without escapes"
                                                         : "the type of a frame is a string");
    if (broken)
        reply_data_number(&data, "offset", message->frame->unit->body_at + (int64_t)frame->fault_at);
    else
        reply_data_text(&data, "key", frame->fault_key ? frame->fault_key : "type");
    reply_error(shard, message->peer, (struct reply_to){0}, broken ? ERROR_PARSE : ERROR_INVALID_REQUEST,
                &data);
}

static void pass_on(struct shard *shard, const struct entering *entering) {
    const struct message *message = entering->message;
    struct parcel *parcel = parcel_forward(&shard->parcels, message->frame);
    if (!parcel) {
        entering_refuse(shard, entering, HCS_FRAMES_INTERNAL, "overloaded: there is no memory for this",
                        true);
        return;
    }
    parcel->mail.connection = message->peer->name;
    hcs_mail_post(shard, hcs_mail_home(shard, entering->id, entering->fields.id_bytes), &parcel->mail,
                  MAIL_STREAM_FRAME);
}

void hcs_ingress_route(struct shard *shard, const struct message *message) {
    struct entering entering;
    assert(message->lookup.kind == BODY_STREAM && !message->exchange);
    stats_count(&shard->stats, COUNT_STREAM_FRAMES);
    entering.message = message;
    entering.fields = (struct hcs_start_fields){0};
    hcs_fields_read(&entering.frame, message->body, message->frame->body.bytes);
    if (entering.frame.verdict != LOOKUP_GOOD || has_but(&entering, STREAM_TYPE, JSON_STRING)) {
        refuse_unreadable(shard, message, &entering.frame);
        return;
    }
    read_names(&entering);
    const char *unknown =
        shard->settings->users ? authn_fault(shard, message->peer, message->frame->body.bytes) : NULL;
    if (unknown) {
        entering_refuse(shard, &entering, HCS_FRAMES_INVALID_REQUEST, unknown, false);
        return;
    }
    if (refuse_header_of(shard, &entering))
        return;
    if (!message->peer->initialized && shard->settings->require_initialize)
        entering_refuse(shard, &entering, HCS_FRAMES_INVALID_REQUEST, "not initialized", false);
    else if (hcs_fields_is(&entering.frame, message->body, STREAM_TYPE, "start"))
        enter_start(shard, &entering);
    else if (!entering.fields.id_bytes)
        entering_refuse(shard, &entering, HCS_FRAMES_INVALID_REQUEST, "this frame needs a session_id", false);
    else
        pass_on(shard, &entering);
}
