// Requests and answers. Success: a source asks its targets in turn, each target answers at once, and the
// answer bears the source's id and the request's nonce. Failure: any other message is counted as wrong; if
// it bears the id of a request on the way (an error that a hub sent), that request is over.
#include "bench/load/load_exchange.h"
#include "core/lookup/lookup.h"

#include <string.h>

enum { ID_BYTES_MAX = 1024 };

static void issue(struct load *load, struct load_link *source, uint64_t due_ns) {
    uint8_t *out = load_room(load, source);
    if (out == NULL) {
        return;
    }
    struct load_slot *slot = load_slot_take(load, source, due_ns);
    slot->high = slot->id % 100 < load->plan.high_percent;
    struct load_request request = {
        .source = &source->name,
        .target = &load->table[source->next_target].name,
        .id = slot->id,
        .high = slot->high,
        .plain_inbox = load->plan.plain_inbox,
    };
    memcpy(request.nonce, slot->nonce, LOAD_NONCE_BYTES);
    size_t bytes = source->wire->write_request(&load->plan.body, &request, out);
    source->next_target = source->next_target + 1 == load->plan.targets ? 0 : source->next_target + 1;
    link_wrote(&load->links, &source->link, bytes);
}

static void take_wrong_answer(struct load *load, struct load_link *source, const struct load_message *message,
                              uint64_t now_ns) {
    load_count_wrong(load, message);
    struct lookup found;
    lookup_body(&found, message->body, (uint32_t)message->body_bytes, ID_BYTES_MAX);
    uint64_t id;
    if (lookup_has(&found, KEY_ID) && json_number_whole(message->body, found.value[KEY_ID], &id)) {
        struct load_slot *slot = load_slot_find(load, source, id);
        if (slot != NULL) {
            load_settle(load, source, slot, now_ns);
        }
    }
}

static void take_answer(struct load *load, struct load_link *source, const struct load_message *message,
                        uint64_t now_ns) {
    uint64_t id;
    struct load_parts parts;
    bool ours = load_answer_read(&load->plan.body, message->body, message->body_bytes, &id, &parts);
    struct load_slot *slot = ours ? load_slot_find(load, source, id) : NULL;
    if (slot == NULL || memcmp(slot->nonce, parts.nonce, LOAD_NONCE_BYTES) != 0) {
        take_wrong_answer(load, source, message, now_ns);
        return;
    }
    load_record(load, slot, now_ns);
    load_settle(load, source, slot, now_ns);
}

static void take_request(struct load *load, struct load_link *target, const struct load_message *message) {
    struct load_parts parts;
    if (!load_request_read(&load->plan.body, &target->name, message->body, message->body_bytes, &parts)) {
        load_count_wrong(load, message);
        return;
    }
    uint8_t *out = load_room(load, target);
    if (out != NULL) {
        link_wrote(&load->links, &target->link,
                   target->wire->write_answer(&load->plan.body, message, &parts, out));
    }
}

static void take(struct load *load, struct load_link *link, const struct load_message *message,
                 uint64_t now_ns) {
    if (link->role == LOAD_ASKS) {
        take_answer(load, link, message, now_ns);
    } else if (link->role == LOAD_ANSWERS) {
        take_request(load, link, message);
    } else {
        load_count_wrong(load, message);
    }
}

const struct load_exchange load_exchange_requests = {.issue = issue, .take = take};
