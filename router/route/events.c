#include "router/route/events.h"

#include <string.h>

#include "core/base/memory.h"
#include "router/request/refuse.h"
#include "router/route/offering.h"
#include "router/send/batch.h"
#include "router/send/send.h"
#include "router/shard/drop.h"
#include "router/shard/post.h"

// What a publication is made of: a message, or a run.
struct event {
    const struct message *message; // NULL: the run
    const struct event_run *run;
    uint64_t source;
    enum governance required;
    struct reply_to to; // of a request
    uint32_t count;
    uint32_t name_bytes;
    const char *name;
};

static void release(struct shard *shard, const struct copy *copy) {
    if (copy->parcel)
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
        parcel->lane = (uint8_t)message_lane(message);
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

static struct parcel *parcel_of(struct shard *shard, const struct event *event) {
    if (event->message)
        return parcel_of_event(shard, event->message);
    const struct event_run *run = event->run;
    struct span frames = {run->at, run->ends[run->count - 1]};
    struct parcel *parcel = parcel_stretch(&shard->parcels, run->buffer, frames, run->count);
    if (parcel)
        parcel->lane = run->lane;
    return parcel;
}

// Adds a copy for each shard that has subscribers. Where memory is used up their shard tells them that they
// missed what is no request. False when it is one, or a mailbox is full.
static bool make_copies(struct shard *shard, const struct event *event, struct publication *publication) {
    for (uint32_t index = 0; index < shard->hub->settings.shard_count; index++) {
        if (!has_subscribers(shard, index))
            continue;
        bool crowded = index != shard->index && mailbox_crowded(hub_mailbox(shard->hub, shard->index, index));
        struct parcel *parcel = crowded ? NULL : parcel_of(shard, event);
        if (!parcel && (crowded || publication->is_request))
            return false;
        publication->copies[publication->copy_count++] =
            (struct copy){.publication = publication, .parcel = parcel, .shard = index};
    }
    return true;
}

// Of the ends of a run's frames, or of their heads.
static size_t ends_bytes(const struct event *event) {
    return event->message ? 0 : event->count * sizeof *event->run->ends;
}

// Copies, frame ends and heads, and id lie one behind the other.
static struct publication *publication_take(const struct shard *shard, const struct event *event) {
    size_t copies_bytes = shard->hub->settings.shard_count * sizeof(struct copy);
    size_t bytes = sizeof(struct publication) + copies_bytes + 2 * ends_bytes(event) + event->to.id_bytes;
    struct publication *publication = memory_take(bytes);
    if (!publication)
        return NULL;
    *publication = (struct publication){
        .source = event->source,
        .required = event->required,
        .is_request = event->to.id != NULL,
        .batch = event->to.batch,
        .id = (char *)publication->copies + copies_bytes + 2 * ends_bytes(event),
        .id_bytes = event->to.id_bytes,
        .count = event->count,
        .name_bytes = event->name_bytes,
    };
    memcpy(publication->name, event->name, event->name_bytes);
    if (event->to.id_bytes)
        memcpy(publication->id, event->to.id, event->to.id_bytes);
    if (!event->message) {
        publication->ends = (uint32_t *)((char *)publication->copies + copies_bytes);
        publication->heads = publication->ends + event->count;
        memcpy(publication->ends, event->run->ends, ends_bytes(event));
        memcpy(publication->heads, event->run->heads, ends_bytes(event));
    }
    return publication;
}

static struct publication *publication_make(struct shard *shard, const struct event *event) {
    struct publication *publication = publication_take(shard, event);
    if (!publication || make_copies(shard, event, publication))
        return publication;
    while (publication->copy_count)
        release(shard, &publication->copies[--publication->copy_count]);
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
    } else {
        reply_missed(shard, publication->source, to);
    }
}

