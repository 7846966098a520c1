// Refusals of messages that aren't routed: each is an answer to a request, and a count for a notification.
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
// Counts such a one and has it in the journal, where the answer is another one's affair.
void refuse_right_silently(struct shard *shard, const struct message *message, enum rule rule);
// Refuses a message that is over this limit of its user's. `wait_ms` is the time after which the message would pass;
// 0: unknown.
void refuse_limit(struct shard *shard, const struct message *message, enum account_limit limit,
                  uint64_t wait_ms);
// Counts the refusal of a registration or subscription that would be more than its holder's half of the quota. Puts the
// limit and its value into the error's data. Another module answers.
extern const char refuse_share_fault[];
void refuse_share(struct shard *shard, const struct message *message);
void refuse_limit_put(struct shard *shard, struct text *data, const struct user *user,
                      enum account_limit limit);
// Counts a notification from this connection that is refused where the message isn't at hand any more.
void refuse_unreported(struct shard *shard, uint64_t source, enum error error, size_t bytes);
// Refuses a message with a field whose value isn't the expected one.
void refuse_field(struct shard *shard, const struct message *message, const char *field,
                  const char *expected);
// Says which bound of the target's is reached, and what it is: that of what it owes, or else that of its queue.
void refuse_full_put(struct shard *shard, struct text *data, bool is_at_maximum);
// Refuses a message that can't go to its agent. With ERROR_OVERLOADED a bound of the agent's own is reached.
void refuse_at(struct shard *shard, const struct message *message, const struct agent *agent,
               enum error error);
// Refuses a message that the hub has no room to keep. The agent may be NULL.
void refuse_without_quota(struct shard *shard, const struct message *message, const struct agent *agent);
// Refuses a message whose method does not exist.
void refuse_method(struct shard *shard, const struct message *message);
// Refuses a message for which the rules found no agent.
void refuse_route(struct shard *shard, const struct message *message, const struct rules_message *criteria,
                  const struct rules_verdict *verdict);
// Refuses a body that is no message, or one that two readers could understand differently: always answered,
// without an id, since that can't be relied on.
void refuse_body(struct shard *shard, const struct message *message);
// Refuses a batch that is empty or has too many members: likewise.
void refuse_batch_size(struct shard *shard, const struct message *message);
// Refuses the rest of a batch, of whose first UNKNOWN_MEMBERS_MAX members none bore a credential: by one answer among those
// of its exchange, without an id.
void refuse_batch_rest(struct shard *shard, const struct message *batch, struct exchange *exchange);
// Refuses a request for a result that may be much larger than itself, if so much waits for its peer already that
// it gets no more of them. True when it was refused.
bool refuse_result(struct shard *shard, const struct message *message);
// Header fields that are well formed but can't be served. True when the message was refused for one.
bool refuse_directives(struct shard *shard, const struct message *message);
static inline bool refuse_header(struct shard *shard, const struct message *message) {
    return __builtin_expect(directives_is_bad(&message->frame->unit->directives), false) &&
           refuse_directives(shard, message);
}
