#include "router/methods/offer.h"

#include <assert.h>
#include <string.h>

#include "core/json/listing.h"
#include "router/methods/names.h"
#include "router/methods/subscribe.h"
#include "router/request/refuse.h"

static bool read_agent_id(struct shard *shard, const struct message *message, bool required,
                          struct offer *offer) {
    offer->agent_id_bytes = 0;
    if (!lookup_has(&message->lookup, KEY_AGENT_ID) && !required)
        return true;
    size_t bytes = SIZE_MAX;
    if (lookup_has(&message->lookup, KEY_AGENT_ID) && message->lookup.type[KEY_AGENT_ID] == JSON_STRING)
        bytes = json_string_decode(message->body, message->lookup.value[KEY_AGENT_ID], offer->agent_id,
                                   sizeof offer->agent_id);
    if (bytes == SIZE_MAX || !agent_id_valid(offer->agent_id, bytes)) {
        refuse_field(shard, message, "params.agentId",
                     "1 to 255 of letters, digits, - _ . : /, no empty part between dots");
        return false;
    }
    assert(bytes > 0 && bytes <= AGENT_ID_BYTES_MAX);
    offer->agent_id_bytes = bytes;
    return true;
}

static bool read_governance(struct shard *shard, const struct message *message, struct json_item item,
                            struct offer *offer) {
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

bool offer_read_session(struct shard *shard, const struct message *message, struct offer *offer) {
    offer->capabilities = (struct span){0};
    return read_agent_id(shard, message, false, offer) &&
           read_governance(shard, message, message_param(message, "governanceLevel"), offer);
}

// --- Capabilities

// Methods are the strings of an array, or the keys of an object.
static bool may_offer(const struct message *message, struct span capabilities) {
    assert(capabilities.bytes > 0);
    struct json_item methods = json_member(message->body, capabilities, "methods");
    if (methods.type != JSON_ARRAY && methods.type != JSON_OBJECT)
        return true;
    struct json_walk walk;
    json_walk_begin(&walk, message->body, methods.value);
    size_t count = 0;
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        struct span method = methods.type == JSON_OBJECT ? item.key : item.value;
        char name[METHOD_BYTES_MAX];
        size_t bytes = SIZE_MAX;
        if (methods.type == JSON_OBJECT || item.type == JSON_STRING)
            bytes = json_string_decode(message->body, method, name, sizeof name);
        if (++count > METHODS_PER_AGENT_MAX || (bytes != SIZE_MAX && !names_may_be_offered(name, bytes)))
            return false;
    }
    return true;
}

// Whether a list has the empty name among its names.
static bool lists_nothing(const struct message *message, struct span list) {
    assert(list.at + list.bytes <= message->frame->body.bytes);
    struct listing listing;
    listing_begin(&listing, message->body, list);
    for (struct span name; listing_next(&listing, &name);)
        if (name.bytes == 2)
            return true;
    return false;
}

// Nobody can mean the empty name: it is a slip. (Methods and events are judged by themselves.)
static bool refuse_nothing(struct shard *shard, const struct message *message, struct span capabilities) {
    static const struct {
        const char *member, *field;
    } lists[] = {{"tools", "params.capabilities.tools"}, {"tasks", "params.capabilities.tasks"}};
    const char *field = lists_nothing(message, capabilities) ? "params.capabilities" : NULL;
    for (size_t index = 0; index < sizeof lists / sizeof *lists; index++) {
        struct json_item list = json_member(message->body, capabilities, lists[index].member);
        bool listing = list.type == JSON_ARRAY || list.type == JSON_OBJECT;
        if (!field && listing && lists_nothing(message, list.value))
            field = lists[index].field;
    }
    if (field)
        refuse_field(shard, message, field, "names that are not empty");
    return field != NULL;
}

static bool refuse_capabilities_size(struct shard *shard, const struct message *message) {
    struct text data;
    text_init(&data);
    reply_data_text(&data, "field", "params.capabilities");
    reply_data_number(&data, "limit", CAPABILITIES_BYTES_MAX);
    refuse(shard, message, ERROR_INVALID_PARAMS, &data);
    return false;
}

// The events that an agent wants to get: patterns. Whether there is room for so many is judged later
// (admit.h).
static bool read_events(struct shard *shard, const struct message *message, struct span capabilities) {
    struct json_item events = json_member(message->body, capabilities, "events");
    bool listing_events = events.type == JSON_ARRAY || events.type == JSON_OBJECT;
    struct span list = listing_events ? events.value : (struct span){0};
    if (list.bytes && !subscribe_judge(message, list)) {
        refuse_field(shard, message, "params.capabilities.events", SUBSCRIBE_EXPECTED);
        return false;
    }
    return true;
}

static bool read_capabilities(struct shard *shard, const struct message *message, struct offer *offer) {
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
    if (!may_offer(message, item.value)) {
        refuse_field(shard, message, "params.capabilities.methods",
                     "methods that are not the hub's own, 4096 at most");
        return false;
    }
    if (refuse_nothing(shard, message, item.value))
        return false;
    return read_events(shard, message, item.value);
}

// The level stands beside the capabilities or in them (HugAI v2 messages 3.2; HugAI v2 headers, the example
// of section 3).
static struct json_item governance_of(const struct message *message, const struct offer *offer) {
    struct json_item level = message_param(message, "governanceLevel");
    if (level.type != JSON_NONE || offer->capabilities.bytes == 0)
        return level;
    return json_member(message->body, offer->capabilities, "governanceLevel");
}

bool offer_read_agent(struct shard *shard, const struct message *message, struct offer *offer) {
    return read_agent_id(shard, message, true, offer) && read_capabilities(shard, message, offer) &&
           read_governance(shard, message, governance_of(message, offer), offer);
}

bool offer_read_agent_id(struct shard *shard, const struct message *message, struct offer *offer) {
    return read_agent_id(shard, message, true, offer);
}

bool offer_read_capability(struct shard *shard, const struct message *message, char *out, size_t capacity,
                           size_t *bytes) {
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

// --- Orders

void offer_fill_agent_id(const struct offer *offer, struct order *order) {
    assert(offer->agent_id_bytes > 0 && offer->agent_id_bytes <= sizeof order->agent_id);
    memcpy(order->agent_id, offer->agent_id, offer->agent_id_bytes);
    order->agent_id_bytes = (uint32_t)offer->agent_id_bytes;
}

bool offer_fill_order(struct shard *shard, const struct offer *offer, const struct message *message,
                      struct order *order) {
    static const char nothing[] = "{}";
    const void *text =
        offer->capabilities.bytes ? message->body + offer->capabilities.at : (const uint8_t *)nothing;
    size_t bytes = offer->capabilities.bytes ? offer->capabilities.bytes : sizeof nothing - 1;
    assert(order->kind == ORDER_REGISTER && !order->capabilities && bytes <= CAPABILITIES_BYTES_MAX);
    offer_fill_agent_id(offer, order);
    order->governance = offer->governance;
    order->capabilities = capabilities_create(&shard->kept, text, bytes);
    return order->capabilities != NULL;
}
