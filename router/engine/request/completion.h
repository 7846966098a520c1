// How requests end. The source's shard decides, once for each: by the target's response, or by an error of
// the hub's.
#pragma once

#include "core/base/errors.h"
#include "core/base/text.h"
#include "router/engine/shard/peer.h"

// A response came from connection `from`: the parcel, with a hole where its id was, goes to the source, with
// the source's own id. parcel->mail.detail tells the kind of response (enum answer_detail), and parcel->body
// how it came. A response that nobody waits for, or that comes from a connection that wasn't asked, is
// dropped.
void completion_deliver(struct shard *shard, uint64_t hub_id, uint64_t from, struct parcel *parcel);
// Does the same where the answer can be packed for the source (send_may_pack) and nobody else looks at it: `id` is the
// value in the body of `frame` that is replaced. False: nothing has happened, and a parcel must be delivered.
bool completion_pack(struct shard *shard, uint64_t hub_id, uint64_t from, const struct frame *frame,
                     struct span id, bool is_error);
// A broken response came: the request ends with an internal error.
void completion_broken(struct shard *shard, uint64_t hub_id, uint64_t from);
// The target's shard couldn't take the request.
void completion_refused(struct shard *shard, uint64_t hub_id, enum error error);
// A request was cancelled whose target answers it no more: it ends at once, without a word, or `told` with an error.
void completion_give_up(struct shard *shard, struct pending *pending, bool notify);
// Ends a request that goes on otherwise: nobody is told of this end.
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
// A connection with agents is gone: all that this shard's peers asked of it ends.
void completion_target_left(struct shard *shard, struct home *home);
// Ends, with this error, the requests to a connection of which nothing more is asked: as many as one turn may end.
// False: there are more.
bool completion_target_gone(struct shard *shard, struct home *home, enum error error);
// Requests that wait while their target restarts. All others that have not reached the target end.
struct survivors {
    const uint64_t *ids; // in rising order: hub ids, and starts of sessions (hcs_open_id)
    size_t count;
    bool aside;  // and those that another program has (struct pending)
    bool marked; // and all that isn't marked
};
bool survivors_has(const struct survivors *survivors, uint64_t id);
// Marks what that connection has been asked until now.
void completion_mark(struct home *home);
// How many ended.
uint32_t completion_target_restarts(struct shard *shard, struct home *home,
                                    const struct survivors *survivors);
// Ends all requests of a source that is gone: nobody is answered, and the targets are told.
void completion_abandon_all(struct shard *shard, struct peer *source);
// Ends as many requests of such a source as one turn may end. The rest go on a list of the shard's and end in the
// turns that follow. The source must not be freed before (completion_all_abandoned).
void completion_abandon_in_parts(struct shard *shard, struct peer *source);
// Once a turn: goes on with those.
void completion_abandon_on(struct shard *shard);
static inline bool completion_all_abandoned(const struct peer *source) {
    return source->request_index.quota_bytes == 0;
}
// Gives up requests without an end of their own, as their source has half-closed.
void completion_end_endless(struct shard *shard, struct peer *source);
// The hub is going to end: the same of all that are asked from here, which end with `target disconnected`.
void completion_end_endless_all(struct shard *shard);
// The hub ends: everything that is pending here ends with `target disconnected`.
void completion_end_all(struct shard *shard);
