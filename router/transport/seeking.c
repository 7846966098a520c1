#include "router/transport/seeking.h"

#include <assert.h>

#include "core/cluster/hub_header.h"
#include "router/engine/message/fallback.h"
#include "router/engine/shard/post.h"
#include "router/forwarding/remote_target.h"

struct seeking {
    struct mail mail;     // in which it goes home
    struct list link;     // in seekings.all
    struct hash_node bin; // of seekings.by_number
    uint64_t number;
    uint64_t ping;   // that is said behind it; 0: it isn't said yet
    uint64_t sought; // its number where it is kept
};

void seeking_init(struct seekings *seekings, struct shard *shard) {
    assert(shard->index == 0);
    *seekings = (struct seekings){.shard = shard};
    list_init(&seekings->all);
    hash_table_init(&seekings->by_number, &shard->kept);
}

static struct seeking *oldest(const struct seekings *seekings) {
    return seeking_waits(seekings) ? list_entry(seekings->all.next, struct seeking, link) : NULL;
}

// Where it is kept it is known what has become of it, before anything else comes of this turn.
static void settle(struct seekings *seekings, struct seeking *seeking, enum fallback_end end) {
    struct shard *shard = seekings->shard;
    uint32_t to = fallback_shard(seeking->sought);
    list_remove(&seeking->link);
    hash_table_remove(&seekings->by_number, &seeking->bin);
    if (shard->phase == HUB_CLOSING || shard->phase == HUB_STOPPED) { // all peers go
        quota_give(&shard->kept, seeking);
        return;
    }
    assert(to < shard->hub->settings.shard_count);
    seeking->mail = (struct mail){.kind = MAIL_SOUGHT, .detail = (uint8_t)end, .connection = seeking->sought};
    if (to == shard->index)
        fallback_settled(shard, &seeking->mail);
    else
        mailbox_post(hub_mailbox(shard->hub, shard->index, to), &seeking->mail);
}

void seeking_forget(struct seekings *seekings) {
    for (struct seeking *seeking; (seeking = oldest(seekings));)
        settle(seekings, seeking, FALLBACK_UNKNOWN);
    hash_table_deinit(&seekings->by_number);
}

static struct seeking *add(struct seekings *seekings, uint64_t sought) {
    static_assert(offsetof(struct seeking, mail) == 0, "what is given back is what was taken");
    struct seeking *seeking = quota_take(&seekings->shard->kept, sizeof *seeking);
    if (!seeking)
        return NULL;
    *seeking = (struct seeking){.number = seekings->last + 1, .sought = sought};
    if (!hash_table_add(&seekings->by_number, &seeking->bin, seeking->number)) {
        quota_give(&seekings->shard->kept, seeking);
        return NULL;
    }
    seekings->last = seeking->number;
    list_append(&seekings->all, &seeking->link);
    return seeking;
}

void seeking_begin(struct seekings *seekings, struct parcel *parcel, uint32_t inbox_bytes) {
    const struct bearing *bearing = &parcel->bearing;
    char *head = parcel->long_head ? parcel->head : parcel->inline_text;
    uint32_t reply_at = (uint32_t)bearing->token_at + bearing->token_bytes + 1;
    uint32_t at = reply_at + inbox_bytes + REMOTE_TARGET_SOUGHT_AT;
    assert(parcel->is_sought && parcel->has_head && at + 16 < parcel->head_count);
    parcel->is_sought = false;
    const struct seeking *seeking = add(seekings, parcel->sought);
    if (seeking)
        hub_header_all_digits(head + at, seeking->number);
}

bool seeking_follow(struct seekings *seekings, uint64_t ping) {
    bool any = false;
    assert(ping > 0);
    for (struct list *node = seekings->all.prev; node != &seekings->all; node = node->prev) {
        struct seeking *seeking = list_entry(node, struct seeking, link);
        if (seeking->ping)
            break;
        seeking->ping = ping;
        any = true;
    }
    return any;
}

void seeking_answered(struct seekings *seekings, uint64_t pongs) {
    for (struct seeking *seeking; (seeking = oldest(seekings)) && seeking->ping && seeking->ping <= pongs;)
        settle(seekings, seeking, FALLBACK_SOMEBODY);
}

// No two have one number, which is its own hash: they are given out in turn.
bool seeking_nobody(struct seekings *seekings, uint64_t number) {
    struct hash_node *bin = hash_table_find(&seekings->by_number, number);
    if (bin)
        settle(seekings, hash_table_entry(bin, struct seeking, bin), FALLBACK_NOBODY);
    return bin != NULL;
}
