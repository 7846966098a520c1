// A request to another hub that may have to be sent once more, as it came, on its source's shard: where nobody bears the name that its
// first rule names, the method is next; and while the REALM changes, hubs under the former one are asked.
#pragma once

#include "core/rights/digest.h"
#include "router/engine/message/message.h"
#include "router/engine/shard/credential.h"

struct message_copy {
    struct unit unit;           // whose time is what is left of it
    struct directives original; // what its source said
    struct frame frame;         // with a reference of its own
    const struct user *user;    // who has sent it, of whatever edition; NULL: users are not on
    enum credential kind;       // by which
    struct digest digest;       // of a token
    bool is_first;              // it was sent under the name of an approver or a command
    bool first_over;            // nobody bears that name
    bool is_former;             // it was sent under the former REALM
    bool approved;              // as the message was
    enum message_audit audit;
    struct attachment
        *attachment; // where its connection was attached to then, if that says where it goes; or NULL
};

// Why a request is routed once more.
struct remote_retry {
    bool first_over; // as above
    bool is_former;  // hubs under the former REALM are to be asked
    struct directives original;
    uint64_t hub_id;                  // under which it went
    struct account **place;           // where it counts as pending, until that is taken over; or NULL
    struct observation **observation; // of what is looked at, until the request is under way again; or NULL
    struct mail **outcome;            // what tells the journal how it ends; of what isn't in the journal NULL
};

// NULL where there is no memory to keep it.
struct message_copy *message_copy_create(struct shard *shard, const struct message *message);
// Takes over the place that it has among what its user has pending. False: it has none there.
bool message_copy_take_place(const struct message *message, const struct account *account);
void message_copy_drop(struct shard *shard, struct message_copy *copy);
