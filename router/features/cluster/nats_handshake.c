#include "router/features/cluster/nats_handshake.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "router/features/cluster/nats_publish.h"
#include "router/registry/claim_table.h"

// --- Credentials

static void put_member(struct text *out, const char *key, const char *value) {
    assert(*key);
    if (!*value)
        return;
    text_put(out, ",\"");
    text_put(out, key);
    text_put(out, "\":");
    text_string(out, value, strlen(value));
}

// Puts a signature of the server's nonce, with the JWT of the key or the key itself. Returns false if the credentials
// can't be used; the fault has been logged then.
static bool put_signature(struct text *out, struct link *link) {
    const struct cluster_settings *settings = link->shard->hub->start_settings.cluster.settings;
    struct nats_creds creds;
    char key[NKEY_PUBLIC_BYTES + 1] = "", signature[NKEY_SIGNATURE_BYTES + 1] = "";
    const char *fault = cluster_settings_read_creds(settings, &creds);
    if (!fault && (!nats_creds_sign(&creds, link->nonce, link->nonce_bytes, signature) ||
                   (!creds.jwt[0] && !nats_creds_public(&creds, key))))
        fault = "nothing can be signed with it";
    if (!fault) {
        put_member(out, "jwt", creds.jwt);
        put_member(out, "nkey", key);
        put_member(out, "sig", signature);
    } else {
        link_note_fault(link, fault);
    }
    nats_creds_wipe(&creds);
    return !fault;
}

static bool put_connect(struct text *out, struct link *link) {
    const struct nats_url *url = &link_server(link)->url;
    bool is_named = url->token[0] || url->password[0], good = true;
    text_put(out, "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true,"
                  "\"echo\":false,\"protocol\":1,\"lang\":\"c\",\"version\":\"" PATCHBAY_VERSION
                  "\",\"name\":\"patchbay\"");
    put_member(out, "user", url->user);
    put_member(out, "pass", url->password);
    put_member(out, "auth_token", url->token);
    if (!is_named && link->nonce_bytes && link->shard->hub->start_settings.cluster.settings->creds[0])
        good = put_signature(out, link);
    text_put(out, "}\r\n");
    return good;
}

// Subscribes to messages for all hubs, to messages for this hub, and to questions of programs that look for services of
// NATS: for all services, for this name, for this instance (nats_service.c).
static void put_own(struct text *out, const struct link *link) {
    static const char *const verbs[] = {"PING", "INFO", "STATS"};
    static const char *const names[] = {"", "." SERVICE_NAME, "." SERVICE_NAME "."};
    const char *cluster = link->shard->hub->start_settings.cluster.name;
    const struct hub_name *hub = &link->hub;
    char lines[64 + 2 * HUB_NAME_BYTES_MAX + 2 * CLUSTER_NAME_BYTES_MAX];
    assert(hub->bytes);
    snprintf(lines, sizeof lines, "SUB patchbay.%s.hub.%.*s.> 1\r\nSUB patchbay.%s.hubs.> 2\r\n", cluster,
             hub->bytes, hub->text, cluster);
    text_put(out, lines);
    for (unsigned at = 0; at < 9; at++) { // each hub has its own queue group, so each hub gets a copy
        snprintf(lines, sizeof lines, "SUB $SRV.%s%s%.*s %.*s %u\r\n", verbs[at / 3], names[at % 3],
                 at % 3 == 2 ? hub->bytes : 0, hub->text, hub->bytes, hub->text, 3 + at);
        text_put(out, lines);
    }
}

// Follows the registry. A hub that drains subscribes to no names.
static void put_names(struct link *link, struct text *out) {
    struct shard *shard = link->shard;
    struct nats_scope scope = {shard->hub->start_settings.cluster.name, &link->realm, &link->former,
                               &link->hub};
    bool serves = shard->phase == HUB_SERVING;
    assert(link->realm.bytes);
    nats_subscriptions_follow(&link->subscriptions, serves ? &shard->agents : NULL,
                              serves ? &shard->claims->orders : NULL, &scope, out);
}

static void connect_to(struct link *link) {
    struct text out;
    assert(link->state == LINK_JOINING && list_empty(&link->subscriptions.all)); // and so `recent` is empty
    text_init(&out);
    if (!put_connect(&out, link)) {
        text_deinit(&out);
        peer_close(link->shard, link->peer, COUNTER_NONE);
        return;
    }
    link->subscriptions.sids = NATS_SIDS_OWN;
    link->realm = link->shard->settings->realm;
    link->former = (struct realm){.bytes = 0};
    put_own(&out, link);
    put_names(link, &out);
    text_put(&out, "PING\r\n");
    link->pings++;
    link->pinged_ms = link->unanswered_ms = shard_now_ms(link->shard);
    nats_write(link, &out);
}

void nats_follow_registry(struct link *link) {
    struct text out;
    assert(link->peer);
    text_init(&out);
    put_names(link, &out);
    nats_write(link, &out);
}

// --- Other servers that the server names, and that the hub may dial

static bool is_known(const struct link *link, const struct cluster_server *server) {
    const struct address *address = &server->address;
    for (uint32_t at = 0; at < link->server_count; at++) {
        const struct cluster_server *other = &link->servers[at];
        if (other->address.bytes == address->bytes &&
            (address->bytes
                 ? memcmp(&other->address.storage, &address->storage, address->bytes) == 0
                 : other->url.port == server->url.port && strcasecmp(other->url.host, server->url.host) == 0))
            return true;
    }
    return false;
}

