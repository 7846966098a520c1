#include "router/transport/bundling.h"

#include <assert.h>
#include <string.h>

#include "core/cluster/bundle.h"
#include "core/cluster/mark.h"
#include "core/send/envelope.h"
#include "router/route/elsewhere.h"
#include "router/send/send.h"
#include "router/shard/drop.h"

// Larger ones cost more than their messages do. In what is left of the server's bound the hubs' own line has its place.
enum { ANSWER_BYTES_MAX = COPY_BYTES_MAX, LINE_BYTES_MAX = 256 };

void bundling_init(struct bundling *bundling, struct shard *shard) {
    assert(shard->index == 0);
    *bundling = (struct bundling){.shard = shard};
}

void bundling_begin(struct bundling *bundling, struct peer *peer, const char own[HUB_NAME_BYTES]) {
    assert(!bundling_waits(bundling));
    bundling->peer = peer;
    bundling->own = own;
}

static void drop_all(const struct bundling *bundling, struct bundle *bundle, enum counter reason) {
    for (struct parcel *parcel; (parcel = parcel_list_take(&bundle->answers));) {
        drop_one(bundling->shard, reason, bundling->peer->name, parcel->bytes);
        send_release(bundling->shard, parcel);
    }
}

void bundling_forget(struct bundling *bundling) {
    while (bundling_waits(bundling))
        drop_all(bundling, &bundling->all[--bundling->count], COUNT_DROP_TARGET_GONE);
    bundling->peer = NULL;
}

static size_t room(const struct bundling *bundling) {
    uint64_t max = atomic_load_explicit(&bundling->shard->hub->link_payload_bytes_max, memory_order_relaxed);
    max = max > LINE_BYTES_MAX ? max - LINE_BYTES_MAX : 0;
    return max < BUNDLE_BYTES_MAX ? (size_t)max : BUNDLE_BYTES_MAX;
}

// Header fields that came with it have no place there.
static bool is_bare(const struct parcel *parcel) {
    assert(parcel->hole_count == 0);
    return !parcel->block ||
           (parcel->line_at == 0 && parcel->block_bytes == parcel->line_bytes + sizeof "\r\n" - 1);
}

static bool is_for(const struct bundle *bundle, const struct neighbour *hub) {
    assert(bundle->answers.first);
    return bundle->inbox_bytes == hub->inbox_bytes &&
           memcmp(bundle->inbox, hub->inbox, hub->inbox_bytes) == 0;
}

// That hub's, with room for so many bytes more. Where it has none, or as many hubs as may be have one, all go.
static struct bundle *bundle_for(struct bundling *bundling, const struct neighbour *hub, size_t bytes) {
    uint32_t at = 0;
    while (at < bundling->count && !is_for(&bundling->all[at], hub))
        at++;
    bool is_there = at < bundling->count;
    if (is_there && bundling->all[at].bytes + bytes <= room(bundling))
        return &bundling->all[at];
    if (is_there || at == BUNDLES_MAX)
        bundling_flush(bundling);
    struct bundle *bundle = &bundling->all[bundling->count++];
    bundle->bytes = 0;
    bundle->inbox_bytes = hub->inbox_bytes;
    memcpy(bundle->inbox, hub->inbox, hub->inbox_bytes);
    parcel_list_init(&bundle->answers);
    return bundle;
}

bool bundling_add(struct bundling *bundling, const struct neighbour *hub, uint64_t number,
                  struct parcel *parcel) {
    size_t bytes = BUNDLE_HEAD_BYTES + parcel->bytes + wire_nats.tail_bytes;
    static_assert((int)BUNDLE_HEAD_BYTES <= (int)PARCEL_HEAD_BYTES_MAX, "a head takes no memory");
    assert(bundling->peer && hub->inbox_bytes && !parcel->dressed);
    if (!hub->takes_bundles || !is_bare(parcel) || parcel->bytes > ANSWER_BYTES_MAX || bytes > room(bundling))
        return false;
    struct bundle *bundle = bundle_for(bundling, hub, bytes);
    bundle_write_head(parcel_head_take(parcel, BUNDLE_HEAD_BYTES), number, (uint32_t)parcel->bytes);
    parcel_dress(parcel, &wire_nats);
    assert(parcel->bytes == bytes);
    parcel_list_append(&bundle->answers, parcel);
    bundle->bytes += bytes;
    return true;
}

static void put_line(const struct bundling *bundling, struct text *out) {
    assert(bundling->own);
    mark_begin(out, bundling->own);
    mark_number(out, "bundle", 1);
    mark_end(out);
    text_put(out, "\r\n");
}

// What stands before them. NULL without memory.
static struct parcel *head_of(const struct bundling *bundling, const struct bundle *bundle) {
    struct text line, out;
    size_t bytes = bundle->bytes - wire_nats.tail_bytes; // the last one's end is the message's
    text_init(&line);
    put_line(bundling, &line);
    assert(line.failed || line.length <= LINE_BYTES_MAX);
    text_init(&out);
    text_put(&out, "HPUB ");
    text_add(&out, bundle->inbox, bundle->inbox_bytes);
    text_add(&out, (const char[]){ELSEWHERE_ANSWERS, ' '}, 2);
    text_number(&out, (int64_t)line.length);
    text_put(&out, " ");
    text_number(&out, (int64_t)(line.length + bytes));
    text_put(&out, "\r\n");
    text_add(&out, line.bytes, line.length);
    out.failed |= line.failed;
    text_deinit(&line);
    struct parcel *head = out.failed ? NULL : parcel_own(&bundling->shard->parcels, out.bytes, out.length);
    if (!head)
        text_deinit(&out);
    return head;
}

static void queue_up(struct bundling *bundling, struct bundle *bundle) {
    struct parcel_list frame;
    struct parcel *head = head_of(bundling, bundle);
    assert(bundle->answers.first);
    if (!head) {
        drop_all(bundling, bundle, COUNT_DROP_NO_MEMORY);
        peer_close(bundling->shard, bundling->peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    head->dressed = head->unfinished = true;
    head->frames = 0; // which are those behind it
    parcel_list_init(&frame);
    parcel_list_append(&frame, head);
    for (struct parcel *parcel; (parcel = parcel_list_take(&bundle->answers));) {
        parcel->unfinished = bundle->answers.first != NULL;
        parcel_list_append(&frame, parcel);
    }
    send_queue_chain(bundling->shard, bundling->peer, &frame);
}

void bundling_flush(struct bundling *bundling) {
    uint32_t count = bundling->count;
    bundling->count = 0;
    for (uint32_t at = 0; at < count; at++)
        queue_up(bundling, &bundling->all[at]);
}
