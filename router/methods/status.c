#include "router/methods/status.h"

#include <assert.h>

#include "router/engine/shard/survey_scan.h"
#include "router/methods/stats_json.h"
#include "router/rights/authz.h"

static struct span params_of(const struct message *message) {
    return lookup_has(&message->lookup, KEY_PARAMS) ? message->lookup.value[KEY_PARAMS] : (struct span){0};
}

void status_ping(struct shard *shard, const struct message *message) {
    if (!authz_may_use_source(shard, message))
        return;
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

void status_stats(struct shard *shard, const struct message *message) {
    assert(shard->hub->shards[shard->index] == shard);
    struct text result;
    if (!authz_admin(shard, message))
        return;
    text_init(&result);
    survey_ask(shard);
    stats_json_write(shard, &result);
    message_answer(shard, message, &result);
}
