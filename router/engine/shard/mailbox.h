// The way from one shard to another: a ring with one producer and one consumer that carries pointers, first
// in, first out, without a lock. Mail that doesn't fit waits in a list at the producer, linked through the
// mail itself, so that posting never fails and never allocates. Mail that may be refused instead is refused
// while other mail waits (mailbox_crowded).
//
// The producer shows its posts once a turn (mailbox_publish), not once a piece: one store for all of them.
// Mail that only comes home (mailbox_post_idle) is read at the consumer's next turn, whatever that is for:
// waking a core costs more than a message.
//
// A shard that is about to sleep says so and then looks once more. A shard that has published looks whether
// the other sleeps. Both sides use sequentially consistent operations, so one of them always sees the other.
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
    alignas(CACHE_LINE_BYTES) uint32_t next; // where the next goes; published by way of tail
    uint32_t head_seen;                      // what the producer last saw of head
    struct mail *waiting, **waiting_last;    // what found no room
    bool pressing; // what was posted since the last wake, or found no room, isn't all idle
    // Shared: how far the producer has published, how far the consumer has taken.
    alignas(CACHE_LINE_BYTES) _Atomic uint32_t tail;
    alignas(CACHE_LINE_BYTES) _Atomic uint32_t head;
    alignas(CACHE_LINE_BYTES) struct mail *ring[MAILBOX_MESSAGES];
};

// A mailbox holds no memory of its own.
void mailbox_init(struct mailbox *mailbox);

// Producer. Posts a piece of mail, which is the consumer's once published.
void mailbox_post(struct mailbox *mailbox, struct mail *mail);
// Posts likewise, but a consumer that sleeps isn't woken for it alone, unless MAILBOX_IDLE_MAX pieces lie
// there.
void mailbox_post_idle(struct mailbox *mailbox, struct mail *mail);
// Producer. From now on nothing that lies there is idle: it is published once more as if it had been posted.
void mailbox_press(struct mailbox *mailbox);
// Producer. Whether mail waits because the ring is full.
static inline bool mailbox_crowded(const struct mailbox *mailbox) {
    return mailbox->waiting != NULL;
}
// Producer. Shows the consumer what was posted; true if it is to be woken for that.
bool mailbox_publish(struct mailbox *mailbox);

// Consumer. The next piece, or NULL.
struct mail *mailbox_take(struct mailbox *mailbox);
// Consumer. Whether there is none, in one order with the flag of a shard that falls asleep.
bool mailbox_quiet(struct mailbox *mailbox);
