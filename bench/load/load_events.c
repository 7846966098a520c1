// Events from one source to all subscribers. Success: each subscriber gets every event once and in order, and
// an event is over when all have it. Failure: an event that a subscriber was not given shows when the next
// one comes, is counted as lost, and no longer waited for. Anything else that is not the next event is wrong.
#include "bench/load/load_exchange.h"

#include <string.h>

static struct load_link *publisher(struct load *load) {
    return &load->table[load->plan.targets];
}

static void issue(struct load *load, struct load_link *source, uint64_t due_ns) {
    uint8_t *out = load_room(load, source);
    if (out == NULL) {
        return;
    }
    struct load_slot *slot = load_slot_take(load, source, due_ns);
    slot->owed = load->plan.targets;
    struct load_event event = {.topic = &source->name, .sequence = slot->id};
    memcpy(event.nonce, slot->nonce, LOAD_NONCE_BYTES);
    link_wrote(&load->links, &source->link, source->wire->write_event(&load->plan.body, &event, out));
}

static void pay(struct load *load, uint64_t sequence, uint64_t now_ns) {
    struct load_slot *slot = load_slot_find(load, publisher(load), sequence);
    if (slot != NULL && --slot->owed == 0) {
        load_settle(load, publisher(load), slot, now_ns);
    }
}

// The slots lie so that ids are never passed over here: an event's predecessors are over before it is.
static void take(struct load *load, struct load_link *link, const struct load_message *message,
                 uint64_t now_ns) {
    struct load_event event = {.topic = &publisher(load)->name};
    bool ours = link->role == LOAD_SUBSCRIBES &&
                load_event_read(&load->plan.body, message->body, message->body_bytes, &event);
    struct load_slot *slot = ours ? load_slot_find(load, publisher(load), event.sequence) : NULL;
    if (slot == NULL || event.sequence < link->expected ||
        memcmp(slot->nonce, event.nonce, LOAD_NONCE_BYTES) != 0) {
        load_count_wrong(load, message);
        return;
    }
    for (; link->expected < event.sequence; link->expected++) {
        load->lost++;
        pay(load, link->expected, now_ns);
    }
    link->expected++;
    load_record(load, slot, now_ns);
    pay(load, event.sequence, now_ns);
}

const struct load_exchange load_exchange_events = {.issue = issue, .take = take};
