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

void bundling_init(struct bundle *bundle, struct shard *shard) {
    assert(shard->index == 0);
    *bundle = (struct bundle){.shard = shard};
    parcel_list_init(&bundle->answers);
}

void bundling_begin(struct bundle *bundle, struct peer *peer, const char own[HUB_NAME_BYTES]) {
    assert(!bundling_waits(bundle));
    bundle->peer = peer;
    bundle->own = own;
}

static void drop_all(struct bundle *bundle, enum counter reason) {
    for (struct parcel *parcel; (parcel = parcel_list_take(&bundle->answers));) {
        drop_one(bundle->shard, reason, bundle->peer->name, parcel->bytes);
        send_release(bundle->shard, parcel);
    }
    bundle->bytes = 0;
}

void bundling_forget(struct bundle *bundle) {
    drop_all(bundle, COUNT_DROP_TARGET_GONE);
    bundle->peer = NULL;
}

static size_t room(const struct bundle *bundle) {
    uint64_t max = atomic_load_explicit(&bundle->shard->hub->link_payload_bytes_max, memory_order_relaxed);
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
    assert(bundling_waits(bundle));
    return bundle->inbox_bytes == hub->inbox_bytes &&
           memcmp(bundle->inbox, hub->inbox, hub->inbox_bytes) == 0;
}

bool bundling_add(struct bundle *bundle, const struct neighbour *hub, uint64_t number,
                  struct parcel *parcel) {
    size_t bytes = BUNDLE_HEAD_BYTES + parcel->bytes + wire_nats.tail_bytes;
    static_assert((int)BUNDLE_HEAD_BYTES <= (int)PARCEL_HEAD_BYTES_MAX, "a head takes no memory");
    assert(bundle->peer && hub->inbox_bytes && !parcel->dressed);
    if (!hub->takes_bundles || !is_bare(parcel) || parcel->bytes > ANSWER_BYTES_MAX || bytes > room(bundle))
        return false;
    if (bundling_waits(bundle) && (!is_for(bundle, hub) || bundle->bytes + bytes > room(bundle)))
        bundling_flush(bundle);
    if (!bundling_waits(bundle)) {
        bundle->inbox_bytes = hub->inbox_bytes;
        memcpy(bundle->inbox, hub->inbox, hub->inbox_bytes);
    }
    bundle_write_head(parcel_head_take(parcel, BUNDLE_HEAD_BYTES), number, (uint32_t)parcel->bytes);
    parcel_dress(parcel, &wire_nats);
    assert(parcel->bytes == bytes);
    parcel_list_append(&bundle->answers, parcel);
    bundle->bytes += bytes;
    return true;
}

static void put_line(const struct bundle *bundle, struct text *out) {
    assert(bundle->own && bundling_waits(bundle));
    mark_begin(out, bundle->own);
    mark_number(out, "bundle", 1);
    mark_end(out);
    text_put(out, "\r\n");
}

// What stands before them. NULL without memory.
static struct parcel *head_of(const struct bundle *bundle) {
    struct text line, out;
    size_t bytes = bundle->bytes - wire_nats.tail_bytes; // the last one's end is the message's
    text_init(&line);
    put_line(bundle, &line);
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
    struct parcel *head = out.failed ? NULL : parcel_own(&bundle->shard->parcels, out.bytes, out.length);
    if (!head)
        text_deinit(&out);
    return head;
}

void bundling_flush(struct bundle *bundle) {
    struct parcel_list frame;
    struct peer *peer = bundle->peer;
    if (!bundling_waits(bundle))
        return;
    struct parcel *head = head_of(bundle);
    if (!head) {
        drop_all(bundle, COUNT_DROP_NO_MEMORY);
        peer_close(bundle->shard, peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    head->dressed = head->unfinished = true;
    head->frames = 0; // which are those behind it
    parcel_list_init(&frame);
    parcel_list_append(&frame, head);
    for (struct parcel *parcel; (parcel = parcel_list_take(&bundle->answers));) {
        parcel->unfinished = bundling_waits(bundle);
        parcel_list_append(&frame, parcel);
    }
    bundle->bytes = 0;
    send_queue_chain(bundle->shard, peer, &frame);
}
