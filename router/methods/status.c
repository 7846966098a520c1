#include "router/methods/status.h"

#include <assert.h>

static struct span params_of(const struct message *message) {
    return lookup_has(&message->lookup, KEY_PARAMS) ? message->lookup.value[KEY_PARAMS] : (struct span){0};
}

void status_ping(struct shard *shard, const struct message *message) {
    struct span params = params_of(message);
    assert(params.at + params.bytes <= message->frame->body.bytes);
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

void status_stats(struct shard *shard, const struct message *message) {
    const struct hub *hub = shard->hub;
    assert(hub->shards[shard->index] == shard);
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
