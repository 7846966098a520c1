// Lines of the audit journal: every audit/log, every governance/approval with its outcome, and every refusal
// for governance or authorization (HugAI v2 messages 3.6 and 3.8). The source's shard makes them here.
// journal.c is about the file, and features/audit/audit_hook.c about peers that wait for the file.
//
//     kind      besides "time", "source" and "target"
//     audit     "entry": the params
//     approval  "entry": the params; "request": the hub's id of the request, or "outcome" where it is known
//     outcome   "request", "outcome", and of an answer "result" or "error", or why it isn't there
//               ("fault", and "bytes" it has); "code" where the hub ended it
//     refusal   "method", "code", and what the source was told
//     refusals  "count": of those of a user in a second that have no line of their own
//
// Where the hub keeps no journal, nothing here does anything.
#pragma once

#include "core/agents/agents.h"
#include "core/base/errors.h"
#include "core/base/text.h"
#include "core/requests/pending.h"
#include "core/rights/rights.h"
#include "router/audit/journal.h"
#include "router/engine/message/message.h"
#include "router/engine/shard/peer.h"

// An entry about a message whose line has begun, or NULL.
struct journal_entry *audit_entry(struct shard *shard, const struct message *message, const char *kind,
                                  const struct agent *agent);
// Hands an entry in, which may be NULL. An entry that isn't there, or for which the journal has no room, is
// counted.
void audit_submit(struct shard *shard, struct journal_entry *entry);
// Adds the params of a message to a line, as `entry`.
void audit_put_entry(struct text *line, const struct message *message);
// Ends an entry's line. Without memory for all of it the entry goes, and the result is NULL.
struct journal_entry *audit_finish(struct journal_entry *entry);

// Notes a governance/approval that is about to go to an agent; `pending` is a request's, NULL for a
// notification. False when there is no memory to note it: then it must not go.
bool audit_approval(struct shard *shard, const struct message *message, const struct agent *agent,
                    struct pending *pending);
// Notes that a message is refused, if it is one that the journal takes.
void audit_refused(struct shard *shard, const struct message *message, enum error error);
// Notes a refusal for governance or authorization, with what the source is told: `data` as for reply_error.
void audit_refusal(struct shard *shard, const struct message *message, enum error error,
                   const struct agent *agent, const struct text *data);

// Notes and counts the refusal of an HTTP request that bears no message. `path` is the path of its route, or NULL.
void audit_refused_request(struct shard *shard, const struct peer *peer, const char *path, enum rule rule);
// What is refused before it is routed as a message, and may have come on another shard: a start of HCS, or a request of MCP
// over HTTP.
struct unrouted_request {
    uint64_t source;
    const struct user *user; // NULL: it isn't known, or users aren't on
    const char *target;      // the address that the request names; bytes 0: none
    size_t target_bytes;
    const char *method; // bytes 0: none
    size_t method_bytes;
};
// Notes the refusal of such a request, with what the source is told: `data` as for reply_error.
void audit_refused_unrouted(struct shard *shard, const struct unrouted_request *request, enum error error,
                            const struct text *data);
// Whether a refusal of this user's (NULL: of whom it isn't known who they are) has a line of its own; else it is counted.
bool audit_may_report(struct shard *shard, const struct user *user);
// Whether the refusal of this user's that was noted last has a line of its own. Nothing is counted.
bool audit_reports(const struct shard *shard, const struct user *user);
// One of the shard's two timers went off: for refusals that have not been told, or for entries that could not be written.
void audit_expired(struct shard *shard, const struct timer *timer);

// Notes that the target of a governance/approval has answered. The journal gets the answer as it came if the answer has at
// most JOURNAL_ANSWER_BYTES_MAX bytes and strict validation would let it pass, whatever its depth. Otherwise the journal
// gets the reason why not.
void audit_answered(struct shard *shard, struct pending *pending, const struct parcel *parcel);
// The request ended without an answer: by `error`, or for ERROR_NONE because its source left.
void audit_ended(struct shard *shard, struct pending *pending, enum error error);
// Notes that a request came back from another hub and did not go on because its source left. *outcome is NULL where
// the journal has that already, or keeps no line of the request.
void audit_source_gone(struct shard *shard, struct mail **outcome);

// --- The source

// The member `source` of a line of the audit journal: the connection, its user where users are on, and its
// agents. For a message from another hub it is that hub, and the agent in whose name it was said by that
// hub's word.

// Puts a connection, which may have gone, and the user for whom the message was said; NULL: none.
void audit_put_user(struct shard *shard, struct text *line, uint64_t connection, const struct user *user);
// Puts the peer whose message is being read.
void audit_put_peer(struct shard *shard, struct text *line, const struct peer *peer);
// Of a message.
void audit_put_source(struct shard *shard, struct text *line, const struct message *message);
