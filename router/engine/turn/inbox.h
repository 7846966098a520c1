// Handles mail from other shards.
#pragma once

#include "router/engine/shard/post.h"

// Reads all mail. Changes of the registry are deferred until all mail that was posted before has been read, so that a
// response under way still counts when its sender leaves.
void inbox_read(struct shard *shard);
// Reads the mail of other shards. Changes of the registry wait for the next inbox_read.
void inbox_read_mail(struct shard *shard);
