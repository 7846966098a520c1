#include "router/events/event_fanout.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/send/event_run.h"
#include "core/send/line_breaks.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/feature_call.h"
#include "router/registry/presence.h"
#include "router/rights/authz.h"

// Returns the strictest level of a connection's agents, or the session's level where there are no agents.
static enum governance level_of(struct shard *shard, const struct peer *peer) {
    struct registrant *registrant = agents_registrant(&shard->agents, peer->connection_id);
    if (!registrant || list_empty(&registrant->agents))
        return peer->governance;
    enum governance level = GOVERNANCE_AUTONOMOUS;
    for (struct list *node = registrant->agents.next; node != &registrant->agents; node = node->next) {
        const struct agent *agent = list_entry(node, struct agent, by_registrant);
        if (agent->governance > level)
            level = agent->governance;
    }
    return level;
}

static void miss(struct shard *shard, struct peer *peer, enum counter counter, size_t bytes, uint32_t count) {
    if (count == 0)
        return;
    drop_several(shard, counter, peer->connection_id, bytes, count);
    send_missed(shard, peer, count);
}

// Returns where an event's body lies in the frame run.
static struct span body_of(const struct publication *publication, uint32_t index) {
    assert(index < publication->count);
    uint32_t at = (index ? publication->ends[index - 1] : 0) + publication->heads[index];
    return (struct span){at, publication->ends[index] - publication->tail - at};
}

// --- Line breaks

// A copy with line breaks as some receivers need them. The first such receiver has it made.
struct line_break_copy {
    bool done;
    struct parcel *parcel; // NULL: there was no memory
};

// A run in the encoding of one wire. The first receiver with that wire has it made.
struct encoded_run {
    const struct wire *wire;
    struct parcel *parcel; // NULL: there was no memory
    uint32_t line_ends[EVENT_RUN_MAX];
};

// The delivery of one event, or run, on a shard.
struct event_delivery {
    const struct publication_copy *copy;
    bool looked, breaks; // whether the body was searched for line breaks, and has some
    struct line_break_copy line_break_copies[BREAKS_KINDS];
    struct span *bodies; // [count] the events of a run in the copy without line breaks
    struct encoded_run *encoded;
    unsigned encoded_count;
    uint32_t bytes; // of the parcel
};

static bool find_breaks(const struct publication_copy *copy) {
    const struct publication *publication = copy->publication;
    if (!publication->ends)
        return parcel_breaks(copy->parcel);
    for (uint32_t index = 0; index < publication->count; index++)
        if (frame_run_has_break(copy->parcel, body_of(publication, index)))
            return true;
    return false;
}

static bool has_breaks(struct event_delivery *delivery) {
    if (!delivery->looked)
        delivery->breaks = find_breaks(delivery->copy);
    delivery->looked = true;
    return delivery->breaks;
}

static struct parcel *break_for(struct shard *shard, struct event_delivery *delivery,
                                const struct wire *wire) {
    const struct publication *publication = delivery->copy->publication;
    if (!publication->ends)
        return parcel_broken_for(&shard->parcels, delivery->copy->parcel, wire);
    struct span bodies[EVENT_RUN_MAX];
    assert(publication->count <= EVENT_RUN_MAX);
    for (uint32_t index = 0; index < publication->count; index++)
        bodies[index] = body_of(publication, index);
    struct parcel *broken =
        frame_run_broken_for(&shard->parcels, delivery->copy->parcel, wire, bodies, publication->count);
    if (wire->breaks == BREAKS_SPLIT) // where breaks are but replaced, bodies lie as they did
        memcpy(delivery->bodies, bodies, publication->count * sizeof *bodies);
    return broken;
}

// Returns the parcel of which receivers with this wire get shares; NULL without memory. A wire that rewrites line
// breaks gets a copy, since other receivers read the body where it lies.
static struct parcel *original_for(struct shard *shard, struct event_delivery *delivery,
                                   const struct wire *wire) {
    struct line_break_copy *broken = &delivery->line_break_copies[wire->breaks];
    assert(delivery->copy->parcel);
    if (wire->breaks == BREAKS_PASS || !has_breaks(delivery))
        return delivery->copy->parcel;
    if (!broken->done)
        broken->parcel = break_for(shard, delivery, wire);
    broken->done = true;
    return broken->parcel;
}

