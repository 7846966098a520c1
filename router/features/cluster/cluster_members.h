// The other hubs of the cluster, as far as they have said something under this link: each beats once a second, and has gone when
// it has said nothing for long. On shard 0.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/agents/name_map.h"
#include "core/base/limits.h"
#include "core/base/list.h"
#include "core/base/quota.h"
#include "core/cluster/subject.h"

enum {
    CLUSTER_MEMBERS_MAX =
        256, // that have a place; where there are more, nobody waits for those to deny a request
    CLUSTER_MEMBER_WORDS = CLUSTER_MEMBERS_MAX / 64,
};

// An agent that is held here; serial 0: none.
struct claimed_name {
    uint64_t serial;
    uint32_t id_bytes;
    char id[AGENT_ID_BYTES_MAX];
};

struct cluster_member {
    struct list link;            // in neighbours.all
    struct list owes, asked;     // what it took of ours, and what it asked of us (inflight.h)
    uint64_t known_ms, heard_ms; // since when it is known; when it was heard last
    // Hashes of what agents there name for themselves (interest.h); and whether it was told what agents here do.
    uint64_t *named;
    uint32_t named_count;
    bool is_told;
    bool is_unfenced; // it hasn't said that it heeds whom a message may not reach (core/cluster/remote_acl.h)
    bool is_joint;    // it takes all answers on one subject, and what is asked of it by its name
    // Names are held once (name_conflict.h).
    bool unsettled;           // what it holds and what is held here isn't known to differ
    bool disputed;            // in what it has told this time some names were
    uint64_t claimed;         // up to which serial it has told
    struct claimed_name told; // the last one of which it was told
    uint64_t asked_ms;        // when it was asked for more, or to ask; 0: it wasn't
    uint32_t place;           // below CLUSTER_MEMBERS_MAX; CLUSTER_MEMBERS_MAX: it has none
    uint64_t secret;          // of the hashes of its numbers
    char name[HUB_NAME_BYTES];
    // The subject under which it hears what is for it alone, with the dot behind that, where it takes answers: by their numbers.
    uint32_t inbox_bytes; // 0: it hasn't been written yet (inflight.h)
    char inbox[SUBJECT_INBOX_BYTES_MAX];
};

// Where it stands for all shards how many there are, and how many of them are unfenced; NULL: nowhere.
struct cluster_members_shared {
    _Atomic uint32_t *count, *unfenced;
};

struct cluster_members {
    struct name_map by_name;
    struct cluster_member
        *found;      // last: most of what comes is of the hub that said the message before; NULL: none
    struct list all; // struct cluster_member.link; who was heard longest ago is first
    uint64_t places[CLUSTER_MEMBER_WORDS]; // bits: those that are taken
    bool any_new,
        named_changed; // since these were looked at: one is known that wasn't; what is named there isn't the same
    uint32_t unfenced; // how many of them are
    // One that isn't known, for want of a place or of memory, has beaten and not said that it heeds fences; and when the last one did.
    bool has_stranger;
    uint64_t stranger_ms;
    struct cluster_members_shared told;
    struct siphash_key key;
    struct quota *quota;
};

void cluster_members_init(struct cluster_members *cluster_members, const struct siphash_key *key,
                          struct quota *quota);
// All of them must have been removed.
void cluster_members_deinit(struct cluster_members *cluster_members);

struct cluster_member *cluster_members_find(struct cluster_members *cluster_members,
                                            const char name[HUB_NAME_BYTES]);
// From now on it stands there: of the links' the current one's. NULLs: it doesn't any more, and what stands there stays.
void cluster_members_tell(struct cluster_members *cluster_members, const struct cluster_members_shared *told);

// It has said something. NULL: it isn't known yet, and there is no memory to know it by, or, where it isn't `needed`, no place.
struct cluster_member *cluster_members_hear(struct cluster_members *cluster_members,
                                            const char name[HUB_NAME_BYTES], uint64_t now_ms, bool needed);
// Likewise of one that isn't needed, and that has said whether it `heeds` fences; who once did, does.
struct cluster_member *cluster_members_hear_of(struct cluster_members *cluster_members,
                                               const char name[HUB_NAME_BYTES], uint64_t now_ms, bool heeds);
// One has beaten that isn't known, and doesn't heed fences: one of those counts as such for all of them.
void cluster_members_meet_stranger(struct cluster_members *cluster_members, uint64_t now_ms);
// None has that was heard later than then: there are none any more.
void cluster_members_forget_strangers(struct cluster_members *cluster_members, uint64_t heard_ms);
// It has gone, and nobody waits for its word: another one may have its place, and it may have one again when it is heard.
void cluster_members_displace(struct cluster_members *cluster_members, struct cluster_member *remote);
// It owes nothing, and has asked nothing.
void cluster_members_remove(struct cluster_members *cluster_members, struct cluster_member *remote);
// Whether none that beats, and names this (a hash; NULL: whatever it names), has a lesser name.
bool cluster_members_is_least(const struct cluster_members *cluster_members, const char name[HUB_NAME_BYTES],
                              const uint64_t *named);
// Whether all that have a place are among these, and there is one.
bool cluster_members_all(const struct cluster_members *cluster_members,
                         const uint64_t places[CLUSTER_MEMBER_WORDS]);
