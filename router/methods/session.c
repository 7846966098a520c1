#include "router/methods/session.h"

#include <assert.h>

#include "core/agents/agent.h"
#include "core/child/child_settings.h"
#include "router/audit/journal.h"
#include "router/engine/request/refuse.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/peer_cold.h"
#include "router/registry/agent_params.h"
#include "router/registry/registry.h"
#include "router/rights/authz.h"
#include "router/rights/authz_cache.h"

static void put_raw(struct text *out, const struct message *message, enum lookup_key key) {
    struct span value = message->lookup.value[key];
    assert(key < LOOKUP_KEYS_COUNT);
    if (lookup_has(&message->lookup, key))
        text_add(out, message->body + value.at, value.bytes);
    else
        text_put(out, "null");
}

static bool has_mcp(const struct hub_settings *settings) {
    const struct child_settings *child = settings->children;
    while (child && child->protocol != CHILD_MCP)
        child = child->next;
    return child != NULL;
}

// Puts the features that are on, of those that an operator may leave off.
static void put_capabilities(struct text *out, const struct shard *shard) {
    text_put(out, shard->settings->strict ? "{\"validation\":\"strict\"" : "{\"validation\":\"lazy\"");
    text_put(out, ",\"maxFrame\":");
    text_number(out, shard_limits(shard)->frame_bytes_max);
    text_put(out, ",\"maxHeader\":");
    text_number(out, shard_limits(shard)->header_bytes_max);
    text_put(out, ",\"takeover\":");
    text_put(out, shard->settings->takeover ? "true" : "false");
    text_put(out, ",\"audit\":");
    text_put(out, journal_is_on(shard) ? "true" : "false");
    if (shard->hub->start_settings.approval_level) {
        text_put(out, ",\"gate\":\"");
        text_put(out, governance_text(shard->hub->start_settings.approval_level));
        text_put(out, "\"");
    }
    text_put(out, shard->settings->users ? ",\"users\":true" : "");
    text_put(out, hub_has_cluster(shard->hub) ? ",\"cluster\":true" : "");
    feature_describe_hub(shard, out);
    text_put(out, has_mcp(shard->settings) ? ",\"mcp\":true" : "");
    text_put(out, ",\"events\":true}");
}

static void put_session(struct text *out, const struct shard *shard, const struct peer *peer) {
    char name[HUB_SESSION_BYTES];
    assert(connection_shard(peer->connection_id) == shard->index);
    hub_session(shard->hub, peer->connection_id, name);
    text_string(out, name, sizeof name);
}

void session_initialize(struct shard *shard, const struct message *message) {
    struct agent_params offer;
    if (!agent_params_read_session(shard, message, &offer) || !authz_level(shard, message, offer.governance))
        return;
    struct text result;
    text_init(&result);
    text_put(&result, "{\"serverInfo\":{\"name\":\"patchbay\",\"version\":\"" PATCHBAY_VERSION
                      "\"},\"protocolVersion\":\"2.0.0\",\"sessionId\":");
    put_session(&result, shard, message->peer);
    text_put(&result, ",\"agentId\":");
    put_raw(&result, message, KEY_AGENT_ID);
    text_put(&result, ",\"governanceLevel\":\"");
    text_put(&result, governance_text(offer.governance));
    text_put(&result, "\",\"capabilities\":");
    put_capabilities(&result, shard);
    text_put(&result, "}");
    message->peer->initialized = true;
    message->peer->governance = offer.governance;
    message_reply(shard, message, &result);
}

void session_initialized(struct shard *shard, const struct message *message) {
    if (message_is_request(message))
        reply_result(shard, message->peer, message_reply_to(message), "null", 4);
}

void session_finish(struct shard *shard, const struct message *message) {
    if (message->exchange && message->exchange->is_array) { // whose members come at once
        refuse_for(shard, message, ERROR_INVALID_REQUEST, "this comes alone, as nothing follows");
        return;
    }
    assert(!message->origin && !message->peer->transport->answers_only);
    session_initialized(shard, message);
    peer_ended(shard, message->peer);
}

void session_exit(struct shard *shard, const struct message *message) {
    session_initialized(shard, message);
    if (message->exchange && message->peer->transport->answers_only) {
        message->exchange->http.closes = true; // behind the answers that are due
        return;
    }
    if (message->exchange && message->exchange->is_array) {
        message->exchange->exits = true; // the members of a batch come at once, and each is routed
        return;
    }
    peer_linger(shard, message->peer);
    assert(message->peer->state != PEER_OPEN);
}

void session_shutdown(struct shard *shard, const struct message *message) {
    struct order *order = order_for_message(shard, message, ORDER_RESIGN);
    if (order)
        registry_submit(shard, order);
}

// --- Attachment

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
    if (!hub_has_cluster(shard->hub) || !message_is_request(message))
        return false;
    size_t bytes = attach_read(message, name, &end_detaches);
    return bytes > 0 && !agents_find(&shard->agents, name, bytes);
}

// Keeps the agent's name, not the agent: another agent may get the name, or none may have it for a while.
void attach_peer(struct shard *shard, struct peer *peer, struct reply_to to, const char *agent, size_t bytes,
                 bool end_detaches) {
    struct peer_cold *cold = peer_take_cold(shard, peer);
    struct text result;
    assert(bytes > 0);
    if (!cold || !peer_cold_attach(&shard->quota, cold, agent, bytes)) {
        reply_without_memory(shard, peer, to);
        return;
    }
    cold->end_detaches = end_detaches;
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

bool attach_opens_there(const struct shard *shard, const struct message *message) {
    const struct attachment *attachment = message_attachment(message);
    const struct agent *agent =
        attachment ? agents_find(&shard->agents, attachment->agent, attachment->bytes) : NULL;
    return agent && feature_opens_there(shard, message, agent);
}
