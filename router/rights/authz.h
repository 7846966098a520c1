// Checks the rights of a message's user. Each function checks one kind of action, and is called before anything that
// the message names is looked up. Without a users file every action is allowed.
#pragma once

#include "core/agents/rules.h"
#include "core/rights/rights.h"
#include "router/engine/message/message.h"
#include "router/engine/shard/identity.h"
#include "router/rights/authz_cache.h"

// Returns the user whose rights count for a peer's messages. A child without a user gets a user without rights. NULL:
// there is no users file.
const struct user *authz_user(const struct shard *shard, const struct peer *peer);

// --- Checks of messages
//
// Each function refuses the message if its user lacks the right, and then returns false.

// Checks the right to send the message to its target. Fills in criteria.may_reach, unless it is set: the members of a
// group that the user may reach.
bool authz_call(struct shard *shard, const struct message *message, struct rules_message *criteria);
// Returns whether a user may reach an agent. A callback for rules_message.may_reach.
bool authz_in_reach(const void *user, const struct agent *agent);
// Fills in criteria.may_reach for a message that equals an allowed one (message.again).
static inline void authz_restore(const struct message *message, struct rules_message *criteria) {
    const struct authz_cache_call *again = message->again;
    if (__builtin_expect(again->reaches, false) && !criteria->may_reach) {
        criteria->may_reach = authz_in_reach;
        criteria->may_reach_context = again->user;
    }
}
// Checks that the user may send messages other than responses: a child without a user may not.
bool authz_may_use_source(struct shard *shard, const struct message *message);
// Checks the right to call the message's method, by the name of the method alone.
bool authz_may_list(struct shard *shard, const struct message *message);
// Checks the right to write to the journal, if the message is audit/log. Returns true for other messages.
bool authz_log(struct shard *shard, const struct message *message);
// Checks the right to attach to an agent, which is the right to call the agent.
bool authz_attachment(struct shard *shard, const struct message *message, const char *agent, size_t bytes);
// Checks the right to publish an event of this name.
bool authz_publish(struct shard *shard, const struct message *message, const char *name, size_t bytes);
// Checks the right to subscribe to this pattern.
bool authz_subscribe(struct shard *shard, const struct message *message, const char *pattern, size_t bytes);
// Checks the right to register an agent with this level and these capabilities, a span of the message's body; bytes 0:
// none.
bool authz_register(struct shard *shard, const struct message *message, const char *agent, size_t bytes,
                    struct span capabilities, enum governance level);
// Checks the right to have this level.
bool authz_level(struct shard *shard, const struct message *message, enum governance level);
// Checks the right `admin`.
bool authz_admin(struct shard *shard, const struct message *message);

// --- Checks for the gate

// Returns whether the `hold` of the message's user names something in the message.
bool authz_requires_approval(const struct shard *shard, const struct message *message,
                             const struct rules_message *criteria);
// Returns whether that `hold` names an agent that the message would reach.
bool authz_requires_approval_at(const struct shard *shard, const struct message *message,
                                const struct agent *agent);

// --- Without a message

// Returns whether a user may get events that match this pattern. With the right to approve these include events about
// held messages.
bool authz_may_receive(const struct user *user, const char *pattern, size_t bytes);
// Returns whether a user may have an agent registered with this level and these capabilities. If not, *rule is the rule
// that is missing.
bool authz_registration(const struct user *user, const char *agent, size_t bytes, const uint8_t *text,
                        struct span capabilities, enum governance level, enum rule *rule);
// Writes the capabilities without the entries that a user's agents may not have. A list without any entry left is
// replaced by the list in `replacement`, also capabilities, or by nothing if that has no bytes. Returns the rules by
// which entries were left out, as bits 1 << rule; 0: all entries stay.
uint32_t authz_filter(const struct user *user, const uint8_t *text, struct span capabilities,
                      struct piece replacement, struct text *out);
// Returns whether a user may call an agent by any of its names, and so may see the agent.
bool authz_sees(const struct user *user, const struct agent *agent);
// Returns whether a user may see an agent with this name, or its pool's name, and these capabilities: an object or
// array of a valid text. `bytes` 0: no name.
bool authz_sees_described(const struct user *user, const char *agent, size_t bytes, const uint8_t *text,
                          struct span capabilities);
// Returns whether a user may see an agent of another hub: an object of a valid text, as in the result of hub/agents.
bool authz_sees_entry(const struct user *user, const uint8_t *text, struct span agent);
// Returns whether a user may call an MCP server of this name, or at least one of its tools.
bool authz_calls_server(const struct user *user, const char *name, size_t bytes);
// Returns whether a user may call this tool of an MCP server, by the server's name for the tool.
bool authz_calls_tool(const struct user *user, const char *name, size_t bytes, const char *tool,
                      size_t tool_bytes);
// Returns whether a user may reach this member of a group. NULL may reach all.
bool authz_reaches(const struct user *user, const struct agent *agent);
// Returns whether a user may start a stream from an agent at `target` (as a targetAgent; bytes 0: @hcs).
bool authz_stream(const struct user *user, const char *target, size_t bytes);
// Returns whether a user may join a stream of the agent of this name: by the right to call the agent, or by the right
// to `target` as above and to reach the agent.
bool authz_joins(const struct user *user, const char *agent, size_t bytes, const char *target,
                 size_t target_bytes);
// Returns whether the user's `hold` names the agent or target of a stream. Such a stream is refused, since a stream
// can't be held. `target` as in the request; bytes 0: none.
bool authz_stream_requires_approval(const struct user *user, const char *agent, size_t bytes,
                                    const char *target, size_t target_bytes);

// The identity of an approver of held messages: a user, or without users a connection. An approver must not decide on
// its own messages.
struct approver {
    uint64_t connection;
    const struct user *user; // NULL: there is no users file
};

// Returns the identity of a peer as an approver.
struct approver authz_approver(const struct peer *peer);
bool authz_is_same_approver(struct approver one, struct approver other);
// Returns whether a peer may see held messages and decide on them.
bool authz_may_decide(const struct shard *shard, const struct peer *peer);
