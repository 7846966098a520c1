#include "router/engine/shard/post.h"

#include <assert.h>

void post_mail(struct shard *shard, uint32_t to, struct mail *mail) {
    assert(to < shard->hub->start_settings.shard_count);
    if (to != shard->index) {
        mailbox_post(hub_mailbox(shard->hub, shard->index, to), mail);
        return;
    }
    assert(!*shard->loopback_mail_last);
    mail->next = NULL;
    *shard->loopback_mail_last = mail;
    shard->loopback_mail_last = &mail->next;
}

void post_defer(struct shard *shard, struct mail *mail) {
    assert(mail->kind == MAIL_ORDER && !*shard->orders_last);
    mail->next = NULL;
    *shard->orders_last = mail;
    shard->orders_last = &mail->next;
}

// Publishes this turn's mail. Mailboxes of higher shards are published first: an order goes to shard 0 and from there
// upwards, and must not arrive before mail that this shard posted earlier.
void post_publish(struct shard *shard) {
    assert(shard->magic == SHARD_MAGIC);
    for (uint32_t to = shard->hub->start_settings.shard_count; to-- > 0;) {
        struct mailbox *mailbox = hub_mailbox(shard->hub, shard->index, to);
        if (to != shard->index && mailbox_publish(mailbox))
            shard_wake(shard, to);
    }
}

// Returns whether no mail has come and no own mail waits for room. Own mail without room must be posted again soon.
bool post_quiet(struct shard *shard) {
    assert(!shard->orders == (shard->orders_last == &shard->orders));
    if (shard->orders)
        return false;
    for (uint32_t other = 0; other < shard->hub->start_settings.shard_count; other++)
        if (!mailbox_quiet(hub_mailbox(shard->hub, other, shard->index)) ||
            mailbox_crowded(hub_mailbox(shard->hub, shard->index, other)))
            return false;
    return true;
}
