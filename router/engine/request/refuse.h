// Refuses messages that aren't routed: a request is answered with an error, a notification is counted.
#pragma once

#include "core/agents/rules.h"
#include "core/base/errors.h"
#include "core/base/text.h"
#include "core/rights/account.h"
#include "core/rights/rights.h"
#include "router/engine/message/message.h"

// Refuses a message: a request is answered, a notification counted. Takes `data` over, which may be NULL.
void refuse(struct shard *shard, const struct message *message, enum error error, struct text *data);
// Refuses a message and tells the source what was wrong.
void refuse_for(struct shard *shard, const struct message *message, enum error error, const char *fault);
// The fault of requests while the hub drains.
extern const char refuse_hub_ends[];
// Refuses a message that its user may not send. The source is told the rule and nothing else.
void refuse_right(struct shard *shard, const struct message *message, enum rule rule);
// Counts and journals such a refusal. The caller answers.
void refuse_right_silently(struct shard *shard, const struct message *message, enum rule rule);
// Refuses a message over this limit of its user. `wait_ms`: after which time the message would pass; 0: unknown.
void refuse_limit(struct shard *shard, const struct message *message, enum account_limit limit,
                  uint64_t wait_ms);
// Refuses a registration or subscription that would take more than half of the quota for one holder. The error's data
// tell the limit.
extern const char refuse_share_fault[];
void refuse_share(struct shard *shard, const struct message *message);
// Puts a limit of the user, and its value, into an error's data.
void refuse_limit_put(struct shard *shard, struct text *data, const struct user *user,
                      enum account_limit limit);
// Counts a refused notification from this connection, when the message itself is gone.
void refuse_unreported(struct shard *shard, uint64_t source, enum error error, size_t bytes);
// Refuses a message with a field whose value isn't the expected one.
void refuse_field(struct shard *shard, const struct message *message, const char *field,
                  const char *expected);
// Puts the bound that the target has reached into an error's data: pending requests if `is_at_maximum`, else the queue.
void refuse_full_put(struct shard *shard, struct text *data, bool is_at_maximum);
// Refuses a message that can't go to its agent. ERROR_OVERLOADED: the agent has reached a bound.
void refuse_at(struct shard *shard, const struct message *message, const struct agent *agent,
               enum error error);
// Refuses a message that the hub has no room to keep. The agent may be NULL.
void refuse_without_quota(struct shard *shard, const struct message *message, const struct agent *agent);
// Refuses a message whose method does not exist.
void refuse_method(struct shard *shard, const struct message *message);
// Refuses a message for which the rules found no agent.
void refuse_route(struct shard *shard, const struct message *message, const struct rules_message *criteria,
                  const struct rules_verdict *verdict);
// Refuses a body that is no message, or that two readers could understand differently. The answer has no id, since the
// body's id can't be relied on.
void refuse_body(struct shard *shard, const struct message *message);
// Refuses a batch that is empty or has too many members. The answer has no id.
void refuse_batch_size(struct shard *shard, const struct message *message);
// Refuses the rest of a batch whose first UNAUTHENTICATED_MEMBERS_MAX members had no credential. The exchange gets one
// answer for the rest, without an id.
void refuse_batch_rest(struct shard *shard, const struct message *batch, struct exchange *exchange);
// Refuses a request for a large result if too much waits for the peer already. Returns whether the request was refused.
bool refuse_result(struct shard *shard, const struct message *message);
// Refuses a message with header fields that are well formed but can't be served. Returns whether the message was
// refused.
bool refuse_directives(struct shard *shard, const struct message *message);
static inline bool refuse_header(struct shard *shard, const struct message *message) {
    return __builtin_expect(directives_is_bad(&message->frame->unit->directives), false) &&
           refuse_directives(shard, message);
}
