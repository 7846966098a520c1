// Ends a request to other hubs, or sends it once more, on its source's shard: nobody was there for it, its time to be
// taken is over, the hub that had it is gone, its answer can't be used, or it is held there until somebody approves
// it.
#pragma once

#include "router/engine/message/remote_mail.h"
#include "router/engine/shard/shard.h"

// MAIL_REMOTE.
void remote_end_arrived(struct shard *shard, struct mail *mail);