// --- Parcels of a receiver

// What one receiver gets of the run: one share with as many events as there is room for, or a share for each event.
struct receiver_shares {
    struct parcel *original;   // NULL: there is no memory
    const uint32_t *line_ends; // of the events in it
    bool each;
};

// Returns the run in the encoding of this wire. Its text is one copy for all receivers; large bodies are sent from
// where they lie.
static const struct encoded_run *encoded_run_for(struct shard *shard, struct event_delivery *delivery,
                                                 const struct wire *wire) {
    const struct publication *publication = delivery->copy->publication;
    struct span bodies[EVENT_RUN_MAX];
    for (unsigned index = 0; index < delivery->encoded_count; index++)
        if (delivery->encoded[index].wire == wire)
            return &delivery->encoded[index];
    assert(delivery->encoded_count < WIRES_COUNT && publication->count <= EVENT_RUN_MAX);
    struct encoded_run *encoded = &delivery->encoded[delivery->encoded_count++];
    for (uint32_t index = 0; index < publication->count; index++)
        bodies[index] = body_of(publication, index);
    encoded->wire = wire;
    encoded->parcel = frame_run_encode(&shard->parcels, delivery->copy->parcel, wire, bodies,
                                       encoded->line_ends, publication->count);
    return encoded;
}

static struct receiver_shares shares_for(struct shard *shard, struct event_delivery *delivery,
                                         const struct wire *wire) {
    const struct publication *publication = delivery->copy->publication;
    struct parcel *parcel = delivery->copy->parcel;
    assert(parcel && parcel->frames == publication->count);
    if (!publication->ends)
        return (struct receiver_shares){original_for(shard, delivery, wire), &delivery->bytes, false};
    if (publication->canonical && wire == &wire_framed)
        return (struct receiver_shares){parcel, publication->ends, false};
    bool large = publication->canonical && delivery->bytes > publication->count * COPY_BYTES_MAX;
    if (large || publication->count == 1)
        return (struct receiver_shares){original_for(shard, delivery, wire), publication->ends, true};
    const struct encoded_run *encoded = encoded_run_for(shard, delivery, wire);
    return (struct receiver_shares){encoded->parcel, encoded->parcel ? encoded->line_ends : publication->ends,
                                    false};
}

// Returns how many of the events fit the subscriber's queue, and their bytes in *bytes. An event fits while the bytes
// that wait before the event are under the bound.
static uint32_t fitting(const struct shard *shard, const struct peer *peer,
                        const struct receiver_shares *shares, uint32_t count, size_t *bytes) {
    size_t each = shares->each ? sizeof(struct parcel) : 0; // besides its bytes
    size_t waiting = outbox_footprint(&peer->connection.outbox), max = shard_limits(shard)->queue_bytes_max;
    uint32_t fit = 0;
    assert(count > 0);
    *bytes = shares->line_ends[count - 1];
    if (waiting + *bytes + count * each < max) // as nearly always
        return count;
    *bytes = 0;
    for (; fit < count && waiting + *bytes + fit * each < max; fit++)
        *bytes = shares->line_ends[fit];
    return fit;
}

// --- Offering

static bool send_share(struct shard *shard, const struct event_delivery *delivery, struct peer *peer,
                       struct parcel *share) {
    share->for_many = delivery->copy->subscribers > shard->bounds.fanout_direct_max;
    if (send_event(shard, peer, share))
        return true;
    send_release(shard, share);
    return false;
}

// Queues the first `count` events of a run one by one, each as an entry of the queue. Returns for how many there was
// room and memory.
static uint32_t send_each(struct shard *shard, const struct event_delivery *delivery, struct peer *peer,
                          struct parcel *original, uint32_t count) {
    const struct publication *publication = delivery->copy->publication;
    uint32_t sent = 0;
    assert(count <= publication->count);
    for (; sent < count && queue_limit_has_room(shard, peer); sent++) {
        struct parcel *share = parcel_share(&shard->parcels, original);
        if (!share)
            break;
        bool split = original->breaks == BREAKS_SPLIT;
        parcel_narrow(share, split ? delivery->bodies[sent] : body_of(publication, sent));
        if (!send_share(shard, delivery, peer, share))
            break;
    }
    return sent;
}

