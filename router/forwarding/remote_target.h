// Where a message goes for which nobody is here: to other hubs, under a subject that says who is meant (core/cluster/subject.h). The
// link queues the message as a peer would; its head is written here, on the source's shard.
#pragma once

#include "core/agents/rules.h"
#include "core/base/errors.h"
#include "core/cluster/hub_header.h"
#include "core/cluster/subject.h"
#include "router/engine/message/message.h"

struct remote_target {
    enum subject_kind kind;
    bool is_first;  // the kind is of an approver or a command: whoever offers the method is next
    bool is_former; // under the former REALM
    bool
        supports_less; // of a group there are members here, all of which support less than the message requires
    const struct hub_name *hub; // of SUBJECT_DECIDE; else NULL
    size_t bytes;               // of the token
    char token[SUBJECT_NAME_BYTES_MAX];
};

// Finds the target at other hubs, where the rules found nobody here, or only a stand-in for the named agent. False:
// there are no other hubs, the message came from one, or nobody there could be known by that name.
bool remote_target_find(const struct shard *shard, const struct message *message,
                        const struct rules_message *criteria, const struct rules_verdict *verdict,
                        struct remote_target *out);
// Makes the target of a copy of an event or a notice. False: the copy can't go to other hubs.
bool remote_target_find_all(const struct shard *shard, const struct message *message, enum subject_kind kind,
                            const char *name, size_t name_bytes, struct remote_target *out);
// The link's connection; 0: the link is down.
static inline uint64_t remote_target_link(const struct shard *shard) {
    return shard->across.home.leaving ? 0 : shard->across.home.connection;
}
// Whether a request is with other hubs.
static inline bool remote_target_has(const struct shard *shard, const struct pending *pending) {
    return pending->target == shard->across.home.connection;
}
// The link is down, or takes no more (`error`): a request is told so, a notification counted.
void remote_target_refuse(struct shard *shard, const struct message *message, enum error error);
// Refuses a message that is too large for the server, and tells both sizes.
void remote_target_put_sizes(const struct shard *shard, struct text *data, uint64_t bytes);

// How a body leaves by the link.
struct hub_envelope {
    const char *subject;
    size_t subject_bytes;
    const char *reply; // where the answer goes; bytes 0: nowhere
    size_t reply_bytes;
    struct hub_header_source source;
    bool is_bare; // without headers and header block, for who is no hub
    bool is_json; // without header block, of the hub's own
};

// Gives an undressed parcel the head with which it leaves by the link. Not ERROR_NONE: it is larger than the server lets pass
// (*bytes says how large), or there is no memory; then nothing has changed.
enum error remote_target_put_head(struct shard *shard, struct parcel *parcel,
                                  const struct hub_envelope *envelope, uint64_t *bytes);
// Puts the head before a message that is forwarded. `hub_id` and the time are those of a request, else 0.
enum error remote_target_address(struct shard *shard, const struct message *message, struct parcel *parcel,
                                 const struct remote_target *to, uint64_t hub_id, uint32_t time_ms,
                                 uint64_t *bytes);
// Whether a request to other hubs may have to be sent once more, and a copy of it is to be kept.
bool remote_target_keeps(const struct shard *shard, const struct remote_target *to);
