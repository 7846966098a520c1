// One message while it is routed: a request, notification or response in its buffer. The struct lives on the stack of
// route_frame.
#pragma once

#include <string.h>

#include "core/base/limits.h"
#include "core/cluster/subject.h"
#include "core/lookup/lookup.h"
#include "core/send/parcel.h"
#include "router/engine/send/reply.h"
#include "router/engine/shard/peer.h"
#include "router/engine/shard/peer_cold.h"

// --- Origin

// The sender of a message from another hub, as that hub tells. A message of this hub's own peer has no origin.

struct attachment;
struct user;

struct origin {
    struct hub_name hub;     // bytes 0: an unnamed client of the NATS server
    enum subject_kind kind;  // of the subject under which the message came
    const struct user *user; // NULL: no user, or there is no users file
    // The target of a message that names none; or NULL. The sender of the origin owns this.
    struct attachment *target;
    // The offsets of the message's parts in its source's frame (core/cluster/hub_header.h)
    const uint8_t *from;
    uint32_t from_bytes;  // of `from`; 0: unknown
    uint32_t agent_bytes; // 0: the source names none of its own agents
    char agent[AGENT_ID_BYTES_MAX];
};

// Returns whether the message is a copy of an event or notification: its source's hub has checked and held the
// original.
static inline bool origin_is_copy(const struct origin *origin) {
    return origin->kind == SUBJECT_EVENT || origin->kind == SUBJECT_NOTICE;
}

// The kind of entry that a message has in the audit journal (audit.c).
enum message_audit { MESSAGE_PLAIN, MESSAGE_AUDIT_LOG, MESSAGE_APPROVAL };

struct authz_cache_call;
struct remote_retry;

// Whether a message was held and is approved. MESSAGE_APPROVED_FOR_ONE: the message was held for one agent and goes to
// that agent alone, since copies for other agents were sent before.
enum message_approval { MESSAGE_UNAPPROVED, MESSAGE_APPROVED, MESSAGE_APPROVED_FOR_ONE };

// The state of a message that was held.
struct message_hold {
    uint64_t since_ms; // by the shards' clock
    // Of an observed request that was held, until the request goes on; or NULL.
    struct observation *observation;
    bool is_judged; // whether the request is observed was decided when it was held
};

// The source of a message over MCP that the hub refuses or answers before it is routed. No peer of this shard has sent
// it.
struct unrouted_source {
    uint64_t connection;
    const struct user *user; // NULL: users aren't on
    const char *target;      // that the source names; bytes 0: none
    size_t target_bytes;
    uint64_t arrived_ms; // by the clock of any shard
    int32_t code;        // that the source got; 0: the error's own
};

struct message {
    struct peer *peer;                      // NULL: `unrouted` tells the source
    const struct unrouted_source *unrouted; // NULL: the message has a peer
    struct exchange *exchange;              // to which the answer is due; NULL: to the peer
    const struct frame *frame;
    const uint8_t *body;
    struct lookup lookup;
    enum message_audit audit;
    enum message_approval approved; // the message was held, and goes on now (router/features/gate)
    struct message_hold *hold;      // of a message that was held; or NULL
    const struct origin *origin;    // the sender at another hub; NULL: the peer is the sender
    // Of a request that is sent once more (router/engine/message/message_copy.h); or NULL
    const struct remote_retry *retry;
    // An equal call that was allowed before, so that rights needn't be checked again (router/rights/authz_cache.h); or
    // NULL.
    const struct authz_cache_call *again;
    // With is_deferred: the agent to which the connection was attached when the message came; or NULL. Otherwise not
    // set.
    const struct attachment *attached;
    size_t method_bytes;
    // The method is longer than any name of an agent's method, and isn't in `method`
    bool method_long;
    bool is_deferred;              // the message was held or copied, and is routed later than it came
    char method[METHOD_BYTES_MAX]; // decoded
};

