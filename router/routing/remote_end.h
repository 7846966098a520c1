// Ends a request to other hubs on its source's shard, or sends the request once more. The reasons: no hub has the
// target, no hub has acknowledged the request in time, the hub with the request has left, the answer can't be used, or
// the request is held there for approval.
#pragma once

#include "router/engine/message/remote_mail.h"
#include "router/engine/shard/shard.h"

// Handles MAIL_REMOTE.
void remote_end_arrived(struct shard *shard, struct mail *mail);
