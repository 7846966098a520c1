// A peer's description of itself and of its agents: the params of initialize, agent/register and
// agent/unregister, read and judged. Each reader refuses the message itself when something isn't as it should
// be, and then returns false.
#pragma once

#include "core/base/governance.h"
#include "router/engine/message/message.h"
#include "router/registry/registry.h"

#define AGENT_PARAMS_METHODS_EXPECTED "methods that are not the hub's own, 4096 at most"

struct agent_params {
    char agent_id[AGENT_ID_BYTES_MAX];
    size_t agent_id_bytes; // 0: none was given
    enum governance governance;
    struct span capabilities; // of the body; bytes 0: none were given
    bool end_detaches;        // of hub/attach: halfClose is leave
};

// initialize: everything is optional.
bool agent_params_read_session(struct shard *shard, const struct message *message,
                               struct agent_params *offer);
// agent/register: the agentId is required; capabilities must be an object or an array, valid and within the
// limit, and offer no method of the hub's own.
bool agent_params_read_agent(struct shard *shard, const struct message *message, struct agent_params *offer);
// agent/unregister: the agentId alone.
bool agent_params_read_agent_id(struct shard *shard, const struct message *message,
                                struct agent_params *offer);
// hub/attach: `agent`, an agentId, is required; `halfClose` is answer or leave, if given.
bool agent_params_read_attachment(struct shard *shard, const struct message *message,
                                  struct agent_params *offer);
// Whether capabilities, a valid object or array of this text, hold nothing that can't be offered. NULL, or what
// was expected, and of which field: static texts.
const char *agent_params_judge(const uint8_t *text, struct span capabilities, const char **field);
// hub/agents: writes the capability that is asked for; *bytes is 0 when there is none.
bool agent_params_read_capability(struct shard *shard, const struct message *message, char *out,
                                  size_t capacity, size_t *bytes);

// Reads whether the agents of all hubs are asked for.
bool agent_params_read_cluster(struct shard *shard, const struct message *message, bool *in_cluster);

// Copies the agentId into an order; and all the rest, for which there may be no room: then false.
void agent_params_fill_agent_id(const struct agent_params *offer, struct order *order);
bool agent_params_fill_order(struct shard *shard, const struct agent_params *offer,
                             const struct message *message, struct order *order);

// --- The methods

// agent/register and agent/unregister.

void registration_register(struct shard *shard, const struct message *message);
void registration_unregister(struct shard *shard, const struct message *message);
