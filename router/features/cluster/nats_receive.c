#include "router/features/cluster/nats_receive.h"

#include <assert.h>
#include <string.h>

#include "core/rights/rights.h"
#include "io/log.h"
#include "router/engine/shard/annex.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/feature.h"
#include "router/engine/shard/identity.h"
#include "router/events/events.h"
#include "router/features/cluster/heartbeat.h"
#include "router/features/cluster/hub_message.h"
#include "router/features/cluster/inbound_request.h"
#include "router/features/cluster/name_claim.h"
#include "router/features/cluster/nats_connect.h"
#include "router/features/cluster/nats_fault.h"
#include "router/features/cluster/nats_handshake.h"
#include "router/features/cluster/nats_publish.h"
#include "router/features/cluster/nats_service.h"
#include "router/features/cluster/outbound_request.h"
#include "router/features/cluster/remote_directory.h"
#include "router/features/feature_list.h"
#include "router/forwarding/progress.h"
#include "router/rights/authn.h"
#include "router/routing/route.h"

// --- Coming and going

static bool nats_enter(struct shard *shard, struct peer *peer) {
    struct link *link = shard->link;
    assert(link && !link->peer);
    if (!peer_annex(shard, peer))
        return false;
    peer->initialized = true;
    link_entered(link, peer);
    struct identity *identity = identity_of(peer);
    if (identity) {
        authn_credential_accepted(identity);
        identity->kind = CREDENTIAL_HUB;
        identity->looked = true;
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
    peer_close(shard, peer, COUNTERS_COUNT);
}

static void nats_mistrust(struct shard *shard, struct peer *peer) {
    const char *why = connection_fault(&peer->connection);
    struct link *link = link_of(shard, peer);
    assert(shard->index == 0);
    if (link)
        nats_fault_found(link, why ? why : "what came over TLS can't be opened");
    peer_close(shard, peer, COUNTERS_COUNT);
}

// --- Messages

// One that came, taken apart.
struct arrival {
    struct link *link;
    const struct frame *frame;
    const struct nats_message *said;
    const uint8_t *bytes; // of the unit
    struct subject subject, reply;
    struct hub_header header;
    struct cluster_member *member; // that has said it; NULL: no hub has
};

static bool is_own_realm(const struct link *link, const struct arrival *arrival) {
    const uint8_t *text = arrival->bytes + arrival->subject.realm.at;
    uint32_t bytes = arrival->subject.realm.bytes;
    assert(link->shard->index == 0);
    return (link->realm.bytes == bytes && memcmp(link->realm.text, text, bytes) == 0) ||
           (link->former.bytes && link->former.bytes == bytes && memcmp(link->former.text, text, bytes) == 0);
}

static bool is_for_hub(const struct link *link, const struct arrival *arrival) {
    return arrival->subject.hub.bytes == link->hub.bytes &&
           memcmp(arrival->bytes + arrival->subject.hub.at, link->hub.text, link->hub.bytes) == 0;
}

// Under which number a hub takes the answer; 0: nowhere.
static uint64_t reply_number(const struct arrival *arrival) {
    const struct subject *reply = &arrival->reply;
    const struct hub_name *hub = &arrival->header.hub;
    assert(arrival->member);
    return reply->kind == SUBJECT_ANSWER && reply->hub.bytes == hub->bytes &&
                   memcmp(arrival->bytes + reply->hub.at, hub->text, hub->bytes) == 0
               ? reply->number
               : 0;
}

// Numbers that are no request's are a claim's or a list's.
static bool take_answer(struct arrival *arrival) {
    struct link *link = arrival->link;
    uint64_t number = arrival->subject.number;
    const uint8_t *body = frame_body(arrival->frame);
    uint32_t bytes = arrival->frame->body.bytes;
    if (number < LINK_NUMBERS_FROM) {
        if (!outbound_request_answer(link, arrival->member, arrival->frame, arrival->said, &arrival->header,
                                     number))
            stats_count(&link->shard->stats, COUNT_ANSWERS_LATE);
        return true;
    }
    bool is_nobody = nats_status(arrival->bytes, arrival->said->headers) == 503;
    if (is_nobody)
        return name_claim_answer(link, NULL, number, NULL, 0);
    if (!arrival->member)
        return false;
    bool is_list = bytes && json_valid(body, bytes) &&
                   json_member(body, (struct span){0, bytes}, "agents").type == JSON_ARRAY;
    return is_list ? remote_directory_take(link, arrival->member, number, body, bytes)
                   : name_claim_answer(link, arrival->member, number, body, bytes);
}

// A report on a request's progress, from the hub that has it. What it may not be is a call.
static bool take_progress(struct arrival *arrival) {
    struct link *link = arrival->link;
    struct shard *shard = link->shard;
    struct hub_message message = {.header = arrival->header};
    uint64_t number = 0;
    enum error error;
    if (!hub_message_read(shard, arrival->frame, &message, &error) || hub_message_is_array(&message.frame))
        return false;
    if (!progress_number(shard, link->peer, &message.frame, &number))
        return false;
    if (!outbound_request_progress(link, arrival->member, number)) {
        drop_one(shard, COUNT_DROP_PROGRESS_UNKNOWN, link->peer->name, message.frame.body.bytes);
        return true;
    }
    return progress_remote(shard, link->peer, &message.frame);
}

// Approvers hear of what a hub holds that has this hub's REALM, or had it before.
static bool take_approval(struct arrival *arrival) {
    struct shard *shard = arrival->link->shard;
    const struct cluster_member *member = arrival->member;
    if (!member->has_beaten || !(realm_same(&member->realm, &arrival->link->realm) ||
                                 realm_same(&member->realm, &arrival->link->former)))
        return true;
    const uint8_t *body = frame_body(arrival->frame);
    uint32_t bytes = arrival->frame->body.bytes;
    struct text text;
    if (!bytes || !json_valid(body, bytes))
        return false;
    text_init(&text);
    text_add(&text, (const char *)body, bytes);
    if (!text.failed)
        events_announce(shard, arrival->link->peer->name, NULL, RIGHTS_GATE_EVENT, &text);
    text_deinit(&text);
    return true;
}

static bool take_agents(struct arrival *arrival) {
    return remote_directory_answer(arrival->link, arrival->member, &arrival->header, arrival->bytes,
                                   reply_number(arrival), frame_body(arrival->frame),
                                   arrival->frame->body.bytes);
}

// What a hub says to another one, or to all. False: it can't be read.
static bool take_from_hub(struct arrival *arrival) {
    struct link *link = arrival->link;
    const uint8_t *body = frame_body(arrival->frame);
    uint32_t bytes = arrival->frame->body.bytes;
    assert(arrival->member);
    switch (arrival->subject.kind) {
    case SUBJECT_NAME:
        return name_claim_take(link, arrival->member, &arrival->header, arrival->bytes,
                               arrival->subject.token, reply_number(arrival), body, bytes);
    case SUBJECT_TAKEN:
        return outbound_request_taken(link, arrival->member, body, bytes);
    case SUBJECT_HELD:
        return outbound_request_held(link, arrival->member, arrival->subject.number, body, bytes);
    case SUBJECT_CANCEL:
    case SUBJECT_HUBS_CANCEL:
        return inbound_request_cancel(link, arrival->member, arrival->frame, &arrival->header);
    case SUBJECT_PROGRESS:
        return take_progress(arrival);
    case SUBJECT_YIELD:
        return name_claim_yield(link, body, bytes);
    case SUBJECT_AGENTS:
    case SUBJECT_HUBS_AGENTS:
        return take_agents(arrival);
    case SUBJECT_HUBS_APPROVAL:
        return take_approval(arrival);
    case SUBJECT_GONE:
        heartbeat_end(link, arrival->member);
        return true;
    default:
        return false;
    }
}

// False: it can't be read, or isn't for anybody here.
static bool take_arrival(struct arrival *arrival) {
    struct link *link = arrival->link;
    enum subject_kind kind = arrival->subject.kind;
    bool is_named = kind <= SUBJECT_NAME, is_hubs = kind >= SUBJECT_HUBS_BEAT;
    if (kind == SUBJECT_KINDS_COUNT)
        return nats_service_take(link, arrival->bytes, arrival->said);
    if (link->state < LINK_JOINING || (is_named && !is_own_realm(link, arrival)) ||
        (!is_named && !is_hubs && !is_for_hub(link, arrival)))
        return false;
    if (kind == SUBJECT_HUBS_BEAT)
        return heartbeat_take(link, frame_body(arrival->frame), arrival->frame->body.bytes);
    if (arrival->header.given)
        arrival->member = heartbeat_hear(link, &arrival->header.hub);
    if (arrival->header.given && !arrival->member)
        return true; // of a link that has ended
    if (kind == SUBJECT_ANSWER)
        return take_answer(arrival);
    if (kind <= SUBJECT_NOTICE || kind == SUBJECT_DECIDE) {
        inbound_request_take(link, arrival->frame, arrival->said, &arrival->subject, &arrival->header,
                             arrival->member);
        return true;
    }
    return arrival->member && take_from_hub(arrival);
}

static void take_message(struct shard *shard, struct link *link, const struct frame *frame,
                         const struct nats_message *said) {
    struct arrival arrival = {
        .link = link, .frame = frame, .said = said, .bytes = frame->buffer->bytes + frame->at};
    const char *cluster = shard->hub->settings.cluster->name;
    assert(link->shard->index == 0);
    subject_read(cluster, arrival.bytes, said->subject, &arrival.subject);
    subject_read(cluster, arrival.bytes, said->reply, &arrival.reply);
    hub_header_read(arrival.bytes, said->headers, &arrival.header);
    if (arrival.subject.kind != SUBJECT_EVENT)
        events_flush(shard);
    if (!take_arrival(&arrival))
        hub_message_count_unreadable(shard);
}

static void nats_take(struct shard *shard, struct peer *peer, struct frame *frame) {
    const uint8_t *bytes = frame->buffer->bytes + frame->at;
    struct link *link = link_of(shard, peer);
    struct nats_message said;
    nats_read(bytes, frame->unit, &said);
    assert(link && peer->state == PEER_OPEN);
    if (link->state == LINK_SECURING) {
        peer_close(shard, peer, COUNTERS_COUNT);
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
        nats_handshake_welcome(shard, link);
        name_claim_pong(link);
        break;
    case NATS_ERR:
        nats_fault_said(link, bytes + said.argument.at,
                        said.argument.bytes); // where it is the end, the server closes
        break;
    default:
        break;
    }
}

// --- Time

// Whether the server answers: it is asked every 2 s, and lost once an answer is 5 s late.
static bool is_mute(struct link *link) {
    uint64_t now_ms = shard_now_ms(link->shard);
    assert(link->shard->index == 0);
    if (link->pings > link->pongs && now_ms - link->unanswered_ms >= CLUSTER_PONG_MS) {
        log_write(LOG_LINK_FAULT, LOG_FIELDS(log_unknown()), "cluster: the server doesn't answer");
        return true;
    }
    if (now_ms - link->pinged_ms >= CLUSTER_PING_MS)
        nats_write_ping(link);
    return false;
}

static void tick_peer(struct shard *shard, struct link *link) {
    assert(link->state == LINK_UP && link->peer->state == PEER_OPEN);
    if (is_mute(link)) {
        peer_close(shard, link->peer, COUNTERS_COUNT);
        return;
    }
    heartbeat_tick(link);
    if (link->peer->state == PEER_OPEN)
        outbound_request_tick(link);
    if (link->peer->state == PEER_OPEN)
        inbound_request_tick(link);
    name_claim_tick(link);
    remote_directory_tick(link);
    if (link->peer && link->peer->state == PEER_OPEN)
        wheel_arm(&shard->wheel, &link->timer, shard_now_ms(shard) + CLUSTER_TICK_MS);
}

static void tick_server(struct shard *shard, struct link *link) {
    assert(link->peer && link->state < LINK_UP);
    if (shard_now_ms(shard) - link->entered_ms >= CLUSTER_GREETING_MS) {
        peer_close(shard, link->peer, COUNTERS_COUNT);
        return;
    }
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
        nats_fault_found(link, "its name isn't known in time");
        link_give_up(link);
        break;
    case LINK_DIALLING:
        link_give_up(link);
        break;
    case LINK_GREETING:
    case LINK_SECURING:
    case LINK_JOINING:
        tick_server(shard, link);
        break;
    case LINK_UP:
        if (link->peer->state == PEER_OPEN)
            tick_peer(shard, link);
        break;
    }
}

