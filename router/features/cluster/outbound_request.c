#include "router/features/cluster/outbound_request.h"

#include <assert.h>
#include <string.h>

#include "router/engine/message/error_target.h"
#include "router/engine/send/reply.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/annex.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/post.h"
#include "router/features/cluster/hub_message.h"
#include "router/features/cluster/nats_publish.h"
#include "router/features/cluster/outbound_cancel.h"
#include "router/features/cluster/outbound_retry.h"
#include "router/features/cluster/spill_report.h"
#include "router/forwarding/responses.h"
#include "router/routing/route.h"

// --- What ends here

// As if its target had answered so. Without memory the link is lost, and with it the request.
static void end_crossing_with(struct link *link, struct outbound_request *outbound, enum error error,
                              struct text *data) {
    struct shard *shard = link->shard;
    struct text text;
    uint64_t hub_id = outbound->hub_id;
    char digits[24];
    struct reply_to to = {.id = digits, .id_bytes = (uint32_t)text_digits(digits, hub_id)};
    struct span id = reply_put_error(&text, to, error, data);
    text_deinit(data);
    struct buffer *buffer = text.failed ? NULL : buffer_take_sized(&shard->buffers, (uint32_t)text.length);
    inflight_remove(&link->inflight, outbound);
    if (buffer) {
        struct unit unit = {
            .sized = true, .bytes = (uint32_t)text.length, .body_bytes = (uint32_t)text.length};
        memcpy(buffer->bytes, text.bytes, text.length);
        struct frame frame = frame_at(buffer, 0, &unit);
        responses_end(shard, link->peer, &frame, id, hub_id, ANSWER_ERROR | ANSWER_BY_HUB);
    } else {
        peer_close(shard, link->peer, COUNT_CLOSED_NO_MEMORY);
    }
    buffer_drop(buffer);
    text_deinit(&text);
}

// With one member in its data; a key of NULL: none.
static void end_crossing(struct link *link, struct outbound_request *outbound, enum error error,
                         const char *key, const struct piece *value) {
    struct text data;
    text_init(&data);
    assert(error != ERROR_NONE);
    if (key)
        reply_data_string(&data, key, value->bytes, value->count);
    end_crossing_with(link, outbound, error, &data);
}

void outbound_request_unapproved(struct link *link, struct outbound_request *outbound) {
    struct text data;
    text_init(&data);
    error_target_put(&data, (enum subject_kind)outbound->kind, outbound->token, outbound->token_bytes);
    reply_data_text(&data, "fault", "another hub wants it approved");
    end_crossing_with(link, outbound, ERROR_APPROVAL_REQUIRED, &data);
}

void outbound_request_end(struct link *link, struct outbound_request *outbound, const char *fault) {
    struct text data;
    assert(fault);
    text_init(&data);
    error_target_put(&data, (enum subject_kind)outbound->kind, outbound->token, outbound->token_bytes);
    reply_data_text(&data, "fault", fault);
    end_crossing_with(link, outbound, ERROR_INTERNAL, &data);
}

void outbound_request_too_large(struct link *link, struct outbound_request *outbound, bool by_head,
                                uint64_t bytes) {
    struct text data;
    text_init(&data);
    error_target_put(&data, (enum subject_kind)outbound->kind, outbound->token, outbound->token_bytes);
    reply_data_text(&data, "fault", "the answer is over this hub's limit");
    hub_message_put_excess(link->shard, by_head, bytes, &data);
    end_crossing_with(link, outbound, ERROR_FRAME_TOO_LARGE, &data);
}

// As its target has answered, or another hub: `frame` is nothing but an answer to it, or can't be read.
static void route_answer(struct link *link, struct outbound_request *outbound, struct frame *frame,
                         bool refuses) {
    struct shard *shard = link->shard;
    uint64_t number = outbound->hub_id;
    assert(number && !link->answers);
    link->answers = number;
    link->has_answered = false;
    link->peer->annex->refuses = refuses;
    route_frame(shard, link->peer, frame, NULL);
    link->peer->annex->refuses = false;
    link->answers = 0;
    outbound = inflight_find(&link->inflight, number);
    if (outbound && link->has_answered)
        inflight_remove(&link->inflight, outbound);
    else if (outbound)
        outbound_request_end(link, outbound, "the answer could not be read");
}

