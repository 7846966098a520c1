#include "router/methods/attach.h"

#include <assert.h>

#include "core/agents/agent_id.h"
#include "router/engine/message/message_copy.h"
#include "router/engine/request/refuse.h"
#include "router/engine/shard/annex.h"
#include "router/engine/shard/child_record.h"
#include "router/registry/agent_params.h"
#include "router/rights/authz.h"
#include "router/rights/authz_cache.h"

static void refuse_unknown(struct shard *shard, const struct message *message,
                           const struct agent_params *offer) {
    struct text data;
    text_init(&data);
    reply_data_string(&data, "agent", offer->agent_id, offer->agent_id_bytes);
    refuse(shard, message, ERROR_AGENT_NOT_FOUND, &data);
}

// This hub would open the session, and what the server says to its clients doesn't come here.
static void refuse_serving_there(struct shard *shard, const struct message *message,
                                 const struct agent_params *offer) {
    struct text data;
    text_init(&data);
    reply_data_string(&data, "agent", offer->agent_id, offer->agent_id_bytes);
    reply_data_text(&data, "fault", "a server of MCP serves who is at its own hub");
    refuse(shard, message, ERROR_METHOD_NOT_FOUND, &data);
}

size_t attach_read(const struct message *message, char name[AGENT_ID_BYTES_MAX]) {
    struct json_item agent = message_param(message, "agent");
    if (agent.type != JSON_STRING)
        return 0;
    size_t bytes = json_string_decode(message->body, agent.value, name, AGENT_ID_BYTES_MAX);
    return bytes != SIZE_MAX && agent_id_valid(name, bytes) ? bytes : 0;
}

bool attach_seeks(const struct shard *shard, const struct message *message) {
    char name[AGENT_ID_BYTES_MAX];
    if (!shard->hub->settings.cluster || message->returned || !message_is_request(message))
        return false;
    size_t bytes = attach_read(message, name);
    return bytes > 0 && !agents_find(&shard->agents, name, bytes);
}

static bool keep(struct shard *shard, struct peer *peer, const struct agent_params *offer) {
    struct annex *annex = peer_annex(shard, peer);
    if (!annex || !annex_attach(&shard->quota, annex, offer->agent_id, offer->agent_id_bytes))
        return false;
    annex->end_leaves = offer->end_leaves;
    return true;
}

// The name is kept, not the agent: who has it may change, and be nobody for a while.
void attach_connection(struct shard *shard, const struct message *message) {
    struct agent_params offer;
    if (!agent_params_read_attachment(shard, message, &offer) ||
        !authz_attachment(shard, message, offer.agent_id, offer.agent_id_bytes))
        return;
    assert(offer.agent_id_bytes > 0);
    if (message->returned && message->returned->serves_there) {
        refuse_serving_there(shard, message, &offer);
        return;
    }
    bool is_elsewhere = message->returned && !message->returned->nobody;
    if (!is_elsewhere && !agents_find(&shard->agents, offer.agent_id, offer.agent_id_bytes)) {
        refuse_unknown(shard, message, &offer);
        return;
    }
    if (!keep(shard, message->peer, &offer)) {
        refuse_keeping(shard, message, NULL);
        return;
    }
    if (identity_of(message->peer))
        authz_cache_forget_calls(identity_of(message->peer));
    struct text result;
    text_init(&result);
    text_put(&result, "{\"agent\":");
    text_string(&result, offer.agent_id, offer.agent_id_bytes);
    text_put(&result, "}");
    message_answer(shard, message, &result);
}

// To an instance of its own a peer says all of them. An initialize of MCP's names the version of the protocol; the
// hub's, and those of other protocols, name none.
bool attach_opens_there(const struct shard *shard, const struct message *message, enum method method) {
    const struct attachment *attachment = message_attachment(message);
    const struct agent *agent =
        attachment ? agents_find(&shard->agents, attachment->agent, attachment->bytes) : NULL;
    if (!agent || !agent->child)
        return false;
    return child_record_is_each(agent->child) ||
           (method == METHOD_INITIALIZE && child_record_is_mcp(agent->child) &&
            message_param(message, "protocolVersion").type == JSON_STRING);
}
