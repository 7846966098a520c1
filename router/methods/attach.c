#include "router/methods/attach.h"

#include <assert.h>

#include "core/agents/agent.h"
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

size_t attach_read(const struct message *message, char name[AGENT_ID_BYTES_MAX], bool *end_detaches) {
    struct json_item agent = message_param(message, "agent"),
                     half_close = message_param(message, "halfClose");
    *end_detaches =
        half_close.type == JSON_STRING && json_string_is(message->body, half_close.value, "leave");
    bool is_known =
        half_close.type == JSON_NONE || *end_detaches ||
        (half_close.type == JSON_STRING && json_string_is(message->body, half_close.value, "answer"));
    if (agent.type != JSON_STRING || !is_known)
        return 0;
    size_t bytes = json_string_decode(message->body, agent.value, name, AGENT_ID_BYTES_MAX);
    return bytes != SIZE_MAX && agent_id_valid(name, bytes) ? bytes : 0;
}

bool attach_seeks(const struct shard *shard, const struct message *message) {
    char name[AGENT_ID_BYTES_MAX];
    bool end_detaches;
    if (!shard->hub->settings.cluster || !message_is_request(message))
        return false;
    size_t bytes = attach_read(message, name, &end_detaches);
    return bytes > 0 && !agents_find(&shard->agents, name, bytes);
}

// The name is kept, not the agent: who has it may change, and be nobody for a while.
void attach_peer(struct shard *shard, struct peer *peer, struct reply_to to, const char *agent, size_t bytes,
                 bool end_detaches) {
    struct annex *annex = peer_annex(shard, peer);
    struct text result;
    assert(bytes > 0);
    if (!annex || !annex_attach(&shard->quota, annex, agent, bytes)) {
        reply_without_memory(shard, peer, to);
        return;
    }
    annex->end_detaches = end_detaches;
    if (identity_of(peer))
        authz_cache_forget_calls(identity_of(peer));
    if (!to.id)
        return;
    text_init(&result);
    text_put(&result, "{\"agent\":");
    text_string(&result, agent, bytes);
    text_put(&result, "}");
    if (result.failed)
        reply_failed(shard, peer, to);
    else
        reply_result(shard, peer, to, result.bytes, result.length);
    text_deinit(&result);
}

void attach_connection(struct shard *shard, const struct message *message) {
    struct agent_params offer;
    if (!agent_params_read_attachment(shard, message, &offer) ||
        !authz_attachment(shard, message, offer.agent_id, offer.agent_id_bytes))
        return;
    assert(offer.agent_id_bytes > 0);
    struct reply_to to = message_is_request(message) ? message_reply_to(message) : (struct reply_to){0};
    if (agents_find(&shard->agents, offer.agent_id, offer.agent_id_bytes))
        attach_peer(shard, message->peer, to, offer.agent_id, offer.agent_id_bytes, offer.end_detaches);
    else
        refuse_unknown(shard, message, &offer);
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
