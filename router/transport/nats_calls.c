#include "router/transport/nats_calls.h"

#include <assert.h>
#include <string.h>

#include "router/route/elsewhere.h"
#include "router/route/route.h"
#include "router/send/exchange.h"
#include "router/shard/annex.h"
#include "router/transport/nats_open.h"
#include "router/transport/nats_say.h"
#include "router/transport/visiting.h"
#include "router/transport/vouched.h"

// Who is meant by the subject is meant where the body doesn't say so: of agents and capabilities.
static enum error attach(struct shard *shard, struct link *link, enum subject_kind kind, const uint8_t *token,
                         size_t bytes) {
    struct annex *annex = link->peer->annex;
    char name[AGENT_ID_BYTES_MAX] = "@";
    size_t at = kind == SUBJECT_CAPABILITY;
    if (kind != SUBJECT_AGENT && kind != SUBJECT_CAPABILITY) {
        kept_give(&shard->kept, annex->attachment);
        annex->attachment = NULL;
        return ERROR_NONE;
    }
    const struct attachment *attached = annex->attachment;
    bool is_same = attached && !at && attached->bytes == bytes &&
                   memcmp(attached->agent, token, bytes) == 0 && !memchr(token, '_', bytes);
    if (is_same)
        return ERROR_NONE;
    size_t count = subject_unescape(name + at, sizeof name - at, token, bytes);
    if (count == SIZE_MAX || count == 0)
        return ERROR_AGENT_NOT_FOUND;
    count += at;
    if (annex->attachment && annex->attachment->bytes == count &&
        memcmp(annex->attachment->agent, name, count) == 0)
        return ERROR_NONE;
    return annex_attach(&shard->kept, annex, name, count) ? ERROR_NONE : ERROR_OVERLOADED;
}

// What a hub says to all who name it comes by itself, and what it says to one who offers it, too.
static enum telling telling_of(enum subject_kind kind, const struct mark *mark) {
    if (kind == SUBJECT_NOTICE)
        return TELLING_ALL;
    return kind == SUBJECT_METHOD && mark->given && mark->has_hub ? TELLING_ONE : TELLING_ANY;
}

static void route_visitor(struct shard *shard, struct link *link, struct opened *opened,
                          const struct passage *passage) {
    struct exchange *exchange = exchange_open(shard, link->peer);
    if (!exchange) {
        peer_close(shard, link->peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    enum error error;
    struct visitor *visitor = visiting_enter(link, exchange, &opened->mark, passage, &error);
    if (visitor && visitor->hub)
        exchange->offered = opened->mark.offered < UINT32_MAX ? (uint32_t)opened->mark.offered : UINT32_MAX;
    if (visitor)
        route_frame(shard, link->peer, &opened->frame, exchange);
    else if (error)
        visiting_refuse(link, passage->reply, passage->reply_bytes, &opened->mark, error, 0);
    else
        nats_count_unreadable(shard);
    bool waits = visitor && exchange->due > 1 && visitor->hub;
    if (waits && link->peer->state == PEER_OPEN)
        nats_note_taken(link, visitor->hub->name, visitor->number);
    exchange_close(shard, exchange);
}

// Whoever is asked for has subscribed to what came. While the hub moves it may be asked by itself.
static void answer_probe(struct link *link, const struct mark *mark, uint64_t number) {
    assert(mark->given && mark->probes);
    if (mark->has_hub && number)
        nats_say_back(link, mark->hub, number, !link_is_own(link, mark->hub));
    else
        nats_count_unreadable(link->shard);
}

// NULL: there is none any more.
static void name_source(struct annex *annex, const uint8_t *bytes, const struct mark *mark) {
    bool is_said = mark && mark->given && mark->has_hub, named = is_said && mark->agent.bytes;
    annex->hub = is_said ? mark->hub : NULL;
    annex->named = named ? (const char *)bytes + mark->agent.at : NULL;
    annex->named_bytes = named ? mark->agent.bytes : 0;
}

void nats_take_call(struct shard *shard, struct link *link, const struct frame *frame,
                    const struct nats_message *said, enum subject_kind kind, struct span token) {
    const uint8_t *bytes = frame->buffer->bytes + frame->at, *reply = bytes + said->reply.at;
    struct opened opened;
    enum error error;
    assert(kind <= SUBJECT_NOTICE);
    bool is_copy = kind == SUBJECT_EVENT || kind == SUBJECT_NOTICE;
    stats_count(&shard->stats, COUNT_CROSSED_IN);
    if (is_copy && link->is_deaf)
        return;
    if (nats_open(shard, frame, said, &opened, &error))
        error = nats_is_array(&opened.frame) ? ERROR_INVALID_REQUEST
                                             : attach(shard, link, kind, bytes + token.at, token.bytes);
    link->peer->annex->telling = telling_of(kind, &opened.mark);
    if (opened.mark.probes) {
        answer_probe(link, &opened.mark, visiting_number(reply, said->reply.bytes));
    } else if (error) {
        nats_count_unreadable(shard);
        visiting_refuse(link, reply, said->reply.bytes, &opened.mark, error, frame->unit->body_bytes);
    } else if (opened.mark.has_hub && link_is_own(link, opened.mark.hub)) {
        // While the hub moves to another server it may get what it has asked of others. Who is here might be who asks; what was
        // offered goes back. What is for all, those who are here have got.
        if (!is_copy)
            visiting_refuse(link, reply, said->reply.bytes, &opened.mark, ERROR_TARGET_DISCONNECTED, 0);
    } else {
        struct passage passage = {bytes + said->subject.at, reply, said->subject.bytes, said->reply.bytes};
        bool waits = kind != SUBJECT_NOTICE && said->reply.bytes &&
                     !(opened.mark.given && visiting_is_unanswered(reply, said->reply.bytes));
        vouched_begin(link, bytes, &opened.mark);
        name_source(link->peer->annex, bytes, &opened.mark);
        if (waits)
            route_visitor(shard, link, &opened, &passage);
        else
            route_frame(shard, link->peer, &opened.frame, NULL);
        vouched_end(link);
        name_source(link->peer->annex, bytes, NULL); // what it was read from goes
    }
}
