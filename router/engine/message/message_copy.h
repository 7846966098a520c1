// A copy of a request to other hubs that may have to be sent once more: if no agent has the name that the first rule
// gives, then agents with the method are asked; and while the REALM changes, hubs of the former REALM are asked. The
// source's shard keeps the copy.
#pragma once

#include "core/rights/digest.h"
#include "router/engine/message/message.h"
#include "router/engine/shard/credential.h"

struct message_copy {
    struct unit unit;           // its directives have the time that is left
    struct directives original; // as the source gave them
    struct frame frame;         // with a reference to its buffer
    const struct user *user;    // of the source, of any edition; NULL: there is no users file
    enum credential_kind kind;  // of the source
    struct digest digest;       // of a token
    bool is_first;              // the request was sent under the name of an approver or a command
    bool first_over;            // no agent has that name
    bool is_former;             // the request was sent under the former REALM
    bool approved;              // as the message was
    enum message_audit audit;
    // The agent to which the source was attached, if that decides the target; or NULL
    struct attachment *attachment;
};

// State of a request that is routed once more.
struct remote_retry {
    bool first_over; // as in struct message_copy
    bool is_former;  // hubs of the former REALM are asked
    struct directives original;
    uint64_t hub_id; // of the request when it was sent first
    // The account that counts the request as pending, until message_copy_take_place; or NULL
    struct account **place;
    struct observation **observation; // of an observed request, until the request is under way again; or NULL
    // The journal entry of the request's end; NULL: the journal has no such entry
    struct mail **outcome;
};

// Makes a copy of a message. Returns NULL without memory.
struct message_copy *message_copy_create(struct shard *shard, const struct message *message);
// Takes over the request's place in the count of its user's pending requests. Returns false if it has none.
bool message_copy_take_place(const struct message *message, const struct account *account);
void message_copy_drop(struct shard *shard, struct message_copy *copy);
