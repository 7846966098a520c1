#include "router/features/cluster/nats_receive.h"

#include <assert.h>
#include <string.h>

#include "router/engine/message/message.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/annex.h"
#include "router/engine/shard/drop.h"
#include "router/events/events.h"
#include "router/features/cluster/heartbeat.h"
#include "router/features/cluster/hub_message.h"
#include "router/features/cluster/inbound_cancel.h"
#include "router/features/cluster/inbound_identity.h"
#include "router/features/cluster/inbound_request.h"
#include "router/features/cluster/inbound_response.h"
#include "router/features/cluster/interest.h"
#include "router/features/cluster/link_deadlines.h"
#include "router/features/cluster/name_claim.h"
#include "router/features/cluster/name_conflict.h"
#include "router/features/cluster/nats_connect.h"
#include "router/features/cluster/nats_fault.h"
#include "router/features/cluster/nats_handshake.h"
#include "router/features/cluster/nats_publish.h"
#include "router/features/cluster/nats_service.h"
#include "router/features/cluster/outbound_request.h"
#include "router/features/cluster/outbound_response.h"
#include "router/features/cluster/register_barrier.h"
#include "router/features/cluster/remote_directory.h"
#include "router/features/cluster/spill_report.h"
#include "router/forwarding/remote_target.h"
#include "router/routing/route.h"

// --- Coming and going

static bool nats_enter(struct shard *shard, struct peer *peer) {
    struct link *link = shard->link;
    assert(link && !link->peer);
    if (!peer_annex(shard, peer))
        return false;
    peer->initialized = true;
    link_entered(link, peer);
    inbound_identity_enter(link);
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
    nats_fault_found(link_of(shard, peer), why ? why : "what came over TLS can't be opened");
    peer_close(shard, peer, COUNTERS_COUNT);
}

// --- To this hub

static void take_signs(struct shard *shard, struct link *link, const struct frame *frame,
                       const struct nats_message *said, enum subject_kind kind) {
    const uint8_t *bytes = frame->buffer->bytes + frame->at;
    struct hub_message opened;
    enum error error;
    hub_header_read(bytes, said->headers, &opened.header);
    if (!opened.header.given || !opened.header.has_hub) {
        hub_message_count_unreadable(shard);
        return;
    }
    heartbeat_take(link, bytes, &opened.header);
    if (kind == SUBJECT_BEAT)
        heartbeat_beaten(link, &opened.header);
    if (opened.header.inquired && !link_is_own(link, opened.header.hub))
        remote_directory_answer(link, bytes, &opened.header);
    if (link_is_own(link, opened.header.hub))
        return;
    if (opened.header.names && !interest_take(link, &opened.header, frame_body(frame), frame->body.bytes))
        hub_message_count_unreadable(shard);
    if (kind != SUBJECT_HUB || opened.header.names)
        return;
    name_claim_hear(link, bytes, &opened.header);
    if (!name_conflict_take(link, &opened.header, frame_body(frame), frame->body.bytes))
        hub_message_count_unreadable(shard);
    if (frame->body.bytes == 0 || opened.header.claims || opened.header.yields)
        return;
    if (opened.header.part) {
        if (!remote_directory_take(link, &opened.header, frame_body(frame), frame->body.bytes))
            hub_message_count_unreadable(shard);
        return;
    }
    if (!hub_message_read(shard, frame, said, &opened, &error) || hub_message_is_array(&opened.frame)) {
        hub_message_count_unreadable(shard);
        return;
    }
    inbound_identity_report(link);
    route_frame(shard, link->peer, &opened.frame, NULL);
    inbound_identity_end(link);
}

// Nobody is there for whom a notification names first.
static void take_nobody(struct shard *shard, struct link *link, uint64_t number) {
    assert(link->peer);
    if (!fallback_watch_nobody(&link->fallback_watch, number))
        drop_one(shard, COUNT_DROP_NO_ROUTE, link->peer->name, 0);
}

// Whether it is about something that is known by this number: behind a letter, as hubs write it.
static bool is_about(const uint8_t *bytes, struct span behind, const char letter[2], uint64_t *number) {
    return behind.bytes > 2 && memcmp(bytes + behind.at, letter, 2) == 0 &&
           hub_header_read_digits(bytes, (struct span){behind.at + 2, behind.bytes - 2}, number);
}

