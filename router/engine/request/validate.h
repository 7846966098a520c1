// Validation of messages, in two depths (--validate). Lazy validation checks the fields that routing reads. Strict
// validation checks that the whole body is JSON, and that the message satisfies JSON-RPC 2.0 and HugAI v2: the version,
// the fields of core/lookup/schema.h, and a sourceAgent that is an agent of the sending connection.
#pragma once

#include "router/engine/message/message.h"

// Begins to read a message from its frame: looks up the fields in the depth of the settings. The frame must stay as
// long as the message.
void validate_look_up(const struct shard *shard, struct message *message, const struct frame *frame);
// Reads the method of a message that was looked up well. A method that doesn't fit is marked (method_long).
void validate_read_method(struct message *message);

// Refuses a request or notification that the depth doesn't allow: with `invalid params` (data: field, expected), or
// `not allowed` for a foreign sourceAgent. Returns whether the message was refused.
bool validate_refuse(struct shard *shard, const struct message *message);
// Refuses a message that strict validation does not allow, in either depth. Returns whether the message was refused.
bool validate_refuse_strictly(struct shard *shard, const struct message *message);
// Refuses a message that was held and whose sourceAgent isn't the sender's any more. Returns whether the message was
// refused.
bool validate_refuse_source(struct shard *shard, const struct message *message);
// Returns whether the message is a response, be it a broken one. In strict validation, an id of a request that the peer
// must answer (`is_expected`) makes a response of a message without result and error.
bool validate_is_response(const struct shard *shard, const struct message *message, bool is_expected);
// Returns whether the depth allows a response that was looked up well.
bool validate_response(const struct shard *shard, const struct message *message);
