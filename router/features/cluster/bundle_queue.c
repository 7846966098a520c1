#include "router/features/cluster/bundle_queue.h"

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

void bundle_queue_init(struct bundle_queue *bundle_queue, struct shard *shard) {
    assert(shard->index == 0);
    *bundle_queue = (struct bundle_queue){.shard = shard};
}

void bundle_queue_begin(struct bundle_queue *bundle_queue, struct peer *peer,
                        const char own[HUB_NAME_BYTES]) {
    assert(!bundle_queue_waits(bundle_queue));
    bundle_queue->peer = peer;
    bundle_queue->own = own;
    bundle_queue->serials = 0;
}

static void drop_all(const struct bundle_queue *bundle_queue, struct bundle *bundle, enum counter reason) {
    for (struct parcel *parcel; (parcel = parcel_list_take(&bundle->parts));) {
        drop_one(bundle_queue->shard, reason, bundle_queue->peer->name, parcel->bytes);
        send_release(bundle_queue->shard, parcel);
    }
}

void bundle_queue_forget(struct bundle_queue *bundle_queue) {
    while (bundle_queue_waits(bundle_queue))
        drop_all(bundle_queue, &bundle_queue->all[--bundle_queue->count], COUNT_DROP_TARGET_GONE);
    bundle_queue->peer = NULL;
}

static size_t room(const struct bundle_queue *bundle_queue) {
    uint64_t max =
        atomic_load_explicit(&bundle_queue->shard->hub->link_payload_bytes_max, memory_order_relaxed);
    max = max > LINE_BYTES_MAX ? max - LINE_BYTES_MAX : 0;
    return max < BUNDLE_BYTES_MAX ? (size_t)max : BUNDLE_BYTES_MAX;
}

static bool is_for(const struct bundle *bundle, const struct cluster_member *hub) {
    assert(bundle->parts.first && !bundle->heading);
    return bundle->inbox_bytes == hub->inbox_bytes &&
           memcmp(bundle->inbox, hub->inbox, hub->inbox_bytes) == 0;
}

// One more, which is empty. Where as many as may be are there, all go.
static struct bundle *another(struct bundle_queue *bundle_queue) {
    if (bundle_queue->count == BUNDLES_MAX)
        bundle_queue_flush(bundle_queue);
    struct bundle *bundle = &bundle_queue->all[bundle_queue->count++];
    bundle->bytes = 0;
    parcel_list_init(&bundle->parts);
    return bundle;
}

// Who says one after the other is heard in that order: requests and answers aren't there together.
static void separate(struct bundle_queue *bundle_queue, bool asks) {
    if (bundle_queue->count && (bundle_queue->all[0].heading != NULL) != asks)
        bundle_queue_flush(bundle_queue);
}

// The one at `at`, if it has room for so many bytes more; NULL: it isn't there. Where it has none, all go.
static struct bundle *with_room(struct bundle_queue *bundle_queue, uint32_t at, size_t bytes) {
    if (at < bundle_queue->count && bundle_queue->all[at].bytes + bytes <= room(bundle_queue))
        return &bundle_queue->all[at];
    if (at < bundle_queue->count)
        bundle_queue_flush(bundle_queue);
    return NULL;
}

// That hub's.
static struct bundle *bundle_for(struct bundle_queue *bundle_queue, const struct cluster_member *hub,
                                 size_t bytes) {
    uint32_t at = 0;
    separate(bundle_queue, false);
    while (at < bundle_queue->count && !is_for(&bundle_queue->all[at], hub))
        at++;
    struct bundle *bundle = with_room(bundle_queue, at, bytes);
    if (bundle)
        return bundle;
    bundle = another(bundle_queue);
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

bool bundle_queue_add(struct bundle_queue *bundle_queue, const struct cluster_member *hub, uint64_t number,
                      struct parcel *parcel) {
    size_t bytes = BUNDLE_HEAD_BYTES + parcel->bytes + wire_nats.tail_bytes;
    static_assert((int)BUNDLE_HEAD_BYTES <= (int)PARCEL_HEAD_BYTES_MAX, "a head takes no memory");
    assert(bundle_queue->peer && hub->inbox_bytes && !parcel->dressed);
    if (!hub->takes_bundles || !parcel_is_bare(parcel) || parcel->bytes > PART_BYTES_MAX ||
        bytes > room(bundle_queue))
        return false;
    struct bundle *bundle = bundle_for(bundle_queue, hub, bytes);
    uint32_t body_bytes = (uint32_t)parcel->bytes;
    bundle_write_head(parcel_head_take(parcel, BUNDLE_HEAD_BYTES), &(struct bundled){.number = number},
                      body_bytes);
    append(bundle, parcel);
    return true;
}

// It is the same one as long as its shard keeps it, and the bundle does.
static struct bundle *bundle_behind(struct bundle_queue *bundle_queue, const struct bundle_head *heading,
                                    size_t bytes) {
    uint32_t at = 0;
    separate(bundle_queue, true);
    while (at < bundle_queue->count && bundle_queue->all[at].heading != heading)
        at++;
    struct bundle *bundle = with_room(bundle_queue, at, bytes);
    if (bundle)
        return bundle;
    bundle = another(bundle_queue);
    bundle->heading = heading;
    bundle->serial = ++bundle_queue->serials;
    return bundle;
}

uint64_t bundle_queue_ask(struct bundle_queue *bundle_queue, struct parcel *parcel) {
    size_t bytes = parcel->head_count + parcel->bytes + wire_nats.tail_bytes;
    assert(bundle_queue->peer && parcel->has_heading && !parcel->dressed);
    struct bundle *bundle = bundle_behind(bundle_queue, parcel->heading, bytes);
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

static void put_answers(const struct bundle_queue *bundle_queue, const struct bundle *bundle,
                        struct text *out) {
    struct text line;
    text_init(&line);
    assert(bundle_queue->own);
    hub_header_begin(&line, bundle_queue->own);
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
static struct parcel *head_of(const struct bundle_queue *bundle_queue, const struct bundle *bundle) {
    struct text out;
    text_init(&out);
    text_put(&out, "HPUB ");
    if (bundle->heading)
        put_requests(bundle, &out);
    else
        put_answers(bundle_queue, bundle, &out);
    struct parcel *head =
        out.failed ? NULL : parcel_own(&bundle_queue->shard->parcels, out.bytes, out.length);
    if (!head)
        text_deinit(&out);
    return head;
}

static void queue_up(struct bundle_queue *bundle_queue, struct bundle *bundle) {
    struct parcel_list frame;
    struct parcel *head = head_of(bundle_queue, bundle);
    assert(bundle->parts.first);
    if (!head) {
        drop_all(bundle_queue, bundle, COUNT_DROP_NO_MEMORY);
        peer_close(bundle_queue->shard, bundle_queue->peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    head->dressed = head->unfinished = true;
    head->frames = 0; // which are those behind it
    parcel_list_init(&frame);
    parcel_list_append(&frame, head);
    parcel_list_move(&bundle->parts, parcel_list_last(&bundle->parts), &frame);
    send_queue_row(bundle_queue->shard, bundle_queue->peer, &frame);
}

void bundle_queue_flush(struct bundle_queue *bundle_queue) {
    uint32_t count = bundle_queue->count;
    bundle_queue->count = 0;
    for (uint32_t at = 0; at < count; at++)
        queue_up(bundle_queue, &bundle_queue->all[at]);
}
