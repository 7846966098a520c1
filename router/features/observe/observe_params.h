// Reads the parameters of hub/tap, hub/untap and hub/pending. Bad params are refused with -32602 and the field's name.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct message;
struct shard;

// Checks that `params` is an object without one of these keys twice, or is absent. The last key is NULL. Returns false if the
// message was refused.
bool observe_params_check(struct shard *shard, const struct message *message, const char *const *keys);
// Reads a name, or a prefix and *, of up to `capacity` bytes. Sets *bytes; 0 if the parameter is absent. Returns false if the
// message was refused.
bool observe_params_pattern(struct shard *shard, const struct message *message, const char *key, char *out,
                            size_t capacity, size_t *bytes);
// Reads the name of a source or target, or a prefix and *, as observe_params_pattern does. A pattern that matches no agentId,
// no # and number of a connection, and no @ and capability is refused.
bool observe_params_agent(struct shard *shard, const struct message *message, const char *key, char *out,
                          size_t capacity, size_t *bytes);
// Reads a whole number from `least` to `most`. Keeps *number if the parameter is absent. Returns false if the message was
// refused.
bool observe_params_number(struct shard *shard, const struct message *message, const char *key,
                           uint64_t least, uint64_t most, uint64_t *number);
// Refuses a message whose parameter `key` isn't as `expected` says.
void observe_params_refuse(struct shard *shard, const struct message *message, const char *key,
                           const char *expected);
