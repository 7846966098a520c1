// The transport of the NATS server, on shard 0: receives messages of the server, and of other hubs through the server.

#include <assert.h>
#include <string.h>

#include "core/agents/topics.h"
#include "core/rights/rights.h"
#include "io/log.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/feature.h"
#include "router/engine/shard/identity.h"
#include "router/engine/shard/peer_cold.h"
#include "router/events/events.h"
#include "router/features/cluster/heartbeat.h"
#include "router/features/cluster/hub_message.h"
#include "router/features/cluster/inbound_request.h"
#include "router/features/cluster/name_claim.h"
#include "router/features/cluster/nats_handshake.h"
#include "router/features/cluster/nats_publish.h"
#include "router/features/cluster/outbound_request.h"
#include "router/features/cluster/remote_directory.h"
#include "router/forwarding/progress.h"
#include "router/forwarding/remote_route.h"
#include "router/registry/registry.h"
#include "router/rights/authn.h"
#include "router/routing/route.h"

// --- Begin and end

static bool nats_enter(struct shard *shard, struct peer *peer) {
    struct link *link = cluster_of(shard);
    assert(link && !link->peer);
    if (!peer_take_cold(shard, peer))
        return false;
    peer->initialized = true;
    link_entered(link, peer);
    struct identity *identity = identity_of(peer);
    if (identity) {
        authn_credential_accepted(identity);
        identity->kind = CREDENTIAL_HUB;
        identity->is_peer_credential_checked = true;
    }
    return true;
}

static void nats_leave(struct shard *shard, struct peer *peer) {
    struct link *link = link_of(shard, peer);
    if (link)
        link_lost(link);
}

static void nats_refuse(struct shard *shard, struct peer *peer) {
    assert(peer->unit.fault != UNIT_FAULT_NONE);
    peer_close(shard, peer, COUNTER_NONE);
}

// Logs why the server's records can't be opened, and closes the link's peer.
static bool nats_end(struct shard *shard, struct peer *peer, enum peer_end_reason why) {
    if (why != PEER_END_RECORDS)
        return false;
    const char *fault = connection_fault(&peer->connection);
    struct link *link = link_of(shard, peer);
    assert(shard->index == 0);
    if (link)
        link_note_fault(link, fault ? fault : "what came over TLS can't be opened");
    peer_close(shard, peer, COUNTER_NONE);
    return true;
}

// --- Messages

static bool span_is(const struct hub_message *message, struct span span, const char *text, size_t bytes) {
    return bytes > 0 && span.bytes == bytes && memcmp(message->bytes + span.at, text, bytes) == 0;
}

// Returns whether a message is an event that hubs themselves publish.
static bool is_of_hubs(const struct hub_message *message) {
    enum { BYTES = sizeof EVENT_OF_HUB - 1 };
    struct span name = message->subject.token;
    return name.bytes > BYTES && span_is(message, (struct span){name.at, BYTES}, EVENT_OF_HUB, BYTES);
}

// Returns whether the payload is valid JSON, and sets message->json.
static bool judge_json(struct hub_message *message) {
    uint32_t bytes = message->arrival->unit->body_bytes;
    message->json.bytes = bytes && json_valid(message->body, bytes) ? bytes : 0;
    return message->json.bytes > 0;
}

// Takes an answer. Numbers from LINK_NUMBERS_FROM on belong to claims and lists, and smaller numbers to requests.
static bool take_answer(struct link *link, struct hub_message *message) {
    assert(message->subject.kind == SUBJECT_ANSWER);
    if (message->subject.number < LINK_NUMBERS_FROM) {
        if (!outbound_request_answer(link, message))
            stats_count(&link->shard->stats, FEATURE_COUNTER(FEATURE_CLUSTER, CLUSTER_COUNT_ANSWERS_LATE));
        return true;
    }
    bool is_nobody = !message->member && nats_status(message->bytes, message->said->headers) == 503;
    if (!is_nobody && (!message->member || !judge_json(message)))
        return false;
    struct json_item agents = json_member(message->body, message->json, "agents");
    if (agents.type != JSON_ARRAY)
        name_claim_answer(link, message);
    else if (json_member_true(message->body, message->json, "brief"))
        name_claim_compare(link, message, agents.value);
    else
        remote_directory_take(link, message, agents.value);
    return true;
}

