#include "router/routing/batch.h"

#include <assert.h>

#include "router/engine/request/refuse.h"
#include "router/engine/send/exchange.h"
#include "router/rights/authn.h"

void batch_walk(struct json_walk *walk, const struct message *whole) {
    uint32_t bytes = whole->frame->body.bytes, at = json_skip_space(whole->body, 0, bytes);
    json_walk_begin(walk, whole->body, (struct span){at, bytes - at});
}

// How many there are, as far as `max` and one more.
static uint32_t count_members(const struct message *whole, uint32_t max) {
    struct json_walk walk;
    uint32_t count = 0;
    batch_walk(&walk, whole);
    for (struct json_item item; count <= max && json_next(&walk, &item) == JSON_ITEM;)
        count++;
    return count;
}

// Whether all of a batch is JSON; if not, its lookup says so.
static bool check_batch(struct message *whole) {
    bool too_deep;
    if (json_valid(whole->body, whole->frame->body.bytes))
        return true;
    whole->lookup.fault_at = json_grammar_fault(whole->body, whole->frame->body.bytes, &too_deep);
    assert(too_deep || whole->lookup.fault_at <= whole->frame->body.bytes);
    whole->lookup.verdict = too_deep ? LOOKUP_TOO_DEEP : LOOKUP_NOT_JSON;
    return false;
}

bool batch_refuse(struct shard *shard, struct message *whole) {
    uint32_t max = shard_limits(shard)->batch_members_max;
    bool is_json = shard->settings->strict || check_batch(whole);
    uint32_t count = is_json ? count_members(whole, max) : 0;
    if (count > 0 && count <= max)
        return false;
    if (whole->exchange)
        exchange_expect(whole->exchange);
    if (shard->settings->users)
        authn_charge(shard, whole->peer, whole->frame->body.bytes);
    if (is_json)
        refuse_batch_size(shard, whole);
    else
        refuse_body(shard, whole);
    return true;
}
