#include "router/forwarding/remote_route.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "router/engine/message/message_copy.h"
#include "router/engine/message/remote_mail.h"
#include "router/engine/request/refuse.h"
#include "router/engine/shard/drop.h"
#include "router/forwarding/forward.h"
#include "router/forwarding/remote_target.h"

// Returns whether the user may ask the named approver alone, and `to` are agents that offer the method.
static bool is_barred(const struct message *message, const struct rules_message *criteria,
                      const struct remote_target *to) {
    assert(!message->origin);
    return criteria->by_name_only && !to->is_first && message->retry && message->retry->first_over;
}

bool remote_route_takes(struct shard *shard, const struct message *message,
                        const struct rules_message *criteria, const struct rules_verdict *verdict) {
    struct remote_target to;
    assert(verdict->error != ERROR_NONE || verdict->stands_in);
    if (!remote_target_find(shard, message, criteria, verdict, &to))
        return false;
    if (is_barred(message, criteria, &to)) {
        refuse_right(shard, message, RULE_CALL);
        return true;
    }
    // A substitute for the named agent
    bool is_request = message_is_request(message), is_here = !verdict->error;
    if (!is_request && is_here)
        return false;
    uint64_t link = remote_target_link(shard);
    enum error fault = link ? forward_fault(shard, message, link) : ERROR_TARGET_DISCONNECTED;
    if (fault && (to.supports_less || (is_here && !link)))
        return false; // the level decides the error; a substitute here is used while the link is down
    if (fault)
        remote_target_refuse(shard, message, fault);
    else if (is_request)
        forward_request(shard, message, NULL, &to);
    else
        forward_notification(shard, message, NULL, &to);
    return true;
}

// Counts an event for other hubs that is lost, so that these hubs are told.
static void count_lost(struct shard *shard, bool is_event) {
    stats_add(&shard->stats, COUNT_EVENTS_DROPPED, is_event);
    if (is_event)
        atomic_fetch_add_explicit(&shard->hub->events_dropped, 1, memory_order_relaxed);
}

bool remote_route_copy(struct shard *shard, const struct message *message, struct parcel *parcel,
                       const struct remote_target *to) {
    uint64_t bytes, link = remote_target_link(shard);
    enum error error =
        parcel ? remote_target_address(shard, message, parcel, to, 0, 0, &bytes) : ERROR_OVERLOADED;
    assert(!message->origin && link);
    if (!error)
        error = forward_fault(shard, message, link);
    if (!error) {
        if (to->kind != SUBJECT_EVENT)
            forward_to(shard, link, parcel);
        else if (!forward_event_remote(shard, link, parcel))
            count_lost(shard, true);
        return true;
    }
    count_lost(shard, to->kind == SUBJECT_EVENT);
    drop_one(shard, error == ERROR_FRAME_TOO_LARGE ? COUNT_DROP_REFUSED : COUNT_DROP_OVERLOADED, link,
             message->frame->body.bytes);
    if (parcel)
        parcel_drop(parcel);
    return false;
}

void remote_route_decision(struct shard *shard, const struct message *message, const struct hub_name *hub,
                           const char *checkpoint, size_t bytes) {
    struct remote_target to = {.kind = SUBJECT_DECIDE, .hub = hub, .bytes = bytes};
    uint64_t link = remote_target_link(shard);
    enum error fault = link ? forward_fault(shard, message, link) : ERROR_TARGET_DISCONNECTED;
    assert(bytes <= SUBJECT_NAME_BYTES_MAX);
    memcpy(to.token, checkpoint, bytes);
    if (fault)
        remote_target_refuse(shard, message, fault);
    else if (message_is_request(message))
        forward_request(shard, message, NULL, &to);
    else
        forward_notification(shard, message, NULL, &to);
}

void remote_route_announce(struct shard *shard, const char *event, const struct text *body) {
    char subject[SUBJECT_BYTES_MAX];
    uint64_t bytes, link = remote_target_link(shard);
    if (!link)
        return;
    const char *cluster = shard->hub->start_settings.cluster.name;
    struct hub_envelope envelope = {.subject = subject, .is_json = true};
    envelope.subject_bytes =
        event ? subject_write(subject, cluster, &shard->settings->realm, SUBJECT_EVENT, event, strlen(event))
              : subject_write_hub(subject, cluster, NULL, SUBJECT_HUBS_APPROVAL, 0);
    char *copy = body->failed ? NULL : memory_take(body->length);
    if (copy)
        memcpy(copy, body->bytes, body->length);
    struct parcel *parcel = copy ? parcel_from_text(&shard->parcels, copy, body->length) : NULL;
    if (!parcel)
        memory_give(copy);
    else
        parcel->lane = LANE_NORMAL;
    if (parcel && remote_target_put_head(shard, parcel, &envelope, &bytes) == ERROR_NONE) {
        if (!event)
            forward_to(shard, link, parcel);
        else if (!forward_event_remote(shard, link, parcel))
            count_lost(shard, true);
        return;
    }
    count_lost(shard, event != NULL);
    drop_one(shard, COUNT_DROP_NO_MEMORY, link, body->length);
    if (parcel)
        parcel_drop(parcel);
}

bool remote_route_holds(const struct peer *peer, const char *checkpoint, size_t bytes) {
    const struct list *requests = &peer->request_index.requests;
    for (const struct list *node = requests->next; node != requests; node = node->next) {
        struct remote_end *held = list_entry(node, struct pending, by_source)->remote_end;
        if (held && held->checkpoint_bytes == bytes &&
            memcmp(remote_end_checkpoint(held), checkpoint, bytes) == 0)
            return true;
    }
    return false;
}
