#include "router/features/gate/gate.h"

#include <assert.h>
#include <string.h>

#include "core/json/json.h"

bool gate_open(struct shard *shard) {
    struct gate *gate = gate_of(shard);
    assert(gate);
    list_init(&gate->held);
    list_init(&gate->released);
    for (unsigned index = 0; index < GATE_BUCKETS; index++)
        list_init(&gate->buckets[index]);
    return true;
}

void gate_close(struct shard *shard) {
    const struct gate *gate = gate_of(shard);
    assert(list_empty(&gate->held) && list_empty(&gate->released) && !gate->queries_out);
    (void)gate;
}

struct gate_source *gate_source_take(struct shard *shard, struct peer *peer) {
    struct gate_source *source = gate_source_of(peer);
    assert(gate_of(shard));
    if (!source && (source = peer_state_take(shard, peer, FEATURE_GATE, sizeof *source)))
        list_init(&source->held);
    return source;
}

static unsigned bucket_of(const struct checkpoint *checkpoint) {
    uint32_t bits;
    memcpy(&bits, checkpoint->bits, sizeof bits);
    return bits % GATE_BUCKETS;
}

struct held_message *gate_find(const struct gate *gate, const struct checkpoint *checkpoint) {
    const struct list *bucket = &gate->buckets[bucket_of(checkpoint)];
    for (struct list *node = bucket->next; node != bucket; node = node->next) {
        struct held_message *held = list_entry(node, struct held_message, by_checkpoint);
        if (memcmp(&held->checkpoint, checkpoint, sizeof *checkpoint) == 0)
            return held;
    }
    return NULL;
}

struct held_message *gate_find_sent(const struct list *sent, const uint8_t *text, struct span id) {
    assert(id.bytes > 0);
    for (struct list *node = sent->prev; node != sent; node = node->prev) {
        struct held_message *held = list_entry(node, struct held_message, by_source);
        if (held->is_request && json_same(text, id, frame_body(&held->frame), held->id))
            return held;
    }
    return NULL;
}

void gate_add(struct gate *gate, struct held_message *held) {
    assert(!gate_find(gate, &held->checkpoint));
    list_append(&gate->held, &held->by_age);
    list_append(&gate->buckets[bucket_of(&held->checkpoint)], &held->by_checkpoint);
}
