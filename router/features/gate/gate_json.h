// Held messages as approvers see them.
#pragma once

#include "core/base/text.h"
#include "router/engine/shard/shard.h"
#include "router/features/gate/gate.h"

//     {"checkpoint":…,"artifact":{"method":…,"targetAgent":…,"sourceAgent":…,"user":…,"governanceLevel":…,
//      "bytes":…,"preview":…},"until":…}
//
// `with_body` adds the member "body": the whole body, as a string.
void gate_json_put(struct text *out, const struct shard *shard, const struct held_message *held,
                   bool with_body);
// Returns how many bytes gate_json_put may write at most.
size_t gate_json_bytes(const struct held_message *held, bool with_body);

// Decodes a string of the body, of METHOD_BYTES_MAX bytes at most. Returns NULL if there is none, or if the string is
// longer.
const char *gate_json_string(const struct held_message *held, struct span string, char out[METHOD_BYTES_MAX],
                             size_t *bytes);
// Returns the target: an agent or a group that the source has named, or the agent to which the connection is attached;
// NULL: none. The receiver is looked up after approval.
const char *gate_json_target(const struct held_message *held, char out[METHOD_BYTES_MAX], size_t *bytes);
// A checkpoint's name: `gate:` and 32 digits; in a cluster followed by `@` and this hub's name.
enum { GATE_CHECKPOINT_BYTES_MAX = CHECKPOINT_BYTES + 1 + HUB_NAME_BYTES_MAX };
size_t gate_json_write_checkpoint(const struct shard *shard, const struct checkpoint *checkpoint,
                                  char out[GATE_CHECKPOINT_BYTES_MAX]);
// Reads such a name. Returns false for a name that no hub writes. `hub` is the other hub that has written the name;
// bytes 0: this hub.
bool gate_json_read_checkpoint(const struct shard *shard, const char *name, size_t bytes,
                               struct checkpoint *checkpoint, struct hub_name *hub);
// Puts a checkpoint's name, as a JSON string.
void gate_json_put_checkpoint(struct text *out, const struct shard *shard,
                              const struct checkpoint *checkpoint);
