#include "router/features/cluster/outbound_cancel.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/cluster/hub_header.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/features/cluster/nats_publish.h"
#include "router/forwarding/remote_target.h"

void outbound_cancel_begin(struct link *link, const struct outbound_request *outbound) {
    assert(outbound->cancelled);
    link->recalls = outbound->hub_id;
}

// False: it has no head, and the hub's own words are to do.
static bool put_head(struct link *link, struct parcel *parcel, const struct outbound_request *outbound) {
    struct shard *shard = link->shard;
    char rest[HUB_NAME_BYTES + 3 + 16], subject[SUBJECT_BYTES_MAX];
    struct hub_envelope letter = {.subject = subject};
    uint64_t bytes;
    assert(outbound->taker);
    memcpy(rest, outbound->taker->name, HUB_NAME_BYTES);
    memcpy(rest + HUB_NAME_BYTES, ".c.", 3);
    size_t count = HUB_NAME_BYTES + 3 + hub_header_digits(rest + HUB_NAME_BYTES + 3, outbound->hub_id);
    letter.subject_bytes =
        subject_write(subject, shard->hub->settings.cluster->name, SUBJECT_HUB, rest, count);
    parcel->lane = LANE_URGENT;
    return remote_target_put_head(shard, link->peer->name, parcel, &letter, &bytes) == ERROR_NONE;
}

// Without its header fields: who may have it hasn't said so yet. What is too long is said in the hub's own words then.
static void keep_words(struct link *link, struct outbound_request *outbound, const struct parcel *parcel) {
    assert(!outbound_request_words(outbound));
    struct outbound_request_rest *rest =
        parcel->bytes <= COPY_BYTES_MAX ? inflight_rest(&link->inflight, outbound) : NULL;
    if (!rest)
        return;
    rest->words = quota_take(&link->shard->quota, parcel->bytes);
    rest->words_bytes = rest->words ? (uint32_t)parcel->bytes : 0;
    if (rest->words)
        parcel_copy(parcel, (uint8_t *)rest->words);
}

bool outbound_cancel_divert(struct link *link, struct parcel *parcel) {
    struct shard *shard = link->shard;
    struct outbound_request *outbound = link->recalls ? inflight_find(&link->inflight, link->recalls) : NULL;
    link->recalls = 0;
    assert(!parcel->has_head && !parcel->dressed);
    bool is_it = outbound && parcel->lane == LANE_URGENT;
    if (is_it && outbound->taker && put_head(link, parcel, outbound))
        return false;
    if (is_it && outbound->taker)
        nats_publish_cancel(link, outbound->taker->name, outbound->hub_id, false);
    else if (is_it)
        keep_words(link, outbound, parcel);
    else
        drop_one(shard, COUNT_DROP_TARGET_GONE, link->peer->name, parcel->bytes);
    send_release(shard, parcel);
    return true;
}

void outbound_cancel_tell(struct link *link, struct outbound_request *outbound) {
    struct shard *shard = link->shard;
    const char *kept = outbound_request_words(outbound);
    uint32_t bytes = kept ? outbound->rest->words_bytes : 0;
    char *words = kept ? memory_take(bytes) : NULL;
    assert(outbound->taker && outbound->cancelled);
    if (words)
        memcpy(words, kept, bytes);
    struct parcel *parcel = words ? parcel_own(&shard->parcels, words, bytes) : NULL;
    if (words && !parcel)
        memory_give(words);
    if (parcel && put_head(link, parcel, outbound)) {
        send_queue_owed(shard, link->peer, parcel);
        return;
    }
    if (parcel)
        parcel_drop(parcel);
    nats_publish_cancel(link, outbound->taker->name, outbound->hub_id, false);
}
