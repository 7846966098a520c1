#include "router/events.h"

#include <string.h>

#include "core/memory.h"
#include "router/batch.h"
#include "router/forward.h"
#include "router/mail.h"
#include "router/refuse.h"
#include "router/send.h"

// One shard's share of an event.
struct copy {
    struct mail mail;
    struct publication *publication;
    struct parcel *parcel; // the subscribers' shares have it as their origin
    uint32_t delivered;
    uint32_t shard;
};

// One event under way. It belongs to the source's shard; while copies are out, the others read what is
// constant, and each writes to its copy.
struct publication {
    uint64_t source;          // connection; constant
    enum governance required; // constant
    bool is_request;
    uint32_t awaited; // copies that have not come home
    uint32_t delivered;
    uint32_t copy_count;
    struct batch *batch;
    char *id; // of a request, behind the copies
    uint32_t id_bytes;
    uint32_t name_bytes; // constant
    char name[EVENT_BYTES_MAX];
    struct copy copies[];
};

// --- To the subscribers of one shard

// The strictest level of the agents that live at a connection; without agents that of its session.
static enum governance level_of(struct shard *shard, const struct peer *peer) {
    struct home *home = agents_home(&shard->agents, peer->name);
    if (!home || list_empty(&home->agents))
        return peer->governance;
    enum governance level = GOVERNANCE_AUTONOMOUS;
    for (struct list *node = home->agents.next; node != &home->agents; node = node->next) {
        const struct agent *agent = list_entry(node, struct agent, by_home);
        if (agent->governance > level)
            level = agent->governance;
    }
    return level;
}

static void miss(struct shard *shard, struct peer *peer, enum counter counter) {
    stats_count(&shard->stats, counter);
    send_missed(shard, peer);
}

// True when the event is in the subscriber's queue.
static bool offer(struct shard *shard, const struct copy *copy, struct peer *peer) {
    enum governance required = copy->publication->required;
    if (peer->connection.broken) {
        stats_count(&shard->stats, COUNT_DROP_TARGET_GONE);
        return false;
    }
    if (required > GOVERNANCE_AUTONOMOUS && required > level_of(shard, peer)) {
        stats_count(&shard->stats, COUNT_DROP_EVENT_GOVERNANCE);
        return false;
    }
    if (!send_has_room(shard, peer)) {
        miss(shard, peer, COUNT_DROP_EVENT_OVERLOADED);
        return false;
    }
    struct parcel *share = parcel_share(&shard->parcels, copy->parcel);
    if (share && send_event(shard, peer, share)) {
        stats_count(&shard->stats, COUNT_EVENTS_DELIVERED);
        return true;
    }
    if (share)
        send_release(shard, share);
    miss(shard, peer, COUNT_DROP_EVENT_NO_MEMORY);
    return false;
}

// Each subscriber once, however many of its patterns match.
static void offer_all(struct shard *shard, struct copy *copy) {
    struct topics *topics = &shard->agents.topics;
    const struct publication *publication = copy->publication;
    struct topic *matches[TOPICS_MATCH_MAX];
    size_t count = topics_match(topics, publication->name, publication->name_bytes, matches);
    struct peer *source =
        connection_shard(publication->source) == shard->index ? peer_find(shard, publication->source) : NULL;
    uint64_t stamp = ++topics->stamp;
    if (source)
        source->subscriber.stamp = stamp;
    for (size_t index = 0; index < count; index++) {
        const struct list *all = &matches[index]->subscriptions;
        for (struct list *node = all->next; node != all; node = node->next) {
            struct subscriber *subscriber = subscriber_of(node);
            if (subscriber->stamp == stamp)
                continue;
            subscriber->stamp = stamp;
            copy->delivered += offer(shard, copy, list_entry(subscriber, struct peer, subscriber));
        }
    }
    send_release(shard, copy->parcel);
}

// --- The source's shard

// A subscriber gets a notification, whatever the source sent.
static struct parcel *parcel_of_event(struct shard *shard, const struct message *message) {
    struct parcel *parcel;
    if (message_is_request(message)) {
        struct span id = lookup_id_member(&message->lookup, message->body);
        parcel = parcel_open(&shard->parcels, message->frame, &id, 1);
        if (parcel)
            parcel_fill(parcel, &(struct piece){"", 0}); // no text, no memory
    } else {
        parcel = parcel_forward(&shard->parcels, message->frame);
    }
    if (parcel)
        parcel->lane = (uint8_t)forward_lane(message);
    return parcel;
}

static bool read_name(struct shard *shard, const struct message *message, char name[EVENT_BYTES_MAX],
                      uint32_t *name_bytes) {
    size_t bytes = SIZE_MAX;
    if (lookup_has(&message->lookup, KEY_EVENT) && message->lookup.type[KEY_EVENT] == JSON_STRING)
        bytes = json_string_decode(message->body, message->lookup.value[KEY_EVENT], name, EVENT_BYTES_MAX);
    *name_bytes = (uint32_t)bytes;
    if (bytes != SIZE_MAX && bytes != 0)
        return true;
    refuse_field(shard, message, "params.event", "a string of 1 to 255 bytes");
    return false;
}

