// Rights of a message's user: a function a verb, each called before anything that the message names is looked
// up. Where users aren't on, everybody may do everything.
#pragma once

#include "core/agents/rules.h"
#include "core/rights/rights.h"
#include "router/engine/message/message.h"
#include "router/engine/shard/identity.h"
#include "router/rights/authz_cache.h"

// Returns the user whose rights count for a peer's messages: a child that acts for nobody has none. NULL:
// users aren't on.
const struct user *authz_user(const struct shard *shard, const struct peer *peer);

// --- Each refuses the message itself when its user may not; then false.

// To send this where it says. Fills in what rules need to know, unless they do: who of a group may be reached.
bool authz_call(struct shard *shard, const struct message *message, struct rules_message *criteria);
bool authz_in_reach(const void *user, const struct agent *agent);
// Fills in what the rules need of a message that is said again, which may be sent.
static inline void authz_restore(const struct message *message, struct rules_message *criteria) {
    const struct authz_cache_call *again = message->again;
    if (__builtin_expect(again->reaches, false) && !criteria->reaches) {
        criteria->reaches = authz_in_reach;
        criteria->reaching = again->user;
    }
}
// To say anything but an answer to whoever asked.
bool authz_may_use_source(struct shard *shard, const struct message *message);
// To ask whoever has asked it, who is known by that alone: by the method.
bool authz_may_list(struct shard *shard, const struct message *message);
// To have the hub's journal keep it, if that is what it is for.
bool authz_log(struct shard *shard, const struct message *message);
// To attach to an agent, which is to call it.
bool authz_attachment(struct shard *shard, const struct message *message, const char *agent, size_t bytes);
// To publish an event of this name.
bool authz_publish(struct shard *shard, const struct message *message, const char *name, size_t bytes);
// To get what this pattern matches.
bool authz_subscribe(struct shard *shard, const struct message *message, const char *pattern, size_t bytes);
// To register an agent with these capabilities, a span of `text`; bytes 0: none.
bool authz_register(struct shard *shard, const struct message *message, const char *agent, size_t bytes,
                    struct span capabilities, enum governance level);
bool authz_level(struct shard *shard, const struct message *message, enum governance level);
bool authz_admin(struct shard *shard, const struct message *message);

// --- The gate's

// Whether its user's `hold` names anything that the message does.
bool authz_requires_approval(const struct shard *shard, const struct message *message,
                             const struct rules_message *criteria);
// Whether it names an agent that the message would reach.
bool authz_requires_approval_at(const struct shard *shard, const struct message *message,
                                const struct agent *agent);

// --- Without a message

// Whether a user may get what this pattern matches: who may approve, also the event that says what is held.
bool authz_may_receive(const struct user *user, const char *pattern, size_t bytes);
// Whether a user may have an agent registered like this; if not, by which rule.
bool authz_registration(const struct user *user, const char *agent, size_t bytes, const uint8_t *text,
                        struct span capabilities, enum governance level, enum rule *rule);
// Writes the capabilities, without what a user's agents may not name or get; a list of which nothing stays is that of
// `instead`, capabilities, too, or of no bytes. Each rule by which something was left out is a bit, 1 << rule; 0: all
// of it stays.
uint32_t authz_filter(const struct user *user, const uint8_t *text, struct span capabilities,
                      struct piece replacement, struct text *out);
// Whether a user may call an agent by any of its names, and so sees it.
bool authz_sees(const struct user *user, const struct agent *agent);
// Whether a user sees an agent that is known by its name, or its pool's, and its capabilities: an object or array of
// a valid text. `bytes` 0: none.
bool authz_sees_described(const struct user *user, const char *agent, size_t bytes, const uint8_t *text,
                          struct span capabilities);
// Whether a user sees an agent of another hub: an object as hub/agents gives it, of a valid text.
bool authz_sees_entry(const struct user *user, const uint8_t *text, struct span agent);
// Whether a user may call an MCP server of this name, be it a tool of it alone.
bool authz_calls_server(const struct user *user, const char *name, size_t bytes);
// Whether a user may call this tool of it, by the tool's own name.
bool authz_calls_tool(const struct user *user, const char *name, size_t bytes, const char *tool,
                      size_t tool_bytes);
// Whether one of a group that is called by another name may be reached. NULL may reach all.
bool authz_reaches(const struct user *user, const struct agent *agent);
// Whether a user may have an agent at `target` (as a targetAgent; bytes 0: at @hcs) stream to it.
bool authz_stream(const struct user *user, const char *target, size_t bytes);
// Whether a user may be given what the agent of this name streams already, as its own, or as one of those at `target` (as
// above).
bool authz_joins(const struct user *user, const char *agent, size_t bytes, const char *target,
                 size_t target_bytes);
// Whether a hold names what a stream is of: a stream can't be held, so there is none. `target` as it was asked for; bytes 0: it
// wasn't.
bool authz_stream_requires_approval(const struct user *user, const char *agent, size_t bytes,
                                    const char *target, size_t target_bytes);

// The identity of an approver of held messages: a user, or without users a connection. An approver must not decide on its own
// messages.
struct approver {
    uint64_t connection;
    const struct user *user; // NULL: users aren't on
};

// For whom a peer speaks now.
struct approver authz_approver(const struct peer *peer);
bool authz_is_same_approver(struct approver one, struct approver other);
// Whether a peer may decide on what is held, and see it.
bool authz_may_decide(const struct shard *shard, const struct peer *peer);
