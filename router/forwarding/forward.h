// Forwards messages to agents. A forwarded request has an id of the hub's own.
#pragma once

#include "core/base/errors.h"
#include "router/engine/message/message.h"
#include "router/forwarding/remote_target.h"

// Returns the error with which a connection can't take one more message now, as far as this shard knows; or ERROR_NONE.
enum error forward_fault(struct shard *shard, const struct message *message, uint64_t target);
// Forwards a request to an agent, or, if that is NULL, to the target `to` at other hubs. Remembers the source in the
// table of pending requests. A request that can't be forwarded is answered with an error.
void forward_request(struct shard *shard, const struct message *message, struct agent *agent,
                     const struct remote_target *to);
// Forwards a notification to an agent or to other hubs. A notification that can't be forwarded is counted. A
// notification that was made of a request loses its id.
void forward_notification(struct shard *shard, const struct message *message, struct agent *agent,
                          const struct remote_target *to);
// Returns a parcel of the message without its id; NULL without memory.
struct parcel *forward_without_id(struct shard *shard, const struct message *message);
// Sends a notification to a connection, with or without an agent, or counts the notification as dropped.
void forward_to(struct shard *shard, uint64_t connection, struct parcel *parcel);
// Sends an event for other hubs to the link. Returns false if the event was dropped and counted. If the link's shard
// finds no room, the event counts as not published (hub.events_dropped), and the other hubs tell their subscribers.
bool forward_event_remote(struct shard *shard, uint64_t link, struct parcel *parcel);

// --- Responses
//
// Takes responses from the peer that was asked to the shard of the source.

// Returns whether the message is a response, be it a broken one.
bool responses_is(const struct shard *shard, const struct message *message);
void responses_route(struct shard *shard, const struct message *message);
// Ends the request that this peer has under this hub id. The frame is a notification of the peer. The source gets the frame with its own id in the place of the value at `id`.
// `detail`: enum answer_detail.
void responses_end(struct shard *shard, struct peer *peer, const struct frame *frame, struct span id,
                   uint64_t hub_id, uint8_t detail);
// Delivers a response from another hub to the source of this hub id. Returns false, and does nothing, if the frame
// can't be used as a response. Without memory the link is closed.
bool responses_deliver(struct shard *shard, struct peer *link, const struct frame *frame, uint64_t hub_id);