static bool has_subscribers(const struct shard *shard, uint32_t index) {
    return atomic_load_explicit(&shard->hub->subscriptions[index], memory_order_acquire) != 0;
}

// Adds a copy for each shard that has subscribers. False when memory is used up or a mailbox is full.
static bool make_copies(struct shard *shard, const struct message *message, struct publication *publication) {
    for (uint32_t index = 0; index < shard->hub->settings.shard_count; index++) {
        if (!has_subscribers(shard, index))
            continue;
        bool crowded = index != shard->index && mailbox_crowded(hub_mailbox(shard->hub, shard->index, index));
        struct parcel *parcel = crowded ? NULL : parcel_of_event(shard, message);
        if (!parcel)
            return false;
        publication->copies[publication->copy_count++] =
            (struct copy){.publication = publication, .parcel = parcel, .shard = index};
    }
    return true;
}

static struct publication *publication_make(struct shard *shard, const struct message *message) {
    size_t copies_bytes = shard->hub->settings.shard_count * sizeof(struct copy);
    struct reply_to to = message_is_request(message) ? message_reply_to(message) : (struct reply_to){0};
    struct publication *publication = memory_take(sizeof *publication + copies_bytes + to.id_bytes);
    if (!publication)
        return NULL;
    publication->source = message->peer->name;
    publication->required = message->frame->header->governance;
    publication->is_request = message_is_request(message);
    publication->delivered = 0;
    publication->copy_count = 0;
    publication->batch = message->batch;
    publication->id = (char *)publication->copies + copies_bytes;
    publication->id_bytes = to.id_bytes;
    if (to.id_bytes)
        memcpy(publication->id, to.id, to.id_bytes);
    if (make_copies(shard, message, publication))
        return publication;
    while (publication->copy_count)
        send_release(shard, publication->copies[--publication->copy_count].parcel);
    memory_give(publication);
    return NULL;
}

static void answer(struct shard *shard, struct peer *source, const struct publication *publication) {
    char result[40] = "{\"delivered\":";
    size_t bytes = strlen(result);
    bytes += text_digits(result + bytes, publication->delivered);
    result[bytes++] = '}';
    struct reply_to to = {publication->id, publication->id_bytes, publication->batch};
    if (source) {
        reply_result(shard, source, to, result, bytes);
        source->awaited--;
        peer_settle(shard, source);
    } else if (to.batch) {
        batch_miss(shard, to.batch);
    }
}

// One copy has reached whom it could reach; with the last one the publication ends.
static void report(struct shard *shard, struct copy *copy) {
    struct publication *publication = copy->publication;
    publication->delivered += copy->delivered;
    if (--publication->awaited)
        return;
    if (publication->delivered == 0)
        stats_count(&shard->stats, COUNT_EVENTS_UNHEARD);
    if (publication->is_request)
        answer(shard, peer_find(shard, publication->source), publication);
    shard->events_out--;
    memory_give(publication);
}

// The source's own shard counts as one that is awaited, so that nothing ends in the middle.
static void send_copies(struct shard *shard, struct publication *publication) {
    struct copy own = {.publication = publication};
    publication->awaited = publication->copy_count + 1;
    for (uint32_t index = 0; index < publication->copy_count; index++) {
        struct copy *copy = &publication->copies[index];
        if (copy->shard == shard->index) {
            offer_all(shard, copy);
            publication->awaited--;
            publication->delivered += copy->delivered;
        } else {
            copy->mail.kind = MAIL_EVENT;
            mailbox_post(hub_mailbox(shard->hub, shard->index, copy->shard), &copy->mail);
        }
    }
    report(shard, &own);
}

void events_publish(struct shard *shard, const struct message *message) {
    char name[EVENT_BYTES_MAX];
    uint32_t name_bytes;
    stats_count(&shard->stats, COUNT_EVENTS_RECEIVED);
    if (!read_name(shard, message, name, &name_bytes))
        return;
    struct publication *publication = publication_make(shard, message);
    if (!publication) {
        refuse(shard, message, ERROR_OVERLOADED, NULL);
        return;
    }
    publication->name_bytes = name_bytes;
    memcpy(publication->name, name, name_bytes);
    shard->events_out++;
    message->peer->awaited += publication->is_request;
    send_copies(shard, publication);
}

void events_came_home(struct shard *shard, struct mail *mail) {
    report(shard, list_entry(mail, struct copy, mail));
}

// --- Another shard

void events_arrived(struct shard *shard, struct mail *mail) {
    struct copy *copy = list_entry(mail, struct copy, mail);
    uint32_t home = connection_shard(copy->publication->source);
    offer_all(shard, copy);
    mail->kind = MAIL_HEARD;
    mailbox_post(hub_mailbox(shard->hub, shard->index, home), mail);
}
