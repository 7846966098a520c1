#include "router/routing/batch.h"

#include <assert.h>

#include "router/engine/request/refuse.h"
#include "router/engine/send/exchange.h"
#include "router/rights/authn.h"

void batch_walk(struct json_walk *walk, const struct message *batch) {
    uint32_t bytes = batch->frame->body.bytes, at = json_skip_space(batch->body, 0, bytes);
    json_walk_begin(walk, batch->body, (struct span){at, bytes - at});
}

// How many there are, as far as `max` and one more.
static uint32_t count_members(const struct message *batch, uint32_t max) {
    struct json_walk walk;
    uint32_t count = 0;
    batch_walk(&walk, batch);
    for (struct json_item item; count <= max && json_next(&walk, &item) == JSON_ITEM;)
        count++;
    return count;
}

// Whether all of a batch is JSON; if not, its lookup says so.
static bool check_batch(struct message *batch) {
    bool too_deep;
    if (json_valid(batch->body, batch->frame->body.bytes))
        return true;
    batch->lookup.fault_at = json_grammar_fault(batch->body, batch->frame->body.bytes, &too_deep);
    assert(too_deep || batch->lookup.fault_at <= batch->frame->body.bytes);
    batch->lookup.verdict = too_deep ? LOOKUP_TOO_DEEP : LOOKUP_NOT_JSON;
    return false;
}

bool batch_refuse(struct shard *shard, struct message *batch) {
    uint32_t max = shard_limits(shard)->batch_members_max;
    bool is_json = shard->settings->strict || check_batch(batch);
    uint32_t count = is_json ? count_members(batch, max) : 0;
    if (count > 0 && count <= max)
        return false;
    if (batch->exchange)
        exchange_expect(batch->exchange);
    if (shard->settings->users)
        authn_charge(shard, batch->peer, batch->frame->body.bytes);
    if (is_json)
        refuse_batch_size(shard, batch);
    else
        refuse_body(shard, batch);
    return true;
}
