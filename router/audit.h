// What enters the audit journal: every audit/log, every governance/approval with its outcome, and every
// refusal for governance or authorization (HugAI v2 messages 3.6 and 3.8). Here, on the source's shard, lines
// are made, and here it is learnt whether they are on disk; journal.c is about the file.
//
//     kind      besides "time", "source" and "target"
//     audit     "entry": the params
//     approval  "entry": the params; "request": the hub's id of the request, or "outcome" where it is known
//     outcome   "request", "outcome", and of an answer "result" or "error", or why it isn't there ("fault",
//     and
//               "bytes" it has); "code" where the hub ended it
//     refusal   "method", "code", and what the source was told
//
// Where the hub keeps no journal, nothing here does anything.
#pragma once

#include "core/agents.h"
#include "core/errors.h"
#include "core/pending.h"
#include "core/text.h"
#include "router/journal.h"
#include "router/message.h"

// Judges a message that the journal takes as strict validation does, and hands an audit/log in; the answer to
// one without a target comes when it is on disk. False when the message was refused instead: it isn't valid,
// or the journal has no room for it.
bool audit_begin(struct shard *shard, struct message *message);

// Notes a governance/approval that is about to go to an agent; `pending` is a request's, NULL for a
// notification. False when there is no memory to note it: then it must not go.
bool audit_approval(struct shard *shard, const struct message *message, const struct agent *agent,
                    struct pending *pending);
// Notes that a message is refused, if it is one that the journal takes.
void audit_refused(struct shard *shard, const struct message *message, enum error error);
// Notes a refusal for governance or authorization, with what the source is told: `data` as for reply_error.
void audit_refusal(struct shard *shard, const struct message *message, enum error error,
                   const struct agent *agent, const struct text *data);

// A governance/approval was answered by its target: what it says is noted as it came, up to
// JOURNAL_ANSWER_BYTES_MAX and if strict validation would let it pass, whatever the depth; else why it isn't.
void audit_answered(struct shard *shard, struct pending *pending, const struct parcel *parcel);
// It ended without an answer: by `error`, or for ERROR_NONE because its source left.
void audit_ended(struct shard *shard, struct pending *pending, enum error error);

// An entry of this shard's is on disk, or failed: whoever waits for that is answered.
void audit_settled(struct shard *shard, struct entry *entry);
// What an errno means; static.
const char *audit_fault_text(int error);
