#include "router/registry/agent_params.h"

#include <assert.h>
#include <string.h>

#include "core/json/json.h"
#include "router/engine/request/refuse.h"
#include "router/registry/method_table.h"
#include "router/registry/registry.h"
#include "router/registry/subscribe.h"
#include "router/rights/authz.h"

// Checks offer->agent_id, of which `bytes` were read; SIZE_MAX: the value is no string, or too long.
static bool check_agent_id(struct shard *shard, const struct message *message, const char *field,
                           size_t bytes, struct agent_params *offer) {
    if (bytes == SIZE_MAX || !agent_id_valid(offer->agent_id, bytes)) {
        refuse_field(shard, message, field,
                     "1 to 255 of letters, digits, - _ . : /, no empty part between dots");
        return false;
    }
    assert(bytes > 0 && bytes <= AGENT_ID_BYTES_MAX);
    offer->agent_id_bytes = bytes;
    return true;
}

static bool read_own_id(struct shard *shard, const struct message *message, bool required,
                        struct agent_params *offer) {
    offer->agent_id_bytes = 0;
    if (!lookup_has(&message->lookup, KEY_AGENT_ID) && !required)
        return true;
    size_t bytes = SIZE_MAX;
    if (lookup_has(&message->lookup, KEY_AGENT_ID) && message->lookup.type[KEY_AGENT_ID] == JSON_STRING)
        bytes = json_string_decode(message->body, message->lookup.value[KEY_AGENT_ID], offer->agent_id,
                                   sizeof offer->agent_id);
    return check_agent_id(shard, message, "params.agentId", bytes, offer);
}

static bool read_governance(struct shard *shard, const struct message *message, struct json_item item,
                            struct agent_params *offer) {
    char name[32];
    size_t bytes = item.type == JSON_STRING ? json_string_decode(message->body, item.value, name, sizeof name)
                                            : SIZE_MAX;
    enum governance level = bytes == SIZE_MAX ? GOVERNANCE_COUNT : governance_parse(name, bytes);
    if (item.type != JSON_NONE && level == GOVERNANCE_COUNT) {
        refuse_field(shard, message, "params.governanceLevel",
                     "autonomous, supervised, human-in-the-loop or manual");
        return false;
    }
    offer->governance = item.type == JSON_NONE ? GOVERNANCE_AUTONOMOUS : level;
    assert(offer->governance < GOVERNANCE_COUNT);
    return true;
}

bool agent_params_read_session(struct shard *shard, const struct message *message,
                               struct agent_params *offer) {
    offer->capabilities = (struct span){0};
    return read_own_id(shard, message, false, offer) &&
           read_governance(shard, message, message_param(message, "governanceLevel"), offer);
}

// --- Capabilities

// Which of the keys occurs twice among the members, or is escaped: `count` if none is.
static size_t find_ambiguous(const uint8_t *text, struct span object, const char *const *keys, size_t count) {
    struct json_walk walk;
    uint32_t seen = 0;
    assert(count < 32 && text[object.at] == '{');
    json_walk_begin(&walk, text, object);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        size_t at = 0;
        while (at < count && !json_string_is(text, item.key, keys[at]))
            at++;
        if (at == count)
            continue;
        if (seen & 1U << at || item.key.bytes != strlen(keys[at]) + 2)
            return at;
        seen |= 1U << at;
    }
    return count;
}

static bool is_ambiguous_event(const uint8_t *text, struct span events) {
    static const char *const keys[] = {"name"};
    struct json_walk walk;
    json_walk_begin(&walk, text, events);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;)
        if (item.type == JSON_OBJECT && find_ambiguous(text, item.value, keys, 1) < 1)
            return true;
    return false;
}

// Others read in hub/agents only what the hub has read (docs/protocol.md, agent/register). Returns the field
// that they might read otherwise, or NULL.
static const char *find_doubtful(const uint8_t *text, struct span capabilities) {
    enum { EVENTS, READ_KEYS = 6 };
    static const char *const keys[READ_KEYS] = {[EVENTS] = "events", "methods",        "tools", "tasks",
                                                "commands",          "governanceLevel"};
    static const char *const fields[READ_KEYS] = {
        [EVENTS] = "params.capabilities.events",
        "params.capabilities.methods",
        "params.capabilities.tools",
        "params.capabilities.tasks",
        "params.capabilities.commands",
        "params.capabilities.governanceLevel",
    };
    if (text[capabilities.at] != '{')
        return NULL;
    size_t at = find_ambiguous(text, capabilities, keys, READ_KEYS);
    if (at < READ_KEYS)
        return fields[at];
    struct json_item events = json_member(text, capabilities, keys[EVENTS]);
    return events.type == JSON_ARRAY && is_ambiguous_event(text, events.value) ? fields[EVENTS] : NULL;
}

