#include "router/features/hcs/hcs_retention.h"

#include <assert.h>

#include "router/engine/send/send.h"

static void account(struct shard *shard, const struct parcel *parcel, int64_t change) {
    assert(change == 1 || change == -1);
    shard->streams.footprint += (uint64_t)(change * (int64_t)(parcel->bytes + sizeof *parcel));
    stats_move_gauge(&shard->stats, GAUGE_SESSION_HISTORY, change * (int64_t)parcel->bytes);
}

static void forget_chunks(struct shard *shard, struct hcs_session *session, size_t bytes_max) {
    for (struct parcel *parcel; (parcel = bytes_max ? history_trim(&session->history, bytes_max)
                                                    : history_take(&session->history));) {
        account(shard, parcel, -1);
        send_release(shard, parcel);
    }
}

// All histories of this shard together.
static uint64_t footprint_max(const struct shard *shard) {
    return shard_limits(shard)->memory_bytes_max / 8 / shard->hub->settings.shard_count;
}

void hcs_retention_relieve(struct shard *shard) {
    struct hcs_shard *streams = &shard->streams;
    for (struct list *node = streams->ended.next; node != &streams->ended; node = node->next) {
        struct hcs_session *session = list_entry(node, struct hcs_session, link);
        if (session->history.bytes == 0)
            continue;
        forget_chunks(shard, session, 0);
        return;
    }
    for (struct list *node = streams->live.next; node != &streams->live; node = node->next) {
        struct hcs_session *session = list_entry(node, struct hcs_session, link);
        if (session->history.bytes)
            forget_chunks(shard, session, session->history.bytes / 2);
    }
}

void hcs_retention_bound(struct shard *shard, struct hcs_session *session) {
    forget_chunks(shard, session, shard_limits(shard)->session_history_bytes_max);
    for (uint64_t before = UINT64_MAX; shard->streams.footprint > footprint_max(shard);) {
        if (shard->streams.footprint == before)
            return;
        before = shard->streams.footprint;
        hcs_retention_relieve(shard);
    }
}

struct parcel *hcs_retention_copy(struct shard *shard, struct parcel *parcel) {
    struct parcel *copy = parcel->buffer && parcel->bytes <= HISTORY_COPY_BYTES_MAX
                              ? parcel_copy_of(&shard->parcels, parcel)
                              : NULL;
    return copy ? copy : parcel;
}

void hcs_retention_forget(struct shard *shard, struct hcs_session *session) {
    forget_chunks(shard, session, 0);
}

bool hcs_retention_add(struct shard *shard, struct hcs_session *session, struct parcel *parcel,
                       uint64_t seq) {
    if (!history_reserve(&session->history))
        forget_chunks(shard, session, 0);
    assert(parcel->hole_count == 0);
    bool added = history_add(&session->history, (struct chunk){parcel, seq, parcel->bytes});
    if (added)
        account(shard, parcel, 1);
    return added;
}
