#include "router/features/cluster/nats_connect.h"

#include <assert.h>
#include <string.h>

#include "router/features/cluster/nats_fault.h"
#include "router/features/cluster/nats_publish.h"

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

// Without a queue what comes there comes to each hub that has subscribed to it; with one, a copy comes to one of its members.
static void put_subscription(struct text *out, enum subject_kind kind, const struct link *link,
                             const char *behind, const char *queue, uint32_t sid) {
    char subject[SUBJECT_BYTES_MAX];
    const char *cluster = link->shard->hub->settings.cluster->name;
    bool own = kind == SUBJECT_HUB;
    assert(sid > 0);
    text_put(out, "SUB ");
    text_add(out, subject, subject_write(subject, cluster, kind, link->hub, own ? HUB_NAME_BYTES : 0));
    text_put(out, behind);
    text_put(out, " ");
    if (queue) {
        text_add(out, queue, HUB_NAME_BYTES);
        text_put(out, " ");
    }
    text_number(out, sid);
    text_put(out, "\r\n");
}

// What programs that look for services of NATS ask: all of them, those of this name, this one (nats_service.c).
static void put_services(struct text *out, const struct link *link, uint32_t sid) {
    static const char *const verbs[] = {"PING", "INFO", "STATS"};
    static const char *const names[] = {"", "." SERVICE_NAME, "." SERVICE_NAME "."};
    assert(sid > 0);
    for (unsigned at = 0; at < 9; at++) {
        text_put(out, "SUB $SRV.");
        text_put(out, verbs[at / 3]);
        text_put(out, names[at % 3]);
        text_add(out, link->hub, at % 3 == 2 ? HUB_NAME_BYTES : 0);
        text_put(out, " ");
        text_number(out, sid + at);
        text_put(out, "\r\n");
    }
}

static void put_presence(struct link *link, struct text *out) {
    nats_subscriptions_follow(&link->presence, &link->shard->agents, link->shard->hub->settings.cluster->name,
                              link->hub, out);
    assert(link->presence.changes == link->shard->agents.changes);
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
    link->presence.sids = NATS_SIDS_OWN;
    put_subscription(&out, SUBJECT_HUB, link, "", NULL, 1);
    put_subscription(&out, SUBJECT_HUB, link, ".>", NULL, 2);
    // Of all events one copy comes to this hub, whoever it is for here: who has subscribed to what changes too often, on all
    // shards, to be told the server, and what one subscribes to counts at once.
    put_subscription(&out, SUBJECT_EVENT, link, ".*", link->hub, 3);
    put_subscription(&out, SUBJECT_HUBS, link, "", NULL, 4);
    put_subscription(&out, SUBJECT_BEAT, link, "", NULL, 5);
    put_subscription(&out, SUBJECT_HOLDER, link, ".*", NULL, 6);
    put_services(&out, link, 7);
    put_presence(link, &out);
    text_put(&out, "PING\r\n");
    link->pings++;
    nats_write(link, &out);
}

void nats_follow_registry(struct link *link) {
    struct text out;
    assert(link->peer);
    text_init(&out);
    put_presence(link, &out);
    nats_write(link, &out);
}
