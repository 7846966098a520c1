// The hub's own messages to a peer: results, errors, notifications. A reply that finds no memory closes the
// peer: an answer or a close, never silence.
#pragma once

#include "core/base/errors.h"
#include "core/base/text.h"
#include "router/engine/shard/peer.h"

// Where an answer goes: the request's id as its source wrote it (id_bytes 0: null), and the exchange that it is due
// to, or NULL.
struct reply_to {
    const void *id;
    uint32_t id_bytes;
    struct exchange *exchange;
};

// Sends {"jsonrpc":"2.0","id":…,"result":…}. `result` is JSON.
void reply_result(struct shard *shard, struct peer *peer, struct reply_to to, const void *result,
                  size_t bytes);
// Sends an error in place of a result that a frame, or what is left of its exchange's, has no room for.
void reply_too_large(struct shard *shard, struct peer *peer, struct reply_to to);
// Whether there is memory for a result of so many bytes, so that none is made in vain; if not, an error is sent
// in its place.
bool reply_has_memory(struct shard *shard, struct peer *peer, struct reply_to to, size_t bytes);
// Sends that error.
void reply_without_memory(struct shard *shard, struct peer *peer, struct reply_to to);
// No memory is left to answer: the peer is closed.
void reply_failed(struct shard *shard, struct peer *peer, struct reply_to to);
// Sends an error; `data` is a JSON object that the call takes over, or NULL for an empty one.
void reply_error(struct shard *shard, struct peer *peer, struct reply_to to, enum error error,
                 struct text *data);
// The peer that asked has gone, and an answer of the hub's own with it.
void reply_missed(struct shard *shard, uint64_t connection, struct reply_to to);
// Writes such an error, as a body; returns where its id lies. `data` is an object that is still open, or NULL for an
// empty one.
struct span reply_put_error(struct text *body, struct reply_to to, enum error error, const struct text *data);
// Sends a notification of the hub's own; takes the body over. Without memory for it the peer is closed.
void reply_notify(struct shard *shard, struct peer *peer, struct text *body);

// Starts `data` as {"key":"value"}; more members may follow with reply_data_number and _string. The closing
// brace is reply_error's.
void reply_data_string(struct text *data, const char *key, const void *value, size_t bytes);
void reply_data_text(struct text *data, const char *key, const char *value);
void reply_data_number(struct text *data, const char *key, int64_t value);
// A member that is true.
void reply_data_flag(struct text *data, const char *key);
