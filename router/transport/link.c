#include "router/transport/link.h"

#include <assert.h>
#include <netdb.h>
#include <string.h>

#include "core/base/memory.h"
#include "router/methods/asking.h"

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
    if (shard->phase != HUB_SERVING)
        return;
    uint32_t pause_ms = link->pause_ms;
    link->pause_ms = 2 * pause_ms < LINK_PAUSE_MS_MAX ? 2 * pause_ms : LINK_PAUSE_MS_MAX;
    wheel_arm(&shard->wheel, &link->timer, shard_now_ms(shard) + pause_ms - jitter_ms(link, pause_ms));
    if (++link->resolving.next < link->resolving.answer.count)
        return; // the server is at another address, too
    resolving_forget(&link->resolving);
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
    const struct resolving *resolving = &link->resolving;
    assert(resolving->next < resolving->answer.count);
    dial_at(link, &resolving->answer.addresses[resolving->next].address,
            resolving->answer.addresses[resolving->next].bytes);
}

static void resolve(struct link *link) {
    struct shard *shard = link->shard;
    if (!resolving_ask(&link->resolving, shard->io, &link_server(link)->url)) {
        link_fail(link);
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
    struct link *link = shard->link;
    struct resolving *resolving = &link->resolving;
    bool fresh = resolving_hear(resolving, shard->io, event);
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
    struct link *link = shard->link;
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

void link_entered(struct link *link, struct peer *peer) {
    assert(!link->peer && peer->name);
    link->peer = peer;
    link->state = LINK_GREETING;
    link->is_pinged = false;
    link->pings = link->pongs = 0;
    link->entered_ms = shard_now_ms(link->shard);
    hub_session(link->shard->hub, peer->name, link->hub);
    memcpy(link->hubs_before[link->names++ % LINK_NAMES_KEPT], link->hub, HUB_NAME_BYTES);
    wheel_arm(&link->shard->wheel, &link->timer, link->entered_ms + LINK_LOOK_MS);
}

void link_welcomed(struct link *link) {
    struct shard *shard = link->shard;
    assert(link->state == LINK_JOINING && link->peer);
    link->state = LINK_UP;
    link->pause_ms = LINK_PAUSE_MS_MIN;
    resolving_forget(&link->resolving); // the next time its name may mean another place
    link->beat_ms = link->up_ms = shard_now_ms(shard);
    stats_count(&shard->stats, COUNT_LINKS_OPENED);
    stats_gauge(&shard->stats, GAUGE_CLUSTER_LINK, 1);
}

void link_lost(struct link *link) {
    struct shard *shard = link->shard;
    bool was_up = link->state == LINK_UP;
    assert(link->peer && link->socket < 0);
    stats_gauge(&shard->stats, GAUGE_CLUSTER_LINK, 0);
    wheel_disarm(&link->timer);
    link->peer = NULL;
    crossings_forget(&link->crossings);
    presence_forget(&link->presence);
    text_deinit(&link->taken);
    text_init(&link->taken);
    if (was_up)
        stats_count(&shard->stats, COUNT_LINKS_LOST);
    else
        stats_count(&shard->stats, COUNT_DIALS_FAILED);
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

// --- Other servers

static bool is_same_name(const struct server_url *one, const struct server_url *other) {
    return one->port == other->port && strcasecmp(one->host, other->host) == 0;
}

static bool is_known(const struct link *link, const struct cluster_server *server) {
    for (uint32_t at = 0; at < link->server_count; at++)
        if (link->servers[at].bytes == server->bytes &&
            (server->bytes ? memcmp(&link->servers[at].address, &server->address, server->bytes) == 0
                           : is_same_name(&link->servers[at].url, &server->url)))
            return true;
    return false;
}

// Where the next one is kept: behind the settings' own, in the place of the oldest where there is no other.
static struct cluster_server *place(struct link *link) {
    uint32_t own = link->shard->hub->settings.cluster->server_count;
    uint32_t at = own + link->learned++ % CLUSTER_SERVERS_MAX;
    if (at == link->server)
        at = own + link->learned++ % CLUSTER_SERVERS_MAX;
    if (at >= link->server_count)
        link->server_count = at + 1;
    assert(link->server_count <= sizeof link->servers / sizeof *link->servers);
    return &link->servers[at];
}

static bool is_numeric(const char *host) {
    return host[strspn(host, "0123456789.")] == '\0' || strchr(host, ':');
}

// It is shown what the one that named it was. Where it is a mere address, its certificate must be for the same name, as certificates of
// such servers are.
void link_learn(struct link *link, const char *url, size_t bytes) {
    const struct cluster_server *own = link_server(link);
    struct cluster_server fresh = *own;
    assert(url || bytes == 0);
    if (!server_url_place(url, bytes, &fresh.url) || !(cluster_place(&fresh) || link->resolving.resolver) ||
        is_known(link, &fresh))
        return;
    if (!is_numeric(fresh.url.host) || is_numeric(own->shown))
        memcpy(fresh.shown, fresh.url.host, sizeof fresh.shown);
    // INFO comes before anybody has shown who they are.
    const struct cluster_settings *settings = link->shard->hub->settings.cluster;
    if (settings->insecure || cluster_is_safe(settings, &fresh))
        *place(link) = fresh;
}

// --- Its life

bool link_open(struct shard *shard, const struct transport *transport) {
    const struct cluster_settings *settings = shard->hub->settings.cluster;
    assert(shard->index == 0 && !shard->link);
    if (!settings)
        return true;
    struct link *link = memory_take_zeroed(1, sizeof *link);
    const struct siphash_key *key = &shard->hub->settings.secrets.tables;
    if (!link)
        return false;
    shard->asking = asking_create(key);
    if (!shard->asking) {
        memory_give(link);
        return false;
    }
    link->shard = shard;
    link->transport = transport;
    link->socket = -1;
    link->pause_ms = LINK_PAUSE_MS_MIN;
    memcpy(link->servers, settings->servers, sizeof settings->servers);
    link->server_count = settings->server_count;
    link->resolving.resolver = settings->resolver;
    timer_init(&link->timer, TIMER_LINK);
    presence_init(&link->presence, key, &shard->kept);
    crossings_init(&link->crossings, key, &shard->kept);
    text_init(&link->taken);
    shard->link = link;
    link_dial(link);
    return true;
}

void link_free(struct shard *shard) {
    struct link *link = shard->link;
    if (!link)
        return;
    assert(!link->peer && link->socket < 0);
    wheel_disarm(&link->timer);
    presence_deinit(&link->presence);
    crossings_deinit(&link->crossings);
    text_deinit(&link->taken);
    asking_destroy(shard->asking);
    shard->asking = NULL;
    memory_give(link);
    shard->link = NULL;
}

void link_stop(struct shard *shard) {
    struct link *link = shard->link;
    assert(shard->phase != HUB_SERVING);
    if (!link)
        return;
    resolving_stop(&link->resolving, shard->io);
    if (link->state == LINK_RESTING)
        wheel_disarm(&link->timer);
    if (link->state == LINK_DIALLING || link->state == LINK_RESOLVING)
        link_give_up(link);
}

bool link_at_rest(const struct shard *shard) {
    const struct link *link = shard->link;
    return !link || (!link->peer && link->state == LINK_RESTING && !link->resolving.is_heard);
}
