// Reads and checks the params of initialize, agent/register, agent/unregister, hub/attach and hub/agents. Each reader
// refuses a message with wrong params, and then returns false.
#pragma once

#include "core/base/governance.h"
#include "router/engine/message/message.h"
#include "router/registry/registry.h"

#define AGENT_PARAMS_METHODS_EXPECTED "methods that are not the hub's own, 4096 at most"

struct agent_params {
    char agent_id[AGENT_ID_BYTES_MAX];
    size_t agent_id_bytes; // 0: there is no agentId
    enum governance governance;
    struct span capabilities; // of the body; bytes 0: there are none
    bool end_detaches;        // of hub/attach: halfClose is leave
};

// Reads initialize. Every field is optional.
bool agent_params_read_session(struct shard *shard, const struct message *message,
                               struct agent_params *offer);
// Reads agent/register. The agentId is required. Capabilities must be an object or an array, valid and within the
// limit, without methods of the hub.
bool agent_params_read_agent(struct shard *shard, const struct message *message, struct agent_params *offer);
// Reads agent/unregister: the agentId alone.
bool agent_params_read_agent_id(struct shard *shard, const struct message *message,
                                struct agent_params *offer);
// Reads hub/attach. `agent`, an agentId, is required; `halfClose` may be answer or leave.
bool agent_params_read_attachment(struct shard *shard, const struct message *message,
                                  struct agent_params *offer);
// Checks capabilities, a valid object or array of this text. Returns NULL if an agent may have them. Otherwise returns
// what was expected, and sets *field; both are static texts.
const char *agent_params_judge(const uint8_t *text, struct span capabilities, const char **field);
// Reads the wanted capability of hub/agents; *bytes 0: none.
bool agent_params_read_capability(struct shard *shard, const struct message *message, char *out,
                                  size_t capacity, size_t *bytes);

// Reads whether hub/agents asks for the agents of all hubs.
bool agent_params_read_cluster(struct shard *shard, const struct message *message, bool *in_cluster);

// Copies the agentId into an order. The second function copies the rest, too, and returns false without quota.
void agent_params_fill_agent_id(const struct agent_params *offer, struct order *order);
bool agent_params_fill_order(struct shard *shard, const struct agent_params *offer,
                             const struct message *message, struct order *order);

// --- The methods

// Answers agent/register and agent/unregister.

void registration_register(struct shard *shard, const struct message *message);
void registration_unregister(struct shard *shard, const struct message *message);
