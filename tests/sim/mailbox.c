// router/engine/shard/mailbox.c once more, under this test's names and with this test's room. The linker takes these
// and leaves the router's own: world.c needs what only this file has.
#define mailbox_publish router_mailbox_publish
#define mailbox_take    router_mailbox_take
#define mailbox_quiet   router_mailbox_quiet
#include "tests/sim/mailbox.h"

#include "router/engine/shard/post.h"
#include "tests/sim/sim_io.h"

enum { IDLE_SHARE = MAILBOX_MESSAGES / MAILBOX_IDLE_MAX, IDLE_SHARE_SMALL = 4 };

static uint32_t ring_room = MAILBOX_MESSAGES, idle_max = MAILBOX_IDLE_MAX;

#define MAILBOX_MESSAGES ring_room
#define MAILBOX_IDLE_MAX idle_max
#include "router/engine/shard/mailbox.c"
#undef mailbox_publish
#undef mailbox_take
#undef mailbox_quiet

bool mailbox_publish(struct mailbox *mailbox);
bool mailbox_publish(struct mailbox *mailbox) {
    sim_preempt();
    bool wakes = router_mailbox_publish(mailbox);
    sim_preempt();
    return wakes;
}

struct mail *mailbox_take(struct mailbox *mailbox);
struct mail *mailbox_take(struct mailbox *mailbox) {
    sim_preempt();
    return router_mailbox_take(mailbox);
}

bool mailbox_quiet(struct mailbox *mailbox);
bool mailbox_quiet(struct mailbox *mailbox) {
    sim_preempt();
    return router_mailbox_quiet(mailbox);
}

void sim_mailbox_room(uint32_t room) {
    ring_room = room;
    idle_max = room / (room < IDLE_SHARE ? IDLE_SHARE_SMALL : IDLE_SHARE);
}

bool sim_mailbox_may_lie(const struct mailbox *mailbox, enum hub_phase producer) {
    uint32_t head = atomic_load(&mailbox->head), tail = atomic_load(&mailbox->tail);
    for (uint32_t at = head; at != tail; at++)
        if (mailbox->ring[at % ring_room]->kind != MAIL_RETURN)
            return false;
    return head == tail || (producer == HUB_SERVING && tail - head < idle_max);
}
