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
    NEIGHBOURS_MAX = 256, // that have a place; where there are more, nobody waits for those to deny a request
    NEIGHBOUR_WORDS = NEIGHBOURS_MAX / 64,
};

// An agent that is held here; serial 0: none.
struct claimed {
    uint64_t serial;
    uint32_t id_bytes;
    char id[AGENT_ID_BYTES_MAX];
};

struct neighbour {
    struct list link;            // in neighbours.all
    struct list owes, asked;     // what it took of ours, and what it asked of us (crossings.h)
    uint64_t known_ms, heard_ms; // since when it is known; when it was heard last
    // Hashes of what agents there name for themselves (naming.h); and whether it was told what agents here do.
    uint64_t *named;
    uint32_t named_count;
    bool is_told;
    bool is_unfenced; // it hasn't said that it heeds whom a message may not reach (core/cluster/remote_acl.h)
    bool is_joint;    // it takes all answers on one subject, and what is asked of it by its name
    bool takes_bundles; // and several answers in one message
    // Names are held once (claims.h).
    bool unsettled;      // what it holds and what is held here isn't known to differ
    bool disputed;       // in what it has told this time some names were
    uint64_t claimed;    // up to which serial it has told
    struct claimed told; // the last one of which it was told
    uint64_t asked_ms;   // when it was asked for more, or to ask; 0: it wasn't
    uint32_t place;      // below NEIGHBOURS_MAX; NEIGHBOURS_MAX: it has none
    uint64_t secret;     // of the hashes of its numbers
    char name[HUB_NAME_BYTES];
    // The subject under which it hears what is for it alone, with the dot behind that, where it takes answers: by their numbers.
    uint32_t inbox_bytes; // 0: it hasn't been written yet (crossings.h)
    char inbox[SUBJECT_INBOX_BYTES_MAX];
};

// Where it stands for all shards how many there are, how many of them are unfenced, and how many don't take bundles; NULL: nowhere.
struct neighbours_told {
    _Atomic uint32_t *count, *unfenced, *unbundled;
};

struct neighbours {
    struct name_map by_name;
    struct neighbour
        *found;      // last: most of what comes is of the hub that said the message before; NULL: none
    struct list all; // struct neighbour.link; who was heard longest ago is first
    uint64_t places[NEIGHBOUR_WORDS]; // bits: those that are taken
    bool any_new,
        named_changed; // since these were looked at: one is known that wasn't; what is named there isn't the same
    uint32_t unfenced;  // how many of them are
    uint32_t unbundled; // how many of them don't take bundles
    // One that isn't known, for want of a place or of memory, has beaten and not said that it heeds fences; and when the last one did. The same
    // of bundles.
    bool has_stranger, has_single;
    uint64_t stranger_ms, single_ms;
    struct neighbours_told told;
    struct siphash_key key;
    struct quota *kept;
};

void neighbours_init(struct neighbours *neighbours, const struct siphash_key *key, struct quota *kept);
// All of them must have been removed.
void neighbours_deinit(struct neighbours *neighbours);

struct neighbour *neighbours_find(struct neighbours *neighbours, const char name[HUB_NAME_BYTES]);
// From now on it stands there: of the links' the current one's. NULLs: it doesn't any more, and what stands there stays.
void neighbours_tell(struct neighbours *neighbours, const struct neighbours_told *told);

// It has said something. NULL: it isn't known yet, and there is no memory to know it by, or, where it isn't `needed`, no place.
struct neighbour *neighbours_hear(struct neighbours *neighbours, const char name[HUB_NAME_BYTES],
                                  uint64_t now_ms, bool needed);
// Likewise of one that isn't needed, and that has said whether it `heeds` fences; who once did, does.
struct neighbour *neighbours_hear_of(struct neighbours *neighbours, const char name[HUB_NAME_BYTES],
                                     uint64_t now_ms, bool heeds);
// One has beaten that isn't known, and doesn't heed fences, or take bundles: one of those counts as such for all of them.
void neighbours_meet_stranger(struct neighbours *neighbours, uint64_t now_ms, bool heeds, bool takes_bundles);
// None has that was heard later than then: there are none any more.
void neighbours_forget_strangers(struct neighbours *neighbours, uint64_t heard_ms);
// It takes bundles.
void neighbours_learn_bundles(struct neighbours *neighbours, struct neighbour *neighbour);
// It has gone, and nobody waits for its word: another one may have its place, and it may have one again when it is heard.
void neighbours_displace(struct neighbours *neighbours, struct neighbour *neighbour);
// It owes nothing, and has asked nothing.
void neighbours_remove(struct neighbours *neighbours, struct neighbour *neighbour);
// Whether none that beats, and names this (a hash; NULL: whatever it names), has a lesser name.
bool neighbours_is_least(const struct neighbours *neighbours, const char name[HUB_NAME_BYTES],
                         const uint64_t *named);
// Whether all that have a place are among these, and there is one.
bool neighbours_all(const struct neighbours *neighbours, const uint64_t places[NEIGHBOUR_WORDS]);
