// A session: initialize, initialized, shutdown and exit.
#pragma once

#include "router/engine/message/message.h"
#include "router/registry/method_table.h"

// Opens it; nothing is registered by that. The result tells what the hub is and can.
void session_initialize(struct shard *shard, const struct message *message);
// Taken; a request is answered null.
void session_initialized(struct shard *shard, const struct message *message);
// The connection's agents end, what was forwarded goes on; answered null when that is known everywhere.
void session_shutdown(struct shard *shard, const struct message *message);
// The connection says no more, as if its stream had ended: its agents and subscriptions end, and the connection once it has
// got all answers.
void session_finish(struct shard *shard, const struct message *message);
// The connection ends once all is sent that waits for it.
void session_exit(struct shard *shard, const struct message *message);

// --- Attachment

// hub/attach: from then on what its connection says without a target goes to one agent.

// Whether whom it names isn't here, and may be at another hub: that is to be asked first (router/routing/remote_attach.h).
bool attach_seeks(const struct shard *shard, const struct message *message);
// Reads the agent's name into `name`; returns its bytes, 0 where it names nobody.
size_t attach_read(const struct message *message, char name[AGENT_ID_BYTES_MAX], bool *end_detaches);
// Attaches a peer to an agent, here or at another hub, and answers; `to.id` of NULL: nobody waits for that.
void attach_peer(struct shard *shard, struct peer *peer, struct reply_to to, const char *agent, size_t bytes,
                 bool end_detaches);
void attach_connection(struct shard *shard, const struct message *message);
// Whether what opens or ends a session (method_table_is_of_session) is for the agent that its connection is attached to, and
// not for the hub.
bool attach_opens_there(const struct shard *shard, const struct message *message);
