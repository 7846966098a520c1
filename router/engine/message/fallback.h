// Notifications that have gone to another hub for whom they name first, an approver or a command: where nobody is there they are back,
// and go on by their method. As they came, on their source's shard, until the server has said whether anybody is there.
#pragma once

#include "core/base/hash_table.h"
#include "core/base/limits.h"
#include "core/base/list.h"
#include "core/base/wheel.h"
#include "router/engine/message/message_copy.h"

// A server that says nothing for so long loses what would have been back.
enum { FALLBACK_MS = 2000 };

struct fallback {
    struct hash_node node; // of shard.sought.by_number
    struct list by_source; // in annex.sought
    struct timer timer;
    uint64_t number;
    uint64_t source; // connection
    bool asks; // whether anybody is there is asked, and it hasn't gone: who sent it may not call that one
    size_t bytes;
    struct message_copy *message;
};

// The end of a fallback, as far as it is known.
enum fallback_end {
    FALLBACK_UNKNOWN, // the link is lost
    FALLBACK_NOBODY,  // is there
    FALLBACK_SOMEBODY,
};

// On which shard one of this number is kept.
static inline uint32_t fallback_shard(uint64_t number) {
    return (uint32_t)(number >> (64 - HUB_ID_SHARD_BITS));
}

// Keeps one, behind which all that its peer says waits; its number, or 0: there is no room for it.
uint64_t fallback_keep(struct shard *shard, const struct message *message, bool asks);
// NULL: it isn't kept any more.
struct fallback *fallback_find(const struct shard *shard, uint64_t number);
// Forgets a fallback: it won't be back.
void fallback_forget(struct shard *shard, struct fallback *sought);
// Forgets likewise all fallbacks of a peer, which goes, and the messages that wait behind them.
void fallback_leave(struct shard *shard, struct peer *peer);
// This shard's link says what has become of one (MAIL_SOUGHT): it is dealt with at the turn's end.
void fallback_settled(struct shard *shard, struct mail *mail);
