// Where a message goes for which nobody is here: to another hub, by a subject that says who is meant (core/cluster/subject.h). The
// link queues it as a peer would; its head is written here, on the source's shard.
#pragma once

#include "core/agents/rules.h"
#include "core/base/errors.h"
#include "core/cluster/hub_header.h"
#include "core/cluster/subject.h"
#include "router/engine/message/message.h"

struct remote_target {
    enum subject_kind kind;
    uint32_t offered; // to whoever owes less than this; 0: whoever is there is to take it
    bool returns; // where nobody takes it it is back, and goes on here (router/engine/message/message_copy.h)
    bool
        kept; // a copy of it is, until a hub takes it: one that doesn't may not be the only one (features/cluster/outbound_retry.h)
    bool first;    // whom it names comes before whoever offers its method, who may be here or there
    bool probes;   // whether anybody is there for it is asked, and it stays here
    bool judged;   // likewise, and whether it would be refused
    bool attaches; // likewise: for its connection to be attached there
    uint64_t
        sought; // of a notification: its number where it is kept, since it is back if nobody is there; 0: it isn't
    const char *hub; // that alone is to take it; NULL: any
    size_t bytes;    // of the token
    char token[SUBJECT_NAME_BYTES_MAX];
};

// Whom another hub may know for whom the rules found nobody here, or but one who stands in for whom the message names: that one is
// asked for first, and then `out->returns`. False: there are no other hubs, the message came from one, or
// nobody there could be known by that name.
bool remote_target_find(const struct shard *shard, const struct message *message,
                        const struct rules_message *asked, const struct rules_verdict *verdict,
                        struct remote_target *out);
// The same for a copy of what goes to all, an event or a notification to those who name it: the link, or NULL.
const struct agent *remote_target_find_all(struct shard *shard, const struct message *message,
                                           enum subject_kind kind, const char *name, size_t name_bytes,
                                           struct remote_target *out);
// Whether other hubs can know which agents this message may not reach, or not unapproved: else it must not go there.
bool remote_target_may_go(struct shard *shard, const struct message *message, const struct remote_target *to);
// The link's entry in the registry; NULL: it is down.
struct agent *remote_target_link(struct shard *shard);
// There is no link: a request is told so, a notification counted.
void remote_target_refuse_down(struct shard *shard, const struct message *message);
// The link takes no more.
void remote_target_refuse(struct shard *shard, const struct message *message, enum error error);

// How a body leaves by the link.
struct hub_envelope {
    const char *subject;
    size_t subject_bytes;
    const char *reply; // where the answer goes; bytes 0: there is none
    size_t reply_bytes;
    uint32_t time_ms; // that a request may take; 0: it is none
    uint32_t offered; // as above
    uint64_t
        answered; // the request that it answers, where its subject doesn't say so; 0: it does, or there is none
    enum governance level;
    struct hub_header_source source;
    unsigned flags;    // what is said besides (enum hub_header_flag)
    const char *pairs; // and behind that, a blank before each
    size_t pairs_bytes;
    bool bare; // without headers, for who isn't a hub
};

// What stands before a letter's subject in its head.
enum { HUB_ENVELOPE_VERB_BYTES = 5 };

// Gives an undressed parcel the head with which it leaves by the link. Not ERROR_NONE: it is larger than the server lets pass
// (*bytes says how large), or there is no memory; then nothing has changed.
enum error remote_target_put_head(struct shard *shard, uint64_t link, struct parcel *parcel,
                                  const struct hub_envelope *letter, uint64_t *bytes);
// The same for a message that is forwarded, a request under this hub id (0: it is none). Else it has been refused, unless it
// would have been back.
bool remote_target_address(struct shard *shard, const struct message *message, struct parcel *parcel,
                           const struct remote_target *to, uint64_t hub_id, uint32_t time_ms);
// The same for such a copy, which nobody waits for: ERROR_NONE, or why it can't go.
enum error remote_target_address_copy(struct shard *shard, const struct message *message,
                                      struct parcel *parcel, const struct remote_target *to);
// What is too large for the server: said with both sizes.
void remote_target_put_sizes(const struct shard *shard, struct text *data, uint64_t bytes);
// Whether agents at other hubs name this, as far as is known; `to`: of a notification to all who do.
bool remote_target_is_named(const struct shard *shard, const struct remote_target *to);
// Writes the subject on which answers to a request come: of the link's hub. Of a notification, whose hub id is 0, the
// server alone says there that nobody is there for it.
enum { REMOTE_TARGET_UNANSWERED = 'n' };
// Of one that is back then it says so behind "m.", its number on that link, in 16 digits, and ".n".
enum { REMOTE_TARGET_SOUGHT_AT = 2, REMOTE_TARGET_SOUGHT_BYTES = 2 + 16 + 2 };
// What stands for its hub id where answers to many come on one subject, which a server knows better than a new one each time.
enum { REMOTE_TARGET_ANSWERS = '0' };
size_t remote_target_inbox(struct shard *shard, uint64_t link, uint64_t hub_id, char out[SUBJECT_BYTES_MAX]);
