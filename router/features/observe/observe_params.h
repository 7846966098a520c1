// Reads the parameters of the methods that show what goes on. What is wrong is answered with -32602 and the field.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct message;
struct shard;

// Whether `params` is an object, or isn't there, and has none of these keys twice; behind the last key is NULL. Another
// message is refused.
bool observe_params_check(struct shard *shard, const struct message *message, const char *const *keys);
// Reads a name, or a prefix and *, of up to `capacity` bytes. Sets *bytes, 0 where the parameter isn't there. False: the
// message was refused.
bool observe_params_pattern(struct shard *shard, const struct message *message, const char *key, char *out,
                            size_t capacity, size_t *bytes);
// Reads a whole number from `least` to `most`. *number stays where the parameter isn't there. False: the message was
// refused.
bool observe_params_number(struct shard *shard, const struct message *message, const char *key,
                           uint64_t least, uint64_t most, uint64_t *number);
// Refuses the message for this parameter, which is expected to be so.
void observe_params_refuse(struct shard *shard, const struct message *message, const char *key,
                           const char *expected);