static void take_for_hub(struct shard *shard, struct link *link, const struct frame *frame,
                         const struct nats_message *said, struct span rest) {
    const uint8_t *bytes = frame->buffer->bytes + frame->at;
    uint64_t number = 0;
    enum subject_kind kind;
    struct span token;
    if (rest.bytes < HUB_NAME_BYTES || memcmp(bytes + rest.at, link->hub, HUB_NAME_BYTES) != 0) {
        hub_message_count_unreadable(shard);
        return;
    }
    struct span behind = {rest.at + HUB_NAME_BYTES + 1, rest.bytes - HUB_NAME_BYTES - 1};
    bool about_hub =
        rest.bytes == HUB_NAME_BYTES + 3 + HUB_NAME_BYTES && memcmp(bytes + behind.at, "a.", 2) == 0;
    bool about_name = is_about(bytes, behind, "h.", &number),
         about_cancel = is_about(bytes, behind, "c.", &number);
    bool about_sought = behind.bytes == REMOTE_TARGET_SOUGHT_BYTES &&
                        is_about(bytes, (struct span){behind.at, behind.bytes - 2}, "m.", &number);
    if (rest.bytes == HUB_NAME_BYTES)
        take_signs(shard, link, frame, said, SUBJECT_HUB);
    else if (about_hub && nats_status(bytes, said->headers) == 503)
        heartbeat_hub_gone(link, (const char *)bytes + behind.at + 2);
    else if (about_name && nats_status(bytes, said->headers) == 503)
        name_claim_nobody(link, number);
    else if (about_cancel)
        inbound_cancel_take(link, frame, said, number);
    else if (about_sought && nats_status(bytes, said->headers) == 503)
        take_nobody(shard, link, number);
    else if (behind.bytes == 1 && bytes[behind.at] == REMOTE_TARGET_UNANSWERED)
        drop_one(shard, COUNT_DROP_NO_ROUTE, link->peer->name, 0);
    else if ((kind = subject_read_kind(bytes, behind, &token)) < SUBJECT_EVENT && token.bytes)
        inbound_request_take(shard, link, frame, said, kind, token);
    else if (hub_header_read_digits(bytes, behind, &number))
        outbound_response_take(shard, link, frame, said, number);
    else
        hub_message_count_unreadable(shard);
}

static void take_holder(struct shard *shard, struct link *link, const uint8_t *bytes,
                        const struct nats_message *said, struct span token) {
    struct hub_header header;
    hub_header_read(bytes, said->headers, &header);
    if (header.given && header.has_hub && link_is_own(link, header.hub))
        return; // of the link before this one
    heartbeat_heard(link, &header);
    if (!name_claim_take(link, bytes, &header, token))
        hub_message_count_unreadable(shard);
}

static void take_message(struct shard *shard, struct link *link, const struct frame *frame,
                         const struct nats_message *said) {
    const uint8_t *bytes = frame->buffer->bytes + frame->at;
    struct span rest;
    enum subject_kind kind = subject_read(shard->hub->settings.cluster->name, bytes, said->subject, &rest);
    if (kind != SUBJECT_EVENT)
        events_flush(shard);
    if (link->state < LINK_JOINING)
        hub_message_count_unreadable(shard);
    else if (kind == SUBJECT_HUB)
        take_for_hub(shard, link, frame, said, rest);
    else if (kind == SUBJECT_HOLDER)
        take_holder(shard, link, bytes, said, rest);
    else if (kind <= SUBJECT_NOTICE)
        inbound_request_take(shard, link, frame, said, kind, rest);
    else if ((kind == SUBJECT_HUBS || kind == SUBJECT_BEAT) && rest.bytes == 0)
        take_signs(shard, link, frame, said, kind);
    else if (!nats_service_take(link, bytes, said))
        hub_message_count_unreadable(shard);
}

