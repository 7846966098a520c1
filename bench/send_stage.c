// Frames as they wait in an outbox. A frame has four pieces, as a spliced request has: the length line, the
// head, the new id, the tail. Head and tail lie side by side with other frames' in a receive buffer.
#include <stdlib.h>
#include <string.h>

#include "bench/stage.h"
#include "core/send/outbox.h"

enum { LINE_BYTES = 21, ID_BYTES = 16, HEAD_BYTES = 20 };

struct send_stage {
    struct buffer_budget budget;
    struct buffer_pool buffers;
    struct parcel_pool parcels;
    struct stage stage;
    struct send_op send_op;
    struct outbox outbox;
    uint8_t *arrived; // the frames as they came
    uint8_t *copied;
    char *texts;
    uint32_t frame_bytes, frames;
};

struct send_stage *send_stage_open(uint32_t frame_bytes, uint32_t frames) {
    struct send_stage *stage = calloc(1, sizeof *stage);
    stage->budget.bytes_max = UINT64_C(1) << 32;
    buffer_pool_init(&stage->buffers, &stage->budget);
    parcel_pool_init(&stage->parcels, &stage->budget, 0);
    stage_init(&stage->stage, &stage->buffers);
    outbox_init(&stage->outbox);
    stage->frame_bytes = frame_bytes;
    stage->frames = frames;
    stage->arrived = calloc(frames, frame_bytes);
    stage->copied = calloc(frames, frame_bytes);
    stage->texts = calloc(frames, 256); // a parcel apart, as their texts are
    return stage;
}

void send_stage_close(struct send_stage *stage) {
    stage_deinit(&stage->stage);
    parcel_pool_deinit(&stage->parcels);
    buffer_pool_deinit(&stage->buffers);
    free(stage->arrived);
    free(stage->copied);
    free(stage->texts);
    free(stage);
}

static struct iovec piece(void *from, size_t bytes) {
    return (struct iovec){.iov_base = from, .iov_len = bytes};
}

static unsigned pieces(struct send_stage *stage, uint32_t index, struct iovec out[4]) {
    uint8_t *frame = stage->arrived + (size_t)index * stage->frame_bytes;
    char *text = stage->texts + (size_t)index * 256;
    out[0] = piece(text, LINE_BYTES);
    out[1] = piece(frame, HEAD_BYTES);
    out[2] = piece(text + LINE_BYTES, ID_BYTES);
    out[3] = piece(frame + HEAD_BYTES, stage->frame_bytes - LINE_BYTES - HEAD_BYTES - ID_BYTES);
    return 4;
}

unsigned send_stage_vectors(struct send_stage *stage, struct iovec *out) {
    unsigned count = 0;
    for (uint32_t index = 0; index < stage->frames; index++)
        count += pieces(stage, index, out + count);
    return count;
}

unsigned send_stage_copied(struct send_stage *stage, struct iovec *out) {
    uint8_t *to = stage->copied;
    for (uint32_t index = 0; index < stage->frames; index++) {
        struct iovec vectors[4];
        for (unsigned which = 0, count = pieces(stage, index, vectors); which < count; which++) {
            memcpy(to, vectors[which].iov_base, vectors[which].iov_len);
            to += vectors[which].iov_len;
        }
    }
    out[0] = piece(stage->copied, (size_t)(to - stage->copied));
    return 1;
}

// Parcels are made by hand from the same pieces; their text is nobody's to give back.
static void queue_all(struct send_stage *stage) {
    for (uint32_t index = 0; index < stage->frames; index++) {
        struct iovec vectors[4];
        struct parcel *parcel = parcel_from_text(&stage->parcels, NULL, 0);
        parcel->text = parcel->inline_text;
        parcel->piece_count = (uint8_t)pieces(stage, index, vectors);
        parcel->bytes = stage->frame_bytes;
        parcel->is_encoded = true;
        for (unsigned which = 0; which < 4; which++)
            parcel->pieces[which] = (struct piece){vectors[which].iov_base, vectors[which].iov_len};
        outbox_add(&stage->outbox, parcel);
    }
}

static void drop_all(struct parcel_list *done) {
    for (struct parcel *parcel; (parcel = parcel_list_take(done));)
        parcel_drop(parcel);
}

void send_stage_gathered(struct send_stage *stage,
                         void (*send)(void *context, struct iovec *vectors, unsigned count), void *context) {
    struct parcel_list done;
    parcel_list_init(&done);
    queue_all(stage);
    while (!outbox_empty(&stage->outbox)) {
        outbox_gather(&stage->outbox, &stage->stage, &stage->send_op, SEND_BYTES_MAX, &done);
        drop_all(&done);
        send(context, stage->send_op.vectors, stage->send_op.count);
        send_op_clear(&stage->send_op, &done);
        drop_all(&done);
    }
}
