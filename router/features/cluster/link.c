#include "router/features/cluster/link.h"

#include <assert.h>
#include <netdb.h>
#include <string.h>

#include "core/base/memory.h"
#include "router/registry/claim_table.h"

const struct cluster_server *link_server(const struct link *link) {
    assert(link->server < link->server_count);
    return &link->servers[link->server];
}

// --- Trying

// A quarter of a pause is left to chance, so that hubs that lost one server don't come all at once.
static uint64_t jitter_ms(struct link *link, uint32_t pause_ms) {
    const struct siphash_key *key = &link->shard->hub->settings.secrets.tables;
    link->rolls++;
    assert(pause_ms >= LINK_PAUSE_MS_MIN);
    return siphash_table(key, &link->rolls, sizeof link->rolls) % (pause_ms / 4);
}

// The next one has its turn after a pause.
static void rest(struct link *link) {
    struct shard *shard = link->shard;
    assert(!link->peer && link->socket < 0);
    link->state = LINK_RESTING;
    if (shard->phase != HUB_SERVING || link->is_former)
        return;
    uint32_t pause_ms = link->pause_ms;
    link->pause_ms = 2 * pause_ms < LINK_PAUSE_MS_MAX ? 2 * pause_ms : LINK_PAUSE_MS_MAX;
    wheel_arm(&shard->wheel, &link->timer, shard_now_ms(shard) + pause_ms - jitter_ms(link, pause_ms));
    if (++link->resolving.next < link->resolving.answer.count)
        return; // the server is at another address, too
    link_resolver_forget(&link->resolving);
    link->server = (link->server + 1) % link->server_count;
}

void link_fail(struct link *link) {
    stats_count(&link->shard->stats, COUNT_DIALS_FAILED);
    rest(link);
}

static void dial_at(struct link *link, const struct sockaddr_storage *address, uint32_t bytes) {
    struct shard *shard = link->shard;
    assert(!link->peer && link->socket < 0 && bytes > 0);
    int fresh = io_connect(shard->io, (const struct sockaddr *)address, bytes, TOKEN_LINK);
    if (fresh < 0) {
        link_fail(link);
        return;
    }
    link->state = LINK_DIALLING;
    link->socket = fresh;
    wheel_arm(&shard->wheel, &link->timer, shard_now_ms(shard) + LINK_GREETING_MS);
}

static void dial_resolved(struct link *link) {
    const struct link_resolver *resolving = &link->resolving;
    assert(resolving->next < resolving->answer.count);
    dial_at(link, &resolving->answer.addresses[resolving->next].address,
            resolving->answer.addresses[resolving->next].bytes);
}

static void resolve(struct link *link) {
    struct shard *shard = link->shard;
    if (!link_resolver_ask(&link->resolving, shard->io, &link_server(link)->url)) {
        link_fail(link); // who looks names up has ended, which was said
        return;
    }
    link->state = LINK_RESOLVING;
    wheel_arm(&shard->wheel, &link->timer, shard_now_ms(shard) + LINK_GREETING_MS);
}

void link_dial(struct link *link) {
    const struct cluster_server *server = link_server(link);
    assert(link->state == LINK_RESTING);
    if (link->shard->phase != HUB_SERVING)
        return;
    if (server->bytes)
        dial_at(link, &server->address, server->bytes);
    else if (link->resolving.answer.count)
        dial_resolved(link);
    else
        resolve(link);
}

const char *link_resolved(struct shard *shard, const struct io_event *event) {
    struct link *link = link_dialling(shard);
    struct link_resolver *resolving = &link->resolving;
    bool was_there = resolving->resolver != NULL, fresh = link_resolver_hear(resolving, shard->io, event);
    if (was_there && !resolving->resolver)
        return "who looks names up has ended: servers that are known by their names can't be found any more";
    if (!fresh || link->state != LINK_RESOLVING)
        return NULL;
    wheel_disarm(&link->timer);
    link->state = LINK_RESTING;
    if (resolving->answer.count) {
        dial_resolved(link);
        return NULL;
    }
    return resolving->answer.fault ? gai_strerror(resolving->answer.fault) : "its name has no address";
}

void link_give_up(struct link *link) {
    if (link->state == LINK_RESOLVING) { // what comes of it is too late
        wheel_disarm(&link->timer);
        link_fail(link);
        return;
    }
    assert(link->state == LINK_DIALLING && link->socket >= 0);
    io_shutdown(link->shard->io, link->socket, SHUT_RDWR);
}

