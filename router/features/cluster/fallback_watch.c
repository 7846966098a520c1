#include "router/features/cluster/fallback_watch.h"

#include <assert.h>

#include "core/cluster/hub_header.h"
#include "router/engine/message/fallback.h"
#include "router/engine/shard/post.h"
#include "router/forwarding/remote_target.h"

struct seeking {
    struct mail mail;      // in which it goes home
    struct list link;      // in seekings.all
    struct hash_node node; // of seekings.by_number
    uint64_t number;
    uint64_t ping;   // that is said behind it; 0: it isn't said yet
    uint64_t sought; // its number where it is kept
};

void fallback_watch_init(struct fallback_watch *fallback_watch, struct shard *shard) {
    assert(shard->index == 0);
    *fallback_watch = (struct fallback_watch){.shard = shard};
    list_init(&fallback_watch->all);
    hash_table_init(&fallback_watch->by_number, &shard->quota);
}

static struct seeking *oldest(const struct fallback_watch *fallback_watch) {
    return fallback_watch_waits(fallback_watch) ? list_entry(fallback_watch->all.next, struct seeking, link)
                                                : NULL;
}

// Where it is kept it is known what has become of it, before anything else comes of this turn.
static void settle(struct fallback_watch *fallback_watch, struct seeking *seeking, enum fallback_end end) {
    struct shard *shard = fallback_watch->shard;
    uint32_t to = fallback_shard(seeking->sought);
    list_remove(&seeking->link);
    hash_table_remove(&fallback_watch->by_number, &seeking->node);
    if (shard->phase == HUB_CLOSING || shard->phase == HUB_STOPPED) { // all peers go
        quota_give(&shard->quota, seeking);
        return;
    }
    assert(to < shard->hub->settings.shard_count);
    seeking->mail = (struct mail){.kind = MAIL_SOUGHT, .detail = (uint8_t)end, .connection = seeking->sought};
    if (to == shard->index)
        fallback_settled(shard, &seeking->mail);
    else
        mailbox_post(hub_mailbox(shard->hub, shard->index, to), &seeking->mail);
}

void fallback_watch_forget(struct fallback_watch *fallback_watch) {
    for (struct seeking *seeking; (seeking = oldest(fallback_watch));)
        settle(fallback_watch, seeking, FALLBACK_UNKNOWN);
    hash_table_deinit(&fallback_watch->by_number);
}

static struct seeking *add(struct fallback_watch *fallback_watch, uint64_t sought) {
    static_assert(offsetof(struct seeking, mail) == 0, "what is given back is what was taken");
    struct seeking *seeking = quota_take(&fallback_watch->shard->quota, sizeof *seeking);
    if (!seeking)
        return NULL;
    *seeking = (struct seeking){.number = fallback_watch->last + 1, .sought = sought};
    if (!hash_table_add(&fallback_watch->by_number, &seeking->node, seeking->number)) {
        quota_give(&fallback_watch->shard->quota, seeking);
        return NULL;
    }
    fallback_watch->last = seeking->number;
    list_append(&fallback_watch->all, &seeking->link);
    return seeking;
}

void fallback_watch_begin(struct fallback_watch *fallback_watch, struct parcel *parcel,
                          uint32_t inbox_bytes) {
    const struct bearing *bearing = &parcel->bearing;
    char *head = parcel->long_head ? parcel->head : parcel->inline_text;
    uint32_t reply_at = (uint32_t)bearing->token_at + bearing->token_bytes + 1;
    uint32_t at = reply_at + inbox_bytes + REMOTE_TARGET_SOUGHT_AT;
    assert(parcel->is_sought && parcel->has_head && at + 16 < parcel->head_count);
    parcel->is_sought = false;
    const struct seeking *seeking = add(fallback_watch, parcel->sought);
    if (seeking)
        hub_header_all_digits(head + at, seeking->number);
}

bool fallback_watch_follow(struct fallback_watch *fallback_watch, uint64_t ping) {
    bool any = false;
    assert(ping > 0);
    for (struct list *node = fallback_watch->all.prev; node != &fallback_watch->all; node = node->prev) {
        struct seeking *seeking = list_entry(node, struct seeking, link);
        if (seeking->ping)
            break;
        seeking->ping = ping;
        any = true;
    }
    return any;
}

void fallback_watch_answered(struct fallback_watch *fallback_watch, uint64_t pongs) {
    for (struct seeking *seeking;
         (seeking = oldest(fallback_watch)) && seeking->ping && seeking->ping <= pongs;)
        settle(fallback_watch, seeking, FALLBACK_SOMEBODY);
}

// No two have one number, which is its own hash: they are given out in turn.
bool fallback_watch_nobody(struct fallback_watch *fallback_watch, uint64_t number) {
    struct hash_node *node = hash_table_find(&fallback_watch->by_number, number);
    if (node)
        settle(fallback_watch, hash_table_entry(node, struct seeking, node), FALLBACK_NOBODY);
    return node != NULL;
}
