// One message under way, on the stack of route_frame: a request, notification or response as it lies.
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

// The sender of a message from another hub, as that hub says. A message of a peer of this hub has none.

struct attachment;
struct user;

struct origin {
    struct hub_name hub;     // bytes 0: an unnamed client of the NATS server
    enum subject_kind kind;  // of the subject under which it came
    const struct user *user; // NULL: nobody, or users aren't on
    struct attachment
        *target; // where a message goes that names no target itself; or NULL. The origin's sender owns it
    const uint8_t *from;  // where parts of the message lay in its source's frame (core/cluster/hub_header.h)
    uint32_t from_bytes;  // 0: nothing is said of that
    uint32_t agent_bytes; // 0: the source names none of its own agents
    char agent[AGENT_ID_BYTES_MAX];
};

// Whether the message is one of the copies that go to all who want them: its source's hub has judged and held it.
static inline bool origin_is_copy(const struct origin *origin) {
    return origin->kind == SUBJECT_EVENT || origin->kind == SUBJECT_NOTICE;
}

// The kind of entry that a message has in the audit journal (audit.c).
enum message_audit { MESSAGE_PLAIN, MESSAGE_AUDIT_LOG, MESSAGE_APPROVAL };

struct authz_cache_call;
struct remote_retry;

// Whether a held message was approved. A message that was held for one agent goes to that agent alone, since the copies for
// other agents have gone before (MESSAGE_APPROVED_FOR_ONE).
enum message_approval { MESSAGE_UNAPPROVED, MESSAGE_APPROVED, MESSAGE_APPROVED_FOR_ONE };

// What is kept of a message while it is held.
struct message_hold {
    uint64_t since_ms; // by the shards' clock
    struct observation
        *observation; // of a request that other hubs have returned, until the request goes on; or NULL
};

struct message {
    struct peer *peer;
    struct exchange *exchange; // that it is a member of, or NULL
    const struct frame *frame;
    const uint8_t *body;
    struct lookup lookup;
    enum message_audit audit;
    enum message_approval approved;   // it was held, and may go now (router/features/gate)
    struct message_hold *hold;        // it was held; or NULL
    const struct origin *origin;      // who sent it through another hub; NULL: its peer did
    const struct remote_retry *retry; // it is sent once more (router/engine/message/message_copy.h); or NULL
    // An equal call that was just judged as allowed, so that rights aren't judged again (router/rights/authz_cache.h); or NULL.
    const struct authz_cache_call *again;
    // Set only with is_deferred: the agent to which the message's connection was attached when the message came; or NULL.
    const struct attachment *attached;
    size_t method_bytes;
    bool method_long;              // longer than any name that could be offered: it isn't in `method`
    bool is_deferred;              // the message is routed later than it came
    char method[METHOD_BYTES_MAX]; // decoded
};

// Begins a message, with the parts that are known before the lookup. Most of the others are written there,
// and so aren't zeroed here.
static inline void message_begin(struct message *message, struct peer *peer, struct exchange *exchange) {
    message->peer = peer;
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
// Marks a message that is routed later than it came. Its connection was attached to this agent when the message came; NULL:
// to none.
static inline void message_defer(struct message *message, const struct attachment *attached) {
    message->is_deferred = true;
    message->attached = attached;
}
// Returns whether the message is an entry that its sender puts into the journal. An agent that offers the method gets the
// entry as a notification. A hub without such an agent answers all the same.
static inline bool message_is_logged(const struct message *message) {
    return message->audit == MESSAGE_AUDIT_LOG;
}
static inline bool message_is_request(const struct message *message) {
    return message->lookup.kind == BODY_REQUEST;
}
// Whether its method is this one: a literal.
static inline bool message_method_is(const struct message *message, const char *method) {
    return message->method_bytes == strlen(method) && memcmp(message->method, method, strlen(method)) == 0;
}
// Whether a response says that its request failed: an error of null says nothing.
static inline bool message_is_error(const struct message *message) {
    return lookup_has(&message->lookup, KEY_ERROR) && message->lookup.type[KEY_ERROR] != JSON_NULL;
}
// Where the answer to a request goes.
static inline struct reply_to message_reply_to(const struct message *message) {
    struct span id = message->lookup.value[KEY_ID];
    return (struct reply_to){message->body + id.at, id.bytes, message->exchange};
}
// Overwrites the message's body, which nobody reads any more (peer_erase).
static inline void message_erase(const struct message *message) {
    struct span body = message->frame->body;
    peer_erase(message->peer, message->frame->buffer->bytes + body.at, body.bytes);
}

// The agent that its peer is attached to, or was when a deferred message came; or NULL.
static inline const struct attachment *message_peer_attachment(const struct message *message) {
    if (__builtin_expect(message->is_deferred, false))
        return message->attached;
    const struct peer_cold *cold = message->peer->cold;
    return cold ? cold->attachment : NULL;
}
// The agent that its peer is attached to, where it names no target itself; or NULL.
static inline const struct attachment *message_attachment(const struct message *message) {
    if (lookup_has(&message->lookup, KEY_TARGET_AGENT))
        return NULL;
    if (__builtin_expect(message->origin != NULL, false))
        return message->origin->target;
    return message_peer_attachment(message);
}
// Whether a target decides alone where it goes.
static inline bool message_has_target(const struct message *message) {
    return lookup_has(&message->lookup, KEY_TARGET_AGENT) || message_attachment(message);
}

// Decodes as much of its method as fits in `capacity` bytes, cut at a character; returns how many bytes that are.
size_t message_method_begin(const struct message *message, char *out, size_t capacity);
// Forgets what a message names beside its method and tokens: of a peer whose transport is attached.
void message_narrow(struct message *message);
// A member of params; type JSON_NONE when there is none.
struct json_item message_param(const struct message *message, const char *key);
// How many bytes the result of a request may have: what a frame can, or what is left of its exchange's.
size_t message_room(const struct shard *shard, const struct message *message);
// Answers with a result, JSON, which is taken over: a request gets it, a notification doesn't. Without memory
// for it the peer is closed.
void message_answer(struct shard *shard, const struct message *message, struct text *result);
// By params.priority.
enum parcel_lane message_lane(const struct message *message);

// --- The source's own agent

// In whose name a message is said (params.sourceAgent).

// A sender in an agent's name must be the connection that registered it (HugAI v2 messages 3.3). A name that
// was right when the message came stays right for a connection that has half-closed since, whose agents have
// left, unless another connection has that name now.
enum source_agent {
    SOURCE_OWN,  // an agent of its connection's, or, where another hub says it, one that this hub vouches for
    SOURCE_LEFT, // it was, when the message came, which was held
    SOURCE_FOREIGN, // anything else
};

// Which one it is, of a message that bears one; its name, decoded, in `name`. *bytes 0: it is no string, or longer than any.
enum source_agent source_agent_read(const struct shard *shard, const struct message *message,
                                    char name[AGENT_ID_BYTES_MAX], size_t *bytes);