// A socket that connects becomes a peer's, unless the hub has begun to end.
void link_connected(struct shard *shard, const struct io_event *event) {
    struct link *link = link_dialling(shard);
    assert(link && link->state == LINK_DIALLING && event->token == TOKEN_LINK);
    int fresh = link->socket;
    link->socket = -1;
    wheel_disarm(&link->timer);
    if (event->result < 0 || shard->phase != HUB_SERVING) {
        io_close_socket(shard->io, fresh);
        link_fail(link);
        return;
    }
    atomic_fetch_add_explicit(&shard->hub->connections[shard->index], 1, memory_order_relaxed);
    peer_open(shard, fresh, link->transport, false);
    if (!link->peer)
        link_fail(link);
}

// --- The peer

struct link *link_of(const struct shard *shard, const struct peer *peer) {
    struct link *link = shard->link;
    assert(link && peer);
    if (link->heir && link->heir->peer == peer)
        return link->heir;
    while (link && link->peer != peer)
        link = link->former;
    return link;
}

static void note_name(struct link *link, const char name[HUB_NAME_BYTES]) {
    memcpy(link->hubs_before[link->names++ % LINK_NAMES_KEPT], name, HUB_NAME_BYTES);
}

// What one says under its name comes to all others that are there, too.
static void take_name(struct link *link) {
    hub_session(link->shard->hub, link->peer->name, link->hub);
    note_name(link, link->hub);
    for (struct link *other = link->shard->link; other; other = other->former)
        if (other != link)
            note_name(other, link->hub);
    if (!link->queue[0])
        memcpy(link->queue, link->hub, HUB_NAME_BYTES);
}

void link_entered(struct link *link, struct peer *peer) {
    assert(!link->peer && peer->name);
    link->peer = peer;
    link->state = LINK_GREETING;
    link->is_pinged = link->has_left = false;
    link->pings = link->pongs = 0;
    link->entered_ms = shard_now_ms(link->shard);
    take_name(link);
    wheel_arm(&link->shard->wheel, &link->timer, link->entered_ms + LINK_LOOK_MS);
}

// Of what others say under this link all shards are told.
static void be_current(struct link *link) {
    struct hub *hub = link->shard->hub;
    assert(link_is_current(link));
    cluster_members_tell(
        &link->inflight.cluster_members,
        &(struct cluster_members_shared){&hub->link_neighbours, &hub->link_unfenced});
}

// The heir is the link from now on.
static void succeed(struct link *link) {
    struct link *heir = link->heir;
    assert(link_is_current(link) && heir && !heir->former);
    link->heir = NULL;
    link->is_former = true;
    link->left_ms = shard_now_ms(link->shard);
    heir->former = link;
    heir->inquiries = link->inquiries; // what those before were numbered
    heir->holders_asked = link->holders_asked;
    link->shard->link = heir;
    cluster_members_tell(&link->inflight.cluster_members, &(struct cluster_members_shared){NULL, NULL});
    be_current(heir);
}

void link_welcomed(struct link *link) {
    struct shard *shard = link->shard;
    assert(link->state == LINK_JOINING && link->peer);
    if (!link_is_current(link)) {
        succeed(shard->link);
        stats_count(&shard->stats, COUNT_LINKS_MOVED);
    }
    link->state = LINK_UP;
    link_resolver_forget(&link->resolving); // the next time its name may mean another place
    link->beat_ms = link->up_ms = link->looked_ms = shard_now_ms(shard);
    stats_count(&shard->stats, COUNT_LINKS_OPENED);
    stats_gauge(&shard->stats, GAUGE_CLUSTER_LINK, 1);
}

// What hears events next does so in a queue of its own name, since the server may take long to see that this one has gone: what
// those before it hear in the old one's comes to the new one, too.
static void begin_anew(struct link *link) {
    link->queue[0] = '\0';
    for (struct link *former = link->former; former; former = former->former)
        former->is_deaf = true;
}

// Who takes hubs in and sends them away at once is gone to after pauses, as who takes none in.
static bool has_stood(const struct link *link) {
    assert(link->state < LINK_UP || shard_now_ms(link->shard) >= link->up_ms);
    return link->state == LINK_UP && shard_now_ms(link->shard) - link->up_ms >= LINK_STOOD_MS;
}

void link_lost(struct link *link) {
    struct shard *shard = link->shard;
    bool was_up = link->state == LINK_UP && !link->is_withdrawn;
    if (has_stood(link))
        link->pause_ms = LINK_PAUSE_MS_MIN;
    assert(link->peer && link->socket < 0);
    if (link_is_current(link))
        stats_gauge(&shard->stats, GAUGE_CLUSTER_LINK, 0);
    wheel_disarm(&link->timer);
    link->peer = NULL;
    inflight_forget(&link->inflight);
    nats_subscriptions_forget(&link->presence);
    acks_forget(&link->acks);
    fallback_watch_forget(&link->fallback_watch);
    link->is_lame = false;
    if (link_is_current(link) && !link->heir)
        begin_anew(link);
    if (was_up)
        stats_count(&shard->stats, COUNT_LINKS_LOST);
    else if (!link->is_former)
        stats_count(&shard->stats, COUNT_DIALS_FAILED);
    if (link_is_current(link) && link->heir)
        succeed(link);
    rest(link);
}

