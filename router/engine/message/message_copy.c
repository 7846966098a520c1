#include "router/engine/message/message_copy.h"

#include <assert.h>
#include <string.h>

#include "core/send/parcel.h"
#include "router/engine/shard/identity.h"

static bool save_attachment(struct shard *shard, struct message_copy *copy, const struct message *message) {
    const struct attachment *attachment = message_attachment(message);
    size_t bytes = attachment ? sizeof *attachment + attachment->bytes : 0;
    copy->attachment = NULL;
    if (!attachment)
        return true;
    copy->attachment = quota_take(&shard->quota, bytes);
    if (copy->attachment)
        memcpy(copy->attachment, attachment, bytes);
    return copy->attachment != NULL;
}

// Each request of HTTP shows a credential of its own.
static void save_credential(struct message_copy *copy, const struct peer *peer) {
    const struct identity *identity = identity_of(peer);
    copy->user = identity ? identity->user : NULL;
    copy->kind = identity ? identity->kind : CREDENTIAL_NONE;
    copy->digest = identity ? identity->digest : (struct digest){0};
}

struct message_copy *message_copy_create(struct shard *shard, const struct message *message) {
    struct message_copy *copy = quota_take(&shard->quota, sizeof *copy);
    if (!copy)
        return NULL;
    save_credential(copy, message->peer);
    copy->is_first = copy->first_over = copy->is_former = false;
    copy->approved = message->approved != MESSAGE_UNAPPROVED;
    copy->audit = message->audit;
    copy->original = message->retry ? message->retry->original : message->frame->unit->directives;
    if (save_attachment(shard, copy, message) &&
        frame_copy(&shard->buffers, message->frame, &copy->unit, &copy->frame))
        return copy;
    digest_wipe(&copy->digest, sizeof copy->digest);
    quota_give(&shard->quota, copy->attachment);
    quota_give(&shard->quota, copy);
    return NULL;
}

bool message_copy_take_place(const struct message *message, const struct account *account) {
    struct account **place = message->retry ? message->retry->place : NULL;
    assert(account);
    if (!place || *place != account)
        return false;
    *place = NULL;
    return true;
}

void message_copy_drop(struct shard *shard, struct message_copy *copy) {
    assert(copy->frame.buffer->references > 0);
    buffer_drop(copy->frame.buffer);
    digest_wipe(&copy->digest, sizeof copy->digest);
    quota_give(&shard->quota, copy->attachment);
    quota_give(&shard->quota, copy);
}
