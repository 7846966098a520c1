#include "router/features/cluster/nats_connect.h"

#include <assert.h>
#include <string.h>

#include "router/features/cluster/nats_fault.h"
#include "router/features/cluster/nats_publish.h"
#include "router/registry/claim_table.h"

// --- Who it is

static void put_member(struct text *out, const char *key, const char *value) {
    assert(*key);
    if (!*value)
        return;
    text_put(out, ",\"");
    text_put(out, key);
    text_put(out, "\":");
    text_string(out, value, strlen(value));
}

// A key, and a JWT that says whose it is: it signs what the server has just made up. False: what is wrong was said.
static bool put_signature(struct text *out, struct link *link) {
    const struct cluster_settings *settings = link->shard->hub->settings.cluster;
    struct nats_creds creds;
    char key[NKEY_PUBLIC_BYTES + 1] = "", signature[NKEY_SIGNATURE_BYTES + 1] = "";
    const char *fault = settings->read_creds(settings->creds, &creds);
    assert(link->shard->index == 0);
    if (!fault && (!nats_creds_sign(&creds, link->nonce, link->nonce_bytes, signature) ||
                   (!creds.jwt[0] && !nats_creds_public(&creds, key))))
        fault = "nothing can be signed with it";
    if (!fault) {
        put_member(out, "jwt", creds.jwt);
        put_member(out, "nkey", key);
        put_member(out, "sig", signature);
    } else {
        nats_fault_found(link, fault);
    }
    nats_creds_wipe(&creds);
    return !fault;
}

static bool put_connect(struct text *out, struct link *link) {
    const struct nats_url *url = &link_server(link)->url;
    bool is_named = url->token[0] || url->password[0], good = true;
    assert(link->shard->index == 0);
    text_put(out, "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true,"
                  "\"echo\":false,\"protocol\":1,\"lang\":\"c\",\"version\":\"" PATCHBAY_VERSION
                  "\",\"name\":\"patchbay\"");
    put_member(out, "user", url->user);
    put_member(out, "pass", url->password);
    put_member(out, "auth_token", url->token);
    if (!is_named && link->nonce_bytes && link->shard->hub->settings.cluster->creds)
        good = put_signature(out, link);
    text_put(out, "}\r\n");
    return good;
}

// What programs that look for services of NATS ask: all of them, those of this name, this one (nats_service.c).
static void put_services(struct text *out, const struct link *link, uint32_t sid) {
    static const char *const verbs[] = {"PING", "INFO", "STATS"};
    static const char *const names[] = {"", "." SERVICE_NAME, "." SERVICE_NAME "."};
    assert(sid > 0);
    for (unsigned at = 0; at < 9; at++) { // each hub gets one
        text_put(out, "SUB $SRV.");
        text_put(out, verbs[at / 3]);
        text_put(out, names[at % 3]);
        text_add(out, link->hub.text, at % 3 == 2 ? link->hub.bytes : 0);
        text_put(out, " ");
        text_add(out, link->hub.text, link->hub.bytes);
        text_put(out, " ");
        text_number(out, sid + at);
        text_put(out, "\r\n");
    }
}

// What all hubs say, and what is said to this one alone.
static void put_own(struct text *out, const struct link *link) {
    const char *cluster = link->shard->hub->settings.cluster->name;
    assert(link->shard->index == 0);
    text_put(out, "SUB patchbay.");
    text_put(out, cluster);
    text_put(out, ".hub.");
    text_add(out, link->hub.text, link->hub.bytes);
    text_put(out, ".> 1\r\nSUB patchbay.");
    text_put(out, cluster);
    text_put(out, ".hubs.> 2\r\n");
}

static struct nats_scope scope_of(const struct link *link) {
    assert(link->realm.bytes);
    return (struct nats_scope){link->shard->hub->settings.cluster->name, &link->realm, &link->former,
                               &link->hub};
}

static void put_names(struct link *link, struct text *out) {
    struct nats_scope scope = scope_of(link);
    nats_subscriptions_follow(&link->subscriptions, &link->shard->agents, &link->shard->claims->orders,
                              &scope, out);
    assert(link->subscriptions.changes == link->shard->agents.changes);
}

void nats_connect(struct link *link) {
    struct text out;
    assert(link->state == LINK_JOINING);
    text_init(&out);
    if (!put_connect(&out, link)) {
        text_deinit(&out);
        peer_close(link->shard, link->peer, COUNTERS_COUNT);
        return;
    }
    link->subscriptions.sids = NATS_SIDS_OWN;
    link->realm = link->shard->settings->realm;
    link->former = (struct realm){.bytes = 0};
    put_own(&out, link);
    put_services(&out, link, 3);
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

void nats_move_realm(struct link *link, const struct realm *realm, const struct realm *former) {
    assert(realm->bytes);
    link->realm = *realm;
    link->former = *former;
    nats_follow_registry(link);
}

void nats_withdraw(struct link *link) {
    struct nats_scope scope = scope_of(link);
    struct text out;
    assert(link->shard->index == 0);
    if (list_empty(&link->subscriptions.all))
        return;
    text_init(&out);
    nats_subscriptions_follow(&link->subscriptions, NULL, NULL, &scope, &out);
    nats_write(link, &out);
}
