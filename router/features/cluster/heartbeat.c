#include "router/features/cluster/heartbeat.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/log/log_event.h"
#include "io/log.h"
#include "router/engine/send/reply.h"
#include "router/features/cluster/inbound_request.h"
#include "router/features/cluster/nats_publish.h"
#include "router/features/cluster/outbound_request.h"
#include "router/features/cluster/remote_directory.h"

enum { UNSERVED_LOG_MS = 60 * 1000 };

// --- The log

// Logs a change of a member, with the member's NODE and name. The name is escaped, since any client of the server could
// have sent it.
static void log_member(const struct cluster_member *member, const char *state, const char *what) {
    char name[4 * CLUSTER_MEMBER_NAME_BYTES_MAX];
    size_t bytes = log_escape((const uint8_t *)member->name, member->name_bytes, name);
    assert(bytes <= sizeof name);
    log_write(LOG_MEMBER, LOG_FIELDS(log_bytes(member->hub.text, member->hub.bytes), log_text(state)),
              "cluster: hub %.*s%s%.*s%s %s", member->hub.bytes, member->hub.text, bytes ? " (" : "",
              (int)bytes, name, bytes ? ")" : "", what);
}

static void log_unserved(struct link *link, struct cluster_member *member) {
    const struct realm *own = &link->shard->settings->realm, *realm = &member->realm;
    char why[160], theirs[4 * REALM_BYTES_MAX];
    uint64_t now_ms = shard_now_ms(link->shard);
    assert(!member->is_served);
    if (member->logged_ms && now_ms - member->logged_ms < UNSERVED_LOG_MS)
        return;
    member->logged_ms = now_ms;
    size_t bytes = log_escape((const uint8_t *)realm->text, (uint32_t)realm->bytes, theirs);
    if (member->protocol != CLUSTER_PROTOCOL)
        snprintf(why, sizeof why, "is not served: it speaks protocol %llu, this hub %d",
                 (unsigned long long)member->protocol, CLUSTER_PROTOCOL);
    else
        snprintf(why, sizeof why,
                 "is not served: its users or its gate are others (%.*s, here %.*s): bring the same to both",
                 (int)bytes, theirs, (int)own->bytes, own->text);
    log_member(member, "unserved", why);
}

// --- Members

// Publishes the counts of hubs to all shards.
void heartbeat_count(struct link *link) {
    struct shard *shard = link->shard;
    cluster_members_count(&link->members);
    stats_gauge(&shard->stats, FEATURE_GAUGE(FEATURE_CLUSTER, CLUSTER_GAUGE_HUBS), link->members.served);
    stats_gauge(&shard->stats, FEATURE_GAUGE(FEATURE_CLUSTER, CLUSTER_GAUGE_HUBS_UNSERVED),
                link->members.unserved);
    atomic_store_explicit(&shard->hub->hubs_unserved, link->members.unserved, memory_order_relaxed);
    atomic_store_explicit(&shard->hub->presence_hubs, link->members.listeners, memory_order_release);
    atomic_store_explicit(&shard->hub->hubs_strict, link->members.strict, memory_order_relaxed);
}

static void lose(struct link *link, struct cluster_member *member) {
    outbound_request_lose(link, member);
    inbound_request_lose(link, member);
    remote_presence_lose(link->shard, &member->presence, &member->hub);
    assert(list_empty(&member->outbound));
}

void heartbeat_end(struct link *link, struct cluster_member *member) {
    outbound_request_lose(link, member);
    inbound_request_end(link, member);
    lose(link, member);
    member->is_new = true; // the member will know nothing of this hub when it hears from it again
}

// Removes a member. Its requests that aren't forwarded yet are ended first.
static void forget(struct link *link, struct cluster_member *member) {
    assert(link->peer);
    lose(link, member);
    cluster_members_remove(&link->members, member);
    heartbeat_count(link);
}