// Takes a report on a request's progress, from the hub that has the request. Returns false if the report can't be read.
static bool take_progress(struct link *link, struct hub_message *message) {
    struct shard *shard = link->shard;
    uint64_t number = 0;
    assert(message->member);
    if (hub_message_open(shard, message) != ERROR_NONE ||
        !progress_number(shard, link->peer, &message->frame, &number))
        return false;
    if (outbound_request_progress(link, message->member, number))
        return progress_remote(shard, link->peer, &message->frame);
    drop_one(shard, COUNT_DROP_PROGRESS_UNKNOWN, link->peer->connection_id, message->frame.body.bytes);
    return true;
}

// Takes an event that a hub publishes about its agents.
static bool take_presence(struct link *link, struct hub_message *message) {
    struct cluster_member *member = message->member;
    return member && judge_json(message) &&
           (!link->listens || !member->is_served ||
            remote_presence_take(link->shard, &member->presence, &member->hub, message->body, message->json));
}

// Tells approvers here of messages that another hub holds, if that hub has this hub's REALM or its former one.
static bool take_approval(struct link *link, const struct hub_message *message) {
    const struct cluster_member *member = message->member;
    const struct text body = {.bytes = (char *)message->body, .length = message->json.bytes};
    assert(message->json.bytes);
    if (member->has_beaten &&
        (realm_same(&member->realm, &link->realm) || realm_same(&member->realm, &link->former)))
        events_announce(link->shard, link->peer->connection_id, NULL, RIGHTS_GATE_EVENT, &body);
    return true;
}

// Takes a JSON message of a hub to another hub, or to all hubs. Returns false if the message can't be read.
static bool take_json(struct link *link, const struct hub_message *message) {
    assert(message->member && message->json.bytes);
    switch (message->subject.kind) {
    case SUBJECT_NAME:
        return name_claim_take(link, message);
    case SUBJECT_TAKEN:
        return outbound_request_taken(link, message);
    case SUBJECT_HELD:
        return outbound_request_held(link, message);
    case SUBJECT_YIELD:
        return name_claim_yield(link, message);
    case SUBJECT_AGENTS:
    case SUBJECT_HUBS_AGENTS:
        message->member->listens |= json_member_true(message->body, message->json, "presence");
        heartbeat_count(link);
        return remote_directory_answer(link, message);
    case SUBJECT_HUBS_APPROVAL:
        return take_approval(link, message);
    default:
        return false;
    }
}

// Takes a message of the server. Returns false if the message can't be read, or isn't for this hub.
static bool take_known(struct link *link, struct hub_message *message) {
    enum subject_kind kind = message->subject.kind;
    bool is_named = kind <= SUBJECT_NAME, is_hubs = kind >= SUBJECT_HUBS_BEAT;
    if (kind == SUBJECT_KINDS_COUNT)
        return nats_service_take(link, message->bytes, message->said);
    struct span realm = message->subject.realm;
    bool is_ours = is_named ? span_is(message, realm, link->realm.text, link->realm.bytes) ||
                                  span_is(message, realm, link->former.text, link->former.bytes)
                            : is_hubs || !message->subject.hub.bytes || // an answer names no hub
                                  span_is(message, message->subject.hub, link->hub.text, link->hub.bytes);
    if (link->state < LINK_JOINING || !is_ours)
        return false;
    if (kind == SUBJECT_HUBS_BEAT)
        return judge_json(message) && heartbeat_take(link, message);
    if (message->header.is_present && !(message->member = heartbeat_receive(link, &message->header.hub)))
        return true; // from a link that has ended
    if (kind == SUBJECT_ANSWER)
        return take_answer(link, message);
    if (kind == SUBJECT_EVENT && is_of_hubs(message))
        return take_presence(link, message);
    if (kind <= SUBJECT_NOTICE || kind == SUBJECT_DECIDE) {
        inbound_request_take(link, message);
        return true;
    }
    if (!message->member)
        return false;
    if (kind == SUBJECT_PROGRESS)
        return take_progress(link, message);
    if (kind == SUBJECT_CANCEL || kind == SUBJECT_HUBS_CANCEL)
        return inbound_request_cancel(link, message);
    if (kind == SUBJECT_GONE) {
        heartbeat_end(link, message->member);
        return true;
    }
    return judge_json(message) && take_json(link, message);
}