// Queues the first `count` events, of `bytes` together. Returns for how many there was memory.
static uint32_t send_first(struct shard *shard, const struct event_delivery *delivery, struct peer *peer,
                           const struct receiver_shares *shares, uint32_t count, size_t bytes) {
    assert(count <= delivery->copy->publication->count);
    if (!shares->original || !count)
        return 0;
    if (shares->each)
        return send_each(shard, delivery, peer, shares->original, count);
    struct parcel *share = parcel_share(&shard->parcels, shares->original);
    if (share && count < delivery->copy->publication->count)
        parcel_shorten(share, bytes, count);
    return share && send_share(shard, delivery, peer, share) ? count : 0;
}

// Offers the events to one subscriber. Returns how many were queued.
static uint32_t offer(struct shard *shard, struct event_delivery *delivery, struct peer *peer) {
    const struct publication_copy *copy = delivery->copy;
    const struct publication *publication = copy->publication;
    size_t all = delivery->bytes, bytes;
    if (peer_is_unreachable(peer)) {
        drop_several(shard, COUNT_DROP_TARGET_GONE, peer->connection_id, all, publication->count);
        return 0;
    }
    if (publication->required > GOVERNANCE_AUTONOMOUS && publication->required > level_of(shard, peer)) {
        drop_several(shard, COUNT_DROP_EVENT_GOVERNANCE, peer->connection_id, all, publication->count);
        return 0;
    }
    if (!copy->parcel) {
        miss(shard, peer, publication->missed_as, 0, publication->count);
        return 0;
    }
    struct receiver_shares shares = shares_for(shard, delivery, peer->transport->codec.wire);
    all = shares.line_ends[publication->count - 1];
    uint32_t count = fitting(shard, peer, &shares, publication->count, &bytes);
    uint32_t sent = send_first(shard, delivery, peer, &shares, count, bytes);
    assert(sent <= count && count <= publication->count);
    stats_add(&shard->stats, COUNT_EVENTS_DELIVERED, sent);
    bool full = sent && sent < count && !queue_limit_has_room(shard, peer);
    miss(shard, peer, full ? COUNT_DROP_EVENT_OVERLOADED : COUNT_DROP_EVENT_NO_MEMORY, bytes, count - sent);
    miss(shard, peer, COUNT_DROP_EVENT_OVERLOADED, all - bytes, publication->count - count);
    return sent;
}

static void offer_to(struct shard *shard, struct event_delivery *delivery, struct publication_copy *copy,
                     struct peer *peer) {
    copy->subscribers++;
    copy->delivered += offer(shard, delivery, peer);
}

static void offer_to_everybody(struct shard *shard, struct event_delivery *delivery,
                               struct publication_copy *copy) {
    for (uint32_t slot = 0; slot < shard->peers.capacity; slot++) {
        struct peer *peer = shard->peers.slots[slot];
        if (peer && peer->subscriber.count)
            offer_to(shard, delivery, copy, peer);
    }
}

// Returns whether a peer may receive the event. A held message is shown to peers that may decide on the message. An
// agent's presence is shown to peers that may see the agent, but not to the agent's own connection.
static bool may_receive(const struct shard *shard, const struct publication *publication,
                        const struct peer *peer) {
    if (publication->presence)
        return peer->connection_id != publication->presence->connection &&
               presence_is_seen(publication->presence, authz_user(shard, peer));
    if (!publication->guarded)
        return true;
    struct approver source = {publication->source, publication->guarded_from};
    return authz_may_decide(shard, peer) && !authz_is_same_approver(source, authz_approver(peer));
}

// Offers the events to each subscriber once, however many of the subscriber's patterns match.
static void offer_to_matching(struct shard *shard, struct event_delivery *delivery,
                              struct publication_copy *copy) {
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
            struct peer *peer = list_entry(subscriber, struct peer, subscriber);
            if (may_receive(shard, publication, peer))
                offer_to(shard, delivery, copy, peer);
        }
    }
}