// Resets a member that has a new link: a message with a higher link number has come.
static void replace(struct link *link, struct cluster_member *member, const struct hub_name *hub) {
    char what[32 + HUB_NAME_BYTES_MAX];
    assert(hub->number > member->hub.number);
    lose(link, member);
    snprintf(what, sizeof what, "came back as %.*s", hub->bytes, hub->text);
    log_member(member, "replaced", what);
    member->hub = *hub;
    answer_subject_write(&member->answers, link->members.cluster, hub);
    member->is_new = true;
    member->has_beaten = false;
    member->served_since = link->numbers;
}

struct cluster_member *heartbeat_receive(struct link *link, const struct hub_name *hub) {
    struct cluster_members *members = &link->members;
    uint64_t now_ms = shard_now_ms(link->shard);
    assert(hub->bytes && link->hub.bytes);
    if (hub_name_compare_nodes(hub, &link->hub) == 0)
        return NULL;
    struct cluster_member *member = cluster_members_find(members, hub);
    if (!member)
        return cluster_members_add(members, hub, now_ms);
    if (hub->number < member->hub.number)
        return NULL;
    if (hub->number > member->hub.number)
        replace(link, member, hub);
    cluster_members_seen(members, member, now_ms);
    return member;
}

// --- Presence

// Asks a member for its agents, for presence. The member sends events of its agents after this question, while this
// hub's beats say that a client listens.
static void ask_agents(struct link *link, struct cluster_member *member) {
    if (!link->listens || member->presence.list_number || !link_is_open(link))
        return;
    member->presence.is_partial = true; // until the list has come
    member->presence.list_number = remote_directory_ask(link, member, "{\"presence\":true}");
}

// Notes whether a client of this hub is subscribed to presence. Asks the members for their agents, or forgets the
// agents.
static void follow_listeners(struct link *link, bool listens) {
    if (listens == link->listens)
        return;
    link->listens = listens;
    LIST_EACH (struct cluster_member, member, &link->members.all, link) {
        member->presence.is_news = !listens || !member->is_served;
        if (!listens)
            remote_presence_forget(link->shard, &member->presence);
        else if (member->is_served)
            ask_agents(link, member);
    }
}

static bool is_listened_to(const struct link *link) {
    return atomic_load_explicit(&link->shard->hub->presence_subscriptions, memory_order_acquire) > 0;
}

void heartbeat_follow(struct link *link) {
    if (!link->listens && link_is_open(link) && is_listened_to(link))
        heartbeat_beat(link);
}

// --- Beats

static void take_served(struct link *link, struct cluster_member *member) {
    bool was_served = member->is_served, was_known = member->has_beaten;
    assert(member->hub.bytes);
    member->has_beaten = true;
    member->is_served =
        member->protocol == CLUSTER_PROTOCOL && realm_same(&member->realm, &link->shard->settings->realm);
    heartbeat_count(link);
    member->is_new |= !was_served;
    if (!was_served)
        member->served_since = link->numbers;
    if (!member->is_served)
        log_unserved(link, member);
    else if (!was_served)
        log_member(member, "there", "is there");
    if (!was_known && link_is_open(link))
        heartbeat_beat(link); // a new member knows no other hub yet
    if (!member->is_served)
        remote_presence_lose(link->shard, &member->presence, &member->hub);
    else
        ask_agents(link, member);
}

// Reads a member's string. Returns 0 if there is none, or if it is too long.
static size_t read_text(const struct hub_message *message, const char *key, char *out, size_t capacity) {
    size_t bytes = json_member_text(message->body, message->json, key, out, capacity);
    return bytes == SIZE_MAX ? 0 : bytes;
}

