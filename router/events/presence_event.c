#include "router/events/presence_event.h"

#include <assert.h>
#include <string.h>

#include "router/events/events.h"
#include "router/events/publication.h"
#include "router/registry/presence.h"

static void put_event(struct text *body, const struct presence_change *change, const char *name) {
    text_put(body, "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"event\":\"");
    text_put(body, name);
    text_put(body, "\",\"data\":{\"agentId\":");
    text_string(body, change->agent_id, change->agent_id_bytes);
    if (change->reason != PRESENCE_REGISTERED) {
        text_put(body, ",\"reason\":\"");
        text_put(body, presence_reason_text(change->reason));
        text_put(body, "\"}}}");
        return;
    }
    const struct capabilities *capabilities = change->capabilities;
    if (capabilities && capabilities->bytes <= PRESENCE_TOLD_BYTES_MAX) {
        text_put(body, ",\"capabilities\":");
        text_add(body, (const char *)capabilities->text, capabilities->bytes);
    }
    text_put(body, ",\"governanceLevel\":\"");
    text_put(body, governance_text(change->governance));
    text_put(body, "\"}}}");
}

// Those who have subscribed to events of this name are told that they have missed so many.
static void miss(struct shard *shard, const char *name, uint32_t count) {
    const struct event event = {
        .source = hub_connection(shard->index, 0, 0),
        .count = count,
        .name = name,
        .name_bytes = (uint32_t)strlen(name),
    };
    assert(event.name_bytes > 0);
    if (count > 0)
        missed_events_add(shard, &event, COUNT_DROP_EVENT_NO_MEMORY);
}

static void publish_change(struct shard *shard, struct presence_change *change) {
    bool registered = change->reason == PRESENCE_REGISTERED;
    const char *name = registered ? PRESENCE_REGISTERED_EVENT : PRESENCE_LEFT_EVENT;
    struct text body;
    assert(change->references > 0 && change->agent_id_bytes > 0);
    text_init(&body);
    put_event(&body, change, name);
    if (body.failed)
        miss(shard, name, 1);
    else
        events_announce_agent(shard, change, name, &body);
    text_deinit(&body);
}

void presence_event_publish(struct shard *shard) {
    struct list *changes = &shard->presence.changes;
    assert(shard->index + 1 == shard->hub->settings.shard_count);
    while (!list_empty(changes) && events_may_announce(shard)) {
        struct presence_change *change = list_entry(changes->next, struct presence_change, link);
        list_remove(&change->link);
        publish_change(shard, change);
        presence_drop(shard, change);
    }
    struct presence_queue *queue = &shard->presence;
    miss(shard, PRESENCE_REGISTERED_EVENT, queue->missed_came);
    miss(shard, PRESENCE_LEFT_EVENT, queue->missed_went);
    queue->missed_came = queue->missed_went = 0;
}
