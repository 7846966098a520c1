#include "router/methods.h"

#include <string.h>

#include "core/agent_id.h"
#include "core/memory.h"
#include "router/cancel.h"
#include "router/journal.h"
#include "router/offer.h"
#include "router/refuse.h"
#include "router/registry.h"
#include "router/subscribe.h"
#include "router/validate.h"

static struct span params_of(const struct message *message) {
    return lookup_has(&message->lookup, KEY_PARAMS) ? message->lookup.value[KEY_PARAMS] : (struct span){0};
}

// --- The session

static void put_raw(struct text *out, const struct message *message, enum lookup_key key) {
    struct span value = message->lookup.value[key];
    if (lookup_has(&message->lookup, key))
        text_add(out, message->body + value.at, value.bytes);
    else
        text_put(out, "null");
}

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
    text_put(out, ",\"events\":true}");
}

static void put_session(struct text *out, const struct shard *shard, const struct peer *peer) {
    char name[HUB_SESSION_BYTES];
    hub_session(shard->hub, peer->name, name);
    text_string(out, name, sizeof name);
}

static void initialize(struct shard *shard, const struct message *message) {
    struct offer offer;
    if (!offer_read_session(shard, message, &offer))
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

static void initialized(struct shard *shard, const struct message *message) {
    if (message_is_request(message))
        reply_result(shard, message->peer, message_reply_to(message), "null", 4);
}

static void leave(struct shard *shard, const struct message *message) {
    initialized(shard, message);
    peer_linger(shard, message->peer);
}

static bool keep_request_id(struct shard *shard, struct order *order, const struct message *message) {
    struct reply_to to = message_reply_to(message);
    if (!message_is_request(message))
        return true;
    order->request_id = kept_take_anyway(&shard->kept, to.id_bytes);
    if (!order->request_id)
        return false;
    memcpy(order->request_id, to.id, to.id_bytes);
    order->request_id_bytes = to.id_bytes;
    order->batch = to.batch;
    return true;
}

// An order with the request's id in it; without memory for it the message is refused.
static struct order *order_for(struct shard *shard, const struct message *message, enum order_kind kind) {
    struct order *order = order_create(shard, kind, message->peer->name);
    if (order && keep_request_id(shard, order, message))
        return order;
    if (order)
        order_destroy(shard, order);
    refuse_keeping(shard, message, NULL);
    return NULL;
}

static void shutdown_session(struct shard *shard, const struct message *message) {
    struct order *order = order_for(shard, message, ORDER_RESIGN);
    if (order)
        registry_submit(shard, order);
}

// --- Agents

static bool prepare_farewell(struct shard *shard, struct peer *peer) {
    if (!peer->farewell)
        peer->farewell = order_create(shard, ORDER_LEAVE, peer->name);
    return peer->farewell != NULL;
}

static void agent_register(struct shard *shard, const struct message *message) {
    struct offer offer;
    if (!offer_read_agent(shard, message, &offer))
        return;
    if (message->peer->state != PEER_OPEN) {
        refuse(shard, message, ERROR_OVERLOADED, NULL);
        return;
    }
    if (!prepare_farewell(shard, message->peer)) {
        refuse_keeping(shard, message, NULL);
        return;
    }
    struct order *order = order_for(shard, message, ORDER_REGISTER);
    if (!order)
        return;
    if (!offer_fill_order(shard, &offer, message, order)) {
        order_destroy(shard, order);
        refuse_keeping(shard, message, NULL);
        return;
    }
    order->connected_since_ms = io_wall_ms(shard->io);
    registry_submit(shard, order);
}

static void agent_unregister(struct shard *shard, const struct message *message) {
    struct offer offer;
    if (!offer_read_agent_id(shard, message, &offer))
        return;
    struct order *order = order_for(shard, message, ORDER_UNREGISTER);
    if (!order)
        return;
    offer_fill_agent_id(&offer, order);
    registry_submit(shard, order);
}

static void put_agent(struct text *out, const struct shard *shard, const struct agent *agent) {
    text_put(out, "{\"agentId\":");
    text_string(out, agent->id, agent->id_bytes);
    text_put(out, ",\"capabilities\":");
    text_add(out, agent->capabilities->text, agent->capabilities->bytes);
    text_put(out, ",\"governanceLevel\":\"");
    text_put(out, governance_text(agent->governance));
    text_put(out, "\",\"connectedSince\":");
    text_number(out, (int64_t)agent->connected_since_ms);
    text_put(out, ",\"pending\":");
    text_number(out, hub_owed(shard->hub, agent->home->connection));
    text_put(out, "}");
}

// The agents that hub/agents asks for: all, or the members of one group; and how far they have been gone
// through.
struct wanted {
    const struct list *all;
    const struct list *node;
    bool is_group;
    const struct group *group; // or NULL
    size_t next;
};

static bool read_wanted(struct shard *shard, const struct message *message, struct wanted *wanted) {
    char capability[METHOD_BYTES_MAX];
    size_t bytes; // 0: all agents are
    if (!offer_read_capability(shard, message, capability, sizeof capability, &bytes))
        return false;
    const struct list *all = &shard->agents.all;
    *wanted = (struct wanted){.all = all, .node = all->next, .is_group = bytes > 0};
    if (wanted->is_group)
        wanted->group = groups_find(&shard->agents.groups, GROUP_CAPABILITY, capability, bytes);
    return true;
}

static const struct agent *next_agent(struct wanted *wanted) {
    if (wanted->is_group)
        return wanted->group ? group_next(wanted->group, &wanted->next) : NULL;
    const struct list *node = wanted->node;
    if (node == wanted->all)
        return NULL;
    wanted->node = node->next;
    return list_entry(node, struct agent, link);
}

// How many bytes put_agent writes.
static size_t agent_bytes(const struct shard *shard, const struct agent *agent) {
    static const char fixed[] =
        "{\"agentId\":\"\",\"capabilities\":,\"governanceLevel\":\"\",\"connectedSince\":,\"pending\":}";
    char digits[20];
    return sizeof fixed - 1 + agent->id_bytes + agent->capabilities->bytes +
           strlen(governance_text(agent->governance)) + text_digits(digits, agent->connected_since_ms) +
           text_digits(digits, (uint64_t)hub_owed(shard->hub, agent->home->connection));
}

// Whether a list of them has room, so that none is written in vain: a batch may ask for a thousand.
static bool has_room(const struct shard *shard, struct wanted wanted, size_t room) {
    size_t bytes = sizeof "{\"agents\":[}" - 1; // each agent has a comma or the closing bracket behind it
    for (const struct agent *agent; bytes <= room && (agent = next_agent(&wanted));)
        bytes += agent_bytes(shard, agent) + 1;
    return bytes <= room;
}

// Agents may have made of themselves what no frame holds; what they owe may grow meanwhile.
static void hub_agents(struct shard *shard, const struct message *message) {
    struct wanted wanted;
    if (!read_wanted(shard, message, &wanted) || !message_is_request(message))
        return;
    struct text result;
    text_init(&result);
    size_t room = message_room(shard, message);
    bool fits = has_room(shard, wanted, room);
    const char *before = "{\"agents\":[";
    for (const struct agent *agent; fits && (agent = next_agent(&wanted)); before = ",") {
        text_put(&result, before);
        put_agent(&result, shard, agent);
        fits = result.length <= room;
    }
    text_put(&result, result.length ? "]}" : "{\"agents\":[]}");
    if (fits) {
        message_answer(shard, message, &result);
        return;
    }
    text_deinit(&result);
    reply_too_large(shard, message->peer, message_reply_to(message));
}

// --- The hub

static void hub_ping(struct shard *shard, const struct message *message) {
    struct span params = params_of(message);
    if (!message_is_request(message))
        return;
    if (params.bytes)
        reply_result(shard, message->peer, message_reply_to(message), message->body + params.at,
                     params.bytes);
    else
        reply_result(shard, message->peer, message_reply_to(message), "null", 4);
}

static void put_number(struct text *out, const char *name, uint64_t number) {
    text_put(out, ",\"");
    text_put(out, name);
    text_put(out, "\":");
    text_number(out, (int64_t)number);
}

static void hub_stats(struct shard *shard, const struct message *message) {
    const struct hub *hub = shard->hub;
    struct text result;
    text_init(&result);
    text_put(&result, "{\"version\":\"" PATCHBAY_VERSION "\",\"io\":\"");
    text_put(&result, io_name(shard->io));
    text_put(&result, "\"");
    put_number(&result, "pid", hub->settings.process);
    put_number(&result, "shards", hub->settings.shard_count);
    put_number(&result, "connections", hub_connection_count(hub));
    put_number(&result, "agents", shard->agents.count);
    uint64_t kept = atomic_load_explicit(&hub->budget.kept, memory_order_relaxed);
    uint64_t held = atomic_load_explicit(&hub->budget.bytes, memory_order_relaxed);
    put_number(&result, "buffer_bytes", held > kept ? held - kept : 0);
    put_number(&result, "kept_bytes", kept);
    for (enum counter counter = 0; counter < COUNTERS_COUNT; counter++) {
        uint64_t sum = 0;
        for (uint32_t index = 0; index < hub->settings.shard_count; index++)
            sum += stats_read(&hub->shards[index]->stats, counter);
        put_number(&result, stats_name(counter), sum);
    }
    text_put(&result, "}");
    message_answer(shard, message, &result);
}

// --- The table

static const struct method {
    const char *name;
    size_t bytes;
    void (*answer)(struct shard *, const struct message *);
    bool before_initialize; // served where initialize is required and hasn't come
} methods[] = {
    {"initialize", sizeof "initialize" - 1, initialize, true},
    {"initialized", sizeof "initialized" - 1, initialized, true},
    {"shutdown", sizeof "shutdown" - 1, shutdown_session, false},
    {"exit", sizeof "exit" - 1, leave, true},
    {"$/cancelRequest", sizeof "$/cancelRequest" - 1, cancel_request, true},
    {"notifications/cancelled", sizeof "notifications/cancelled" - 1, cancel_request, true},
    {"agent/register", sizeof "agent/register" - 1, agent_register, false},
    {"agent/unregister", sizeof "agent/unregister" - 1, agent_unregister, false},
    {"hub/agents", sizeof "hub/agents" - 1, hub_agents, false},
    {"hub/subscribe", sizeof "hub/subscribe" - 1, subscribe, false},
    {"hub/unsubscribe", sizeof "hub/unsubscribe" - 1, unsubscribe, false},
    {"hub/stats", sizeof "hub/stats" - 1, hub_stats, false},
    {"hub/ping", sizeof "hub/ping" - 1, hub_ping, false},
};
#define HUB_PREFIX "hub/"
enum { METHODS_COUNT = sizeof methods / sizeof *methods };

static const struct method *find(const char *name, size_t bytes) {
    for (size_t index = 0; index < METHODS_COUNT; index++)
        if (methods[index].bytes == bytes && memcmp(methods[index].name, name, bytes) == 0)
            return &methods[index];
    return NULL;
}

static bool begins(const char *text, size_t bytes, const char *prefix) {
    return bytes >= strlen(prefix) && memcmp(text, prefix, strlen(prefix)) == 0;
}

// Whoever gets a message with such a name may rely on it that the hub has sent it.
static bool is_of_the_hub(const struct message *message) {
    if (message->method_long)
        return json_string_begins(message->body, message->lookup.value[KEY_METHOD], HUB_PREFIX);
    return begins(message->method, message->method_bytes, HUB_PREFIX);
}

bool methods_answer(struct shard *shard, const struct message *message) {
    const struct method *method = message->method_long ? NULL : find(message->method, message->method_bytes);
    bool open = message->peer->initialized || !shard->settings->require_initialize;
    if (!open && !(method && method->before_initialize)) {
        refuse(shard, message, ERROR_NOT_INITIALIZED, NULL);
        return true;
    }
    if (validate_refuse(shard, message))
        return true;
    if (method)
        method->answer(shard, message);
    else if (is_of_the_hub(message))
        refuse_method(shard, message);
    else
        return false;
    return true;
}

bool methods_may_be_offered(const char *method, size_t bytes) {
    return bytes && !find(method, bytes) && !begins(method, bytes, HUB_PREFIX) &&
           !begins(method, bytes, "$/") && !begins(method, bytes, "rpc.");
}