// Forgets servers that a server has named. Keeps the settings' servers and the server of the link.
static void forget_learned(struct link *link) {
    uint32_t own = link->shard->hub->start_settings.cluster.settings->server_count;
    assert(link->server < link->server_count);
    if (link->server > own) {
        link->servers[own] = link->servers[link->server];
        link->server = own;
    }
    link->server_count = link->server < own ? own : own + 1;
}

static bool is_numeric(const char *host) {
    return host[strspn(host, "0123456789.")] == '\0' || strchr(host, ':');
}

// Adds a server that the link's server has named. The hub will use the same credentials there. If the new server is a
// numeric address, its certificate must have the name of the link's server, as is usual in NATS clusters.
static void learn_server(struct link *link, const char *url, size_t bytes) {
    const struct cluster_server *own = link_server(link);
    struct cluster_server fresh = *own;
    assert(url || bytes == 0);
    if (!nats_url_place(url, bytes, &fresh.url) ||
        !(address_place(&fresh.address, fresh.url.host, fresh.url.is_v6, fresh.url.port) ||
          link->lookup.resolver) ||
        is_known(link, &fresh))
        return;
    if (!is_numeric(fresh.url.host) || is_numeric(own->shown))
        memcpy(fresh.shown, fresh.url.host, sizeof fresh.shown);
    // INFO may come before the server has shown who it is.
    const struct cluster_settings *settings = link->shard->hub->start_settings.cluster.settings;
    bool has_room = link->server_count < sizeof link->servers / sizeof *link->servers;
    if (has_room && (settings->insecure || cluster_server_is_safe(settings, &fresh)))
        link->servers[link->server_count++] = fresh;
}

static void learn_servers(struct link *link, const uint8_t *bytes, struct span urls) {
    struct json_walk walk;
    char url[NATS_URL_HOST_BYTES_MAX + 16];
    assert(link->peer);
    if (!urls.bytes)
        return;
    forget_learned(link);
    json_walk_begin(&walk, bytes, urls);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        size_t count =
            item.type == JSON_STRING ? json_string_decode(bytes, item.value, url, sizeof url) : SIZE_MAX;
        if (count != SIZE_MAX)
            learn_server(link, url, count);
    }
}

// Returns why a server can't be used, or NULL. Hubs need headers. Without TLS a hub shows no credential to a server
// that must have TLS.
static const char *fault_of(const struct link *link, const struct nats_info *info, bool secure) {
    if (!info->headers)
        return "it knows no headers";
    if (!secure)
        return NULL;
    if (!info->tls_required && !info->tls_available)
        return "it offers no TLS";
    return link->shard->hub->start_settings.cluster.settings->authorities
               ? NULL
               : "it asks for TLS, and --nats-ca isn't given";
}

static void keep_nonce(struct link *link, const uint8_t *bytes, struct span nonce) {
    size_t count =
        nonce.bytes ? json_string_decode(bytes, nonce, (char *)link->nonce, sizeof link->nonce) : 0;
    link->nonce_bytes = count <= sizeof link->nonce ? (uint32_t)count : 0;
}

void nats_handshake_info(struct shard *shard, struct link *link, const uint8_t *bytes, struct span argument) {
    struct nats_info info;
    if (!nats_info_read(bytes, argument, &info)) {
        peer_close(shard, link->peer, COUNTER_NONE);
        return;
    }
    const struct nats_url *url = &link_server(link)->url;
    bool secure = info.tls_required || url->secure;
    const char *fault = link->state == LINK_GREETING ? fault_of(link, &info, secure) : NULL;
    if (fault) {
        link_note_fault(link, fault);
        peer_close(shard, link->peer, COUNTER_NONE);
        return;
    }
    // A dialled server gets the hub's password or token; a key only signs. INFO before TLS may be forged, and could
    // name an attacker's server. Such an INFO is ignored if the hub has a password or token.
    if (link->state != LINK_GREETING || !secure || !(url->password[0] || url->token[0]))
        learn_servers(link, bytes, info.connect_urls);
    atomic_store_explicit(&shard->hub->link_payload_bytes_max, info.payload_bytes_max, memory_order_relaxed);
    if (info.lame_duck) {
        peer_close(shard, link->peer, COUNTER_NONE);
        return;
    }
    if (link->state != LINK_GREETING)
        return;
    keep_nonce(link, bytes, info.nonce);
    link->state = secure ? LINK_SECURING : LINK_JOINING;
    if (!secure)
        connect_to(link);
}

// Begins TLS. Ends the link if bytes have come behind INFO: anybody may have sent them, and they must not be read as
// bytes of TLS. The hub's own lines wait until the server has shown who it is.
void nats_handshake_secure(struct link *link) {
    struct shard *shard = link->shard;
    struct peer *peer = link->peer;
    struct connection *connection = &peer->connection;
    struct secure_source *authorities = shard->hub->start_settings.cluster.settings->authorities;
    assert(link->state == LINK_SECURING && authorities);
    bool is_clean =
        !peer->partial && !connection->direct && !connection->send_op && outbox_empty(&connection->outbox);
    if (!is_clean) {
        peer_close(shard, peer, COUNTER_NONE);
    } else if (!connection_secure_dialled(connection, authorities, &shard->buffers,
                                          link_server(link)->shown)) {
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
    } else {
        link->state = LINK_JOINING;
        peer_timer_restart(shard, peer);
        connect_to(link);
    }
}
