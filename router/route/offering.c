#include "router/route/offering.h"

#include <assert.h>

#include "core/send/envelope.h"
#include "router/send/send.h"
#include "router/shard/drop.h"

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

static void miss(struct shard *shard, struct peer *peer, enum counter counter, size_t bytes, uint32_t count) {
    if (count == 0)
        return;
    drop_several(shard, counter, peer->name, bytes, count);
    send_missed(shard, peer, count);
}

// How many events of the publication find room in the subscriber's queue, each while what waits before it is
// under the bound, and how many bytes these are.
static uint32_t fitting(const struct shard *shard, const struct peer *peer,
                        const struct publication *publication, size_t parcel_bytes, size_t *bytes) {
    size_t each = peer->transport->wire == &wire_framed ? 0 : sizeof(struct parcel); // besides its bytes
    size_t waiting = outbox_footprint(&peer->connection.outbox), max = shard_limits(shard)->queue_bytes_max;
    uint32_t count = 0;
    assert(publication->count == 1 || publication->ends);
    *bytes = 0;
    if (!publication->ends) {
        *bytes = waiting < max ? parcel_bytes : 0;
        return waiting < max;
    }
    for (; count < publication->count && waiting + *bytes + count * each < max; count++)
        *bytes = publication->ends[count];
    return count;
}

// Where an event of a run lies in its stretch, without its header block.
static struct span body_of(const struct publication *publication, uint32_t index) {
    assert(index < publication->count);
    uint32_t at = (index ? publication->ends[index - 1] : 0) + publication->heads[index];
    return (struct span){at, publication->ends[index] - at};
}

// --- One line a body

// What a shard offers, and what it has found out about it.
struct offering {
    const struct copy *copy;
    bool looked;         // for breaks
    struct parcel *flat; // if there are some: the same without them, made for the first who needs it, or NULL
    struct parcel *origin; // of the shares on one line; NULL where there was no memory for flat
};

static bool has_breaks(const struct copy *copy) {
    const struct publication *publication = copy->publication;
    if (!publication->ends)
        return parcel_breaks(copy->parcel);
    for (uint32_t index = 0; index < publication->count; index++)
        if (parcel_stretch_breaks(copy->parcel, body_of(publication, index)))
            return true;
    return false;
}

// Others have the body as it lies, so that it can't be changed there.
static struct parcel *origin_on_one_line(struct shard *shard, struct offering *offering) {
    assert(offering->copy->parcel);
    if (offering->looked)
        return offering->origin;
    offering->looked = true;
    bool breaks = has_breaks(offering->copy);
    offering->flat = breaks ? parcel_flat(&shard->parcels, offering->copy->parcel) : NULL;
    offering->origin = breaks ? offering->flat : offering->copy->parcel;
    return offering->origin;
}

// --- Offering

static bool send_share(struct shard *shard, struct peer *peer, struct parcel *share) {
    if (send_event(shard, peer, share))
        return true;
    send_release(shard, share);
    return false;
}

// The first `count` events of a run, each by itself, so that each takes an entry of the queue; how many there
// was room and memory for.
static uint32_t send_each(struct shard *shard, const struct publication *publication, struct peer *peer,
                          struct parcel *origin, uint32_t count) {
    uint32_t sent = 0;
    assert(count <= publication->count);
    for (; sent < count && send_has_room(shard, peer); sent++) {
        struct parcel *share = parcel_share(&shard->parcels, origin);
        if (!share)
            break;
        parcel_narrow(share, body_of(publication, sent));
        if (!send_share(shard, peer, share))
            break;
    }
    return sent;
}

// The first `count` events, which have so many bytes; how many there was memory for.
static uint32_t send_first(struct shard *shard, struct offering *offering, struct peer *peer, uint32_t count,
                           size_t bytes) {
    const struct publication *publication = offering->copy->publication;
    const struct wire *wire = peer->transport->wire;
    struct parcel *origin = offering->copy->parcel;
    if (wire->one_line)
        origin = origin_on_one_line(shard, offering);
    if (origin && publication->ends && wire != &wire_framed)
        return send_each(shard, publication, peer, origin, count);
    struct parcel *share = origin && count ? parcel_share(&shard->parcels, origin) : NULL;
    if (share && count < publication->count)
        parcel_shorten(share, bytes, count);
    return share && send_share(shard, peer, share) ? count : 0;
}

// How many events are in the subscriber's queue now.
static uint32_t offer(struct shard *shard, struct offering *offering, struct peer *peer) {
    const struct copy *copy = offering->copy;
    const struct publication *publication = copy->publication;
    size_t all = copy->parcel ? copy->parcel->bytes : 0, bytes;
    if (peer_is_deaf(peer)) {
        drop_several(shard, COUNT_DROP_TARGET_GONE, peer->name, all, publication->count);
        return 0;
    }
    if (publication->required > GOVERNANCE_AUTONOMOUS && publication->required > level_of(shard, peer)) {
        drop_several(shard, COUNT_DROP_EVENT_GOVERNANCE, peer->name, all, publication->count);
        return 0;
    }
    if (!copy->parcel) {
        miss(shard, peer, publication->missed_as, 0, publication->count);
        return 0;
    }
    uint32_t count = fitting(shard, peer, publication, all, &bytes);
    uint32_t sent = send_first(shard, offering, peer, count, bytes);
    assert(sent <= count && count <= publication->count);
    stats_add(&shard->stats, COUNT_EVENTS_DELIVERED, sent);
    bool full = sent && sent < count && !send_has_room(shard, peer);
    miss(shard, peer, full ? COUNT_DROP_EVENT_OVERLOADED : COUNT_DROP_EVENT_NO_MEMORY, bytes, count - sent);
    miss(shard, peer, COUNT_DROP_EVENT_OVERLOADED, all - bytes, publication->count - count);
    return sent;
}

static void offer_to(struct shard *shard, struct offering *offering, struct copy *copy, struct peer *peer) {
    copy->subscribers++;
    copy->delivered += offer(shard, offering, peer);
}

static void offer_to_everybody(struct shard *shard, struct offering *offering, struct copy *copy) {
    for (uint32_t slot = 0; slot < shard->peers.capacity; slot++) {
        struct peer *peer = shard->peers.slots[slot];
        if (peer && peer->subscriber.count)
            offer_to(shard, offering, copy, peer);
    }
}

// Each subscriber once, however many of its patterns match.
static void offer_to_matching(struct shard *shard, struct offering *offering, struct copy *copy) {
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
            offer_to(shard, offering, copy, list_entry(subscriber, struct peer, subscriber));
        }
    }
}

void offering_to_all(struct shard *shard, struct copy *copy) {
    struct offering offering = {.copy = copy};
    assert(copy->shard == shard->index && copy->subscribers == 0 && copy->delivered == 0);
    if (copy->publication->any_name)
        offer_to_everybody(shard, &offering, copy);
    else
        offer_to_matching(shard, &offering, copy);
    if (offering.flat)
        send_release(shard, offering.flat);
    if (copy->parcel)
        send_release(shard, copy->parcel);
}
