// The ends of requests. The source's shard ends each request once: by the target's response, or by an error of the hub.
#pragma once

#include "core/base/errors.h"
#include "core/base/text.h"
#include "router/engine/shard/peer.h"

// Ends a request by the response of connection `from`. The parcel has a hole for the id and goes to the source, with
// the source's id. parcel->mail.detail is the kind of response (enum answer_detail), and parcel->body the response as
// it came. Drops a response that no request waits for, or that comes from a connection that wasn't asked.
void completion_deliver(struct shard *shard, uint64_t hub_id, uint64_t from, struct parcel *parcel);
// Ends a request by a response that can be packed and that no feature watches: for the source (send_may_pack_framed),
// or for an exchange of its transport (peer_ops.pack_answer). `id` is the value in the body of `frame` that is
// replaced. Returns false if nothing was done: then the caller must deliver a parcel.
bool completion_pack(struct shard *shard, uint64_t hub_id, uint64_t from, const struct frame *frame,
                     struct span id, bool is_error);
// Ends a request whose response is broken with an internal error.
void completion_broken(struct shard *shard, uint64_t hub_id, uint64_t from);
// Ends a request that the target's shard has refused with this error.
void completion_refused(struct shard *shard, uint64_t hub_id, enum error error);
// Ends a cancelled request whose target won't answer any more. With `notify` the source gets an error; else nothing.
void completion_give_up(struct shard *shard, struct pending *pending, bool notify);
// Removes a request that goes on in another way. Neither source nor target is told.
void completion_withdraw(struct shard *shard, struct pending *pending);
// Begins the data of an error that ends a request: its agent or target, and a fault unless that is NULL. The caller
// hands the data to completion_error.
void completion_begin_data(struct shard *shard, const struct pending *pending, struct text *data,
                           const char *fault);
// Ends a request with an error, whose data is taken over.
void completion_error(struct shard *shard, struct pending *pending, enum error error, struct text *data);
// Ends a request with a result, JSON, which is taken over.
void completion_result(struct shard *shard, struct pending *pending, struct text *result);
// Ends a request that was cancelled in its target's queue.
void completion_cancelled(struct shard *shard, struct pending *pending);
// Ends the requests of this shard's peers to a connection that has left.
void completion_end_all_at(struct shard *shard, struct registrant *registrant);
// Ends requests to a connection with this error, as many as one turn may end. The connection must not get new requests.
// Returns whether all have ended.
bool completion_end_some_at(struct shard *shard, struct registrant *registrant, enum error error);
// Requests that wait while their target restarts. All others that have not reached the target end.
struct exempt_requests {
    const uint64_t *ids; // in rising order: hub ids, and starts of sessions (hcs_open_id)
    size_t count;
    bool aside;  // requests that another program has (struct pending) stay, too
    bool marked; // requests that aren't marked stay, too
};
bool exempt_requests_has(const struct exempt_requests *exempt_requests, uint64_t id);
// Marks the requests that the connection has got until now.
void completion_mark(struct registrant *registrant);
// Ends the requests to a target that restarts, except exempt ones. Returns how many have ended.
uint32_t completion_target_restarts(struct shard *shard, struct registrant *registrant,
                                    const struct exempt_requests *exempt_requests);
// Ends all requests of a source that has left. The targets get cancels.
void completion_abandon_all(struct shard *shard, struct peer *source);
// Ends as many requests of a source that has left as one turn may end. The others join shard.abandoned and end in later
// turns. The source must not be freed before all have ended (completion_all_abandoned).
void completion_abandon_in_parts(struct shard *shard, struct peer *source);
// Ends requests of shard.abandoned, as many as this turn may end. Called once a turn.
void completion_abandon_on(struct shard *shard);
static inline bool completion_all_abandoned(const struct peer *source) {
    return source->request_index.quota_bytes == 0;
}
// Ends the requests of a half-closed source that have no time-out.
void completion_end_endless(struct shard *shard, struct peer *source);
// Ends such requests of all peers with `target disconnected`, when the hub drains.
void completion_end_endless_all(struct shard *shard);
// Ends all requests of this shard's peers with `target disconnected`, when the hub closes.
void completion_end_all(struct shard *shard);
