// Lines of the audit journal: every audit/log, every governance/approval with its outcome, and every refusal for
// governance or authorization (HugAI v2 messages 3.6 and 3.8). The source's shard makes the lines here. journal.c
// writes the file, and features/audit/audit_hook.c handles peers that wait for the file.
//
//     kind      members besides "time", "source" and "target"
//     audit     "entry": the params
//     approval  "entry": the params; "request": the hub's id of the request; "outcome" if it is known already
//     outcome   "request"; "outcome"; the answer's "result" or "error", or "fault" (why the answer isn't in the
//               line) and "bytes" (the answer's size); "code" if the hub has ended the request
//     refusal   "method"; "code"; the data that the source got
//     refusals  "count": refusals of a user in a second without a line of their own, calls of tools among them
//     tool      router/features/mcp_calls/tool_calls.h
//
// The functions do nothing in a hub without a journal.
#pragma once

#include "core/agents/agents.h"
#include "core/base/errors.h"
#include "core/base/text.h"
#include "core/requests/pending.h"
#include "core/rights/rights.h"
#include "router/audit/journal.h"
#include "router/engine/message/message.h"
#include "router/engine/shard/peer.h"

// Begins the line of an entry about a message. Returns NULL without memory.
struct journal_entry *audit_entry(struct shard *shard, const struct message *message, const char *kind,
                                  const struct agent *agent);
// Hands an entry to the journal, and takes the entry. Counts the entry as refused if it is NULL, or if the journal has
// no room.
void audit_submit(struct shard *shard, struct journal_entry *entry);
// Adds the params of a message to a line, as `entry`.
void audit_put_entry(struct text *line, const struct message *message);
// Ends an entry's line. Without memory for the whole line, frees the entry and returns NULL.
struct journal_entry *audit_finish(struct journal_entry *entry);

// Records a governance/approval that is about to go to an agent. `pending` is the request's; NULL for a notification.
// Returns false without memory: then the message must not go.
bool audit_approval(struct shard *shard, const struct message *message, const struct agent *agent,
                    struct pending *pending);
// Records the refusal of a governance/approval. Does nothing for other messages.
void audit_refused(struct shard *shard, const struct message *message, enum error error);
// Records a refusal for governance or authorization, with the data that the source gets: `data` as for reply_error.
void audit_refusal(struct shard *shard, const struct message *message, enum error error,
                   const struct agent *agent, const struct text *data);

// Records and counts the refusal of an HTTP request that has no message. `path` is the path of its route, or NULL.
void audit_refused_request(struct shard *shard, const struct peer *peer, const char *path, enum rule rule);
// A request that is refused before it is routed as a message: a start of HCS, or a request of MCP over HTTP. The
// request may have come on another shard.
struct unrouted_request {
    uint64_t source;
    const struct user *user; // NULL: not known, or there is no users file
    const char *target;      // the address that the request names; with 0 bytes: none
    size_t target_bytes;
    const char *method; // with 0 bytes: none
    size_t method_bytes;
};
// Records the refusal of such a request, with the data that the source gets: `data` as for reply_error.
void audit_refused_unrouted(struct shard *shard, const struct unrouted_request *request, enum error error,
                            const struct text *data);
// Counts a refusal of this user, and returns whether the refusal gets its own line. NULL stands for all sources whose
// user isn't known.
bool audit_may_report(struct shard *shard, const struct user *user);
// Returns whether the last counted refusal of this user got its own line. Counts nothing.
bool audit_reports(const struct shard *shard, const struct user *user);
// Enters the counts of refusals that got no line of their own, when TIMER_REFUSALS has gone off.
void audit_report_suppressed(struct shard *shard);

// Records that the target of a governance/approval has answered. The journal gets the answer as it came if the answer
// has at most JOURNAL_ANSWER_BYTES_MAX bytes and strict validation would let the answer pass, whatever its depth.
// Otherwise the journal gets the reason why not.
void audit_answered(struct shard *shard, struct pending *pending, const struct parcel *parcel);
// Records that the request ended without an answer: by `error`, or with ERROR_NONE because its source left.
void audit_ended(struct shard *shard, struct pending *pending, enum error error);
// Records that a request came back from another hub and didn't go on because its source left. *outcome is NULL if the
// journal has the outcome already, or keeps no line of the request.
void audit_source_gone(struct shard *shard, struct mail **outcome);

// --- The source

// The member `source` of a line: the connection, its user with a users file, and its agents. For a message from another
// hub, the member has that hub, and the agent that the hub names as the sender.

// Puts a connection, which may have left, and the user of the message; NULL for none.
void audit_put_user(struct shard *shard, struct text *line, uint64_t connection, const struct user *user);
// Puts the peer whose message is being read.
void audit_put_peer(struct shard *shard, struct text *line, const struct peer *peer);
// Puts the source of a message.
void audit_put_source(struct shard *shard, struct text *line, const struct message *message);
