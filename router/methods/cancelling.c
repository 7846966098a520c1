#include "router/methods/cancelling.h"

#include <assert.h>

#include "router/request/answer.h"
#include "router/request/cancel.h"
#include "router/request/refuse.h"
#include "router/shard/drop.h"

// The cancel with the hub's id for what it names, and without an id of its own: towards the target it is a
// notification, and there its source's id would be some request of the hub's. NULL without memory.
static struct parcel *translate(struct shard *shard, const struct message *message, struct span named,
                                uint64_t hub_id) {
    char digits[HUB_ID_DIGITS_MAX + 4];
    struct span values[2] = {named};
    struct piece texts[2] = {{digits, text_digits(digits, hub_id)}};
    unsigned count = 1;
    assert(named.bytes > 0 && named.at + named.bytes <= message->frame->body.bytes);
    if (message_is_request(message)) {
        struct span own = lookup_id_member(&message->lookup, message->body);
        unsigned at = own.at < named.at ? 0 : 1;
        values[1 - at] = values[0];
        texts[1 - at] = texts[0];
        values[at] = own;
        texts[at] = (struct piece){"", 0};
        count++;
    }
    struct parcel *parcel = parcel_open(&shard->parcels, message->frame, values, count);
    if (parcel && !parcel_fill(parcel, texts)) {
        parcel_drop(parcel);
        parcel = NULL;
    }
    return parcel;
}

static void forward(struct shard *shard, const struct message *message, struct span named,
                    struct pending *pending) {
    assert(pending->used && !pending->cancelled && pending->source == message->peer->name);
    struct parcel *parcel = translate(shard, message, named, pending_hub_id(&shard->pending, pending));
    if (!parcel) {
        drop_one(shard, COUNT_DROP_NO_MEMORY, pending->target, message->frame->body.bytes);
        return;
    }
    if (cancel_dispatch(shard, pending, parcel, true))
        answer_cancelled(shard, pending);
}

// MCP's key isn't among those that lookup guards: a second one could name another peer's request.
static bool find_request_id(const struct message *message, struct json_item *id) {
    struct json_walk walk;
    unsigned found = 0;
    json_walk_begin(&walk, message->body, message->lookup.value[KEY_PARAMS]);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        if (!json_string_is(message->body, item.key, "requestId"))
            continue;
        *id = item;
        found++;
    }
    return found == 1;
}

static bool read_id(const struct message *message, struct json_item *id) {
    const struct lookup *lookup = &message->lookup;
    if (!lookup_has(lookup, KEY_PARAMS) || lookup->type[KEY_PARAMS] != JSON_OBJECT)
        return false;
    if (message->method[0] != '$')
        return find_request_id(message, id);
    id->value = lookup->value[KEY_PARAMS_ID];
    id->type = (enum json_type)lookup->type[KEY_PARAMS_ID];
    return lookup_has(lookup, KEY_PARAMS_ID);
}

void cancelling_request(struct shard *shard, const struct message *message) {
    struct json_item id = {0};
    assert(message->method_bytes > 0);
    if (!read_id(message, &id) || (id.type != JSON_STRING && id.type != JSON_NUMBER)) {
        refuse_field(shard, message, message->method[0] == '$' ? "params.id" : "params.requestId",
                     "a string or a number, once");
        return;
    }
    struct pending *pending = asked_find(&message->peer->asked, message->body, id.value,
                                         &shard->hub->settings.secrets.tables, &shard->kept);
    if (pending)
        forward(shard, message, id.value, pending);
    if (message_is_request(message))
        reply_result(shard, message->peer, message_reply_to(message), "null", 4);
}
