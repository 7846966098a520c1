#include "router/features/children/child_agent.h"

#include <assert.h>

#include "router/engine/shard/drop.h"
#include "router/features/children/child_record.h"
#include "router/forwarding/forward.h"

void child_agent_describe(const struct shard *shard, const struct agent *agent, struct text *out) {
    if (!agent->child)
        return;
    text_put(out, ",\"child\":{");
    child_record_put(out, shard->hub, agent->child);
    const struct child_record *modern = child_record_modern(shard->hub, agent->child);
    if (modern) {
        text_put(out, ",\"modern\":{");
        child_record_put(out, shard->hub, modern);
        text_put(out, "}");
    }
    text_put(out, "}");
}

bool child_agent_cancel_ends(const struct shard *shard, const struct agent *agent) {
    (void)shard;
    assert(agent->registrant);
    return agent->child && child_record_is_mcp(agent->child);
}

bool child_agent_put_cancel(const struct shard *shard, const struct agent *agent, uint64_t hub_id,
                            struct text *out) {
    (void)shard;
    assert(hub_id);
    if (!agent->child || !child_record_cancels_acp(agent->child))
        return false;
    text_put(out, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":{\"requestId\":");
    text_number(out, (int64_t)hub_id);
    text_put(out, "}}");
    return true;
}

bool child_agent_has_tools(const struct shard *shard, const char *name, size_t bytes) {
    const struct child_record *record = child_record_find(shard->hub, name, bytes);
    return record && child_record_is_mcp(record);
}

// Recognizes MCP's initialize by its protocolVersion, which the initialize of the hub and of other protocols lacks.
bool child_agent_opens_there(const struct shard *shard, const struct message *message,
                             const struct agent *agent) {
    (void)shard;
    assert(message->lookup.verdict == LOOKUP_GOOD);
    if (!agent->child)
        return false;
    return child_record_is_each(agent->child) ||
           (message_method_is(message, "initialize") && child_record_is_mcp(agent->child) &&
            message_param(message, "protocolVersion").type == JSON_STRING);
}

// Forwards the notification without a note (child_mux.h), so that all instances get it.
bool child_agent_notify(struct shard *shard, const struct message *message, const struct agent *agent) {
    assert(!message_is_request(message));
    if (!agent->child || !child_record_is_each(agent->child))
        return false;
    struct parcel *parcel = parcel_forward(&shard->parcels, message->frame);
    if (!parcel) {
        drop_one(shard, COUNT_DROP_NO_MEMORY, agent->registrant->connection, message->frame->body.bytes);
        return true;
    }
    parcel->lane = (uint8_t)message_lane(message);
    stats_count(&shard->stats, COUNT_NOTIFICATIONS_FORWARDED);
    forward_to(shard, agent->registrant->connection, parcel);
    return true;
}
