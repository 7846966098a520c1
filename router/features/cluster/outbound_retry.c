#include "router/features/cluster/outbound_retry.h"

#include <assert.h>
#include <string.h>

#include "router/features/cluster/spill_report.h"

// Where many hubs are short of something, what each is asked in vain must not be what they are short of.
enum { OUTBOUND_RETRY_MAX = 16, REFUSAL_BYTES_MAX = 64 << 10 };

bool outbound_retry_may_have(const struct outbound_request *outbound, const char hub[HUB_NAME_BYTES]) {
    const struct outbound_refusal *refusal = outbound_request_refusal(outbound);
    const char *asked = outbound->taker ? outbound->taker->name : refusal ? refusal->last : NULL;
    assert(!outbound->taker || !outbound->waits);
    return !asked || memcmp(asked, hub, HUB_NAME_BYTES) == 0;
}

static void note_asked(struct outbound_refusal *refusal, const struct cluster_member *remote) {
    assert(refusal->count <= OUTBOUND_RETRY_MAX);
    refusal->count++;
    if (remote && remote->place < CLUSTER_MEMBERS_MAX)
        refusal->asked[remote->place / 64] |= UINT64_C(1) << remote->place % 64;
}

bool outbound_retry_keep(struct link *link, struct outbound_request *outbound,
                         const struct hub_header *header, const struct frame *said) {
    assert(header->given && header->has_hub && header->refused);
    if (!outbound->kept || outbound->taker || outbound->kind == SUBJECT_AGENT)
        return false;
    if (outbound_request_refusal(outbound))
        return true;
    uint32_t bytes = said->body.bytes;
    struct outbound_request_rest *rest =
        bytes <= REFUSAL_BYTES_MAX ? inflight_rest(&link->inflight, outbound) : NULL;
    struct outbound_refusal *refusal = rest ? quota_take(&link->shard->quota, sizeof *refusal + bytes) : NULL;
    if (!refusal)
        return false;
    *refusal = (struct outbound_refusal){.bytes = bytes};
    memcpy(refusal->text, frame_body(said), bytes);
    memcpy(refusal->last, header->hub, HUB_NAME_BYTES);
    note_asked(refusal, cluster_members_find(&link->inflight.cluster_members, header->hub));
    rest->refusal = refusal;
    return true;
}

// An older hub would say nothing to it, or give it to whom its user's lines here keep it from.
static bool may_ask(const struct outbound_request *outbound, const struct cluster_member *remote) {
    const struct outbound_refusal *refusal = outbound_request_refusal(outbound);
    bool is_older = !remote->is_joint || (remote->is_unfenced && outbound->fenced);
    return !is_older && remote->place < CLUSTER_MEMBERS_MAX &&
           !(refusal->asked[remote->place / 64] >> remote->place % 64 & 1);
}

bool outbound_retry_next(struct link *link, struct outbound_request *outbound) {
    const struct list *all = &link->inflight.cluster_members.all, *node = all->next;
    struct outbound_refusal *refusal = outbound_request_refusal(outbound);
    assert(refusal && !outbound->taker && !outbound->waits);
    while (node != all && !may_ask(outbound, list_entry(node, struct cluster_member, link)))
        node = node->next;
    if (node == all || refusal->count > OUTBOUND_RETRY_MAX || outbound->cancelled)
        return false;
    const struct cluster_member *next = list_entry(node, struct cluster_member, link);
    note_asked(refusal, next);
    memcpy(refusal->last, next->name, HUB_NAME_BYTES);
    return spill_report_again(link, outbound, next->name);
}