static void take_message(struct shard *shard, struct link *link, const struct frame *frame,
                         const struct nats_message *said) {
    struct hub_message message = {
        .arrival = frame, .said = said, .bytes = frame->buffer->bytes + frame->at, .body = frame_body(frame)};
    assert(shard->remote_link.answers.bytes > 0);
    message.subject.kind = SUBJECT_ANSWER;
    message.subject.number = answer_subject_number(&shard->remote_link.answers, message.bytes, said->subject);
    if (message.subject.number) { // prefetches what the answer needs
        hash_table_fetch(&link->outbound.by_number,
                         hash_table_hash(message.subject.number, link->outbound.secret));
        pending_fetch(&shard->pending, message.subject.number);
    } else
        subject_read(shard->hub->start_settings.cluster.name, message.bytes, said->subject, &message.subject);
    const struct cluster_member *last = link->members.found;
    hub_header_read(message.bytes, said->headers, last ? &last->hub : NULL, &message.header);
    if (message.subject.kind != SUBJECT_EVENT)
        events_flush(shard);
    if (!take_known(link, &message))
        stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_CLUSTER, CLUSTER_COUNT_UNREADABLE));
}

// Tells all shards that the link is up. Makes the order in advance that tells its end. Returns false without memory.
static bool announce(struct shard *shard, struct peer *peer) {
    assert(!peer->leave_order);
    peer->leave_order = order_create(shard, ORDER_LEAVE, peer->connection_id);
    struct order *order = peer->leave_order ? order_create(shard, ORDER_LINK, peer->connection_id) : NULL;
    if (order)
        registry_submit(shard, order);
    return order != NULL;
}

// Makes the link UP: the first PONG shows that the server has the subscriptions. Other hubs may get requests from now
// on.
static void welcome(struct shard *shard, struct link *link) {
    if (link->state != LINK_JOINING)
        return;
    assert(link->peer->state == PEER_OPEN);
    link_welcomed(link);
    name_claim_link_up(link);
    heartbeat_beat(link);
    if (link->peer->state == PEER_OPEN && !announce(shard, link->peer))
        peer_close(shard, link->peer, COUNT_CLOSED_NO_MEMORY);
}

static void nats_take(struct shard *shard, struct peer *peer, struct frame *frame) {
    const uint8_t *bytes = frame->buffer->bytes + frame->at;
    struct link *link = link_of(shard, peer);
    struct nats_message said;
    nats_read(bytes, frame->unit, &said);
    assert(link && peer->state == PEER_OPEN);
    if (link->state == LINK_SECURING) {
        peer_close(shard, peer, COUNTER_NONE);
        return;
    }
    switch (said.verb) {
    case NATS_INFO:
        nats_handshake_info(shard, link, bytes, said.argument);
        break;
    case NATS_MSG:
    case NATS_HMSG:
        take_message(shard, link, frame, &said);
        break;
    case NATS_PING:
        nats_write_text(link, "PONG\r\n");
        break;
    case NATS_PONG:
        link->pongs++;
        link->unanswered_ms = shard_now_ms(shard);
        welcome(shard, link);
        name_claim_pong(link);
        break;
    case NATS_ERR:
        link_note_error(link, bytes + said.argument.at,
                        said.argument.bytes); // after a fatal error the server closes the connection
        break;
    default:
        break;
    }
}

// --- Time

