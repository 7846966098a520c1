// A request, or a notification (fallback.h), that is offered to another hub, or asked there first for whom it names, as it came, on its source's shard. Where nobody
// takes it there, it goes on as if it had never gone.
#pragma once

#include "core/rights/digest.h"
#include "router/engine/message/message.h"
#include "router/engine/shard/credential.h"

struct message_copy {
    struct unit unit;         // whose time is what is left of it
    struct directives given;  // what its source said
    struct frame frame;       // with a reference of its own
    const struct user *user;  // who has sent it, of whatever edition; NULL: users are not on
    enum credential kind;     // by which
    struct digest digest;     // of a token
    bool sought;              // whom it names first has been asked for elsewhere
    bool offered;             // to a group elsewhere, this time
    bool approved;            // as the message was
    enum message_audit audit; // likewise
    bool probed;              // it stays here, and whether anybody is there is asked
    bool first;               // likewise, of whom it names
    struct attachment
        *attachment; // where its connection was attached to then, if that says where it goes; or NULL
};

// Why it is back.
struct spill_reason {
    bool nobody;             // is there
    uint32_t owed;           // else: what who owes least there owes; 0: none of them might take it
    bool offered;            // it was
    bool sought;             // whom it names first is nowhere
    bool held;               // that hub wants it approved first
    bool probed;             // whether anybody is there was asked; else than `nobody`: somebody is
    bool first;              // likewise, of whom it names
    bool serves_there;       // likewise: somebody is to whom none of this hub's connections can be attached
    struct directives given; // what its source said, of which the message has what is left
    uint64_t hub_id;         // under which it went
    struct account **place;  // where it counts as pending, until that is taken over; or NULL
    struct mail **
        outcome; // what is to tell the journal how it ends, until that is known; of what isn't in the journal NULL
};

// NULL where there is no memory to keep it: then it must not go.
struct message_copy *message_copy_keep(struct shard *shard, const struct message *message, bool is_offer);
// Takes over the place that it has among what its user has pending. False: it has none there.
bool message_copy_take_place(const struct message *message, const struct account *account);
void message_copy_drop(struct shard *shard, struct message_copy *offered);
