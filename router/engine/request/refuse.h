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
// The same, and says what was wrong.
void refuse_for(struct shard *shard, const struct message *message, enum error error, const char *fault);
// The fault of requests while the hub drains.
extern const char refuse_hub_ends[];
// The same for what its user may not do: the rule is all that is told.
void refuse_right(struct shard *shard, const struct message *message, enum rule rule);
// Counts such a one and has it in the journal, where the answer is another one's affair.
void refuse_right_silently(struct shard *shard, const struct message *message, enum rule rule);
// The same for what is over this limit of its user's, and would pass in so many milliseconds; 0: nobody knows when.
void refuse_limit(struct shard *shard, const struct message *message, enum account_limit limit,
                  uint64_t wait_ms);
// Counts such a one, and says which limit it is and what it is, where the answer is another one's affair.
// Of a registration or subscription that would be more than its holder's half of the quota.
extern const char refuse_share_fault[];
void refuse_share(struct shard *shard, const struct message *message);
void refuse_limit_put(struct shard *shard, struct text *data, const struct user *user,
                      enum account_limit limit);
// Counts a notification from this connection that is refused where the message isn't at hand any more.
void refuse_unreported(struct shard *shard, uint64_t source, enum error error, size_t bytes);
// As refuse for a value that isn't what it should be.
void refuse_field(struct shard *shard, const struct message *message, const char *field,
                  const char *expected);
// Says which bound of the target's is reached, and what it is: that of what it owes, or else that of its queue.
void refuse_full_put(struct shard *shard, struct text *data, bool is_at_maximum);
// The same where the agent is known, but the message can't go there; where it is overloaded, since a bound of its own is reached.
void refuse_at(struct shard *shard, const struct message *message, const struct agent *agent,
               enum error error);
// The same for what the hub would have to keep, for which it has no room; the agent may be NULL.
void refuse_without_quota(struct shard *shard, const struct message *message, const struct agent *agent);
// The same for a method that there isn't.
void refuse_method(struct shard *shard, const struct message *message);
// The same for what the rules found.
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
bool refuse_header(struct shard *shard, const struct message *message);
