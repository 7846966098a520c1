#include "router/send/batch.h"

#include "core/send/envelope.h"
#include <assert.h>

#include "router/send/send.h"
#include "router/shard/drop.h"

struct batch {
    struct list link; // in shard.batches, oldest first
    uint64_t opened_ms;
    uint64_t connection;        // whose it is
    struct parcel_list answers; // undressed
    size_t bytes;               // of them
    uint32_t count;
    uint32_t due; // and one while members are still being routed
};

// It lasts no longer than its members, which the bound may refuse.
struct batch *batch_open(struct shard *shard, struct peer *peer) {
    assert(peer->state == PEER_OPEN); // from others nothing is read
    struct batch *batch = kept_take_anyway(&shard->kept, sizeof *batch);
    if (!batch)
        return NULL;
    *batch = (struct batch){.connection = peer->name, .due = 1, .opened_ms = shard_now_ms(shard)};
    list_append(&shard->batches, &batch->link);
    parcel_list_init(&batch->answers);
    peer->batches++;
    return batch;
}

// --- The array

static void release_answers(struct shard *shard, struct batch *batch) {
    assert(!batch->answers.first == (batch->count == 0));
    for (struct parcel *parcel; (parcel = parcel_list_take(&batch->answers));)
        send_release(shard, parcel);
}

// Each answer has a bracket or a comma before it, and the last one a bracket behind it.
static void send_array(struct shard *shard, struct peer *peer, struct batch *batch) {
    assert(batch->count > 0 && batch->bytes > 0 && batch->answers.first);
    const char *before = "[";
    for (struct parcel *parcel = batch->answers.first; parcel; parcel = parcel->next, before = ",") {
        parcel->unfinished = parcel->next != NULL;
        parcel_enclose(parcel, before);
    }
    parcel_dress_chain(batch->answers.first, peer->transport->wire, batch->bytes + batch->count, "]");
    send_queue_chain(shard, peer, &batch->answers);
}

static void batch_end(struct shard *shard, struct batch *batch) {
    struct peer *peer = peer_find(shard, batch->connection);
    assert(batch->due == 0 && !list_empty(&batch->link));
    list_remove(&batch->link);
    if (!peer) {
        release_answers(shard, batch);
    } else {
        assert(peer->batches > 0 && peer->batch_bytes >= batch->bytes);
        peer->batches--;
        peer->batch_bytes -= batch->bytes;
        if (batch->count)
            send_array(shard, peer, batch);
        assert(!batch->answers.first);
        peer_settle(shard, peer);
    }
    kept_give(&shard->kept, batch);
}

// --- What is due

void batch_expect(struct batch *batch) {
    assert(batch->due > 0); // it is still open
    batch->due++;
}

void batch_miss(struct shard *shard, struct batch *batch) {
    assert(batch->due > 0);
    if (--batch->due == 0)
        batch_end(shard, batch);
}

void batch_close(struct shard *shard, struct batch *batch) {
    batch_miss(shard, batch);
}

bool batch_has_room(const struct shard *shard, const struct batch *batch, size_t bytes) {
    return bytes <= batch_room(shard, batch);
}

// With one more answer there are two brackets, and a comma less than there are answers.
size_t batch_room(const struct shard *shard, const struct batch *batch) {
    size_t bytes_max = shard_limits(shard)->frame_bytes_max, bytes = batch->bytes + batch->count + 2;
    return bytes < bytes_max ? bytes_max - bytes : 0;
}

void batch_answer(struct shard *shard, struct batch *batch, struct parcel *parcel) {
    assert(batch->due > 0);
    assert(!parcel->dressed && !parcel->unfinished && parcel->hole_count == 0 && !parcel->hub_id);
    parcel = send_detach(shard, parcel);
    struct peer *peer = peer_find(shard, batch->connection);
    if (peer)
        peer->batch_bytes += parcel->bytes;
    batch->bytes += parcel->bytes;
    batch->count++;
    parcel_list_append(&batch->answers, parcel);
    batch_miss(shard, batch);
}

struct peer *batch_holder(const struct shard *shard, uint64_t opened_ms, uint64_t bytes_min) {
    struct peer *holder = NULL;
    for (struct list *node = shard->batches.next; node != &shard->batches; node = node->next) {
        const struct batch *batch = list_entry(node, struct batch, link);
        if (batch->opened_ms > opened_ms)
            break;
        struct peer *peer = batch->bytes ? peer_find(shard, batch->connection) : NULL;
        if (peer && peer->batch_bytes >= bytes_min && (!holder || peer->batch_bytes > holder->batch_bytes))
            holder = peer;
    }
    return holder;
}
