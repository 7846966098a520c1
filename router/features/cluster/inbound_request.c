#include "router/features/cluster/inbound_request.h"

#include <assert.h>
#include <string.h>

#include "core/cluster/remote_acl.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/annex.h"
#include "router/engine/shard/child_record.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/identity.h"
#include "router/features/cluster/hub_message.h"
#include "router/features/cluster/inbound_identity.h"
#include "router/features/cluster/inbound_response.h"
#include "router/features/cluster/nats_publish.h"
#include "router/forwarding/remote_target.h"
#include "router/routing/route.h"

static struct attachment *room_for_name(struct link *link) {
    if (!link->attached)
        link->attached = quota_take(&link->shard->quota, sizeof *link->attached + AGENT_ID_BYTES_MAX);
    return link->attached;
}

// Who is meant by the subject is meant where the body doesn't say so: of agents and capabilities. Until what came is routed.
static enum error attach(struct link *link, enum subject_kind kind, const uint8_t *token, size_t bytes) {
    size_t at = kind == SUBJECT_CAPABILITY;
    assert(!link->peer->annex->attachment);
    if (kind != SUBJECT_AGENT && kind != SUBJECT_CAPABILITY)
        return ERROR_NONE;
    struct attachment *attached = room_for_name(link);
    if (!attached)
        return ERROR_OVERLOADED;
    attached->agent[0] = '@';
    size_t count = subject_unescape(attached->agent + at, AGENT_ID_BYTES_MAX - at, token, bytes);
    if (count == SIZE_MAX || count == 0)
        return ERROR_AGENT_NOT_FOUND;
    attached->bytes = (uint32_t)(at + count);
    link->peer->annex->attachment = attached;
    return ERROR_NONE;
}

// What a hub says to all who name it comes by itself, and what it says to one who offers it, too.
static enum telling telling_of(enum subject_kind kind, const struct hub_header *header) {
    if (kind == SUBJECT_NOTICE)
        return TELLING_ALL;
    return kind == SUBJECT_METHOD && header->given && header->has_hub ? TELLING_ONE : TELLING_ANY;
}

static void route_from(struct shard *shard, struct link *link, struct hub_message *opened,
                       struct exchange *exchange, const struct inbound_request *inbound) {
    assert(exchange->inbound == inbound);
    route_frame(shard, link->peer, &opened->frame, exchange);
    bool waits = exchange->due > 1 && inbound->hub && !exchange->probed;
    if (waits && link->peer->state == PEER_OPEN)
        nats_publish_note_taken(link, inbound->hub, inbound->number);
}