// Methods are the strings of an array, or the keys of an object.
static bool may_offer(const uint8_t *text, struct span capabilities) {
    assert(capabilities.bytes > 0);
    struct json_item methods = json_member(text, capabilities, "methods");
    if (methods.type != JSON_ARRAY && methods.type != JSON_OBJECT)
        return true;
    struct json_walk walk;
    json_walk_begin(&walk, text, methods.value);
    size_t count = 0;
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        struct span method = methods.type == JSON_OBJECT ? item.key : item.value;
        char name[METHOD_BYTES_MAX];
        size_t bytes = SIZE_MAX;
        if (methods.type == JSON_OBJECT || item.type == JSON_STRING)
            bytes = json_string_decode(text, method, name, sizeof name);
        if (++count > METHODS_PER_AGENT_MAX ||
            (bytes != SIZE_MAX && !method_table_may_be_offered(name, bytes)))
            return false;
    }
    return true;
}

// Returns whether a list has the empty name among its names.
static bool is_empty_list(const uint8_t *text, struct span list) {
    assert(list.bytes > 0);
    struct name_list listing;
    name_list_begin(&listing, text, list);
    for (struct span name; name_list_next(&listing, &name);)
        if (name.bytes == 2)
            return true;
    return false;
}

// Returns the field with an empty name, or NULL. An empty name is never meant. Methods and events are checked
// elsewhere.
static const char *find_empty(const uint8_t *text, struct span capabilities) {
    static const struct {
        const char *member, *field;
    } lists[] = {{"tools", "params.capabilities.tools"}, {"tasks", "params.capabilities.tasks"}};
    const char *field = is_empty_list(text, capabilities) ? "params.capabilities" : NULL;
    for (size_t index = 0; index < sizeof lists / sizeof *lists; index++) {
        struct json_item list = json_member(text, capabilities, lists[index].member);
        bool listing = list.type == JSON_ARRAY || list.type == JSON_OBJECT;
        if (!field && listing && is_empty_list(text, list.value))
            field = lists[index].field;
    }
    return field;
}

// The events that an agent wants to get: patterns. Whether there is room for so many is judged later
// (orders.h).
static bool may_want(const uint8_t *text, struct span capabilities) {
    struct json_item events = json_member(text, capabilities, "events");
    bool listing_events = events.type == JSON_ARRAY || events.type == JSON_OBJECT;
    assert(capabilities.bytes > 0);
    return !listing_events || subscribe_review(text, events.value);
}

const char *agent_params_judge(const uint8_t *text, struct span capabilities, const char **field) {
    *field = find_doubtful(text, capabilities);
    if (*field)
        return "each of its keys once, and without escapes";
    *field = "params.capabilities.methods";
    if (!may_offer(text, capabilities))
        return AGENT_PARAMS_METHODS_EXPECTED;
    *field = find_empty(text, capabilities);
    if (*field)
        return "names that are not empty";
    *field = "params.capabilities.events";
    return may_want(text, capabilities) ? NULL : SUBSCRIBE_EXPECTED;
}

static bool refuse_capabilities_size(struct shard *shard, const struct message *message) {
    struct text data;
    text_init(&data);
    reply_data_text(&data, "field", "params.capabilities");
    reply_data_number(&data, "limit", CAPABILITIES_BYTES_MAX);
    refuse(shard, message, ERROR_INVALID_PARAMS, &data);
    return false;
}

static bool read_capabilities(struct shard *shard, const struct message *message,
                              struct agent_params *offer) {
    struct json_item item = message_param(message, "capabilities");
    offer->capabilities = item.type == JSON_NONE ? (struct span){0} : item.value;
    if (item.type == JSON_NONE)
        return true;
    assert(item.value.bytes > 0 && item.value.at + item.value.bytes <= message->frame->body.bytes);
    if (item.value.bytes > CAPABILITIES_BYTES_MAX)
        return refuse_capabilities_size(shard, message);
    if ((item.type != JSON_OBJECT && item.type != JSON_ARRAY) ||
        !json_valid(message->body + item.value.at, item.value.bytes)) {
        refuse_field(shard, message, "params.capabilities", "a valid object or array");
        return false;
    }
    const char *field, *expected = agent_params_judge(message->body, item.value, &field);
    if (expected)
        refuse_field(shard, message, field, expected);
    return !expected;
}

// The level stands beside the capabilities or in them (HugAI v2 messages 3.2; HugAI v2 headers, the example
// of section 3).
static struct json_item governance_of(const struct message *message, const struct agent_params *offer) {
    struct json_item level = message_param(message, "governanceLevel");
    if (level.type != JSON_NONE || offer->capabilities.bytes == 0)
        return level;
    return json_member(message->body, offer->capabilities, "governanceLevel");
}

bool agent_params_read_agent(struct shard *shard, const struct message *message, struct agent_params *offer) {
    return read_own_id(shard, message, true, offer) && read_capabilities(shard, message, offer) &&
           read_governance(shard, message, governance_of(message, offer), offer);
}

bool agent_params_read_agent_id(struct shard *shard, const struct message *message,
                                struct agent_params *offer) {
    return read_own_id(shard, message, true, offer);
}