// Returns whether the server has not answered a PING for 5 s. Sends a PING every 2 s.
static bool is_mute(struct link *link) {
    uint64_t now_ms = shard_now_ms(link->shard);
    assert(link->pings >= link->pongs);
    if (link->pings > link->pongs && now_ms - link->unanswered_ms >= CLUSTER_PONG_MS) {
        log_write(LOG_LINK_FAULT, LOG_FIELDS(log_unknown()), "cluster: the server doesn't answer");
        return true;
    }
    if (now_ms - link->pinged_ms >= CLUSTER_PING_MS)
        nats_write_ping(link);
    return false;
}

static void tick_members(struct link *link) {
    assert(link_is_open(link));
    heartbeat_tick(link);
    if (link_is_open(link))
        outbound_request_tick(link);
    if (link_is_open(link))
        inbound_request_tick(link);
    name_claim_tick(link);
    remote_directory_tick(link);
}

static void tick_peer(struct shard *shard, struct link *link) {
    bool is_up = link->state == LINK_UP;
    assert(link->peer);
    if (link->peer->state != PEER_OPEN)
        return;
    if (is_up ? is_mute(link) : shard_now_ms(shard) - link->entered_ms >= CLUSTER_GREETING_MS)
        peer_close(shard, link->peer, COUNTER_NONE);
    else if (link_is_open(link)) // the PING may have closed the peer for want of memory
        tick_members(link);
    if (link->peer && link->peer->state == PEER_OPEN)
        wheel_arm(&shard->wheel, &link->timer, shard_now_ms(shard) + CLUSTER_TICK_MS);
}

static void nats_tick(struct shard *shard, struct timer *timer, unsigned kind) {
    struct link *link = list_entry(timer, struct link, timer);
    assert(!timer_armed(timer) && kind == CLUSTER_TIMER_LINK);
    (void)kind;
    switch (link->state) {
    case LINK_RESTING:
        link_dial(link);
        break;
    case LINK_RESOLVING:
    case LINK_DIALLING:
        link_give_up(link);
        break;
    default:
        tick_peer(shard, link);
        break;
    }
}

// Closes the link of a hub that stood still, before anything that came meanwhile is read.
static void nats_awake(struct shard *shard) {
    struct link *link = cluster_of(shard);
    if (!link)
        return;
    uint64_t now_ms = shard_now_ms(shard), since_ms = now_ms - link->turned_ms;
    link->turned_ms = now_ms;
    if (!link_is_open(link) || since_ms < CLUSTER_STILL_MS)
        return;
    log_write(LOG_LINK_FAULT, LOG_FIELDS(log_unknown()), "cluster: stood still for %llu.%llu s: a new link",
              (unsigned long long)since_ms / 1000, (unsigned long long)since_ms / 100 % 10);
    peer_close(shard, link->peer, COUNTER_NONE);
}

static void follow_settings(struct link *link) {
    const struct hub_settings *settings = link->shard->settings;
    bool has_former = settings->previous.bytes && shard_now_ms(link->shard) < settings->previous_until_ms;
    struct realm former = has_former ? settings->previous : (struct realm){.bytes = 0};
    assert(link->state >= LINK_JOINING);
    if (realm_same(&link->realm, &settings->realm) && realm_same(&link->former, &former))
        return;
    bool is_new = !realm_same(&link->realm, &settings->realm);
    link->realm = settings->realm;
    link->former = former;
    nats_follow_registry(link);
    if (is_new && link_is_open(link))
        heartbeat_realm(link);
}

// Subscribes to names before other hubs are told of their agents.
static void follow_names(struct shard *shard) {
    struct link *link = cluster_of(shard);
    if (!link || link->state < LINK_JOINING || link->peer->state != PEER_OPEN)
        return;
    bool serves = shard->phase == HUB_SERVING;
    if (serves)
        follow_settings(link);
    if (serves ? nats_subscriptions_is_behind(&link->subscriptions, &shard->agents)
               : !list_empty(&link->subscriptions.all))
        nats_follow_registry(link);
}