static void route_visitor(struct shard *shard, struct link *link, struct hub_message *opened,
                          const struct inbound_address *inbound_address) {
    struct exchange *exchange = exchange_open(shard, link->peer);
    if (!exchange) {
        peer_close(shard, link->peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    enum error error;
    struct inbound_request *inbound =
        inbound_response_enter(link, exchange, &opened->header, inbound_address, &error);
    if (inbound && inbound->hub)
        exchange->offered =
            opened->header.offered < UINT32_MAX ? (uint32_t)opened->header.offered : UINT32_MAX;
    exchange->probed = opened->header.probes;
    if (inbound)
        route_from(shard, link, opened, exchange, inbound);
    else if (error)
        inbound_response_refuse(link, inbound_address->reply, inbound_address->reply_bytes, &opened->header,
                                error, false, 0);
    else
        hub_message_count_unreadable(shard);
    exchange_close(shard, exchange);
}

// Where it is heard, and delivered, without being answered.
static void route_deferred(struct shard *shard, struct link *link, struct hub_message *opened) {
    struct exchange *exchange = exchange_open(shard, link->peer);
    assert(!link->defers);
    if (!exchange) {
        peer_close(shard, link->peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    link->defers = true;
    route_frame(shard, link->peer, &opened->frame, exchange);
    link->defers = false;
    exchange_close(shard, exchange);
}

// What is asked where all hubs hear it, or all at which somebody names it: one of them answers, that of the least name.
static bool is_for_another_hub(struct link *link, enum subject_kind kind, const uint8_t *bytes,
                               struct span token) {
    uint64_t named = hub_named_hash(link->shard->hub, bytes + token.at, token.bytes);
    assert(kind == SUBJECT_EVENT || kind == SUBJECT_NOTICE);
    return !cluster_members_is_least(&link->inflight.cluster_members, link->hub,
                                     kind == SUBJECT_NOTICE ? &named : NULL);
}

// Whether a server of MCP has this name: what such a one opens with a client, and tells it, is its own hub's affair.
static bool serves_here(struct shard *shard, const struct attachment *name) {
    const struct agent *agent = name ? agents_find(&shard->agents, name->agent, name->bytes) : NULL;
    return agent && agent->child && child_record_is_mcp(agent->child);
}

// Whoever is asked for has subscribed to what came. While the hub moves it may be asked by itself.
static void answer_probe(struct link *link, const struct hub_header *header, uint64_t number) {
    assert(header->given && header->probes);
    uint32_t there = link_is_own(link, header->hub) ? PROBE_NOBODY : PROBE_SOMEBODY;
    if (there && header->attaches && serves_here(link->shard, link->peer->annex->attachment))
        there = PROBE_SERVES_HERE;
    if (header->has_hub && number)
        nats_publish_back(link, header->hub, number, there, false);
    else
        hub_message_count_unreadable(link->shard);
}

// What that hub says of whom it may reach, in `fence`; false: nothing.
static bool read_fence(const struct link *link, const uint8_t *bytes, const struct hub_header *header,
                       struct remote_acl *acl) {
    bool given = header->given && header->has_hub &&
                 (header->is_approved || header->denied.bytes || header->holds.bytes);
    assert(!link->peer->annex->acl);
    if (!given)
        return false;
    remote_acl_read(acl, bytes, header->denied, header->holds);
    acl->approved = header->is_approved;
    acl->user = identity_user(link->peer);
    return true;
}

// No agent's name is longer, and hubs name none that is written with escapes.
static bool is_name(const uint8_t *text, size_t bytes) {
    return bytes > 0 && bytes <= AGENT_ID_BYTES_MAX && !memchr(text, '\\', bytes);
}

// NULL: there is none any more.
static void name_source(struct annex *annex, const uint8_t *bytes, const struct hub_header *header) {
    bool is_said = header && header->given && header->has_hub;
    bool named = is_said && is_name(bytes + header->agent.at, header->agent.bytes);
    annex->hub = is_said ? header->hub : NULL;
    annex->named = named ? (const char *)bytes + header->agent.at : NULL;
    annex->named_bytes = named ? header->agent.bytes : 0;
}

// How what came is answered.
enum answering { UNANSWERED, ANSWERED, DEFERRED };

// --- Once it has been looked up

// What all hubs hear, and one of them answers, is all of theirs to deliver where it is an event, and else that one's alone.
static bool is_of_one_hub(const struct message *message) {
    const struct lookup *lookup = &message->lookup;
    return lookup->kind == BODY_REQUEST &&
           (lookup_has(lookup, KEY_TARGET_AGENT) ||
            !json_string_is(message->body, lookup->value[KEY_METHOD], "event"));
}

// While an answer is read, nothing else may come than what it answers; else, no answer.
bool inbound_request_vets(struct shard *shard, const struct message *message) {
    struct link *link = link_of(shard, message->peer);
    const struct lookup *lookup = &message->lookup;
    uint64_t id = 0;
    if (link->answers) {
        link->has_answered = lookup->kind == BODY_RESPONSE && lookup_has(lookup, KEY_ID) &&
                             lookup->type[KEY_ID] == JSON_NUMBER &&
                             json_number_whole(message->body, lookup->value[KEY_ID], &id) &&
                             id == link->answers;
        return link->has_answered;
    }
    if (link->defers && is_of_one_hub(message))
        return false;
    if (lookup->kind != BODY_RESPONSE && (lookup->kind != BODY_STREAM || message->exchange))
        return true;
    drop_one(shard, COUNT_DROP_RESPONSE_UNKNOWN, message->peer->name, message->frame->body.bytes);
    return false;
}

static void route_call(struct shard *shard, struct link *link, const uint8_t *bytes,
                       struct hub_message *opened, const struct inbound_address *inbound_address,
                       enum answering answering) {
    struct remote_acl acl;
    assert(answering != ANSWERED || inbound_address->reply_bytes > 0);
    inbound_identity_begin(link, bytes, &opened->header);
    name_source(link->peer->annex, bytes, &opened->header);
    link->peer->annex->acl = read_fence(link, bytes, &opened->header, &acl) ? &acl : NULL;
    if (answering == ANSWERED)
        route_visitor(shard, link, opened, inbound_address);
    else if (opened->header.probes)
        hub_message_count_unreadable(shard); // it would be delivered
    else if (answering == DEFERRED)
        route_deferred(shard, link, opened);
    else
        route_frame(shard, link->peer, &opened->frame, NULL);
    inbound_identity_end(link);
    name_source(link->peer->annex, bytes, NULL); // what it was read from goes
    link->peer->annex->acl = NULL;
}

void inbound_request_take(struct shard *shard, struct link *link, const struct frame *frame,
                          const struct nats_message *said, enum subject_kind kind, struct span token) {
    const uint8_t *bytes = frame->buffer->bytes + frame->at, *reply = bytes + said->reply.at;
    struct hub_message opened;
    enum error error;
    assert(kind <= SUBJECT_NOTICE);
    hub_header_read(bytes, said->headers, &opened.header);
    bool is_copy = kind == SUBJECT_EVENT || kind == SUBJECT_NOTICE;
    stats_count(&shard->stats, COUNT_CROSSED_IN);
    if (hub_message_read_body(shard, frame, said, &opened, &error))
        error = hub_message_is_array(&opened.frame) ? ERROR_INVALID_REQUEST
                                                    : attach(link, kind, bytes + token.at, token.bytes);
    link->peer->annex->telling = telling_of(kind, &opened.header);
    bool is_own = opened.header.has_hub && link_is_own(link, opened.header.hub);
    bool asks = said->reply.bytes &&
                !(opened.header.given && inbound_response_is_unanswered(reply, said->reply.bytes));
    enum answering answering = !asks ? UNANSWERED : ANSWERED;
    if (asks && is_copy && is_for_another_hub(link, kind, bytes, token))
        answering = DEFERRED;
    struct inbound_address inbound_address = {bytes + said->subject.at, reply, said->subject.bytes,
                                              answering == DEFERRED ? 0 : said->reply.bytes};
    if (opened.header.probes && !opened.header.is_judged && said->reply.bytes && !asks &&
        kind < SUBJECT_EVENT) {
        // That somebody has heard it is known there by the server's silence.
    } else if (opened.header.probes &&
               (is_own || !opened.header.is_judged || kind >= SUBJECT_EVENT || !opened.header.has_hub)) {
        answer_probe(link, &opened.header, inbound_response_number(reply, said->reply.bytes));
    } else if (error) {
        hub_message_count_unreadable(shard);
        inbound_response_refuse(link, reply, inbound_address.reply_bytes, &opened.header, error,
                                hub_message_head_is_too_large(&opened), frame->unit->body_bytes);
    } else if (is_own) {
        // While the hub moves to another server it may get what it has asked of others. Who is here might be who asks; what was
        // offered goes back. What is for all, those who are here have got.
        if (!is_copy)
            inbound_response_refuse(link, reply, said->reply.bytes, &opened.header, ERROR_TARGET_DISCONNECTED,
                                    false, 0);
    } else {
        route_call(shard, link, bytes, &opened, &inbound_address, answering);
    }
    link->peer->annex->attachment = NULL;
}
