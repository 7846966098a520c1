#include "router/transport/bundling.h"

#include <assert.h>
#include <string.h>

#include "core/cluster/bundle.h"
#include "core/cluster/hub_header.h"
#include "core/send/envelope.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/forwarding/remote_target.h"

// Larger ones cost more than their messages do. In what is left of the server's bound the hubs' own line has its place.
enum { PART_BYTES_MAX = COPY_BYTES_MAX, LINE_BYTES_MAX = 256 };

void bundling_init(struct bundling *bundling, struct shard *shard) {
    assert(shard->index == 0);
    *bundling = (struct bundling){.shard = shard};
}

void bundling_begin(struct bundling *bundling, struct peer *peer, const char own[HUB_NAME_BYTES]) {
    assert(!bundling_waits(bundling));
    bundling->peer = peer;
    bundling->own = own;
    bundling->serials = 0;
}

static void drop_all(const struct bundling *bundling, struct bundle *bundle, enum counter reason) {
    for (struct parcel *parcel; (parcel = parcel_list_take(&bundle->parts));) {
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

static bool is_for(const struct bundle *bundle, const struct neighbour *hub) {
    assert(bundle->parts.first && !bundle->heading);
    return bundle->inbox_bytes == hub->inbox_bytes &&
           memcmp(bundle->inbox, hub->inbox, hub->inbox_bytes) == 0;
}

// One more, which is empty. Where as many as may be are there, all go.
static struct bundle *another(struct bundling *bundling) {
    if (bundling->count == BUNDLES_MAX)
        bundling_flush(bundling);
    struct bundle *bundle = &bundling->all[bundling->count++];
    bundle->bytes = 0;
    parcel_list_init(&bundle->parts);
    return bundle;
}

// Who says one after the other is heard in that order: requests and answers aren't there together.
static void separate(struct bundling *bundling, bool asks) {
    if (bundling->count && (bundling->all[0].heading != NULL) != asks)
        bundling_flush(bundling);
}

// The one at `at`, if it has room for so many bytes more; NULL: it isn't there. Where it has none, all go.
static struct bundle *with_room(struct bundling *bundling, uint32_t at, size_t bytes) {
    if (at < bundling->count && bundling->all[at].bytes + bytes <= room(bundling))
        return &bundling->all[at];
    if (at < bundling->count)
        bundling_flush(bundling);
    return NULL;
}

// That hub's.
static struct bundle *bundle_for(struct bundling *bundling, const struct neighbour *hub, size_t bytes) {
    uint32_t at = 0;
    separate(bundling, false);
    while (at < bundling->count && !is_for(&bundling->all[at], hub))
        at++;
    struct bundle *bundle = with_room(bundling, at, bytes);
    if (bundle)
        return bundle;
    bundle = another(bundling);
    bundle->heading = NULL;
    bundle->inbox_bytes = hub->inbox_bytes;
    memcpy(bundle->inbox, hub->inbox, hub->inbox_bytes);
    return bundle;
}

static void append(struct bundle *bundle, struct parcel *parcel) {
    parcel_dress(parcel, &wire_nats);
    parcel->is_bundled = true;
    struct parcel *before = parcel_list_last(&bundle->parts);
    if (before)
        before->unfinished = true;
    parcel_list_append(&bundle->parts, parcel);
    bundle->bytes += parcel->bytes;
}

bool bundling_add(struct bundling *bundling, const struct neighbour *hub, uint64_t number,
                  struct parcel *parcel) {
    size_t bytes = BUNDLE_HEAD_BYTES + parcel->bytes + wire_nats.tail_bytes;
    static_assert((int)BUNDLE_HEAD_BYTES <= (int)PARCEL_HEAD_BYTES_MAX, "a head takes no memory");
    assert(bundling->peer && hub->inbox_bytes && !parcel->dressed);
    if (!hub->takes_bundles || !parcel_is_bare(parcel) || parcel->bytes > PART_BYTES_MAX ||
        bytes > room(bundling))
        return false;
    struct bundle *bundle = bundle_for(bundling, hub, bytes);
    uint32_t body_bytes = (uint32_t)parcel->bytes;
    bundle_write_head(parcel_head_take(parcel, BUNDLE_HEAD_BYTES), &(struct bundled){.number = number},
                      body_bytes);
    append(bundle, parcel);
    return true;
}

// It is the same one as long as its shard keeps it, and the bundle does.
static struct bundle *bundle_behind(struct bundling *bundling, const struct bundle_head *heading,
                                    size_t bytes) {
    uint32_t at = 0;
    separate(bundling, true);
    while (at < bundling->count && bundling->all[at].heading != heading)
        at++;
    struct bundle *bundle = with_room(bundling, at, bytes);
    if (bundle)
        return bundle;
    bundle = another(bundling);
    bundle->heading = heading;
    bundle->serial = ++bundling->serials;
    return bundle;
}

uint64_t bundling_ask(struct bundling *bundling, struct parcel *parcel) {
    size_t bytes = parcel->head_count + parcel->bytes + wire_nats.tail_bytes;
    assert(bundling->peer && parcel->has_heading && !parcel->dressed);
    struct bundle *bundle = bundle_behind(bundling, parcel->heading, bytes);
    append(bundle, parcel);
    return bundle->serial;
}

// How many bytes the headers have, and all of it, whose last part has the message's own end; and the line's end.
static void put_sizes(struct text *out, const struct bundle *bundle, size_t headers) {
    assert(bundle->bytes > wire_nats.tail_bytes);
    text_number(out, (int64_t)headers);
    text_put(out, " ");
    text_number(out, (int64_t)(headers + bundle->bytes - wire_nats.tail_bytes));
    text_put(out, "\r\n");
}

static void put_answers(const struct bundling *bundling, const struct bundle *bundle, struct text *out) {
    struct text line;
    text_init(&line);
    assert(bundling->own);
    hub_header_begin(&line, bundling->own);
    hub_header_number(&line, "bundle", 1);
    hub_header_end(&line);
    text_put(&line, "\r\n");
    assert(line.failed || line.length <= LINE_BYTES_MAX);
    text_add(out, bundle->inbox, bundle->inbox_bytes);
    text_add(out, (const char[]){REMOTE_TARGET_ANSWERS, ' '}, 2);
    put_sizes(out, bundle, line.length);
    text_add(out, line.bytes, line.length);
    out->failed |= line.failed;
    text_deinit(&line);
}

// What is said of them all comes to the link under their serial.
static void put_requests(const struct bundle *bundle, struct text *out) {
    const struct bundle_head *heading = bundle->heading;
    const char *at = heading->text;
    char digits[16];
    text_add(out, at, heading->subject_bytes);
    text_put(out, " ");
    text_add(out, at += heading->subject_bytes, heading->inbox_bytes);
    text_add(out, REMOTE_TARGET_BUNDLE, sizeof REMOTE_TARGET_BUNDLE - 1);
    text_add(out, digits, hub_header_digits(digits, bundle->serial));
    text_put(out, " ");
    put_sizes(out, bundle, heading->line_bytes);
    text_add(out, at + heading->inbox_bytes, heading->line_bytes);
}

// What stands before them. NULL without memory.
static struct parcel *head_of(const struct bundling *bundling, const struct bundle *bundle) {
    struct text out;
    text_init(&out);
    text_put(&out, "HPUB ");
    if (bundle->heading)
        put_requests(bundle, &out);
    else
        put_answers(bundling, bundle, &out);
    struct parcel *head = out.failed ? NULL : parcel_own(&bundling->shard->parcels, out.bytes, out.length);
    if (!head)
        text_deinit(&out);
    return head;
}

static void queue_up(struct bundling *bundling, struct bundle *bundle) {
    struct parcel_list frame;
    struct parcel *head = head_of(bundling, bundle);
    assert(bundle->parts.first);
    if (!head) {
        drop_all(bundling, bundle, COUNT_DROP_NO_MEMORY);
        peer_close(bundling->shard, bundling->peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    head->dressed = head->unfinished = true;
    head->frames = 0; // which are those behind it
    parcel_list_init(&frame);
    parcel_list_append(&frame, head);
    parcel_list_move(&bundle->parts, parcel_list_last(&bundle->parts), &frame);
    send_queue_row(bundling->shard, bundling->peer, &frame);
}

void bundling_flush(struct bundling *bundling) {
    uint32_t count = bundling->count;
    bundling->count = 0;
    for (uint32_t at = 0; at < count; at++)
        queue_up(bundling, &bundling->all[at]);
}
