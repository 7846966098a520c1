#include "router/route/progress.h"

#include <assert.h>
#include <string.h>

#include "router/request/refuse.h"
#include "router/send/send.h"
#include "router/shard/drop.h"
#include "router/shard/post.h"

// --- In a request

static const struct {
    enum lookup_key key;
    const char *field;
    char letter; // at the end of the hub's token
} kinds[TOKENS_COUNT] = {
    [TOKEN_WORK_DONE] = {KEY_WORK_DONE_TOKEN, "params.workDoneToken", 'w'},
    [TOKEN_PARTIAL_RESULT] = {KEY_PARTIAL_RESULT_TOKEN, "params.partialResultToken", 'p'},
    [TOKEN_META] = {KEY_META_PROGRESS_TOKEN, "params._meta.progressToken", 'm'},
};

static bool is_token(const struct lookup *lookup, enum lookup_key key) {
    return lookup_has(lookup, key) && (lookup->type[key] == JSON_STRING || lookup->type[key] == JSON_NUMBER);
}

bool progress_read(struct shard *shard, const struct message *message, struct progress_tokens *tokens) {
    assert(message_is_request(message));
    *tokens = (struct progress_tokens){0};
    for (unsigned which = 0; which < TOKENS_COUNT; which++) {
        if (!is_token(&message->lookup, kinds[which].key))
            continue;
        struct span value = message->lookup.value[kinds[which].key];
        if (value.bytes > shard_limits(shard)->id_bytes_max) {
            refuse_field(shard, message, kinds[which].field, "a token within the limit of ids");
            return false;
        }
        tokens->values[which] = value;
        tokens->count++;
    }
    return true;
}

size_t progress_token(char *out, uint64_t hub_id, enum pending_token which) {
    size_t count = 0;
    assert(which < TOKENS_COUNT);
    out[count++] = '"';
    count += text_digits(out + count, hub_id);
    out[count++] = kinds[which].letter;
    out[count++] = '"';
    assert(count <= PROGRESS_TOKEN_BYTES);
    return count;
}

// --- In a report

// Reads a token of the hub's. False when it is none.
static bool read_token(const uint8_t *body, struct span value, uint64_t *hub_id, unsigned *which) {
    if (value.bytes < 4 || value.bytes > PROGRESS_TOKEN_BYTES || body[value.at] != '"')
        return false;
    struct span digits = {value.at + 1, value.bytes - 3};
    char letter = (char)body[value.at + value.bytes - 2];
    for (*which = 0; *which < TOKENS_COUNT && kinds[*which].letter != letter;)
        ++*which;
    return *which < TOKENS_COUNT && json_number_valid(body, digits) &&
           json_number_whole(body, digits, hub_id);
}

static void drop(struct shard *shard, struct parcel *parcel, enum counter counter, uint64_t from) {
    drop_one(shard, counter, from, parcel->bytes);
    send_release(shard, parcel);
}

// At the shard of whoever asked. Only the target of a request reports its progress.
static void progress_deliver(struct shard *shard, uint64_t hub_id, enum pending_token which, uint64_t from,
                             struct parcel *parcel) {
    assert(hub_id_shard(hub_id) == shard->index && which < TOKENS_COUNT);
    struct pending *pending = pending_find(&shard->pending, hub_id);
    struct piece token = {0};
    uint32_t bytes = 0;
    if (pending && pending->target == from)
        token.bytes = pending_token(pending, which, &bytes);
    token.count = bytes;
    struct peer *source = token.bytes ? peer_find(shard, pending->source) : NULL;
    if (!source || source->transport->answers_only) {
        drop(shard, parcel, COUNT_DROP_PROGRESS_UNKNOWN, from);
    } else if (!send_has_room(shard, source)) {
        drop(shard, parcel, COUNT_DROP_OVERLOADED, from);
    } else if (!parcel_fill(parcel, &token)) {
        drop(shard, parcel, COUNT_DROP_NO_MEMORY, from);
    } else {
        parcel->hub_id = 0;
        stats_count(&shard->stats, COUNT_PROGRESS_FORWARDED);
        if (source->transport->report)
            source->transport->report(shard, source, pending, parcel);
        else
            send_queue_bound(shard, source, parcel);
    }
}

void progress_arrived(struct shard *shard, struct parcel *parcel) {
    assert(parcel->pool->shard != shard->index);
    progress_deliver(shard, parcel->hub_id, (enum pending_token)parcel->mail.detail, parcel->mail.connection,
                     parcel);
}

static enum lookup_key token_key(const struct message *message) {
    return message_method_is(message, "$/progress")               ? KEY_TOKEN
           : message_method_is(message, "notifications/progress") ? KEY_PROGRESS_TOKEN
                                                                  : LOOKUP_KEYS_COUNT;
}

uint64_t progress_request(const struct message *message) {
    uint64_t hub_id = 0;
    unsigned which = 0;
    enum lookup_key key = token_key(message);
    bool has = key < LOOKUP_KEYS_COUNT && !message_is_request(message) && lookup_has(&message->lookup, key);
    return has && read_token(message->body, message->lookup.value[key], &hub_id, &which) ? hub_id : 0;
}

bool progress_route(struct shard *shard, const struct message *message) {
    const struct lookup *lookup = &message->lookup;
    uint64_t hub_id = 0;
    unsigned which = 0;
    enum lookup_key key = token_key(message);
    if (key == LOOKUP_KEYS_COUNT || message_is_request(message) || !lookup_has(lookup, key) ||
        !read_token(message->body, lookup->value[key], &hub_id, &which))
        return false;
    uint32_t to = hub_id_shard(hub_id);
    struct parcel *parcel = NULL;
    if (to < shard->hub->settings.shard_count)
        parcel = parcel_open(&shard->parcels, message->frame, &lookup->value[key], 1);
    if (!parcel) {
        drop_one(shard,
                 to < shard->hub->settings.shard_count ? COUNT_DROP_NO_MEMORY : COUNT_DROP_PROGRESS_UNKNOWN,
                 message->peer->name, message->frame->body.bytes);
        return true;
    }
    parcel->lane = (uint8_t)message_lane(message);
    if (to == shard->index) {
        progress_deliver(shard, hub_id, (enum pending_token)which, message->peer->name, parcel);
        return true;
    }
    parcel->hub_id = hub_id;
    parcel->mail.kind = MAIL_PROGRESS;
    parcel->mail.detail = (uint8_t)which;
    parcel->mail.connection = message->peer->name;
    mailbox_post(hub_mailbox(shard->hub, shard->index, to), &parcel->mail);
    return true;
}
