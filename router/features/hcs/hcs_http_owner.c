#include "router/features/hcs/hcs_http_owner.h"

#include <assert.h>
#include <string.h>

#include "router/engine/shard/identity.h"

struct hcs_http_owner *hcs_http_owner_find(const struct hcs_session *session, const char *request_id,
                                           size_t bytes, const struct user *user) {
    for (struct list *node = session->http_owners.next; node != &session->http_owners; node = node->next) {
        struct hcs_http_owner *http_owner = list_entry(node, struct hcs_http_owner, link);
        bool own = !user || identity_same(http_owner->user, user);
        if (own && http_owner->bytes == bytes && memcmp(http_owner->request_id, request_id, bytes) == 0)
            return http_owner;
    }
    return NULL;
}

static void hcs_http_owner_give(struct shard *shard, struct hcs_session *session,
                                struct hcs_http_owner *http_owner) {
    assert(session->http_owner_count > 0 && http_owner->streams == 0);
    list_remove(&http_owner->link);
    session->http_owner_count--;
    quota_give(&shard->quota, http_owner);
}

// The oldest that has no stream open.
static void forget_one(struct shard *shard, struct hcs_session *session) {
    for (struct list *node = session->http_owners.next; node != &session->http_owners; node = node->next) {
        struct hcs_http_owner *http_owner = list_entry(node, struct hcs_http_owner, link);
        if (http_owner->streams == 0) {
            hcs_http_owner_give(shard, session, http_owner);
            return;
        }
    }
}

struct hcs_http_owner *hcs_http_owner_take(struct shard *shard, struct hcs_session *session,
                                           const struct hcs_client *client) {
    const char *request_id = hcs_client_request_id(client);
    size_t bytes = client->request_id_bytes;
    struct hcs_http_owner *http_owner = hcs_http_owner_find(session, request_id, bytes, client->user);
    if (!http_owner) {
        if (session->http_owner_count >= SESSION_VOICES_MAX)
            forget_one(shard, session);
        http_owner = quota_take_zeroed(&shard->quota, 1, sizeof *http_owner + bytes);
        if (!http_owner)
            return NULL;
        http_owner->user = client->user;
        http_owner->bytes = (uint32_t)bytes;
        memcpy(http_owner->request_id, request_id, bytes);
        list_append(&session->http_owners, &http_owner->link);
        session->http_owner_count++;
    }
    http_owner->streams++;
    return http_owner;
}

void hcs_http_owner_give_all(struct shard *shard, struct hcs_session *session) {
    while (!list_empty(&session->http_owners))
        hcs_http_owner_give(shard, session,
                            list_entry(session->http_owners.next, struct hcs_http_owner, link));
}