static void nats_follow(struct shard *shard) {
    struct link *link = cluster_of(shard);
    if (!link)
        return;
    if (link->state == LINK_SECURING && link->peer->state == PEER_OPEN)
        nats_handshake_secure(link);
    follow_names(shard);
    heartbeat_follow(link);
    name_claim_follow(link);
    remote_directory_follow(link);
    bool is_joined = link->state >= LINK_JOINING && link->peer->state == PEER_OPEN;
    if (is_joined && !timer_armed(&link->timer))
        wheel_arm(&shard->wheel, &link->timer, shard_now_ms(shard) + CLUSTER_TICK_MS);
}

static const struct transport transport_nats = {
    .name = "nats",
    .codec.wire = &wire_nats,
    .gauge = FEATURE_GAUGE(FEATURE_CLUSTER, CLUSTER_GAUGE_NATS),
    .ops.enter = nats_enter,
    .codec.take = nats_take,
    .codec.refuse = nats_refuse,
    .ops.end = nats_end,
    .codec.respond = inbound_request_respond,
    .ops.leave = nats_leave,
    .ops.divert = outbound_request_divert,
    .ops.note_packed = outbound_request_note,
    .ops.pack_answer = inbound_request_pack_answer,
    .ops.cancel = outbound_request_cancel,
    .ops.report = inbound_request_report,
    .end_is_leaving = true,
};

// --- The registration

static bool cluster_is_on(const struct hub_settings *settings) {
    return settings->cluster.name[0] != '\0';
}

static const char *cluster_start(struct shard *shard) {
    return link_open(shard, &transport_nats) ? NULL : "the link to other hubs";
}

static void cluster_event(struct shard *shard, const struct io_event *event, unsigned kind) {
    assert(shard->index == 0 && cluster_of(shard));
    if (kind == CLUSTER_TOKEN_LINK)
        link_connected(shard, event);
    else
        link_resolved(shard, event);
}

static void cluster_drain(struct shard *shard) {
    assert(shard->phase != HUB_SERVING);
    if (shard->phase == HUB_DRAINING)
        link_stop(shard);
    else if (shard->phase == HUB_CLOSING)
        heartbeat_goodbye(shard);
}

static bool cluster_holds_phase(const struct shard *shard) {
    return shard->phase == HUB_CLOSING && !link_at_rest(shard);
}

static const struct stats_row cluster_counters[CLUSTER_COUNTERS + 1] = {
#define X(name, text, help, behind)                                                                          \
    {("cluster_" text), ("cluster_" text "_total"), NULL, help, STATS_AFTER(behind)},
    CLUSTER_EACH_COUNTER(X)
#undef X
};

static const struct stats_row cluster_gauges[CLUSTER_GAUGES + 1] = {
    [CLUSTER_GAUGE_NATS] = {"nats", "connections", "transport=\"nats\"", NULL, STATS_AFTER(GAUGE_LINES)},
    [CLUSTER_GAUGE_HUBS] = {"cluster_hubs", "cluster_hubs", NULL, "Other hubs that are there.",
                            STATS_AFTER(GAUGE_REMOTE_LINK)},
    [CLUSTER_GAUGE_HUBS_UNSERVED] =
        {"cluster_hubs_unserved", "cluster_hubs_unserved", NULL,
         "Other hubs that speak another protocol, or have other users or another gate.",
         STATS_AFTER(GAUGE_REMOTE_LINK)},
};

const struct feature cluster_feature = {
    .name = "cluster",
    .options = cluster_settings_options,
    .read_option = cluster_settings_read,
    .check_settings = cluster_settings_check,
    .prepare_settings = cluster_settings_prepare,
    .drop_settings = cluster_settings_drop,
    .needs_resolver = cluster_settings_needs_resolver,
    .counters = cluster_counters,
    .gauges = cluster_gauges,
    .stats_order = 6,
    .is_on = cluster_is_on,
    .start = cluster_start,
    .close = link_end,
    .timer = nats_tick,
    .event = cluster_event,
    .no_target = remote_route_takes,
    .message_held = inbound_request_hold,
    .turn_begins = nats_awake,
    .turn = follow_names,
    .turn_ends = nats_follow,
    .drain = cluster_drain,
    .holds_phase = cluster_holds_phase,
};