bool link_is_own(const struct link *link, const char hub[HUB_NAME_BYTES]) {
    uint32_t count = link->names < LINK_NAMES_KEPT ? link->names : LINK_NAMES_KEPT;
    assert(link->peer);
    for (uint32_t at = 0; at < count; at++)
        if (memcmp(link->hubs_before[at], hub, HUB_NAME_BYTES) == 0)
            return true;
    return false;
}

// --- Its life

static struct link *make(struct shard *shard, const struct transport *transport) {
    const struct siphash_key *key = &shard->hub->settings.secrets.tables;
    struct link *link = memory_take_zeroed(1, sizeof *link);
    assert(shard->index == 0);
    if (!link)
        return NULL;
    link->shard = shard;
    link->transport = transport;
    link->socket = -1;
    link->pause_ms = LINK_PAUSE_MS_MIN;
    timer_init(&link->timer, TIMER_LINK);
    nats_subscriptions_init(&link->presence, key, &shard->kept);
    inflight_init(&link->inflight, key, &shard->kept);
    fallback_watch_init(&link->fallback_watch, shard);
    return link;
}

static void drop(struct link *link) {
    assert(!link->peer && link->socket < 0);
    wheel_disarm(&link->timer);
    inflight_deinit(&link->inflight); // visitors know under which name they came
    nats_subscriptions_deinit(&link->presence);
    quota_give(&link->shard->kept, link->attached);
    acks_forget(&link->acks);
    memory_give(link);
}

bool link_open(struct shard *shard, const struct transport *transport) {
    const struct cluster_settings *settings = shard->hub->settings.cluster;
    assert(shard->index == 0 && !shard->link);
    if (!settings)
        return true;
    struct link *link = make(shard, transport);
    if (!link)
        return false;
    shard->asking = claim_table_create(&shard->hub->settings.secrets.tables);
    if (!shard->asking) {
        drop(link);
        return false;
    }
    memcpy(link->servers, settings->servers, sizeof settings->servers);
    link->server_count = settings->server_count;
    link->resolving.resolver = settings->resolver;
    shard->link = link;
    be_current(link);
    link_dial(link);
    return true;
}

void link_leave_server(struct link *link) {
    assert(link_is_current(link) && link->state == LINK_UP);
    struct link *heir =
        link->heir || link->shard->phase != HUB_SERVING ? NULL : make(link->shard, link->transport);
    if (!heir)
        return;
    memcpy(heir->servers, link->servers, sizeof link->servers);
    heir->server_count = link->server_count;
    heir->learned = link->learned;
    bool at_once = has_stood(link) && !link->former;
    heir->server = at_once ? (link->server + 1) % link->server_count : link->server;
    memcpy(heir->hubs_before, link->hubs_before, sizeof link->hubs_before);
    heir->names = link->names;
    memcpy(heir->queue, link->queue, sizeof link->queue);
    heir->resolving = link->resolving; // which won't dial any more
    link->resolving = (struct link_resolver){0};
    link->heir = heir;
    if (at_once) {
        link_dial(heir);
    } else {
        heir->pause_ms = link->pause_ms;
        rest(heir);
    }
}

void link_reap(struct shard *shard) {
    assert(shard->link);
    for (struct link **at = &shard->link->former; *at;) {
        struct link *former = *at;
        if (former->peer) {
            at = &former->former;
            continue;
        }
        *at = former->former;
        drop(former);
    }
}

void link_free(struct shard *shard) {
    struct link *link = shard->link;
    if (!link)
        return;
    link_reap(shard);
    assert(!link->former);
    if (link->heir)
        drop(link->heir);
    drop(link);
    claim_table_destroy(shard->asking);
    shard->asking = NULL;
    shard->link = NULL;
}

static void dial_no_more(struct link *link, struct io *io) {
    link_resolver_stop(&link->resolving, io);
    if (link->state == LINK_RESTING)
        wheel_disarm(&link->timer);
    if (link->state == LINK_DIALLING || link->state == LINK_RESOLVING)
        link_give_up(link);
}

void link_stop(struct shard *shard) {
    assert(shard->phase != HUB_SERVING);
    if (shard->link && shard->link->heir)
        dial_no_more(shard->link->heir, shard->io);
    if (shard->link)
        dial_no_more(shard->link, shard->io);
}

static bool is_at_rest(const struct link *link) {
    return !link || (!link->peer && link->state == LINK_RESTING && !link->resolving.is_heard);
}

bool link_at_rest(const struct shard *shard) {
    const struct link *link = shard->link;
    if (!link)
        return true;
    for (const struct link *former = link->former; former; former = former->former)
        if (former->peer)
            return false;
    return is_at_rest(link) && is_at_rest(link->heir);
}