static void nats_take(struct shard *shard, struct peer *peer, struct frame *frame) {
    const uint8_t *bytes = frame->buffer->bytes + frame->at;
    struct link *link = link_of(shard, peer);
    struct nats_message said;
    nats_read(bytes, frame->unit, &said);
    assert(link && peer->state == PEER_OPEN);
    link->is_pinged = false;
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
        fallback_watch_answered(&link->fallback_watch, link->pongs);
        nats_handshake_welcome(shard, link);
        register_barrier_answered(link);
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

// Whether the registry has it, or may come to: where there was no memory for that, another link may find some.
static bool is_known(struct shard *shard, const struct link *link) {
    const struct agent *agent = remote_target_link(shard);
    assert(link->state == LINK_UP);
    return (agent && agent->home->connection == link->peer->name) ||
           shard_now_ms(shard) - link->up_ms < LINK_GREETING_MS;
}

// When somebody has waited long enough, or else after a while.
static void look_again(struct shard *shard, struct link *link) {
    uint64_t at_ms = shard_now_ms(shard) + LINK_LOOK_MS, due_ms = link_deadlines_due_ms(link);
    wheel_arm(&shard->wheel, &link->timer, due_ms < at_ms ? due_ms : at_ms);
}

static void look_at_peer(struct shard *shard, struct link *link) {
    uint32_t silent_ms = shard_since(shard, link->peer->heard_ms);
    assert(link->state == LINK_UP);
    if (silent_ms >= LINK_DEATH_MS || !is_known(shard, link)) {
        peer_close(shard, link->peer, COUNTERS_COUNT);
        return;
    }
    if (silent_ms >= LINK_SILENCE_MS && !link->is_pinged) {
        link->is_pinged = true;
        nats_write_ping(link);
    }
    link_deadlines_expire(link);
    if (shard_now_ms(shard) - link->beat_ms >= LINK_BEAT_MS)
        heartbeat_beat(link);
    look_again(shard, link);
}

static void look_at_server(struct shard *shard, struct link *link) {
    assert(link->peer && link->state < LINK_UP);
    if (shard_now_ms(shard) - link->entered_ms >= LINK_GREETING_MS) {
        peer_close(shard, link->peer, COUNTERS_COUNT);
        return;
    }
    link_deadlines_expire(link);
    look_again(shard, link);
}

// Whether this hub stood still itself: the look comes far too late, and before what has come meanwhile is read.
static bool stood_still(struct shard *shard, struct link *link) {
    uint64_t now_ms = shard_now_ms(shard), since_ms = now_ms - link->looked_ms;
    assert(link->state == LINK_UP);
    link->looked_ms = now_ms;
    if (since_ms <= 2 * LINK_LOOK_MS)
        return false;
    wheel_arm(&shard->wheel, &link->timer, now_ms + LINK_WAKE_MS);
    return true;
}

void nats_look(struct shard *shard, struct timer *timer) {
    struct link *link = list_entry(timer, struct link, timer);
    assert(!timer_armed(timer));
    inflight_shrink(&link->inflight);
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
        look_at_server(shard, link);
        break;
    case LINK_UP:
        if (link->peer->state == PEER_OPEN && !stood_still(shard, link))
            look_at_peer(shard, link);
        break;
    }
}

static void secure(struct link *link) {
    if (link && link->state == LINK_SECURING && link->peer->state == PEER_OPEN)
        nats_handshake_secure(link);
}

// Of this turn.
static void say_rest(struct link *link) {
    nats_publish_taken(link);
    if (fallback_watch_follow(&link->fallback_watch, link->pings + 1))
        nats_write_ping(link);
}

void nats_follow(struct shard *shard) {
    struct link *link = shard->link;
    secure(link);
    if (link->state < LINK_JOINING || link->peer->state != PEER_OPEN) {
        name_claim_follow(link);
        register_barrier_follow(link);
        remote_directory_follow(link);
        interest_follow(link);
        return;
    }
    assert(link->peer);
    name_claim_follow(link);
    name_conflict_follow(link);
    if (!timer_armed(&link->timer))
        wheel_arm(&shard->wheel, &link->timer, shard_now_ms(shard) + LINK_LOOK_MS);
    if (nats_subscriptions_is_behind(&link->presence, &shard->agents))
        nats_follow_registry(link);
    interest_follow(link);
    register_barrier_follow(link);
    remote_directory_follow(link);
    say_rest(link);
}

const struct transport transport_nats = {
    .name = "nats",
    .wire = &wire_nats,
    .gauge = GAUGE_LINK,
    .enter = nats_enter,
    .take = nats_take,
    .refuse = nats_refuse,
    .mistrust = nats_mistrust,
    .respond = inbound_response_respond,
    .leave = nats_leave,
    .divert = outbound_request_divert,
    .forget = outbound_request_forget,
    .vets = inbound_request_vets,
    .report = inbound_response_report,
    .is_link = true,
    .end_is_leaving = true,
};