// A hub that stood still drops its link, before anything that came is read.
static void nats_awake(struct shard *shard) {
    struct link *link = shard->link;
    if (!link)
        return;
    uint64_t now_ms = shard_now_ms(shard), since_ms = now_ms - link->turned_ms;
    bool is_up = link->state == LINK_UP && link->peer->state == PEER_OPEN;
    link->turned_ms = now_ms;
    if (!is_up || since_ms < CLUSTER_STILL_MS)
        return;
    log_write(LOG_LINK_FAULT, LOG_FIELDS(log_unknown()), "cluster: stood still for %llu.%llu s: a new link",
              (unsigned long long)since_ms / 1000, (unsigned long long)since_ms / 100 % 10);
    peer_close(shard, link->peer, COUNTERS_COUNT);
}

static void follow_settings(struct link *link) {
    const struct hub_settings *settings = link->shard->settings;
    bool has_former = settings->previous.bytes && shard_now_ms(link->shard) < settings->previous_until_ms;
    struct realm former = has_former ? settings->previous : (struct realm){.bytes = 0};
    assert(link->shard->index == 0);
    if (realm_same(&link->realm, &settings->realm) && realm_same(&link->former, &former))
        return;
    bool is_new = !realm_same(&link->realm, &settings->realm);
    nats_move_realm(link, &settings->realm, &former);
    if (is_new && link->peer->state == PEER_OPEN && link->state == LINK_UP)
        heartbeat_realm(link);
}