// One copy has reached whom it could reach; with the last one the publication ends.
static void report(struct shard *shard, struct copy *copy) {
    struct publication *publication = copy->publication;
    publication->subscribers += copy->subscribers;
    publication->delivered += copy->delivered;
    if (--publication->awaited)
        return;
    if (publication->subscribers == 0)
        stats_add(&shard->stats, COUNT_EVENTS_UNHEARD, publication->count);
    if (publication->is_request)
        answer(shard, peer_find(shard, publication->source), publication);
    shard->events_out--;
    memory_give(publication);
}

// The copy of the source's own shard is the last one to be reported, so that nothing ends in the middle;
// where there is none, an empty one stands in for it.
static void send_copies(struct shard *shard, struct publication *publication) {
    struct copy nobody = {.publication = publication}, *own = &nobody;
    for (uint32_t index = 0; index < publication->copy_count; index++) {
        struct copy *copy = &publication->copies[index];
        if (copy->shard == shard->index) {
            own = copy;
            continue;
        }
        copy->mail.kind = MAIL_EVENT;
        mailbox_post(hub_mailbox(shard->hub, shard->index, copy->shard), &copy->mail);
    }
    publication->awaited = publication->copy_count + (own == &nobody);
    if (own != &nobody)
        offering_to_all(shard, own);
    report(shard, own);
}

// False when memory is used up or a mailbox is full.
static bool publish(struct shard *shard, const struct event *event) {
    struct publication *publication = publication_make(shard, event);
    if (!publication)
        return false;
    shard->events_out++;
    send_copies(shard, publication);
    return true;
}

static void publish_alone(struct shard *shard, const struct message *message, const char *name,
                          uint32_t name_bytes) {
    struct event event = {
        .message = message,
        .source = message->peer->name,
        .required = message->frame->unit->directives.governance,
        .count = 1,
        .name = name,
        .name_bytes = name_bytes,
    };
    bool is_request = message_is_request(message);
    if (is_request)
        event.to = message_reply_to(message);
    message->peer->awaited += is_request;
    if (publish(shard, &event))
        return;
    message->peer->awaited -= is_request;
    refuse(shard, message, ERROR_OVERLOADED, NULL);
}

// --- Runs

void events_publish_run(struct shard *shard) {
    struct event_run *run = &shard->run;
    struct event event = {
        .run = run,
        .source = run->source,
        .required = run->required,
        .count = run->count,
        .name = run->name,
        .name_bytes = run->name_bytes,
    };
    if (!publish(shard, &event))
        drop_several(shard, COUNT_DROP_OVERLOADED, run->source, run->ends[run->count - 1], run->count);
    buffer_drop(run->buffer);
    run->count = 0;
}

static void gather(struct shard *shard, const struct message *message, const char *name,
                   uint32_t name_bytes) {
    struct event_place event = {
        .frame = message->frame,
        .source = message->peer->name,
        .required = message->frame->unit->directives.governance,
        .lane = (uint8_t)message_lane(message),
        .name = name,
        .name_bytes = name_bytes,
    };
    if (!event_run_goes_on(&shard->run, &event)) {
        events_flush(shard);
        event_run_begin(&shard->run, &event);
    }
    event_run_add(&shard->run, &event);
}

void events_publish(struct shard *shard, const struct message *message) {
    char name[EVENT_BYTES_MAX];
    uint32_t name_bytes;
    stats_count(&shard->stats, COUNT_EVENTS_RECEIVED);
    if (!read_name(shard, message, name, &name_bytes))
        return;
    if (!message_is_request(message) && parcel_passes(message->frame)) {
        gather(shard, message, name, name_bytes);
        return;
    }
    events_flush(shard);
    publish_alone(shard, message, name, name_bytes);
}

void events_came_home(struct shard *shard, struct mail *mail) {
    report(shard, list_entry(mail, struct copy, mail));
}

// --- Another shard

void events_arrived(struct shard *shard, struct mail *mail) {
    struct copy *copy = list_entry(mail, struct copy, mail);
    uint32_t home = connection_shard(copy->publication->source);
    offering_to_all(shard, copy);
    mail->kind = MAIL_HEARD;
    mailbox_post(hub_mailbox(shard->hub, shard->index, home), mail);
}