void event_fanout_to_all(struct shard *shard, struct publication_copy *copy) {
    struct span bodies[EVENT_RUN_MAX];
    struct encoded_run encoded[WIRES_COUNT];
    uint32_t bytes = copy->parcel ? (uint32_t)copy->parcel->bytes : 0;
    struct event_delivery delivery = {.copy = copy, .bodies = bodies, .encoded = encoded, .bytes = bytes};
    assert(copy->shard == shard->index && copy->subscribers == 0 && copy->delivered == 0);
    if (copy->publication->any_name)
        offer_to_everybody(shard, &delivery, copy);
    else
        offer_to_matching(shard, &delivery, copy);
    if (copy->subscribers > shard->bounds.fanout_direct_max) {
        shard->fanout_sends.bytes += bytes;
        shard->read_fairness.had_fanout = true;
    }
    for (unsigned kind = 0; kind < BREAKS_KINDS; kind++)
        if (delivery.line_break_copies[kind].parcel)
            send_release(shard, delivery.line_break_copies[kind].parcel);
    for (unsigned index = 0; index < delivery.encoded_count; index++)
        if (encoded[index].parcel)
            send_release(shard, encoded[index].parcel);
    if (copy->parcel)
        send_release(shard, copy->parcel);
}

// --- Publications

void audience_find(const struct shard *shard, struct audience *audience) {
    audience->count = 0;
    for (uint32_t index = 0; index < shard->hub->start_settings.shard_count; index++)
        if (atomic_load_explicit(&shard->hub->subscriptions[index], memory_order_acquire))
            audience->shards[audience->count++] = (uint8_t)index;
}

// Returns the size of a publication: its copies, frame ends and heads, id and name lie one behind the other.
static size_t bytes_of(const struct event *event, uint32_t copies, uint32_t line_ends) {
    return sizeof(struct publication) + copies * sizeof(struct publication_copy) +
           2 * line_ends * sizeof(uint32_t) + event->to.id_bytes + event->name_bytes;
}

static void init(struct publication *publication, const struct event *event, uint32_t copies,
                 uint32_t line_ends) {
    assert(event->count > 0 && event->name_bytes <= EVENT_BYTES_MAX && (!line_ends || event->run));
    char *tail = (char *)&publication->copies[copies];
    size_t line_ends_bytes = line_ends * sizeof(uint32_t); // and those of their heads
    *publication = (struct publication){
        .observation = event->observation,
        .source = event->source,
        .user = event->user,
        .fanout = event->fanout,
        .counted = event->expected,
        .required = event->required,
        .missed_as = COUNT_DROP_EVENT_NO_MEMORY,
        .is_request = event->to.id != NULL,
        .guarded = event->guarded,
        .guarded_from = event->guarded_from,
        .presence = event->presence ? presence_hold(event->presence) : NULL,
        .exchange = event->to.exchange,
        .id = tail + 2 * line_ends_bytes,
        .id_bytes = event->to.id_bytes,
        .count = event->count,
        .ends = line_ends ? (uint32_t *)tail : NULL,
        .heads = line_ends ? (uint32_t *)(tail + line_ends_bytes) : NULL,
        .name_bytes = event->name_bytes,
        .name = tail + 2 * line_ends_bytes + event->to.id_bytes,
    };
    if (line_ends) {
        publication->tail = event->run->tail;
        publication->canonical = event->run->canonical;
        memcpy(publication->ends, event->run->ends, line_ends_bytes);
        memcpy(publication->heads, event->run->heads, line_ends_bytes);
    }
    if (event->to.id_bytes)
        memcpy(publication->id, event->to.id, event->to.id_bytes);
    memcpy(publication->name, event->name, event->name_bytes);
}

static struct publication *take_publication(struct shard *shard, const struct event *event, uint32_t copies,
                                            uint32_t line_ends) {
    size_t bytes = bytes_of(event, copies, line_ends), counted = memory_bytes_for(bytes);
    struct publication *publication = memory_take(bytes);
    if (!publication)
        return NULL;
    init(publication, event, copies, line_ends);
    publication->bytes = (uint32_t)counted;
    parcel_pool_count(&shard->parcels, (int64_t)counted);
    return publication;
}