bool heartbeat_take(struct link *link, const struct hub_message *message) {
    struct hub_name hub;
    char text[HUB_NAME_BYTES_MAX];
    assert(!message->member);
    if (!hub_name_read(&hub, text, read_text(message, "hub", text, sizeof text)))
        return false;
    struct cluster_member *member = heartbeat_receive(link, &hub);
    if (!member)
        return true;
    if (json_member_true(message->body, message->json, "leaving")) {
        log_member(member, "left", "has left");
        forget(link, member);
        return true;
    }
    member->protocol = json_member_whole(message->body, message->json, "protocol");
    member->realm.bytes = read_text(message, "realm", member->realm.text, sizeof member->realm.text);
    member->name_bytes = (uint8_t)read_text(message, "name", member->name, sizeof member->name);
    member->listens = json_member_true(message->body, message->json, "presence");
    member->is_strict = json_member_true(message->body, message->json, "strict");
    uint64_t dropped = json_member_whole(message->body, message->json, "dropped");
    // The member has dropped events since its last beat: subscribers here are told, once a second at most.
    link->is_missing |= member->has_beaten && dropped > member->dropped;
    member->dropped = dropped;
    take_served(link, member);
    return true;
}

static void publish_beat(struct link *link, bool leaves) {
    const struct shard *shard = link->shard;
    const struct realm *realm = &shard->settings->realm;
    bool listens = is_listened_to(link);
    struct text json;
    assert(link->state == LINK_UP);
    text_init(&json);
    reply_data_number(&json, "protocol", CLUSTER_PROTOCOL);
    reply_data_string(&json, "realm", realm->text, realm->bytes);
    reply_data_string(&json, "hub", link->hub.text, link->hub.bytes);
    reply_data_number(&json, "agents", (int64_t)shard->agents.count);
    reply_data_number(&json, "dropped",
                      (int64_t)atomic_load_explicit(&shard->hub->events_dropped, memory_order_relaxed));
    reply_data_text(&json, "name", shard->hub->start_settings.cluster.hub_name);
    text_put(&json, listens ? ",\"presence\":true" : "");
    text_put(&json, shard->settings->strict ? ",\"strict\":true" : "");
    text_put(&json, leaves ? ",\"leaving\":true}" : "}");
    nats_publish(link, &(struct hub_words){.kind = SUBJECT_HUBS_BEAT}, &json);
    follow_listeners(link, listens);
}

void heartbeat_beat(struct link *link) {
    link->beat_ms = shard_now_ms(link->shard);
    publish_beat(link, false);
}

void heartbeat_goodbye(struct shard *shard) {
    struct link *link = cluster_of(shard);
    assert(shard->phase == HUB_CLOSING);
    if (!link || !link_is_open(link))
        return;
    publish_beat(link, true);
    link->has_left = true;
}

void heartbeat_realm(struct link *link) {
    assert(link->state == LINK_UP);
    LIST_EACH (struct cluster_member, member, &link->members.all, link) {
        member->logged_ms = 0;
        if (member->has_beaten)
            take_served(link, member);
    }
    heartbeat_beat(link);
}

// --- Each tick

static void expire(struct link *link) {
    struct list *all = &link->members.all;
    uint64_t now_ms = shard_now_ms(link->shard);
    assert(link->peer);
    while (!list_empty(all) && link->peer->state == PEER_OPEN) {
        struct cluster_member *member = list_entry(all->next, struct cluster_member, link);
        if (now_ms - member->received_ms < CLUSTER_GONE_MS)
            return;
        log_member(member, "silent", "is silent");
        struct text json;
        text_init(&json);
        text_put(&json, "{}");
        nats_publish(link, &(struct hub_words){.kind = SUBJECT_GONE, .hub = &member->hub}, &json);
        forget(link, member);
    }
}

void heartbeat_tick(struct link *link) {
    expire(link);
    if (link->peer->state != PEER_OPEN || shard_now_ms(link->shard) - link->beat_ms < CLUSTER_BEAT_MS)
        return;
    heartbeat_beat(link);
    if (link->is_missing) {
        hub_lose_events(link->shard->hub);
        shard_wake_others(link->shard);
    }
    link->is_missing = false;
}
