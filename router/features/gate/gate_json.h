// Held messages as approvers see them.
#pragma once

#include "core/base/text.h"
#include "router/engine/shard/shard.h"
#include "router/features/gate/gate.h"

//     {"checkpoint":…,"artifact":{"method":…,"targetAgent":…,"sourceAgent":…,"user":…,"governanceLevel":…,
//      "bytes":…,"preview":…},"until":…}
//
// and, if it is asked for, "body" behind that: all of it, as a string.
void gate_json_put(struct text *out, const struct shard *shard, const struct held_message *held,
                   bool with_body);
// How many bytes that takes, or some more.
size_t gate_json_bytes(const struct held_message *held, bool with_body);

// A string of the body's, decoded, of METHOD_BYTES_MAX bytes at most; NULL where there is none, or a longer one.
const char *gate_json_string(const struct held_message *held, struct span string, char out[METHOD_BYTES_MAX],
                             size_t *bytes);
// Returns the address that its source gave it: an agent, a group, or the agent that its connection is
// attached to; NULL: none. The receiver is looked up once the message is approved.
const char *gate_json_target(const struct held_message *held, char out[METHOD_BYTES_MAX], size_t *bytes);
// A checkpoint's name: `gate:` and 32 digits; where there are other hubs, `@` and this hub's name behind that.
enum { GATE_CHECKPOINT_BYTES_MAX = CHECKPOINT_BYTES + 1 + HUB_NAME_BYTES_MAX };
size_t gate_json_write_checkpoint(const struct shard *shard, const struct checkpoint *checkpoint,
                                  char out[GATE_CHECKPOINT_BYTES_MAX]);
// Reads such a name. False: the hub gives none like it. `hub`: which other one does; bytes 0: this one.
bool gate_json_read_checkpoint(const struct shard *shard, const char *name, size_t bytes,
                               struct checkpoint *checkpoint, struct hub_name *hub);
// The name, as a string of JSON.
void gate_json_put_checkpoint(struct text *out, const struct shard *shard,
                              const struct checkpoint *checkpoint);
