// A mailbox carries mail from one shard to another: a ring of pointers with one producer and one consumer, in order,
// without a lock. Mail that doesn't fit waits in a list at the producer, linked through the mail itself, so posting
// never fails and never allocates. Mail that may be refused is refused while other mail waits (mailbox_crowded).
//
// The producer publishes its mail once a turn (mailbox_publish), by one store. Mail that only gives memory back
// (mailbox_post_idle) waits for the consumer's next turn, since waking a core costs more than a message.
//
// A shard that is about to sleep sets its flag and then looks for mail once more. A shard that has published looks at
// the other's flag. Both sides use sequentially consistent operations, so at least one of them sees the other.
#pragma once

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/base/list.h"
#include "core/base/memory.h"

struct mailbox {
    // The producer's side.
    alignas(CACHE_LINE_BYTES) uint32_t next; // the index of the next mail; published as tail
    uint32_t head_seen;                      // the value of head that the producer last read
    struct mail *waiting, **waiting_last;    // mail that found no room in the ring
    bool is_urgent; // mail that isn't idle was posted since the last wake, or waits for room
    // Shared: how far the producer has published, how far the consumer has taken.
    alignas(CACHE_LINE_BYTES) _Atomic uint32_t tail;
    alignas(CACHE_LINE_BYTES) _Atomic uint32_t head;
    alignas(CACHE_LINE_BYTES) struct mail *ring[MAILBOX_MESSAGES];
};

// Initialises a mailbox, which owns no memory.
void mailbox_init(struct mailbox *mailbox);

// Producer. Posts mail, which belongs to the consumer once it is published.
void mailbox_post(struct mailbox *mailbox, struct mail *mail);
// Producer. Posts idle mail: a consumer that sleeps isn't woken for less than MAILBOX_IDLE_MAX pieces of it.
void mailbox_post_idle(struct mailbox *mailbox, struct mail *mail);
// Producer. Makes all mail in the ring urgent: the next mailbox_publish wakes the consumer.
void mailbox_expedite(struct mailbox *mailbox);
// Producer. Returns whether mail waits because the ring is full.
static inline bool mailbox_crowded(const struct mailbox *mailbox) {
    return mailbox->waiting != NULL;
}
// Producer. Publishes the mail that was posted. Returns whether the consumer must be woken.
bool mailbox_publish(struct mailbox *mailbox);

// Consumer. Takes the next mail; or NULL.
struct mail *mailbox_take(struct mailbox *mailbox);
// Consumer. Returns whether there is no mail, in one order with the flag of a shard that is about to sleep.
bool mailbox_quiet(struct mailbox *mailbox);
