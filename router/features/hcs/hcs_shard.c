#include "router/features/hcs/hcs_shard.h"

#include <assert.h>

#include "core/rights/account.h"
#include "core/send/line_breaks.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/feature.h"

bool hcs_shard_open(struct shard *shard) {
    struct hcs_shard *streams = hcs_of(shard);
    const struct siphash_key *key = &shard->hub->start_settings.secrets.tables;
    struct quota *quota = &shard->quota;
    name_map_init(&streams->by_id, key, quota);
    name_map_init(&streams->by_handle, key, quota);
    name_map_init(&streams->by_client, key, quota);
    list_init(&streams->live);
    list_init(&streams->ended);
    list_init(&streams->over);
    list_init(&streams->holding);
    list_init(&streams->drained);
    timer_init(&streams->look_timer, FEATURE_KIND(FEATURE_HCS, HCS_TIMER_LOOK));
    return true;
}

void hcs_shard_close(struct shard *shard) {
    struct hcs_shard *streams = hcs_of(shard);
    assert(list_empty(&streams->live) && list_empty(&streams->ended) && list_empty(&streams->over));
    assert(list_empty(&streams->holding));
    assert(streams->out == 0 && streams->client_count == 0 && streams->footprint == 0);
    wheel_disarm(&streams->look_timer);
    name_map_deinit(&streams->by_id);
    name_map_deinit(&streams->by_handle);
    name_map_deinit(&streams->by_client);
}

void hcs_shard_peer_freed(struct shard *shard, struct peer *peer) {
    struct hcs_viewer *viewer = hcs_viewer_of(peer);
    if (!viewer)
        return;
    assert(list_empty(&viewer->streams));
    account_drop(viewer->account);
    peer_keep(peer, FEATURE_HCS, NULL);
    quota_give(&shard->quota, viewer);
}

// --- Mail

void hcs_mail_post(struct shard *shard, uint32_t to, struct mail *mail, enum hcs_mail_kind kind) {
    mail->kind = FEATURE_KIND(FEATURE_HCS, kind);
    post_mail(shard, to, mail);
}

// Returns the shard of a name. The hash has another key than the tables of names, so that a shard's names spread over
// its tables.
uint32_t hcs_shard_of_session(const struct shard *shard, const char *id, size_t bytes) {
    const struct hub_settings *settings = &shard->hub->start_settings;
    return (uint32_t)(siphash_table(&settings->secrets.sessions, id, bytes) % settings->shard_count);
}

void hcs_mail_send(struct shard *shard, uint64_t connection, struct parcel *parcel, bool required) {
    assert(connection && !parcel->is_encoded);
    parcel->mail.connection = connection;
    parcel->mail.detail = required;
    hcs_mail_post(shard, connection_shard(connection), &parcel->mail, HCS_MAIL_TELL);
}

// Copies the frame if it needs other line breaks: a share's bytes belong to other parcels, too, and must not change.
struct parcel *hcs_mail_fit(struct shard *shard, struct peer *peer, struct parcel *parcel) {
    const struct wire *wire = peer->transport->codec.wire;
    if (wire->breaks == BREAKS_PASS || !parcel_breaks(parcel))
        return parcel;
    struct parcel *broken = parcel_broken_for(&shard->parcels, parcel, wire);
    send_release(shard, parcel);
    if (broken)
        return broken;
    drop_one(shard, COUNT_DROP_NO_MEMORY, peer->connection_id, 0);
    peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
    return NULL;
}

void hcs_mail_queue(struct shard *shard, struct peer *peer, struct parcel *parcel) {
    parcel = hcs_mail_fit(shard, peer, parcel);
    if (parcel)
        send_queue_required(shard, peer, parcel);
}

void hcs_mail_arrived(struct shard *shard, struct parcel *parcel) {
    struct peer *peer = peer_find(shard, parcel->mail.connection);
    if (peer && (parcel->mail.detail || queue_limit_has_room(shard, peer))) {
        hcs_mail_queue(shard, peer, parcel);
        return;
    }
    drop_one(shard, peer ? COUNT_DROP_OVERLOADED : COUNT_DROP_TARGET_GONE, parcel->mail.connection,
             parcel->bytes);
    send_release(shard, parcel);
}
