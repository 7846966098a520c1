#include "router/forwarding/progress.h"

#include <assert.h>
#include <string.h>

#include "router/engine/message/progress_token.h"
#include "router/engine/request/refuse.h"
#include "router/engine/request/request_timeout.h"
#include "router/engine/request/validate.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/post.h"

// --- In a request

static const struct {
    enum lookup_key key;
    const char *field;
} kinds[TOKENS_COUNT] = {
    [TOKEN_WORK_DONE] = {KEY_WORK_DONE_TOKEN, "params.workDoneToken"},
    [TOKEN_PARTIAL_RESULT] = {KEY_PARTIAL_RESULT_TOKEN, "params.partialResultToken"},
    [TOKEN_META] = {KEY_META_PROGRESS_TOKEN, "params._meta.progressToken"},
};

enum {
    TOKEN_KEYS = 1U << KEY_WORK_DONE_TOKEN | 1U << KEY_PARTIAL_RESULT_TOKEN | 1U << KEY_META_PROGRESS_TOKEN
};

static bool is_token(const struct lookup *lookup, enum lookup_key key) {
    return lookup_has(lookup, key) && (lookup->type[key] == JSON_STRING || lookup->type[key] == JSON_NUMBER);
}

void progress_find(const struct message *message, struct progress_tokens *tokens) {
    *tokens = (struct progress_tokens){0};
    for (unsigned kind = 0; kind < TOKENS_COUNT; kind++)
        if (is_token(&message->lookup, kinds[kind].key)) {
            tokens->values[kind] = message->lookup.value[kinds[kind].key];
            tokens->count++;
        }
}

bool progress_read(struct shard *shard, const struct message *message, struct progress_tokens *tokens) {
    assert(message_is_request(message));
    tokens->count = 0;
    if (__builtin_expect(!(message->lookup.present & TOKEN_KEYS), true))
        return true;
    *tokens = (struct progress_tokens){0};
    for (unsigned kind = 0; kind < TOKENS_COUNT; kind++) {
        if (!is_token(&message->lookup, kinds[kind].key))
            continue;
        struct span value = message->lookup.value[kinds[kind].key];
        if (value.bytes > shard_limits(shard)->id_bytes_max) {
            refuse_field(shard, message, kinds[kind].field, "a token within the limit of ids");
            return false;
        }
        tokens->values[kind] = value;
        tokens->count++;
    }
    return true;
}

// --- In a report

static void drop(struct shard *shard, struct parcel *parcel, enum counter counter, uint64_t from) {
    drop_one(shard, counter, from, parcel->bytes);
    send_release(shard, parcel);
}

// Delivers a report to the source of the request, on the source's shard. A report of any peer but the request's target
// is dropped.
static void progress_deliver(struct shard *shard, uint64_t hub_id, enum pending_token kind, uint64_t from,
                             struct parcel *parcel) {
    assert(hub_id_shard(hub_id) == shard->index && kind < TOKENS_COUNT);
    struct pending *pending = pending_find(&shard->pending, hub_id);
    struct piece token = {0};
    uint32_t bytes = 0;
    if (pending && pending->target == from)
        token.bytes = pending_token(pending, kind, &bytes);
    token.count = bytes;
    if (token.bytes && pending->idle)
        request_timeout_extend(shard, pending);
    struct peer *source = token.bytes ? peer_find(shard, pending->source) : NULL;
    if (!source || source->transport->answers_only) {
        drop(shard, parcel, COUNT_DROP_PROGRESS_UNKNOWN, from);
    } else if (!queue_limit_has_room(shard, source)) {
        drop(shard, parcel, COUNT_DROP_OVERLOADED, from);
    } else if (!parcel_fill(parcel, &token)) {
        drop(shard, parcel, COUNT_DROP_NO_MEMORY, from);
    } else {
        parcel->hub_id = 0;
        stats_count(&shard->stats, COUNT_PROGRESS_FORWARDED);
        if (source->transport->ops.report)
            source->transport->ops.report(shard, source, pending, parcel);
        else
            send_queue_this_process(shard, source, parcel);
    }
}

void progress_arrived(struct shard *shard, struct parcel *parcel) {
    assert(parcel->pool->shard != shard->index);
    progress_deliver(shard, parcel->hub_id, (enum pending_token)parcel->mail.detail, parcel->mail.connection,
                     parcel);
}

bool progress_route(struct shard *shard, const struct message *message) {
    struct progress_report report;
    if (!progress_token_read(message, &report))
        return false;
    uint32_t to = hub_id_shard(report.hub_id);
    struct parcel *parcel = NULL;
    if (to < shard->hub->start_settings.shard_count)
        parcel =
            parcel_create_with_holes(&shard->parcels, message->frame, &message->lookup.value[report.key], 1);
    if (!parcel) {
        drop_one(shard,
                 to < shard->hub->start_settings.shard_count ? COUNT_DROP_NO_MEMORY
                                                             : COUNT_DROP_PROGRESS_UNKNOWN,
                 message->peer->connection_id, message->frame->body.bytes);
        return true;
    }
    parcel->lane = (uint8_t)message_lane(message);
    if (to == shard->index) {
        progress_deliver(shard, report.hub_id, report.kind, message->peer->connection_id, parcel);
        return true;
    }
    parcel->hub_id = report.hub_id;
    parcel->mail.kind = MAIL_PROGRESS;
    parcel->mail.detail = (uint8_t)report.kind;
    parcel->mail.connection = message->peer->connection_id;
    mailbox_post(hub_mailbox(shard->hub, shard->index, to), &parcel->mail);
    return true;
}

// Looks up a report of another hub. False: the message is no report.
static bool read_report(struct shard *shard, struct peer *link, const struct frame *frame,
                        struct message *message, struct progress_report *report) {
    message_begin(message, link, NULL);
    validate_look_up(shard, message, frame);
    if (message->lookup.verdict != LOOKUP_GOOD || message->lookup.kind != BODY_NOTIFICATION)
        return false;
    validate_read_method(message);
    return progress_token_read(message, report) &&
           hub_id_shard(report->hub_id) < shard->hub->start_settings.shard_count;
}

bool progress_number(struct shard *shard, struct peer *link, const struct frame *frame, uint64_t *number) {
    struct message message;
    struct progress_report report;
    bool is_report = read_report(shard, link, frame, &message, &report);
    *number = is_report ? report.hub_id : 0;
    return is_report;
}

bool progress_remote(struct shard *shard, struct peer *link, const struct frame *frame) {
    struct message message;
    struct progress_report report;
    return read_report(shard, link, frame, &message, &report) && progress_route(shard, &message);
}
