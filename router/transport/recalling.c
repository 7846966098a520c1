#include "router/transport/recalling.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/cluster/hub_header.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/forwarding/remote_target.h"
#include "router/transport/nats_say.h"

void recalling_begin(struct link *link, const struct crossing *crossing) {
    assert(crossing->cancelled);
    link->recalls = crossing->hub_id;
}

// False: it has no head, and the hub's own words are to do.
static bool put_head(struct link *link, struct parcel *parcel, const struct crossing *crossing) {
    struct shard *shard = link->shard;
    char rest[HUB_NAME_BYTES + 3 + 16], subject[SUBJECT_BYTES_MAX];
    struct hub_envelope letter = {.subject = subject};
    uint64_t bytes;
    assert(crossing->taker);
    memcpy(rest, crossing->taker->name, HUB_NAME_BYTES);
    memcpy(rest + HUB_NAME_BYTES, ".c.", 3);
    size_t count = HUB_NAME_BYTES + 3 + hub_header_digits(rest + HUB_NAME_BYTES + 3, crossing->hub_id);
    letter.subject_bytes =
        subject_write(subject, shard->hub->settings.cluster->name, SUBJECT_HUB, rest, count);
    parcel->lane = LANE_URGENT;
    return remote_target_put_head(shard, link->peer->name, parcel, &letter, &bytes) == ERROR_NONE;
}

// Without its header fields: who may have it hasn't said so yet. What is too long is said in the hub's own words then.
static void keep_words(struct link *link, struct crossing *crossing, const struct parcel *parcel) {
    assert(!crossing_words(crossing));
    struct crossing_rest *rest =
        parcel->bytes <= COPY_BYTES_MAX ? crossings_rest(&link->crossings, crossing) : NULL;
    if (!rest)
        return;
    rest->words = quota_take(&link->shard->kept, parcel->bytes);
    rest->words_bytes = rest->words ? (uint32_t)parcel->bytes : 0;
    if (rest->words)
        parcel_copy(parcel, (uint8_t *)rest->words);
}

bool recalling_divert(struct link *link, struct parcel *parcel) {
    struct shard *shard = link->shard;
    struct crossing *crossing = link->recalls ? crossings_find(&link->crossings, link->recalls) : NULL;
    link->recalls = 0;
    assert(!parcel->has_head && !parcel->dressed);
    bool is_it = crossing && parcel->lane == LANE_URGENT;
    if (is_it && crossing->taker && put_head(link, parcel, crossing))
        return false;
    if (is_it && crossing->taker)
        nats_say_cancel(link, crossing->taker->name, crossing->hub_id, false);
    else if (is_it)
        keep_words(link, crossing, parcel);
    else
        drop_one(shard, COUNT_DROP_TARGET_GONE, link->peer->name, parcel->bytes);
    send_release(shard, parcel);
    return true;
}

void recalling_tell(struct link *link, struct crossing *crossing) {
    struct shard *shard = link->shard;
    const char *kept = crossing_words(crossing);
    uint32_t bytes = kept ? crossing->rest->words_bytes : 0;
    char *words = kept ? memory_take(bytes) : NULL;
    assert(crossing->taker && crossing->cancelled);
    if (words)
        memcpy(words, kept, bytes);
    struct parcel *parcel = words ? parcel_own(&shard->parcels, words, bytes) : NULL;
    if (words && !parcel)
        memory_give(words);
    if (parcel && put_head(link, parcel, crossing)) {
        send_queue_owed(shard, link->peer, parcel);
        return;
    }
    if (parcel)
        parcel_drop(parcel);
    nats_say_cancel(link, crossing->taker->name, crossing->hub_id, false);
}
