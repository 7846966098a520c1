#include "router/features/cluster/lame_duck.h"

#include <assert.h>

#include "router/features/cluster/heartbeat.h"
#include "router/features/cluster/interest.h"
#include "router/features/cluster/nats_connect.h"
#include "router/features/cluster/nats_publish.h"

static bool is_idle(const struct link *link) {
    const struct inflight *inflight = &link->inflight;
    return inflight->out.count == 0 && inflight->in.count == 0 &&
           !fallback_watch_waits(&link->fallback_watch) && outbox_empty(&link->peer->connection.outbox);
}

// From all that others could ask this hub for. As long as it beats, it answers what all hubs are asked; and others wait for its name to
// answer what comes to all, which the link after it does.
static void withdraw(struct link *link) {
    struct text out;
    assert(link->is_former);
    text_init(&out);
    nats_subscriptions_withdraw(&link->presence, &out);
    for (unsigned sid = 3; sid <= NATS_SIDS_OWN; sid++)
        if (sid < 4 || sid > 6) {
            text_put(&out, "UNSUB ");
            text_number(&out, sid);
            text_put(&out, "\r\n");
        }
    nats_write(link, &out);
    interest_withdraw(link);
}

void lame_duck_look(struct shard *shard, struct link *link) {
    uint64_t now_ms = shard_now_ms(shard);
    uint32_t silent_ms = shard_since(shard, link->peer->heard_ms);
    assert(link->is_former && link->state == LINK_UP && link->peer->state == PEER_OPEN);
    bool is_over = link->is_withdrawn && is_idle(link);
    if (is_over && !link->has_left) { // it goes once that has been sent
        nats_publish_farewell(link);
        wheel_arm(&shard->wheel, &link->timer, now_ms + LINK_LOOK_MS);
        return;
    }
    if (is_over || silent_ms >= LINK_DEATH_MS) {
        link->is_withdrawn = is_over; // else it is lost
        peer_close(shard, link->peer, COUNTERS_COUNT);
        return;
    }
    if (!link->is_withdrawn && now_ms - link->left_ms >= LINK_BESIDE_MS) {
        link->is_withdrawn = true;
        withdraw(link);
    }
    if (silent_ms >= LINK_SILENCE_MS && !link->is_pinged) {
        link->is_pinged = true;
        nats_write_ping(link);
    }
    if (now_ms - link->beat_ms >= LINK_BEAT_MS)
        heartbeat_beat(link);
    wheel_arm(&shard->wheel, &link->timer, now_ms + LINK_LOOK_MS);
}
