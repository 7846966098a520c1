// Judges a message that the journal takes (audit.h), before it is routed, and hands an audit/log in.
#pragma once

#include "router/engine/message/message.h"

// Judges a message that the journal takes as strict validation does, and hands an audit/log in; the answer to
// one without a target comes when it is on disk. False when the message was refused instead: it isn't valid,
// or the journal has no room for it.
bool audit_hook_begin(struct shard *shard, struct message *message);
// Entries of this shard's have come home (journal.h): whoever waits for one is answered.
void audit_hook_settle(struct shard *shard);
