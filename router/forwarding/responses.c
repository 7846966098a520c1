#include "router/forwarding/responses.h"

#include <assert.h>

#include "router/engine/request/completion.h"
#include "router/engine/request/validate.h"
#include "router/engine/shard/annex.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/post.h"
#include "router/rights/authn.h"

// The hub id that a response bears, or 0.
static uint64_t response_hub_id(const struct shard *shard, const struct message *message) {
    uint64_t hub_id = 0;
    const struct lookup *lookup = &message->lookup;
    if (!lookup_has(lookup, KEY_ID) || lookup->type[KEY_ID] != JSON_NUMBER ||
        !json_number_whole(message->body, lookup->value[KEY_ID], &hub_id) ||
        hub_id_shard(hub_id) >= shard->hub->settings.shard_count)
        return 0;
    return hub_id;
}

static bool response_usable(const struct shard *shard, const struct message *message) {
    const struct directives *directives = &message->frame->unit->directives;
    return message->lookup.verdict == LOOKUP_GOOD && validate_response(shard, message) &&
           !directives_is_bad(directives);
}

static void hand_to_source(struct shard *shard, uint64_t hub_id, struct parcel *parcel, uint64_t from,
                           bool usable) {
    uint32_t to = hub_id_shard(hub_id);
    assert(to < shard->hub->settings.shard_count && parcel->hole_count == 1);
    if (to != shard->index) {
        parcel->hub_id = hub_id;
        parcel->mail.kind = usable ? MAIL_ANSWER : MAIL_BROKEN;
        parcel->mail.connection = from;
        mailbox_post(hub_mailbox(shard->hub, shard->index, to), &parcel->mail);
    } else if (usable) {
        completion_deliver(shard, hub_id, from, parcel);
    } else {
        parcel_drop(parcel);
        completion_broken(shard, hub_id, from);
    }
}

bool responses_is(const struct shard *shard, const struct message *message) {
    if (message->lookup.kind == BODY_RESPONSE)
        return true;
    bool is_owed = shard->settings->strict && response_hub_id(shard, message) &&
                   hub_owed(shard->hub, message->peer->name);
    return validate_is_response(shard, message, is_owed);
}

void responses_route(struct shard *shard, const struct message *message) {
    stats_count(&shard->stats, COUNT_RESPONSES_RECEIVED);
    if (__builtin_expect(shard->settings->users != NULL, false))
        authn_charge(shard, message->peer, message->frame->body.bytes);
    bool usable = response_usable(shard, message);
    if (!usable)
        drop_one(shard, COUNT_DROP_RESPONSE_BROKEN, message->peer->name, message->frame->body.bytes);
    uint64_t hub_id = response_hub_id(shard, message);
    if (!hub_id) {
        drop_one(shard, COUNT_DROP_RESPONSE_UNKNOWN, message->peer->name, message->frame->body.bytes);
        return;
    }
    struct parcel *parcel =
        parcel_open_answer(&shard->parcels, message->frame, &message->lookup.value[KEY_ID]);
    if (parcel) {
        parcel->mail.detail = message_is_error(message) ? ANSWER_ERROR : 0;
        parcel->body = message->frame->body;
    }
    if (parcel)
        hand_to_source(shard, hub_id, parcel, message->peer->name, usable);
    else // what it owes ends when the connection goes
        peer_close(shard, message->peer, COUNT_CLOSED_NO_MEMORY);
}

void responses_end(struct shard *shard, struct peer *peer, const struct frame *frame, struct span id,
                   uint64_t hub_id, uint8_t detail) {
    assert(hub_id_shard(hub_id) < shard->hub->settings.shard_count);
    struct parcel *parcel = parcel_open_answer(&shard->parcels, frame, &id);
    if (!parcel) {
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    parcel->mail.detail = detail;
    parcel->body = frame->body;
    hand_to_source(shard, hub_id, parcel, peer->name, true);
}

bool responses_deliver(struct shard *shard, struct peer *link, const struct frame *frame, uint64_t hub_id) {
    struct message message;
    uint64_t id = 0;
    message_begin(&message, link, NULL);
    message.frame = frame;
    message.body = frame_body(frame);
    validate_look_up(shard, &message);
    const struct lookup *lookup = &message.lookup;
    bool has_id =
        lookup->kind == BODY_RESPONSE && lookup->verdict == LOOKUP_GOOD && lookup_has(lookup, KEY_ID);
    // A hub answers a request that it can't read without an id: the subject tells the request.
    bool is_its =
        has_id && (lookup->type[KEY_ID] == JSON_NULL
                       ? message_is_error(&message)
                       : lookup->type[KEY_ID] == JSON_NUMBER &&
                             json_number_whole(message.body, lookup->value[KEY_ID], &id) && id == hub_id);
    if (!is_its || !response_usable(shard, &message))
        return false;
    stats_count(&shard->stats, COUNT_RESPONSES_RECEIVED);
    responses_end(shard, link, frame, lookup->value[KEY_ID], hub_id,
                  message_is_error(&message) ? ANSWER_ERROR : 0);
    return true;
}
