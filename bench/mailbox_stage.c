// A producer thread on one end of router's mailbox or of Concurrency Kit's ring, for the benchmark on the
// other end.
#include <ck_pr.h>
#include <ck_ring.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bench/stage.h"
#include "router/engine/shard/mailbox.h"

enum { PIECES = 4 * MAILBOX_MESSAGES };

struct mailbox_stage {
    struct mailbox mailbox;
    ck_ring_t ring;
    ck_ring_buffer_t ring_slots[MAILBOX_MESSAGES];
    struct mail pieces[PIECES];
    enum mailbox_kind kind;
    uint32_t batch;
    uint32_t taken;
    pthread_t producer;
    _Atomic bool over;
};

static bool post_ours(struct mailbox_stage *stage, struct mail *mail) {
    while (
        mailbox_crowded(&stage->mailbox)) { // as few wait as may be: a piece that waits can't be posted again
        mailbox_publish(&stage->mailbox);
        if (atomic_load_explicit(&stage->over, memory_order_relaxed))
            return false;
    }
    mailbox_post(&stage->mailbox, mail);
    return true;
}

static bool post_ck(struct mailbox_stage *stage, struct mail *mail) {
    while (!ck_ring_enqueue_spsc(&stage->ring, stage->ring_slots, mail)) {
        ck_pr_stall();
        if (atomic_load_explicit(&stage->over, memory_order_relaxed))
            return false;
    }
    return true;
}

static void *produce(void *context) {
    struct mailbox_stage *stage = context;
    for (uint32_t number = 0; !atomic_load_explicit(&stage->over, memory_order_relaxed); number++) {
        struct mail *mail = &stage->pieces[number % PIECES];
        if (stage->kind == MAILBOX_CK) {
            if (!post_ck(stage, mail))
                break;
            continue;
        }
        if (!post_ours(stage, mail))
            break;
        if (number % stage->batch == stage->batch - 1)
            mailbox_publish(&stage->mailbox);
    }
    return NULL;
}

struct mailbox_stage *mailbox_stage_open(enum mailbox_kind kind, uint32_t batch) {
    struct mailbox_stage *stage = aligned_alloc(CACHE_LINE_BYTES, sizeof *stage);
    stage->kind = kind;
    stage->batch = batch;
    stage->taken = 0;
    mailbox_init(&stage->mailbox);
    ck_ring_init(&stage->ring, MAILBOX_MESSAGES);
    atomic_init(&stage->over, false);
    if (pthread_create(&stage->producer, NULL, produce, stage))
        abort();
    return stage;
}

void mailbox_stage_close(struct mailbox_stage *stage) {
    atomic_store(&stage->over, true);
    pthread_join(stage->producer, NULL);
    free(stage);
}

static struct mail *take(struct mailbox_stage *stage) {
    if (stage->kind == MAILBOX_OURS)
        return mailbox_take(&stage->mailbox);
    void *piece;
    return ck_ring_dequeue_spsc(&stage->ring, stage->ring_slots, &piece) ? piece : NULL;
}

int mailbox_stage_take(struct mailbox_stage *stage, uint32_t count) {
    int good = 1;
    while (count) {
        const struct mail *mail = take(stage);
        if (!mail) {
            ck_pr_stall();
            continue;
        }
        good &= mail == &stage->pieces[stage->taken++ % PIECES];
        count--;
    }
    return good;
}
