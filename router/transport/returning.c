#include "router/transport/returning.h"

#include <assert.h>

#include "router/route/returned.h"
#include "router/shard/post.h"

// What travels.
struct notice {
    struct mail mail;
    uint64_t hub_id;
    struct returned returned;
};

// It travels in the memory of what it is about, so that there always is some.
static_assert(sizeof(struct notice) <= sizeof(struct crossing), "a crossing becomes a notice");

static void tell(struct link *link, struct notice *notice, enum mail_kind kind, uint64_t hub_id) {
    struct shard *shard = link->shard;
    uint32_t to = hub_id_shard(hub_id);
    assert(link->peer && to < shard->hub->settings.shard_count);
    notice->hub_id = hub_id;
    notice->mail = (struct mail){.kind = (uint8_t)kind, .connection = link->peer->name};
    if (to == shard->index)
        returning_arrived(shard, &notice->mail);
    else
        mailbox_post(hub_mailbox(shard->hub, shard->index, to), &notice->mail);
}

void returning_back(struct link *link, struct crossing *crossing, const struct returned *returned) {
    uint64_t hub_id = crossing->hub_id;
    assert(crossing->returns && !crossing->taker);
    stats_add(&link->shard->stats, COUNT_OFFERS_BACK, crossing->offered);
    crossings_take_out(&link->crossings, crossing);
    struct notice *notice = (struct notice *)crossing;
    notice->returned = *returned;
    tell(link, notice, MAIL_OFFER_BACK, hub_id);
}

// Without memory for that it is kept until it ends.
void returning_taken(struct link *link, const struct crossing *crossing) {
    struct notice *notice = kept_take(&link->shard->kept, sizeof *notice);
    assert(crossing->returns && crossing->taker);
    if (notice)
        tell(link, notice, MAIL_OFFER_TAKEN, crossing->hub_id);
}

void returning_arrived(struct shard *shard, struct mail *mail) {
    struct notice *notice = list_entry(mail, struct notice, mail), copy = *notice;
    assert(hub_id_shard(notice->hub_id) == shard->index);
    kept_give(&shard->kept, notice);
    if (copy.mail.kind == MAIL_OFFER_BACK)
        returned_take(shard, copy.hub_id, copy.mail.connection, &copy.returned);
    else
        returned_forget(shard, copy.hub_id, copy.mail.connection);
}