// Returns whether the end of the stream is the peer's leaving, in offer->end_leaves.
static bool read_half_close(struct shard *shard, const struct message *message, struct agent_params *offer) {
    char half_close[8] = "";
    struct json_item item = message_param(message, "halfClose");
    size_t bytes = item.type == JSON_STRING
                       ? json_string_decode(message->body, item.value, half_close, sizeof half_close)
                       : 0;
    assert(bytes == SIZE_MAX || bytes <= sizeof half_close);
    offer->end_detaches = bytes == 5 && memcmp(half_close, "leave", 5) == 0;
    if (item.type == JSON_NONE || offer->end_detaches || (bytes == 6 && memcmp(half_close, "answer", 6) == 0))
        return true;
    refuse_field(shard, message, "params.halfClose", "answer or leave");
    return false;
}

bool agent_params_read_attachment(struct shard *shard, const struct message *message,
                                  struct agent_params *offer) {
    struct json_item agent = message_param(message, "agent");
    if (agent.type != JSON_STRING) {
        refuse_field(shard, message, "params.agent", "string");
        return false;
    }
    size_t bytes = json_string_decode(message->body, agent.value, offer->agent_id, sizeof offer->agent_id);
    return check_agent_id(shard, message, "params.agent", bytes, offer) &&
           read_half_close(shard, message, offer);
}

bool agent_params_read_capability(struct shard *shard, const struct message *message, char *out,
                                  size_t capacity, size_t *bytes) {
    struct json_item item = message_param(message, "capability");
    *bytes = 0;
    if (item.type == JSON_NONE)
        return true;
    size_t decoded = SIZE_MAX;
    if (item.type == JSON_STRING)
        decoded = json_string_decode(message->body, item.value, out, capacity);
    if (decoded == SIZE_MAX || decoded == 0) {
        refuse_field(shard, message, "params.capability", "a name");
        return false;
    }
    assert(decoded <= capacity);
    *bytes = decoded;
    return true;
}

bool agent_params_read_cluster(struct shard *shard, const struct message *message, bool *in_cluster) {
    struct json_item item = message_param(message, "cluster");
    *in_cluster = item.type == JSON_TRUE;
    if (item.type == JSON_NONE || item.type == JSON_TRUE || item.type == JSON_FALSE)
        return true;
    refuse_field(shard, message, "params.cluster", "true or false");
    return false;
}

// --- Orders

void agent_params_fill_agent_id(const struct agent_params *offer, struct order *order) {
    assert(offer->agent_id_bytes > 0 && offer->agent_id_bytes <= sizeof order->agent_id);
    memcpy(order->agent_id, offer->agent_id, offer->agent_id_bytes);
    order->agent_id_bytes = (uint32_t)offer->agent_id_bytes;
}

bool agent_params_fill_order(struct shard *shard, const struct agent_params *offer,
                             const struct message *message, struct order *order) {
    static const char empty_list[] = "{}";
    const void *text =
        offer->capabilities.bytes ? message->body + offer->capabilities.at : (const uint8_t *)empty_list;
    size_t bytes = offer->capabilities.bytes ? offer->capabilities.bytes : sizeof empty_list - 1;
    assert(order->kind == ORDER_REGISTER && !order->capabilities && bytes <= CAPABILITIES_BYTES_MAX);
    agent_params_fill_agent_id(offer, order);
    order->governance = offer->governance;
    order->capabilities = capabilities_create(&shard->quota, text, bytes);
    return order->capabilities != NULL;
}

// --- The methods

static bool prepare_leave(struct shard *shard, struct peer *peer) {
    assert(peer->state == PEER_OPEN &&
           (!peer->leave_order || peer->leave_order->mail.connection == peer->connection_id));
    if (!peer->leave_order)
        peer->leave_order = order_create(shard, ORDER_LEAVE, peer->connection_id);
    return peer->leave_order != NULL;
}

void registration_register(struct shard *shard, const struct message *message) {
    struct agent_params offer;
    if (!agent_params_read_agent(shard, message, &offer) ||
        !authz_register(shard, message, offer.agent_id, offer.agent_id_bytes, offer.capabilities,
                        offer.governance))
        return;
    if (message->peer->state != PEER_OPEN) {
        refuse_for(shard, message, ERROR_OVERLOADED, "this connection is ending");
        return;
    }
    if (!prepare_leave(shard, message->peer)) {
        refuse_without_quota(shard, message, NULL);
        return;
    }
    struct order *order = order_for_message(shard, message, ORDER_REGISTER);
    if (!order)
        return;
    if (!agent_params_fill_order(shard, &offer, message, order)) {
        order_destroy(shard, order);
        refuse_without_quota(shard, message, NULL);
        return;
    }
    assert(order->capabilities && order->agent_id_bytes);
    order->owner = identity_user(message->peer);
    order->users_number = order->owner ? shard->settings->users->number : 0;
    order->holder = identity_holder(shard, message->peer);
    order->connected_since_ms = io_wall_ms(shard->io);
    registry_submit(shard, order);
}

void registration_unregister(struct shard *shard, const struct message *message) {
    struct agent_params offer;
    if (!agent_params_read_agent_id(shard, message, &offer))
        return;
    struct order *order = order_for_message(shard, message, ORDER_UNREGISTER);
    if (!order)
        return;
    agent_params_fill_agent_id(&offer, order);
    registry_submit(shard, order);
}
