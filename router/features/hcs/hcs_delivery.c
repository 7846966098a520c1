#include "router/features/hcs/hcs_delivery.h"

#include <assert.h>

#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/features/hcs/hcs_frames.h"
#include "router/features/hcs/hcs_mail.h"

// Chunks of the history that are sent at once: a start is a few bytes, and has the hub send much.
enum { CATCH_UP_CHUNKS = 128 };

void hcs_delivery_parcel(struct shard *shard, struct hcs_client *client, struct parcel *parcel,
                         struct hcs_tag tag) {
    assert(parcel->shares == 0 && !parcel->dressed);
    parcel->to = client;
    parcel->hub_id = hcs_tag_pack(tag);
    hcs_mail_post(shard, connection_shard(client->connection), &parcel->mail, HCS_MAIL_GIVE);
}

bool hcs_delivery_share(struct shard *shard, struct hcs_client *client, struct parcel *origin,
                        struct hcs_tag tag) {
    struct parcel *share = parcel_share(&shard->parcels, origin);
    if (share)
        hcs_delivery_parcel(shard, client, share, tag);
    return share != NULL;
}

// The client's place isn't in the history any more: it is told, and goes on with what is.
static bool skip_gone(struct shard *shard, struct hcs_session *session, struct hcs_client *client,
                      const struct hcs_live_chunk *live) {
    const struct history *history = &session->history;
    const struct chunk *first = history_at(history, history->first);
    uint64_t to = first ? history->first : history->end - (live != NULL);
    uint64_t seq = first ? first->seq : live ? live->seq : history->last_seq + 1;
    assert(to > client->next);
    if (client->placed && !history_lacks(history, client->seq)) { // it had asked for none of these
        client->next = to;
        return true;
    }
    struct hcs_frame_subject subject = {hcs_client_id(client), hcs_client_request_id(client),
                                        client->id_bytes, client->request_id_bytes};
    struct parcel *parcel = hcs_frames_gone(shard, subject, client->placed ? &client->seq : NULL, seq);
    if (!parcel)
        return false;
    drop_several(shard, COUNT_DROP_STREAM_GONE, client->connection, 0, (uint32_t)(to - client->next));
    hcs_delivery_parcel(shard, client, parcel, (struct hcs_tag){.type = TYPE_CONTROL});
    client->next = to;
    return true;
}

// Returns whether the client has named a place that is further on.
static bool is_behind(const struct hcs_client *client, uint64_t seq) {
    return client->placed && seq <= client->seq;
}

bool hcs_delivery_catch_up(struct shard *shard, struct hcs_session *session, struct hcs_client *client,
                           const struct hcs_live_chunk *live) {
    const struct history *history = &session->history;
    for (unsigned remaining = CATCH_UP_CHUNKS; client->next < history->end; remaining--) {
        if (remaining == 0)
            return false;
        const struct chunk *chunk = history_at(history, client->next);
        bool is_live = live && client->next == history->end - 1;
        if (!chunk && !is_live) {
            if (!skip_gone(shard, session, client, live))
                return false;
            continue;
        }
        struct hcs_tag tag = {.type = TYPE_CHUNK,
                              .lod = is_live ? live->lod : LOD_KEPT,
                              .seq = is_live ? live->seq : chunk->seq};
        if (!is_behind(client, tag.seq)) {
            if (!hcs_delivery_share(shard, client, is_live ? live->parcel : chunk->parcel, tag))
                return false;
            client->seq = tag.seq;
            client->placed = true;
        }
        client->next++;
    }
    return true;
}

// --- Pausing

void hcs_delivery_hold(struct shard *shard, const struct hcs_session *session, struct hcs_client *client,
                       const struct hcs_live_chunk *live) {
    assert(client->paused);
    if (!live || client->held_to != session->history.end - 1 ||
        client->held_bytes >= shard_limits(shard)->queue_bytes_max)
        return;
    if (is_behind(client, live->seq)) {
        client->held_to++;
        return;
    }
    struct parcel *share = parcel_share(&shard->parcels, live->parcel);
    if (!share)
        return;
    share->hub_id = hcs_tag_pack((struct hcs_tag){.type = TYPE_CHUNK, .seq = live->seq});
    if (!client->held.first)
        list_append(&shard->streams.holding, &client->holding);
    parcel_list_append(&client->held, share);
    client->held_bytes += share->bytes + sizeof *share;
    client->held_to++;
}

void hcs_delivery_held(struct shard *shard, struct hcs_client *client) {
    assert(client->held_to >= client->next);
    for (struct parcel *share; (share = parcel_list_take(&client->held));) {
        struct hcs_tag tag = hcs_tag_unpack(share->hub_id);
        hcs_delivery_parcel(shard, client, share, tag);
        client->seq = tag.seq;
        client->placed = true;
    }
    client->next = client->held_to;
    client->held_bytes = 0;
    list_remove(&client->holding);
}

void hcs_delivery_drop_held(struct shard *shard, struct hcs_client *client, enum counter counter) {
    for (struct parcel *share; (share = parcel_list_take(&client->held));) {
        share->hub_id = 0;
        drop_one(shard, counter, client->connection, share->bytes);
        send_release(shard, share);
    }
    client->held_bytes = 0;
    list_remove(&client->holding);
}

// The client's place stays where it was. Chunks that the history doesn't have then are told when the client
// goes on.
static void release_held(struct shard *shard, struct hcs_client *client) {
    assert(client->paused && client->held.first);
    for (struct parcel *share; (share = parcel_list_take(&client->held));) {
        share->hub_id = 0;
        send_release(shard, share);
    }
    client->held_bytes = 0;
    client->held_to = client->next;
    list_remove(&client->holding);
}

bool hcs_delivery_relieve(struct shard *shard) {
    size_t part = shard_limits(shard)->memory_bytes_max / 16, bytes = 0;
    for (struct list *node; bytes < part && (node = list_take(&shard->streams.holding));) {
        struct hcs_client *client = list_entry(node, struct hcs_client, holding);
        assert(client->held_bytes > 0);
        bytes += client->held_bytes;
        release_held(shard, client);
    }
    return bytes > 0;
}
