// The hub's own messages to a peer: results, errors, notifications. Without memory for a reply the peer is closed, so
// that a request is never left without an answer.
#pragma once

#include "core/base/errors.h"
#include "core/base/text.h"
#include "router/engine/shard/peer.h"

// Where a reply goes: the request's id as its source wrote it (id_bytes 0: null), and the exchange that waits for the
// reply, or NULL.
struct reply_to {
    const void *id;
    uint32_t id_bytes;
    struct exchange *exchange;
};

// Sends {"jsonrpc":"2.0","id":…,"result":…}. `result` is JSON.
void reply_result(struct shard *shard, struct peer *peer, struct reply_to to, const void *result,
                  size_t bytes);
// Sends an error in place of a result that is larger than a frame may be, or than the exchange has room for.
void reply_too_large(struct shard *shard, struct peer *peer, struct reply_to to);
// Returns whether there is memory for a result of `bytes`. The caller asks before making the result. If there is none,
// sends an error in place of the result, as reply_without_memory does.
bool reply_has_memory(struct shard *shard, struct peer *peer, struct reply_to to, size_t bytes);
// Sends the error that tells that there is no memory for a result.
void reply_without_memory(struct shard *shard, struct peer *peer, struct reply_to to);
// Closes the peer, since there is no memory for a reply.
void reply_failed(struct shard *shard, struct peer *peer, struct reply_to to);
// Sends an error. `data` is a JSON object without its closing brace, which the call takes over; NULL: an empty object.
void reply_error(struct shard *shard, struct peer *peer, struct reply_to to, enum error error,
                 struct text *data);
// Counts a reply as dropped, since the peer that asked has gone. The exchange doesn't wait for the reply any more.
void reply_missed(struct shard *shard, uint64_t connection, struct reply_to to);
// Writes the body of an error to `body`. Returns where the id lies in the body. `data` is a JSON object without its
// closing brace, which the caller keeps; NULL: an empty object.
struct span reply_put_error(struct text *body, struct reply_to to, enum error error, const struct text *data);
// Sends a notification of the hub, and takes the body over. Closes the peer without memory for the notification.
void reply_notify(struct shard *shard, struct peer *peer, struct text *body);

// Append a member to `data`, the JSON object of an error. The first call opens the object. reply_error and
// reply_put_error write the closing brace.
void reply_data_string(struct text *data, const char *key, const void *value, size_t bytes);
void reply_data_text(struct text *data, const char *key, const char *value);
void reply_data_number(struct text *data, const char *key, int64_t value);
// Appends a member that is true.
void reply_data_flag(struct text *data, const char *key);
