// hub/pending: the requests that are under way on all shards, oldest first.
//
//     asked ──▶ each shard in turn looks at its requests, some of them a turn, and keeps the oldest
//           ──▶ each shard in turn says which of these wait in the queues of its peers ──▶ answered
//
// Where users are on, a user without `admin` sees what the user's own connections asked, or owe.
#pragma once

#include "router/engine/message/message.h"

// Answers hub/pending, or refuses the message.
void pending_list_ask(struct shard *shard, const struct message *message);
// Takes a query that comes from another shard.
void pending_list_arrived(struct shard *shard, struct mail *mail);
// Goes on with one of the queries at this shard. Called once a turn.
void pending_list_go_on(struct shard *shard);
