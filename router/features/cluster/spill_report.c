#include "router/features/cluster/spill_report.h"

#include <assert.h>
#include <string.h>

#include "router/engine/shard/post.h"
#include "router/routing/spill_return.h"

// What travels.
struct notice {
    struct mail mail;
    uint64_t hub_id;
    struct spill_reason returned;
};

// It travels in the memory of what it is about, so that there always is some.
static_assert((size_t)sizeof(struct notice) <= (size_t)OUTBOUND_REQUEST_BYTES_MIN,
              "a crossing becomes a notice");

static void tell(struct link *link, struct notice *notice, enum mail_kind kind, uint64_t hub_id) {
    struct shard *shard = link->shard;
    uint32_t to = hub_id_shard(hub_id);
    assert(link->peer && to < shard->hub->settings.shard_count);
    notice->hub_id = hub_id;
    notice->mail = (struct mail){.kind = (uint8_t)kind, .connection = link->peer->name};
    if (to == shard->index)
        spill_report_arrived(shard, &notice->mail);
    else
        mailbox_post(hub_mailbox(shard->hub, shard->index, to), &notice->mail);
}

void spill_report_back(struct link *link, struct outbound_request *outbound,
                       const struct spill_reason *returned) {
    uint64_t hub_id = outbound->hub_id;
    assert((outbound->returns || outbound->kept) && !outbound->taker);
    stats_add(&link->shard->stats, COUNT_OFFERS_BACK, outbound->offered);
    inflight_take_out(&link->inflight, outbound);
    struct notice *notice = (struct notice *)outbound;
    notice->returned = *returned;
    tell(link, notice, MAIL_OFFER_BACK, hub_id);
}

// Without memory for that it is kept until it ends.
void spill_report_taken(struct link *link, const struct outbound_request *outbound) {
    struct notice *notice = quota_take(&link->shard->quota, sizeof *notice);
    assert((outbound->returns || outbound->kept) && outbound->taker);
    if (notice)
        tell(link, notice, MAIL_OFFER_TAKEN, outbound->hub_id);
}

// What travels with a request that is to go again: whom to.
struct again {
    struct mail mail;
    uint64_t hub_id;
    enum subject_kind kind;
    uint32_t token_bytes;
    bool probes;  // what would become of it is asked
    bool is_over; // on its way back: it doesn't go
    char hub[HUB_NAME_BYTES];
    char token[];
};

static void post(struct shard *shard, struct again *again, uint32_t to) {
    if (to == shard->index)
        spill_report_arrived(shard, &again->mail);
    else
        mailbox_post(hub_mailbox(shard->hub, shard->index, to), &again->mail);
}

bool spill_report_again(struct link *link, struct outbound_request *outbound,
                        const char hub[HUB_NAME_BYTES]) {
    struct shard *shard = link->shard;
    struct again *again = quota_take(&shard->quota, sizeof *again + outbound->token_bytes);
    assert(outbound->kept && outbound_request_refusal(outbound));
    if (!again)
        return false;
    *again = (struct again){.mail = {.kind = MAIL_OFFER_AGAIN, .connection = link->peer->name},
                            .hub_id = outbound->hub_id,
                            .kind = (enum subject_kind)outbound->kind,
                            .token_bytes = outbound->token_bytes,
                            .probes = outbound->probes};
    memcpy(again->hub, hub, HUB_NAME_BYTES);
    memcpy(again->token, outbound->token, outbound->token_bytes);
    inflight_go_again(&link->inflight, outbound);
    post(shard, again, hub_id_shard(outbound->hub_id));
    return true;
}

// On the link's shard: it has ended, or can't go.
static void end_again(struct shard *shard, const struct again *again) {
    struct peer *peer = peer_find(shard, again->mail.connection);
    assert(again->is_over && shard->index == 0);
    struct link *link = peer ? link_of(shard, peer) : NULL;
    struct outbound_request *outbound = link ? inflight_find(&link->inflight, again->hub_id) : NULL;
    if (outbound && outbound->waits)
        inflight_remove(&link->inflight, outbound);
}

static void take_again(struct shard *shard, struct again *again) {
    struct remote_target to = {.kind = again->kind,
                               .returns = true,
                               .kept = true,
                               .probes = again->probes,
                               .judged = again->probes,
                               .hub = again->hub,
                               .bytes = again->token_bytes};
    if (again->is_over) {
        end_again(shard, again);
        quota_give(&shard->quota, again);
        return;
    }
    memcpy(to.token, again->token, again->token_bytes);
    again->is_over = true;
    if (spill_return_again(shard, again->hub_id, again->mail.connection, &to))
        quota_give(&shard->quota, again);
    else
        post(shard, again, connection_shard(again->mail.connection));
}

void spill_report_arrived(struct shard *shard, struct mail *mail) {
    if (mail->kind == MAIL_OFFER_AGAIN) {
        take_again(shard, list_entry(mail, struct again, mail));
        return;
    }
    struct notice *notice = list_entry(mail, struct notice, mail), copy = *notice;
    assert(hub_id_shard(notice->hub_id) == shard->index);
    quota_give(&shard->quota, notice);
    if (copy.mail.kind == MAIL_OFFER_BACK)
        spill_return_take(shard, copy.hub_id, copy.mail.connection, &copy.returned);
    else
        spill_return_forget(shard, copy.hub_id, copy.mail.connection);
}
