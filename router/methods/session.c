#include "router/methods/session.h"

#include <assert.h>

#include "core/child/child_settings.h"

#include "router/audit/journal.h"
#include "router/engine/request/refuse.h"
#include "router/engine/send/exchange.h"
#include "router/registry/agent_params.h"
#include "router/registry/registry.h"
#include "router/rights/authz.h"

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
    if (shard->hub->settings.gate) {
        text_put(out, ",\"gate\":\"");
        text_put(out, governance_text(shard->hub->settings.gate));
        text_put(out, "\"");
    }
    text_put(out, shard->settings->users ? ",\"users\":true" : "");
    text_put(out, shard->hub->settings.cluster ? ",\"cluster\":true" : "");
    text_put(out, shard->hub->settings.http_host[0] ? ",\"http\":true" : "");
    text_put(out, has_mcp(shard->settings) ? ",\"mcp\":true" : "");
    text_put(out, ",\"events\":true}");
}

static void put_session(struct text *out, const struct shard *shard, const struct peer *peer) {
    char name[HUB_SESSION_BYTES];
    assert(connection_shard(peer->name) == shard->index);
    hub_session(shard->hub, peer->name, name);
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
    message_answer(shard, message, &result);
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