static void nats_follow(struct shard *shard) {
    struct link *link = shard->link;
    if (!link)
        return;
    if (link->state == LINK_SECURING && link->peer->state == PEER_OPEN)
        nats_handshake_secure(link);
    bool is_joined = link->state >= LINK_JOINING && link->peer->state == PEER_OPEN;
    if (is_joined && shard->phase != HUB_SERVING)
        nats_withdraw(link);
    else if (is_joined)
        follow_settings(link);
    if (is_joined && shard->phase == HUB_SERVING &&
        nats_subscriptions_is_behind(&link->subscriptions, &shard->agents))
        nats_follow_registry(link);
    name_claim_follow(link);
    remote_directory_follow(link);
    if (is_joined && !timer_armed(&link->timer))
        wheel_arm(&shard->wheel, &link->timer, shard_now_ms(shard) + CLUSTER_TICK_MS);
}

const struct transport transport_nats = {
    .name = "nats",
    .wire = &wire_nats,
    .gauge = GAUGE_LINK,
    .enter = nats_enter,
    .take = nats_take,
    .refuse = nats_refuse,
    .mistrust = nats_mistrust,
    .respond = inbound_request_respond,
    .leave = nats_leave,
    .divert = outbound_request_divert,
    .cancel = outbound_request_cancel,
    .held = inbound_request_hold,
    .report = inbound_request_report,
    .end_is_leaving = true,
};

// --- The registration

static bool cluster_is_on(const struct hub_settings *settings) {
    return settings->cluster != NULL;
}

static const char *cluster_start(struct shard *shard) {
    return link_open(shard, &transport_nats) ? NULL : "the link to other hubs";
}

static void cluster_event(struct shard *shard, const struct io_event *event, unsigned kind) {
    if (kind == CLUSTER_TOKEN_LINK)
        link_connected(shard, event);
    else
        nats_handshake_resolved(shard, event);
}

static void cluster_drain(struct shard *shard) {
    if (shard->phase == HUB_DRAINING)
        link_stop(shard);
    else if (shard->phase == HUB_CLOSING)
        heartbeat_farewell(shard);
}

static bool cluster_holds_phase(const struct shard *shard) {
    return shard->phase == HUB_CLOSING && !link_at_rest(shard);
}

const struct feature cluster_feature = {
    .name = "cluster",
    .is_on = cluster_is_on,
    .start = cluster_start,
    .close = link_free,
    .timer = nats_tick,
    .event = cluster_event,
    .turn_begins = nats_awake,
    .turn_ends = nats_follow,
    .drain = cluster_drain,
    .holds_phase = cluster_holds_phase,
};
