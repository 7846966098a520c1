#include "router/features/children/child_mux.h"

#include <assert.h>
#include <string.h>

#include "core/child/child_settings.h"
#include "router/engine/request/refuse.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/peer_cold.h"
#include "router/features/children/child.h"
#include "router/features/children/child_record.h"

// Bits of parcel.note. The bits of the method have 1 + the method.
enum { NOTE_METHOD = 0x1f, NOTE_LOG = 0x20, NOTE_MODERN = 0x40, NOTE_ANSWERS_ONLY = 0x80 };

enum { NOTE_EXIT = NOTE_METHOD }; // in the place of the method

static_assert(1 + MCP_OTHER < NOTE_EXIT, "a method has its bits");

bool child_mux_find(const struct agent *agent) {
    assert(agent->child);
    return child_record_is_mcp(agent->child) || child_record_is_each(agent->child);
}

// Makes the mail that will tell the server's shard that the peer has gone. Returns false without memory: the peer is no
// user of the server then.
static bool prepare_departure(struct shard *shard, struct peer *peer) {
    struct child_peer *own = child_peer_take(shard, peer);
    if (own && !own->departure)
        own->departure = quota_take(&shard->quota, sizeof *own->departure);
    return own && own->departure;
}

void child_mux_note(struct shard *shard, const struct message *message, const struct agent *agent,
                    struct parcel *parcel) {
    assert(message->method_long || message->method_bytes <= sizeof message->method);
    bool is_known = !message->method_long && child_record_is_mcp(agent->child);
    enum mcp_method method = is_known ? mcp_method(message->method, message->method_bytes) : MCP_OTHER;
    const struct peer_cold *own = message->peer->cold;
    bool is_exit =
        own && own->end_detaches && child_record_is_each(agent->child) && message_method_is(message, "exit");
    parcel->note = is_exit ? NOTE_EXIT : (uint8_t)(1 + method);
    if (is_known && mcp_era(message->body, &message->lookup, method) == MCP_MODERN) {
        bool logs = mcp_meta(message->body, &message->lookup, MCP_META_LOG_LEVEL).type != JSON_NONE;
        parcel->note |= (uint8_t)(NOTE_MODERN | (logs ? NOTE_LOG : 0));
    }
    if (message->peer->transport->answers_only || message->origin) // only answers reach the source
        parcel->note |= NOTE_ANSWERS_ONLY;
    parcel->source = prepare_departure(shard, message->peer) ? message->peer->connection_id : 0;
    parcel->body = message->frame->body;
}

bool child_mux_refuses(struct shard *shard, const struct message *message, const struct agent *agent) {
    if (!message->origin || message->method_long || !child_record_is_mcp(agent->child))
        return false;
    enum mcp_method method = mcp_method(message->method, message->method_bytes);
    bool is_long_lived = method == MCP_LISTEN || method == MCP_SUBSCRIBE || method == MCP_UNSUBSCRIBE ||
                         method == MCP_SET_LEVEL;
    if (is_long_lived)
        refuse_method(shard, message);
    return is_long_lived;
}

static const struct child_settings *settings_of(const struct shard *shard, const struct agent *agent) {
    const struct child_settings *settings = shard->settings->children;
    while (settings && strcmp(settings->name, agent->child->name) != 0)
        settings = settings->next;
    return settings;
}

bool child_mux_lacks_tool(struct shard *shard, const struct message *message, const struct agent *agent) {
    char name[METHOD_BYTES_MAX];
    if (!message_method_is(message, "tools/call") || !child_record_is_mcp(agent->child))
        return false;
    const struct child_settings *settings = settings_of(shard, agent);
    if (!settings || settings->tools.length == 0)
        return false;
    struct json_item tool = message_param(message, "name");
    if (tool.type != JSON_STRING)
        return false;
    size_t bytes = json_string_decode(message->body, tool.value, name, sizeof name);
    if (bytes != SIZE_MAX && child_settings_has_tool(settings, name, bytes))
        return false;
    if (message->exchange)
        message->exchange->is_targets_refusal = true;
    refuse_field(shard, message, "params.name", "a tool of this server");
    return true;
}

bool child_mux_answers_only(const struct parcel *parcel) {
    return parcel->note & NOTE_ANSWERS_ONLY;
}

bool child_mux_is_modern(const struct parcel *parcel) {
    return parcel->note & NOTE_MODERN;
}

bool child_mux_wants_log(const struct parcel *parcel) {
    return parcel->note & NOTE_LOG;
}

bool child_mux_is_exit(const struct parcel *parcel) {
    return (parcel->note & NOTE_METHOD) == NOTE_EXIT;
}

enum mcp_method child_mux_method(const struct parcel *parcel) {
    unsigned note = child_mux_is_exit(parcel) ? 1 + MCP_OTHER : parcel->note & (unsigned)NOTE_METHOD;
    assert(note <= 1 + MCP_OTHER);
    return note ? (enum mcp_method)(note - 1) : MCP_OTHER;
}

// --- Pools

static bool is_of_pool(const struct agent *agent, const struct agent *chosen) {
    return agent->pool_bytes == chosen->pool_bytes && memcmp(agent->id, chosen->id, chosen->pool_bytes) == 0;
}

// Returns the agent of the same pool at a connection. Returns NULL if the agent has gone, or won't run again.
static struct agent *agent_at(struct shard *shard, uint64_t connection, const struct agent *chosen) {
    struct registrant *registrant = agents_registrant(&shard->agents, connection);
    for (struct list *node = registrant ? registrant->agents.next : NULL;
         registrant && node != &registrant->agents; node = node->next) {
        struct agent *agent = list_entry(node, struct agent, by_registrant);
        if (!agent->absent && is_of_pool(agent, chosen))
            return agent;
    }
    return NULL;
}

// Returns the peer's affinity to a pool, and sets *agent to the member. If there is none, *agent is NULL, and the
// affinity to a member that has gone is returned for reuse; or NULL.
static struct pool_affinity *find_affinity(struct shard *shard, const struct child_peer *own,
                                           const struct agent *chosen, struct agent **agent) {
    struct pool_affinity *stale = NULL;
    *agent = NULL;
    for (struct pool_affinity *affinity = own->affinities; affinity; affinity = affinity->next) {
        *agent = agent_at(shard, affinity->connection, chosen);
        if (*agent)
            return affinity;
        if (!agents_registrant(&shard->agents, affinity->connection))
            stale = affinity;
    }
    return stale;
}

struct agent *pool_affinity_agent(struct shard *shard, struct peer *peer, struct agent *chosen) {
    struct agent *agent;
    assert(chosen->pool_bytes > 0 && connection_shard(peer->connection_id) == shard->index);
    struct child_peer *own =
        chosen->child && child_record_is_mcp(chosen->child) ? child_peer_take(shard, peer) : NULL;
    struct pool_affinity *affinity = own ? find_affinity(shard, own, chosen, &agent) : NULL;
    if (!own)
        return chosen;
    if (agent)
        return agent;
    if (!affinity) {
        affinity = quota_take(&shard->quota, sizeof *affinity);
        if (!affinity)
            return chosen;
        affinity->next = own->affinities;
        own->affinities = affinity;
    }
    affinity->connection = chosen->registrant->connection;
    return chosen;
}
