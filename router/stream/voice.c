#include "router/stream/voice.h"

#include <assert.h>
#include <string.h>

#include "router/engine/shard/identity.h"

struct voice *voice_find(const struct session *session, const char *request_id, size_t bytes,
                         const struct user *user) {
    for (struct list *node = session->voices.next; node != &session->voices; node = node->next) {
        struct voice *voice = list_entry(node, struct voice, link);
        bool own = !user || identity_same(voice->user, user);
        if (own && voice->bytes == bytes && memcmp(voice->request_id, request_id, bytes) == 0)
            return voice;
    }
    return NULL;
}

static void voice_give(struct shard *shard, struct session *session, struct voice *voice) {
    assert(session->voice_count > 0 && voice->streams == 0);
    list_remove(&voice->link);
    session->voice_count--;
    quota_give(&shard->kept, voice);
}

// The oldest that has no stream open.
static void forget_one(struct shard *shard, struct session *session) {
    for (struct list *node = session->voices.next; node != &session->voices; node = node->next) {
        struct voice *voice = list_entry(node, struct voice, link);
        if (voice->streams == 0) {
            voice_give(shard, session, voice);
            return;
        }
    }
}

struct voice *voice_take(struct shard *shard, struct session *session, const struct stream_client *client) {
    const char *request_id = client_request_id(client);
    size_t bytes = client->request_id_bytes;
    struct voice *voice = voice_find(session, request_id, bytes, client->user);
    if (!voice) {
        if (session->voice_count >= SESSION_VOICES_MAX)
            forget_one(shard, session);
        voice = quota_take_zeroed(&shard->kept, 1, sizeof *voice + bytes);
        if (!voice)
            return NULL;
        voice->user = client->user;
        voice->bytes = (uint32_t)bytes;
        memcpy(voice->request_id, request_id, bytes);
        list_append(&session->voices, &voice->link);
        session->voice_count++;
    }
    voice->streams++;
    return voice;
}

void voice_give_all(struct shard *shard, struct session *session) {
    while (!list_empty(&session->voices))
        voice_give(shard, session, list_entry(session->voices.next, struct voice, link));
}
