// Mail from other shards, and its consequences here.
#pragma once

#include "router/engine/shard/post.h"

// Reads all mail that has come. Changes of the registry are held back until everything that was posted before
// them has been read: a response that was on its way when its sender left still counts.
void inbox_read(struct shard *shard);
// Reads the mail of other shards. Changes of the registry wait for the next inbox_read.
void inbox_read_mail(struct shard *shard);