// As the first hub that was asked has said.
static void end_refused(struct link *link, struct outbound_request *outbound) {
    const struct outbound_refusal *refusal = outbound_request_refusal(outbound);
    assert(refusal && refusal->bytes > 0);
    struct shard *shard = link->shard;
    struct buffer *buffer = buffer_take_sized(&shard->buffers, refusal->bytes);
    if (!buffer) {
        peer_close(shard, link->peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    struct unit unit = {.sized = true, .bytes = refusal->bytes, .body_bytes = refusal->bytes};
    memcpy(buffer->bytes, refusal->text, refusal->bytes);
    struct frame frame = frame_at(buffer, 0, &unit);
    route_answer(link, outbound, &frame, true);
    buffer_drop(buffer);
}

void outbound_request_answered(struct link *link, struct outbound_request *outbound,
                               const struct hub_header *header, struct frame *frame) {
    bool is_hub = header->given && header->has_hub, refuses = is_hub && header->refused;
    link->peer->annex->unsaid = is_hub && header->unsaid;
    if (!refuses || !outbound_retry_keep(link, outbound, header, frame))
        route_answer(link, outbound, frame, refuses);
    else if (!outbound_retry_next(link, outbound))
        end_refused(link, outbound);
    link->peer->annex->unsaid = false;
}

// Its name as the message had it.
static struct piece name_of(const struct outbound_request *outbound, char name[METHOD_BYTES_MAX + 1]) {
    size_t at = outbound->kind == SUBJECT_CAPABILITY;
    name[0] = '@';
    size_t bytes = subject_unescape(name + at, METHOD_BYTES_MAX, (const uint8_t *)outbound->token,
                                    outbound->token_bytes);
    return (struct piece){name, bytes == SIZE_MAX ? 0 : at + bytes};
}

// Of those of that name here, all of whom support less than is required, the one that comes nearest: that is what the message
// fails for. NULL: there is none.
static const struct agent *nearest_here(const struct link *link, const struct outbound_request *outbound,
                                        const struct piece *name) {
    static const enum group_kind kinds[] = {[SUBJECT_CAPABILITY] = GROUP_CAPABILITY,
                                            [SUBJECT_TOOL] = GROUP_TOOL,
                                            [SUBJECT_METHOD] = GROUP_METHOD};
    struct shard *shard = link->shard;
    struct wanted_member wanted = {.level = (enum governance)outbound->level};
    size_t skip = outbound->kind == SUBJECT_CAPABILITY;
    if (!outbound->level || outbound->kind < SUBJECT_CAPABILITY || outbound->kind > SUBJECT_METHOD)
        return NULL;
    if (name->count < skip)
        return NULL;
    const struct agent *agent =
        groups_choose(&shard->agents.groups, kinds[outbound->kind], (const char *)name->bytes + skip,
                      name->count - skip, &wanted, hub_owed, shard->hub);
    return agent && agent->governance < outbound->level ? agent : NULL;
}

// What nobody waits for any more.
static bool is_over(struct link *link, struct outbound_request *outbound) {
    if (!outbound->is_nobodys)
        return false;
    inflight_remove(&link->inflight, outbound);
    return true;
}

void outbound_request_nobody(struct link *link, struct outbound_request *outbound) {
    static const char command[] = "command/execute";
    char text[METHOD_BYTES_MAX + 1];
    struct piece name = name_of(outbound, text);
    bool by_method = outbound->kind == SUBJECT_METHOD || outbound->kind == SUBJECT_COMMAND;
    if (is_over(link, outbound))
        return;
    if (outbound_request_refusal(outbound)) {
        if (!outbound_retry_next(link, outbound))
            end_refused(link, outbound);
        return;
    }
    if (outbound->returns) {
        spill_report_back(link, outbound, &(struct spill_reason){.nobody = true});
        return;
    }
    stats_count(&link->shard->stats, COUNT_CROSSED_NOBODY);
    const struct agent *nearest = nearest_here(link, outbound, &name);
    if (nearest) {
        struct text data;
        text_init(&data);
        reply_data_string(&data, "agent", nearest->id, nearest->id_bytes);
        reply_data_text(&data, "required", governance_text((enum governance)outbound->level));
        reply_data_text(&data, "supported", governance_text(nearest->governance));
        end_crossing_with(link, outbound, ERROR_GOVERNANCE_VIOLATION, &data);
        return;
    }
    if (outbound->kind == SUBJECT_COMMAND)
        name = (struct piece){command, sizeof command - 1};
    if (by_method)
        end_crossing(link, outbound, ERROR_METHOD_NOT_FOUND, "method", &name);
    else if (outbound->kind == SUBJECT_TOOL)
        end_crossing(link, outbound, ERROR_TOOL, "tool", &name);
    else
        end_crossing(link, outbound, ERROR_AGENT_NOT_FOUND, "agent", &name);
}

void outbound_request_lost(struct link *link, struct outbound_request *outbound) {
    struct text data;
    if (is_over(link, outbound))
        return;
    text_init(&data);
    error_target_put(&data, (enum subject_kind)outbound->kind, outbound->token, outbound->token_bytes);
    stats_count(&link->shard->stats, COUNT_TARGETS_LEFT);
    end_crossing_with(link, outbound, ERROR_TARGET_DISCONNECTED, &data);
}

// --- Going

// Where its bearing is read.
static const char *head_of(const struct parcel *parcel) {
    assert(parcel->has_head && !parcel->dressed);
    return parcel->long_head ? parcel->head : parcel->inline_text;
}

// NULL without memory.
static struct outbound_request *note_crossing(struct link *link, const struct parcel *parcel) {
    const struct bearing *bearing = &parcel->bearing;
    struct outbound_request *before = inflight_find(&link->inflight, parcel->hub_id);
    if (before) { // it goes to another hub
        inflight_gone_again(&link->inflight, before, shard_now_ms(link->shard));
        stats_count(&link->shard->stats, COUNT_CROSSED_AGAIN);
        return before;
    }
    assert(bearing->kind <= SUBJECT_COMMAND);
    struct outbound_request *outbound =
        inflight_add(&link->inflight, parcel->hub_id, (enum subject_kind)bearing->kind,
                     head_of(parcel) + bearing->token_at, bearing->token_bytes);
    if (!outbound)
        return NULL;
    outbound->level = bearing->level;
    outbound->offered = bearing->offered;
    outbound->returns = parcel->returns;
    outbound->kept = parcel->retriable;
    outbound->probes = bearing->probes;
    outbound->fenced = bearing->fenced;
    assert(outbound->returns || !outbound->offered);
    stats_add(&link->shard->stats, COUNT_OFFERED, outbound->offered);
    outbound->sent_ms = shard_now_ms(link->shard);
    stats_count(&link->shard->stats, COUNT_CROSSED_OUT);
    return outbound;
}

static void begin_seeking(struct link *link, struct parcel *parcel) {
    char inbox[SUBJECT_INBOX_BYTES_MAX];
    assert(link->peer);
    size_t bytes = subject_write_inbox(inbox, link->shard->hub->settings.cluster->name, link->hub);
    fallback_watch_begin(&link->fallback_watch, parcel, (uint32_t)bytes);
}

// Without memory to remember it by, a request isn't sent.
static void give_up(struct link *link, struct parcel *parcel) {
    assert(parcel->hub_id);
    drop_one(link->shard, COUNT_DROP_NO_MEMORY, link->peer->name, parcel->bytes);
    send_release(link->shard, parcel);
    peer_close(link->shard, link->peer, COUNT_CLOSED_NO_MEMORY);
}

// What bears no head means nothing to a server: it is of the hub's own for a peer.
bool outbound_request_divert(struct shard *shard, struct peer *peer, struct parcel *parcel) {
    struct link *link = link_of(shard, peer);
    assert(link && link->peer == peer);
    if (parcel->dressed)
        return false;
    if (!parcel->has_head)
        return outbound_cancel_divert(link, parcel);
    if (parcel->is_sought)
        begin_seeking(link, parcel);
    if (!parcel->hub_id || note_crossing(link, parcel))
        return false;
    give_up(link, parcel);
    return true;
}

struct peer *outbound_request_forget(struct shard *shard, struct peer *peer, uint64_t hub_id, bool lasts) {
    struct link *link = link_of(shard, peer);
    struct outbound_request *outbound = inflight_find(&link->inflight, hub_id);
    assert(link);
    if (!outbound)
        return NULL;
    if (outbound->recalled || outbox_has(&peer->connection.outbox, hub_id)) {
        bool waits = !outbound->recalled;
        outbound->recalled = true;
        if (!lasts)
            inflight_remove(&link->inflight, outbound);
        return waits ? peer : NULL;
    }
    bool in_its_words = lasts && !outbound->cancelled && send_has_room_for_urgent(shard, peer);
    if (in_its_words) { // they come next; where they would be dropped, the hub says so in its own
        outbound->cancelled = true;
        outbound_cancel_begin(link, outbound);
        return peer;
    }
    if (outbound->taker && (!outbound->cancelled || !lasts)) // else it is told when it says that it has it
        nats_publish_cancel(link, outbound->taker->name, hub_id, !lasts);
    outbound->cancelled = true;
    if (!lasts && outbound_request_words(outbound) && !outbound->taker) // who takes it is told these first
        outbound->is_nobodys = true;
    else if (!lasts)
        inflight_remove(&link->inflight, outbound);
    return NULL;
}
