#include "router/engine/shard/mailbox.h"

#include <assert.h>
#include <stddef.h>

// How many pieces of mail are prefetched while another is read, and how many bytes of each.
enum { FETCHED_AHEAD = 3, FETCHED_BYTES = 3 * CACHE_LINE_BYTES };

void mailbox_init(struct mailbox *mailbox) {
    mailbox->next = mailbox->head_seen = 0;
    mailbox->waiting = NULL;
    mailbox->is_urgent = false;
    mailbox->waiting_last = &mailbox->waiting;
    atomic_init(&mailbox->tail, 0);
    atomic_init(&mailbox->head, 0);
}

static bool full(struct mailbox *mailbox) {
    assert(mailbox->next - mailbox->head_seen <= MAILBOX_MESSAGES);
    if (mailbox->next - mailbox->head_seen < MAILBOX_MESSAGES)
        return false;
    mailbox->head_seen = atomic_load_explicit(&mailbox->head, memory_order_acquire);
    assert(mailbox->next - mailbox->head_seen <= MAILBOX_MESSAGES);
    return mailbox->next - mailbox->head_seen == MAILBOX_MESSAGES;
}

// Moves waiting mail into the ring, as far as the ring has room.
static void refill(struct mailbox *mailbox) {
    while (mailbox->waiting && !full(mailbox)) {
        struct mail *mail = mailbox->waiting;
        mailbox->waiting = mail->next;
        if (!mailbox->waiting)
            mailbox->waiting_last = &mailbox->waiting;
        mailbox->ring[mailbox->next++ % MAILBOX_MESSAGES] = mail;
    }
    assert(!mailbox->waiting == (mailbox->waiting_last == &mailbox->waiting));
}

void mailbox_post(struct mailbox *mailbox, struct mail *mail) {
    mailbox->is_urgent = true;
    mailbox_post_idle(mailbox, mail);
}

void mailbox_post_idle(struct mailbox *mailbox, struct mail *mail) {
    if (mailbox->waiting)
        refill(mailbox);
    if (!mailbox->waiting && !full(mailbox)) {
        mailbox->ring[mailbox->next++ % MAILBOX_MESSAGES] = mail;
        return;
    }
    assert(!*mailbox->waiting_last);
    mail->next = NULL;
    *mailbox->waiting_last = mail;
    mailbox->waiting_last = &mail->next;
}

void mailbox_expedite(struct mailbox *mailbox) {
    mailbox->is_urgent = true;
}

bool mailbox_publish(struct mailbox *mailbox) {
    refill(mailbox);
    bool fresh = atomic_load_explicit(&mailbox->tail, memory_order_relaxed) != mailbox->next;
    if (fresh)
        atomic_store(&mailbox->tail, mailbox->next);
    bool is_urgent = mailbox->is_urgent;
    mailbox->is_urgent = is_urgent && mailbox->waiting;
    uint32_t head = atomic_load_explicit(&mailbox->head, memory_order_relaxed);
    assert(mailbox->next - head <= MAILBOX_MESSAGES);
    return is_urgent || (fresh && mailbox->next - head >= MAILBOX_IDLE_MAX);
}

// Prefetches the next piece of mail. Another core has written the mail, so its fetch takes longer than the handling of
// the piece before.
static void fetch(const struct mail *mail) {
    assert(mail);
    prefetch_to_read(mail, FETCHED_BYTES);
}

struct mail *mailbox_take(struct mailbox *mailbox) {
    uint32_t head = atomic_load_explicit(&mailbox->head, memory_order_relaxed);
    uint32_t tail = atomic_load_explicit(&mailbox->tail, memory_order_acquire);
    assert(tail - head <= MAILBOX_MESSAGES);
    if (tail == head)
        return NULL;
    if (tail - head > FETCHED_AHEAD)
        fetch(mailbox->ring[(head + FETCHED_AHEAD) % MAILBOX_MESSAGES]);
    struct mail *mail = mailbox->ring[head % MAILBOX_MESSAGES];
    atomic_store_explicit(&mailbox->head, head + 1, memory_order_release);
    return mail;
}

bool mailbox_quiet(struct mailbox *mailbox) {
    return atomic_load(&mailbox->tail) == atomic_load_explicit(&mailbox->head, memory_order_relaxed);
}