// Begins a message with the fields that are known before the lookup. The lookup writes most other fields, so they
// aren't zeroed here.
static inline void message_begin(struct message *message, struct peer *peer, struct exchange *exchange) {
    message->peer = peer;
    message->unrouted = NULL;
    message->exchange = exchange;
    message->audit = MESSAGE_PLAIN;
    message->approved = MESSAGE_UNAPPROVED;
    message->hold = NULL;
    message->origin = NULL;
    message->retry = NULL;
    message->again = NULL;
    message->method_bytes = 0;
    message->method_long = false;
    message->is_deferred = false;
}
// Marks a message that is routed later than it came. `attached`: the agent to which the connection was attached then;
// or NULL.
static inline void message_defer(struct message *message, const struct attachment *attached) {
    message->is_deferred = true;
    message->attached = attached;
}
// Returns whether the message is an entry that its sender puts into the journal. An agent that offers the method gets
// the entry as a notification. A hub without such an agent answers all the same.
static inline bool message_is_logged(const struct message *message) {
    return message->audit == MESSAGE_AUDIT_LOG;
}
static inline bool message_is_request(const struct message *message) {
    return message->lookup.kind == BODY_REQUEST;
}
// Returns whether the message's method is this literal.
static inline bool message_method_is(const struct message *message, const char *method) {
    return message->method_bytes == strlen(method) && memcmp(message->method, method, strlen(method)) == 0;
}
// Returns whether a response has an error. An error of null doesn't count.
static inline bool message_is_error(const struct message *message) {
    return lookup_has(&message->lookup, KEY_ERROR) && message->lookup.type[KEY_ERROR] != JSON_NULL;
}
// Returns where the answer to a request goes.
static inline struct reply_to message_reply_to(const struct message *message) {
    struct span id = message->lookup.value[KEY_ID];
    return (struct reply_to){message->body + id.at, id.bytes, message->exchange};
}
// Overwrites the message's body, which nobody reads any more (peer_erase).
static inline void message_erase(const struct message *message) {
    struct span body = message->frame->body;
    peer_erase(message->peer, message->frame->buffer->bytes + body.at, body.bytes);
}

// Returns the agent to which the peer is attached, or was when a deferred message came; or NULL.
static inline const struct attachment *message_peer_attachment(const struct message *message) {
    if (__builtin_expect(message->is_deferred, false))
        return message->attached;
    const struct peer_cold *cold = message->peer->cold;
    return cold ? cold->attachment : NULL;
}
// Returns the agent to which a message without a target goes, as its peer is attached; or NULL.
static inline const struct attachment *message_attachment(const struct message *message) {
    if (lookup_has(&message->lookup, KEY_TARGET_AGENT))
        return NULL;
    if (__builtin_expect(message->origin != NULL, false))
        return message->origin->target;
    return message_peer_attachment(message);
}
// Returns whether the message has a target, named or by attachment.
static inline bool message_has_target(const struct message *message) {
    return lookup_has(&message->lookup, KEY_TARGET_AGENT) || message_attachment(message);
}

// Decodes the message's method into `capacity` bytes, cut at a whole character. Returns the length.
size_t message_method_begin(const struct message *message, char *out, size_t capacity);
// Removes all fields from the lookup but the method and tokens, for a peer whose transport is attached to one agent.
void message_narrow(struct message *message);
// Returns a member of params; type JSON_NONE: there is none.
struct json_item message_param(const struct message *message, const char *key);
// Returns how many bytes the result of a request may have: as many as a frame, or as its exchange has left.
size_t message_room(const struct shard *shard, const struct message *message);
// Answers a request with a result, which is JSON; does nothing for a notification. Takes the result. Without memory the
// peer is closed.
void message_reply(struct shard *shard, const struct message *message, struct text *result);
// Returns the level that each receiver of an event, or of a notification for several agents, must support. What another
// hub has sent has passed that hub's gate, which holds the same levels: a level that is held is satisfied.
enum governance message_required_level(const struct shard *shard, const struct message *message);
// Returns the lane of the message, by params.priority.
enum parcel_lane message_lane(const struct message *message);

// --- The source's own agent

// The agent in whose name a message is sent (params.sourceAgent).

// The sender must be the connection that registered the agent (HugAI v2 messages 3.3). When a connection has
// half-closed after the message came, the agent's name stays valid for the message, unless another connection has the
// name now.
enum source_agent {
    SOURCE_OWN,     // an agent of the connection, or an agent that another hub has vouched for
    SOURCE_LEFT,    // an agent of the connection when the message came, which was held since
    SOURCE_FOREIGN, // any other agent
};

// Returns which kind of agent params.sourceAgent names, and writes the decoded name. *bytes 0: no string, or longer
// than any name.
enum source_agent source_agent_read(const struct shard *shard, const struct message *message,
                                    char name[AGENT_ID_BYTES_MAX], size_t *bytes);