struct publication *publication_take(struct shard *shard, const struct event *event, uint32_t copies) {
    assert(copies <= shard->hub->start_settings.shard_count &&
           connection_shard(event->source) == shard->index);
    uint32_t line_ends = event->run ? event->count : 0;
    if (!buffer_budget_has_room(&shard->hub->budget, bytes_of(event, copies, line_ends), BUDGET_PLENTY))
        return NULL;
    return take_publication(shard, event, copies, line_ends);
}

struct publication *publication_take_missed(struct shard *shard, const struct event *event) {
    return take_publication(shard, event, shard->hub->start_settings.shard_count, 0);
}

struct publication *publication_spare(struct shard *shard, const struct event *event) {
    struct publication *publication = shard->reserve;
    if (!publication)
        return NULL;
    shard->reserve = publication->next;
    init(publication, event, shard->hub->start_settings.shard_count, 0);
    return publication;
}

void publication_give(struct shard *shard, struct publication *publication) {
    assert(publication->awaited == 0 && connection_shard(publication->source) == shard->index);
    if (publication->presence)
        presence_drop(shard, publication->presence);
    publication->presence = NULL;
    if (!publication->bytes) {
        publication->next = shard->reserve;
        shard->reserve = publication;
        return;
    }
    parcel_pool_count(&shard->parcels, -(int64_t)publication->bytes);
    memory_give(publication);
}

void publication_add(struct publication *publication, uint32_t shard, struct parcel *parcel) {
    assert(shard < SHARDS_MAX && publication->copy_count <= shard && publication->awaited == 0);
    publication->copies[publication->copy_count++] =
        (struct publication_copy){.publication = publication, .parcel = parcel, .shard = shard};
}

// --- Missed events

enum {
    LOOKED_AT_MAX = 16, // how many of the last missed events may get an equal one added
    NOTED_MAX = 1024,
};

static bool is_same(const struct publication *missed, const struct event *event, enum counter counter) {
    return missed->source == event->source && missed->required == event->required &&
           missed->missed_as == counter && missed->presence == event->presence &&
           missed->name_bytes == event->name_bytes &&
           memcmp(missed->name, event->name, event->name_bytes) == 0;
}

static struct publication *missed_events_find(const struct shard *shard, const struct event *event,
                                              enum counter counter) {
    struct publication *missed = shard->missed;
    for (unsigned remaining = LOOKED_AT_MAX; missed && remaining > 0; remaining--, missed = missed->next)
        if (is_same(missed, event, counter))
            return missed;
    return NULL;
}

static struct publication *note(struct shard *shard, const struct event *event) {
    struct publication *missed =
        shard->missed_count < NOTED_MAX ? publication_take_missed(shard, event) : NULL;
    return missed ? missed : publication_spare(shard, event);
}

void missed_events_add(struct shard *shard, const struct event *event, enum counter counter) {
    struct publication *missed = missed_events_find(shard, event, counter);
    if (missed) {
        missed->count += event->count;
        return;
    }
    assert(event->count > 0 && connection_shard(event->source) == shard->index);
    missed = note(shard, event);
    if (!missed) {
        shard->missed_unnamed += event->count;
        return;
    }
    assert(missed->copy_count == 0 && missed->awaited == 0);
    missed->missed_as = counter;
    missed->next = shard->missed;
    shard->missed = missed;
    shard->missed_count++;
}

static struct publication *take_unnamed(struct shard *shard) {
    struct event event = {
        .source = connection_id_make(shard->index, 0, 0),
        .count = shard->missed_unnamed,
        .name = "",
    };
    struct publication *missed = event.count ? note(shard, &event) : NULL;
    if (!missed)
        return NULL;
    missed->any_name = true;
    shard->missed_unnamed = 0;
    return missed;
}

struct publication *missed_events_take(struct shard *shard) {
    struct publication *missed = shard->missed;
    if (!missed)
        return take_unnamed(shard);
    shard->missed = missed->next;
    assert(shard->missed_count > 0);
    shard->missed_count--;
    return missed;
}
