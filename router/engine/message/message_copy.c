#include "router/engine/message/message_copy.h"

#include <assert.h>
#include <string.h>

#include "core/send/frame_copy.h"
#include "router/engine/shard/identity.h"

static bool keep_attachment(struct shard *shard, struct message_copy *offered,
                            const struct message *message) {
    const struct attachment *attachment = message_attachment(message);
    size_t bytes = attachment ? sizeof *attachment + attachment->bytes : 0;
    offered->attachment = NULL;
    if (!attachment)
        return true;
    offered->attachment = quota_take(&shard->quota, bytes);
    if (offered->attachment)
        memcpy(offered->attachment, attachment, bytes);
    return offered->attachment != NULL;
}

// Keeps the credential: over HTTP each request shows its own.
static void keep_credential(struct message_copy *offered, const struct peer *peer) {
    const struct identity *identity = identity_of(peer);
    offered->user = identity ? identity->user : NULL;
    offered->kind = identity ? identity->kind : CREDENTIAL_NONE;
    offered->digest = identity ? identity->digest : (struct digest){0};
}

struct message_copy *message_copy_keep(struct shard *shard, const struct message *message, bool is_offer) {
    struct message_copy *offered = quota_take(&shard->quota, sizeof *offered);
    if (!offered)
        return NULL;
    keep_credential(offered, message->peer);
    offered->offered = is_offer;
    offered->sought = !is_offer || (message->returned && message->returned->sought);
    offered->approved = message->approved;
    offered->audit = message->audit;
    offered->probed = offered->first = false;
    offered->given = message->returned ? message->returned->given : message->frame->unit->directives;
    if (keep_attachment(shard, offered, message) &&
        frame_copy(&shard->buffers, message->frame, &offered->unit, &offered->frame))
        return offered;
    digest_wipe(&offered->digest, sizeof offered->digest);
    quota_give(&shard->quota, offered->attachment);
    quota_give(&shard->quota, offered);
    return NULL;
}

bool message_copy_take_place(const struct message *message, const struct account *account) {
    struct account **place = message->returned ? message->returned->place : NULL;
    assert(account);
    if (!place || *place != account)
        return false;
    *place = NULL;
    return true;
}

void message_copy_drop(struct shard *shard, struct message_copy *offered) {
    assert(offered->frame.buffer->references > 0);
    buffer_drop(offered->frame.buffer);
    digest_wipe(&offered->digest, sizeof offered->digest);
    quota_give(&shard->quota, offered->attachment);
    quota_give(&shard->quota, offered);
}
