// The two depths of validation. Lazily, a body is judged as far as routing reads it, and passes. Strictly,
// all of it must be JSON, and a message must satisfy JSON-RPC 2.0 and HugAI v2: the version, the fields of
// core/lookup/schema.h, and a sourceAgent that is an agent of the sending connection.
#pragma once

#include "router/engine/message/message.h"

// Looks the message's body up in the depth that is set.
void validate_look_up(const struct shard *shard, struct message *message);

// Refuses a request or notification that the depth doesn't allow: invalid params (data: field, expected), or
// not allowed for a foreign sourceAgent. True when it was refused.
bool validate_refuse(struct shard *shard, const struct message *message);
// Refuses a message that strict validation does not allow, whatever depth is set. True when it was refused.
bool validate_refuse_strictly(struct shard *shard, const struct message *message);
// Refuses what was held and is to go on for what has become of its sourceAgent meanwhile.
bool validate_refuse_source(struct shard *shard, const struct message *message);
// Whether it is a response, if only a broken one. Strictly, so is what bears an id that its peer may owe, also where it
// has neither a result nor an error: `owed`.
bool validate_is_response(const struct shard *shard, const struct message *message, bool is_expected);
// Whether a response that was looked up well is allowed in this depth.
bool validate_response(const struct shard *shard, const struct message *message);
