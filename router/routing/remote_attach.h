// hub/attach to an agent that isn't here: other hubs are asked for the name first.
#pragma once

#include "router/engine/message/message.h"
#include "router/engine/message/remote_mail.h"

// Asks for one that attach_seeks (router/methods/session.h).
void remote_attach_route(struct shard *shard, const struct message *message);
// MAIL_ATTACH: on shard 0 other hubs are to be asked; at home it is answered.
void remote_attach_arrived(struct shard *shard, struct mail *mail);
// Shard 0: what comes of it is known, and it goes home.
void remote_attach_over(struct shard *shard, struct attach_query *query, enum attach_outcome outcome);
