// Answering in the place of a program that the hub keeps: as if it had said so itself.
#pragma once

#include "core/base/errors.h"
#include "router/features/children/child.h"

// Routes a body as if it had said it; takes it over.
void child_reply_send(struct shard *shard, struct child *child, struct text *body);
// A message on its way to it isn't taken: why, with a limit unless that is 0. Takes it.
void child_reply_refuse_parcel(struct shard *shard, struct child *child, struct parcel *parcel,
                               enum error error, uint32_t limit);
// Makes a frame around a body, which is taken over. `unit` must stay as long as the frame. The frame has one
// reference to its buffer, which is the caller's; NULL without memory: then the child has failed.
struct buffer *child_reply_frame(struct shard *shard, struct child *child, struct text *body,
                                 struct unit *unit, struct frame *frame);
// Answers what it was asked under this id. `member` is "result" or "error", with this value, JSON.
void child_reply_answer(struct shard *shard, struct child *child, uint64_t hub_id, const char *member,
                        struct piece value);
// With -32601, where it was server/discover.
void child_reply_refuse_discover(struct shard *shard, struct child *child, uint64_t hub_id);
// With an error of the hub's. `data` as in reply_error, and taken over; or NULL.
void child_reply_refuse(struct shard *shard, struct child *child, uint64_t hub_id, enum error error,
                        struct text *data);
