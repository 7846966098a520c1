// A session: initialize, initialized, shutdown and exit.
#pragma once

#include "router/engine/message/message.h"
#include "router/registry/method_table.h"

// Answers initialize: opens the session. The result tells the hub's name, version and capabilities. Registers nothing.
void session_initialize(struct shard *shard, const struct message *message);
// Answers initialized with null.
void session_initialized(struct shard *shard, const struct message *message);
// Answers shutdown: unregisters the connection's agents; forwarded requests go on. Answers null when all shards know.
void session_shutdown(struct shard *shard, const struct message *message);
// Answers hub/finish: treats the connection as if its stream had ended. Its agents and subscriptions end at once, the
// connection when it has got all answers.
void session_finish(struct shard *shard, const struct message *message);
// Handles exit: ends the connection when its queue has been sent.
void session_exit(struct shard *shard, const struct message *message);

// --- Attachment

// hub/attach: from then on a message of the connection without a target goes to one agent.

// Returns whether the named agent isn't at this hub and may be at another hub, so that the other hubs must be asked
// (router/routing/remote_attach.h).
bool attach_seeks(const struct shard *shard, const struct message *message);
// Reads the agent's name into `name`. Returns its length; 0: the message names no agent.
size_t attach_read(const struct message *message, char name[AGENT_ID_BYTES_MAX], bool *end_detaches);
// Attaches a peer to an agent, of this or another hub, and answers. `to.id` NULL: no request waits for an answer.
void attach_peer(struct shard *shard, struct peer *peer, struct reply_to to, const char *agent, size_t bytes,
                 bool end_detaches);
void attach_connection(struct shard *shard, const struct message *message);
// Returns whether a message that begins or ends a session (method_table_is_of_session) goes to the agent to which its
// connection is attached, and not to the hub.
bool attach_opens_there(const struct shard *shard, const struct message *message);
