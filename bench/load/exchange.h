// What the two exchanges of a load share with its core. Known to bench/load/*.c only.
#pragma once

#include "bench/load/load.h"

extern const struct load_exchange load_exchange_requests;
extern const struct load_exchange load_exchange_events;

static inline bool load_is_source(const struct load_link *link) {
    return link->role == LOAD_ASKS || link->role == LOAD_PUBLISHES;
}

// Ends the load early. The first fault stays.
void load_fail(struct load *load, const char *fault);
// Counts a message that is not what it has to be, and shows the first.
void load_count_wrong(struct load *load, const struct load_message *message);

// Where the next message may be written; NULL when memory is used up (a fault).
uint8_t *load_room(struct load *load, struct load_link *link);
// A free slot for the source's next message, with its id and nonce set.
struct load_slot *load_slot_take(struct load *load, struct load_link *source, uint64_t due_ns);
// The slot of a message on its way; NULL when it isn't.
static inline struct load_slot *load_slot_find(const struct load *load, const struct load_link *source,
                                               uint64_t id) {
    struct load_slot *slot = &source->slots[id & load->slot_mask];
    return id != 0 && slot->id == id ? slot : NULL;
}
// The message has come to its end: frees its slot, and what follows it is issued.
void load_settle(struct load *load, struct load_link *source, struct load_slot *slot, uint64_t now_ns);
// Notes when a message arrived, if it counts.
static inline void load_record(struct load *load, const struct load_slot *slot, uint64_t now_ns) {
    if (load->recording) {
        histogram_record(&load->latency[slot->high ? LOAD_HIGH : LOAD_ORDINARY],
                         now_ns > slot->due_ns ? now_ns - slot->due_ns : 0);
    }
}
