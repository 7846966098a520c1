// The target of a message at other hubs: a subject that names the target (core/cluster/subject.h). The link queues the
// message as a peer does. The source's shard writes the head of the message here.
#pragma once

#include "core/agents/rules.h"
#include "core/base/errors.h"
#include "core/cluster/hub_header.h"
#include "core/cluster/subject.h"
#include "router/engine/message/message.h"

struct remote_target {
    enum subject_kind kind;
    bool is_first;  // the kind is an approver or a command: agents that offer the method are asked next
    bool is_former; // the subject is of the former REALM
    // The group has members at this hub, but all support a lower level than the message requires
    bool supports_less;
    const struct hub_name *hub; // of SUBJECT_DECIDE; else NULL
    size_t bytes;               // of the token
    char token[SUBJECT_NAME_BYTES_MAX];
};

// Finds the target at other hubs of a message for which the rules found no agent here, or only a substitute for the
// named agent. Returns false if there are no other hubs, if another hub sent the message, or if no subject can bear the
// name.
bool remote_target_find(const struct shard *shard, const struct message *message,
                        const struct rules_message *criteria, const struct rules_verdict *verdict,
                        struct remote_target *out);
// Makes the target of a copy of an event or notification. Returns false if the copy can't go to other hubs.
bool remote_target_find_all(const struct shard *shard, const struct message *message, enum subject_kind kind,
                            const char *name, size_t name_bytes, struct remote_target *out);
// Returns the link's connection; 0: the link is down.
static inline uint64_t remote_target_link(const struct shard *shard) {
    return shard->remote_link.registrant.leaving ? 0 : shard->remote_link.registrant.connection;
}
// Returns whether other hubs have the request.
static inline bool remote_target_has(const struct shard *shard, const struct pending *pending) {
    return pending->target == shard->remote_link.registrant.connection;
}
// Refuses a message with `error`, since the link is down or full: a request is answered, a notification counted.
void remote_target_refuse(struct shard *shard, const struct message *message, enum error error);
// Puts the size of a message that is too large for the NATS server, and the server's limit, into an error's data.
void remote_target_put_sizes(const struct shard *shard, struct text *data, uint64_t bytes);

// The parts of a message to NATS beside the body.
struct hub_envelope {
    const char *subject;
    size_t subject_bytes;
    const char *reply; // the subject for the answer; bytes 0: no answer
    size_t reply_bytes;
    struct hub_header_source source;
    bool is_bare; // without NATS headers and header block, for a client that is no hub
    bool is_json; // a body of this hub, without header block
};

// Puts the NATS head before a parcel without a head. Returns an error, and changes nothing, if the message is larger
// than the server's limit (*bytes is its size), or without memory.
enum error remote_target_put_head(struct shard *shard, struct parcel *parcel,
                                  const struct hub_envelope *envelope, uint64_t *bytes);
// Does the same for a message that is forwarded. `hub_id` and the time are of a request, else 0.
enum error remote_target_address(struct shard *shard, const struct message *message, struct parcel *parcel,
                                 const struct remote_target *to, uint64_t hub_id, uint32_t time_ms,
                                 uint64_t *bytes);
// Packs a frame that pack_takes for the link, which send_may_pack; arguments as of pack_add. Returns false if
// it must be sent as a parcel.
bool remote_target_pack_enveloped(struct shard *shard, struct peer *link, const struct frame *frame,
                                  struct span value, struct piece text, uint64_t hub_id,
                                  const struct hub_envelope *envelope);
// Packs a request that is forwarded, whose id is replaced by `text`, likewise. The link notes the request.
bool remote_target_pack(struct shard *shard, struct peer *link, const struct message *message,
                        const struct remote_target *to, struct piece text, uint64_t hub_id, uint32_t time_ms);
// Returns whether a copy of the request must be kept, since it may have to be sent once more.
bool remote_target_keeps(const struct shard *shard, const struct remote_target *to);
