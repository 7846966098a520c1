#include "router/features/gate/gate_json.h"

#include <assert.h>
#include <string.h>

#include "core/json/json.h"
#include "core/rights/users.h"
#include "router/engine/message/message.h"
#include "router/engine/shard/peer_cold.h"

const char *gate_json_string(const struct held_message *held, struct span string, char out[METHOD_BYTES_MAX],
                             size_t *bytes) {
    *bytes = 0;
    size_t decoded =
        string.bytes ? json_string_decode(frame_body(&held->frame), string, out, METHOD_BYTES_MAX) : SIZE_MAX;
    if (decoded == SIZE_MAX)
        return NULL;
    *bytes = decoded;
    return out;
}

const char *gate_json_target(const struct held_message *held, char out[METHOD_BYTES_MAX], size_t *bytes) {
    if (!held->attachment)
        return gate_json_string(held, held->target, out, bytes);
    *bytes = held->attachment->bytes;
    return held->attachment->agent;
}

static void put_string(struct text *out, const char *name, const char *string, size_t bytes) {
    text_put(out, name);
    if (string)
        text_string(out, string, bytes);
    else
        text_put(out, "null");
}

static void put_member(struct text *out, const struct held_message *held, const char *name,
                       struct span string) {
    char decoded[METHOD_BYTES_MAX];
    size_t bytes;
    const char *text = gate_json_string(held, string, decoded, &bytes);
    put_string(out, name, text, bytes);
}

// Puts the agent that the message names as its source. If the message names none, puts an agent of its connection.
static void put_source(struct text *out, const struct shard *shard, const struct held_message *held) {
    struct registrant *registrant = agents_registrant((struct agents *)&shard->agents, held->source);
    if (held->origin && held->origin->agent_bytes && !held->source_agent.bytes) {
        put_string(out, ",\"sourceAgent\":", held->origin->agent, held->origin->agent_bytes);
        return;
    }
    if (held->source_agent.bytes || !registrant || list_empty(&registrant->agents)) {
        put_member(out, held, ",\"sourceAgent\":", held->source_agent);
        return;
    }
    const struct agent *agent = list_entry(registrant->agents.next, struct agent, by_registrant);
    put_string(out, ",\"sourceAgent\":", agent->id, agent->id_bytes);
}

size_t gate_json_write_checkpoint(const struct shard *shard, const struct checkpoint *checkpoint,
                                  char out[GATE_CHECKPOINT_BYTES_MAX]) {
    const struct hub *hub = shard->hub;
    uint32_t number = atomic_load_explicit(&hub->link_number, memory_order_relaxed);
    struct hub_name own;
    char node[NODE_BYTES];
    checkpoint_write(checkpoint, out);
    if (!hub_has_cluster(hub) || !number)
        return CHECKPOINT_BYTES;
    hub_node(hub, node);
    hub_name_write(&own, node, number);
    out[CHECKPOINT_BYTES] = '@';
    memcpy(out + CHECKPOINT_BYTES + 1, own.text, own.bytes);
    return CHECKPOINT_BYTES + 1 + own.bytes;
}

bool gate_json_read_checkpoint(const struct shard *shard, const char *name, size_t bytes,
                               struct checkpoint *checkpoint, struct hub_name *hub) {
    char node[NODE_BYTES];
    size_t own_bytes = bytes < CHECKPOINT_BYTES ? bytes : CHECKPOINT_BYTES;
    hub->bytes = 0;
    if (!checkpoint_read(name, own_bytes, checkpoint))
        return false;
    if (bytes == CHECKPOINT_BYTES)
        return true;
    if (!hub_has_cluster(shard->hub) || name[CHECKPOINT_BYTES] != '@' ||
        !hub_name_read(hub, name + CHECKPOINT_BYTES + 1, bytes - CHECKPOINT_BYTES - 1))
        return false;
    hub_node(shard->hub, node);
    if (memcmp(hub->text, node, NODE_BYTES) == 0)
        hub->bytes = 0;
    return true;
}

void gate_json_put_checkpoint(struct text *out, const struct shard *shard,
                              const struct checkpoint *checkpoint) {
    char name[GATE_CHECKPOINT_BYTES_MAX];
    text_string(out, name, gate_json_write_checkpoint(shard, checkpoint, name));
}

void gate_json_put(struct text *out, const struct shard *shard, const struct held_message *held,
                   bool with_body) {
    const char *body = (const char *)frame_body(&held->frame);
    char decoded[METHOD_BYTES_MAX];
    size_t bytes = held->frame.body.bytes, target_bytes;
    const char *target = gate_json_target(held, decoded, &target_bytes);
    text_put(out, "{\"checkpoint\":");
    gate_json_put_checkpoint(out, shard, &held->checkpoint);
    put_member(out, held, ",\"artifact\":{\"method\":", held->method);
    put_string(out, ",\"targetAgent\":", target, target_bytes);
    put_source(out, shard, held);
    put_string(out, ",\"user\":", held->user ? held->user->name : NULL,
               held->user ? strlen(held->user->name) : 0);
    text_put(out, ",\"governanceLevel\":\"");
    text_put(out, governance_text(held->governance));
    text_put(out, "\",\"bytes\":");
    text_number(out, (int64_t)bytes);
    put_string(out, ",\"preview\":", body, checkpoint_preview((const uint8_t *)body, bytes));
    text_put(out, "},\"until\":");
    text_number(out, (int64_t)held->until_ms);
    if (with_body)
        put_string(out, ",\"body\":", body, bytes);
    text_put(out, "}");
}

// Returns the most bytes that a text may have as a JSON string.
static size_t escaped_bytes(const uint8_t *text, size_t bytes) {
    enum { CONTROL_BYTES = 6 };
    size_t sum = bytes + 2;
    for (size_t at = 0; at < bytes; at++) {
        if (text[at] < 0x20)
            sum += CONTROL_BYTES - 1;
        else if (text[at] == '"' || text[at] == '\\')
            sum++;
    }
    return sum;
}

size_t gate_json_bytes(const struct held_message *held, bool with_body) {
    enum { FIXED_BYTES = 512, NAMES = 4 };
    const uint8_t *body = frame_body(&held->frame);
    size_t bytes = held->frame.body.bytes, sum = FIXED_BYTES + NAMES * 6 * METHOD_BYTES_MAX;
    assert(bytes > 0);
    sum += escaped_bytes(body, checkpoint_preview(body, bytes));
    return with_body ? sum + escaped_bytes(body, bytes) : sum;
}
