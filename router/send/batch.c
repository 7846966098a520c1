#include "router/send/batch.h"

#include "core/base/text.h"
#include "router/send/send.h"
#include "router/shard/drop.h"

struct batch {
    struct list link; // in shard.batches, oldest first
    uint64_t opened_ms;
    uint64_t connection;        // whose it is
    struct parcel_list answers; // whole frames, or bodies alone
    size_t bytes;               // of their bodies
    uint32_t count;
    uint32_t due; // and one while members are still being routed
};

// It lasts no longer than its members, which the bound may refuse.
struct batch *batch_open(struct shard *shard, struct peer *peer) {
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
    for (struct parcel *parcel; (parcel = parcel_list_take(&batch->answers));)
        send_release(shard, parcel);
}

// The header block of the array's frame, or NULL when memory is used up. Each answer has a bracket or a comma
// before it, and the last one a bracket behind it.
static struct parcel *head(struct shard *shard, const struct batch *batch) {
    struct text text;
    text_init(&text);
    text_put(&text, "Content-Length: ");
    text_number(&text, (int64_t)(batch->bytes + batch->count + 1));
    text_put(&text, "\r\n\r\n");
    struct parcel *parcel = text.failed ? NULL : parcel_own(&shard->parcels, text.bytes, text.length);
    if (!parcel) {
        text_deinit(&text);
        return NULL;
    }
    parcel->unfinished = true;
    parcel->frames = 0;
    return parcel;
}

static void send_array(struct shard *shard, struct peer *peer, struct batch *batch) {
    struct parcel *first = head(shard, batch);
    if (!first) {
        drop_several(shard, COUNT_DROP_NO_MEMORY, peer->name, batch->bytes, batch->count);
        release_answers(shard, batch);
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    struct parcel_list frame;
    parcel_list_init(&frame);
    parcel_list_append(&frame, first);
    const char *before = "[";
    for (struct parcel *parcel; (parcel = parcel_list_take(&batch->answers)); before = ",") {
        parcel->unfinished = batch->answers.first != NULL;
        parcel_enclose(parcel, before, parcel->unfinished ? "" : "]");
        parcel_list_append(&frame, parcel);
    }
    send_queue_chain(shard, peer, &frame);
}

static void end(struct shard *shard, struct batch *batch) {
    struct peer *peer = peer_find(shard, batch->connection);
    list_remove(&batch->link);
    if (!peer) {
        release_answers(shard, batch);
    } else {
        peer->batches--;
        peer->batch_bytes -= batch->bytes;
        if (batch->count)
            send_array(shard, peer, batch);
        peer_settle(shard, peer);
    }
    kept_give(&shard->kept, batch);
}

// --- What is due

void batch_expect(struct batch *batch) {
    batch->due++;
}

void batch_miss(struct shard *shard, struct batch *batch) {
    if (--batch->due == 0)
        end(shard, batch);
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
    parcel = send_detach(shard, parcel);
    struct peer *peer = peer_find(shard, batch->connection);
    if (peer)
        peer->batch_bytes += parcel->bytes - parcel->head_bytes;
    batch->bytes += parcel->bytes - parcel->head_bytes;
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
