// Sends messages in the name of a program that the hub keeps, as if the program had sent them.
#pragma once

#include "core/base/errors.h"
#include "router/features/children/child.h"

// Routes a body, which is taken, as a message of the child.
void child_reply_send(struct shard *shard, struct child *child, struct text *body);
// Refuses a message to the child with this error, and takes the parcel. `limit`, unless it is 0, is told with the
// error. A notification is dropped and counted.
void child_reply_refuse_parcel(struct shard *shard, struct child *child, struct parcel *parcel,
                               enum error error, uint32_t limit);
// Makes a frame around a body, which is taken. `unit` must stay as long as the frame. The caller owns the reference to
// the buffer that is returned. Returns NULL without memory; the child has failed then.
struct buffer *child_reply_frame(struct shard *shard, struct child *child, struct text *body,
                                 struct unit *unit, struct frame *frame);
// Answers the request with this hub id. `member` is "result" or "error", with this value, JSON.
void child_reply_answer(struct shard *shard, struct child *child, uint64_t hub_id, const char *member,
                        struct piece value);
// Refuses the request with this hub id with an error of the hub that names the child.
void child_reply_refuse_named(struct shard *shard, struct child *child, uint64_t hub_id, enum error error);
// Refuses a server/discover with -32601.
void child_reply_refuse_discover(struct shard *shard, struct child *child, uint64_t hub_id);
// Refuses the request with this hub id with an error of the hub. `data` is taken, as by reply_error, and may be NULL.
void child_reply_refuse(struct shard *shard, struct child *child, uint64_t hub_id, enum error error,
                        struct text *data);
