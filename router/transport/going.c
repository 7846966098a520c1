#include "router/transport/going.h"

#include <assert.h>
#include <string.h>

#include "router/engine/message/error_target.h"
#include "router/engine/send/reply.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/annex.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/post.h"
#include "router/forwarding/responses.h"
#include "router/routing/route.h"
#include "router/transport/again.h"
#include "router/transport/nats_open.h"
#include "router/transport/nats_say.h"
#include "router/transport/recalling.h"
#include "router/transport/returning.h"

// --- What ends here

// As if its target had answered so. Without memory the link is lost, and with it the request.
static void end_crossing_with(struct link *link, struct crossing *crossing, enum error error,
                              struct text *data) {
    struct shard *shard = link->shard;
    struct text text;
    uint64_t hub_id = crossing->hub_id;
    char digits[24];
    struct reply_to to = {.id = digits, .id_bytes = (uint32_t)text_digits(digits, hub_id)};
    struct span id = reply_put_error(&text, to, error, data);
    text_deinit(data);
    struct buffer *buffer = text.failed ? NULL : buffer_take_sized(&shard->buffers, (uint32_t)text.length);
    crossings_remove(&link->crossings, crossing);
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
static void end_crossing(struct link *link, struct crossing *crossing, enum error error, const char *key,
                         const struct piece *value) {
    struct text data;
    text_init(&data);
    assert(error != ERROR_NONE);
    if (key)
        reply_data_string(&data, key, value->bytes, value->count);
    end_crossing_with(link, crossing, error, &data);
}

void going_unapproved(struct link *link, struct crossing *crossing) {
    struct text data;
    text_init(&data);
    error_target_put(&data, (enum subject_kind)crossing->kind, crossing->token, crossing->token_bytes);
    reply_data_text(&data, "fault", "another hub wants it approved");
    end_crossing_with(link, crossing, ERROR_APPROVAL_REQUIRED, &data);
}

void going_end(struct link *link, struct crossing *crossing, const char *fault) {
    struct text data;
    assert(fault);
    text_init(&data);
    error_target_put(&data, (enum subject_kind)crossing->kind, crossing->token, crossing->token_bytes);
    reply_data_text(&data, "fault", fault);
    end_crossing_with(link, crossing, ERROR_INTERNAL, &data);
}

void going_too_large(struct link *link, struct crossing *crossing, bool by_head, uint64_t bytes) {
    struct text data;
    text_init(&data);
    error_target_put(&data, (enum subject_kind)crossing->kind, crossing->token, crossing->token_bytes);
    reply_data_text(&data, "fault", "the answer is over this hub's limit");
    nats_put_excess(link->shard, by_head, bytes, &data);
    end_crossing_with(link, crossing, ERROR_FRAME_TOO_LARGE, &data);
}

// As its target has answered, or another hub: `frame` is nothing but an answer to it, or can't be read.
static void route_answer(struct link *link, struct crossing *crossing, struct frame *frame, bool refuses) {
    struct shard *shard = link->shard;
    uint64_t number = crossing->hub_id;
    assert(number && !link->answers);
    link->answers = number;
    link->has_answered = false;
    link->peer->annex->refuses = refuses;
    route_frame(shard, link->peer, frame, NULL);
    link->peer->annex->refuses = false;
    link->answers = 0;
    crossing = crossings_find(&link->crossings, number);
    if (crossing && link->has_answered)
        crossings_remove(&link->crossings, crossing);
    else if (crossing)
        going_end(link, crossing, "the answer could not be read");
}

// As the first hub that was asked has said.
static void end_refused(struct link *link, struct crossing *crossing) {
    const struct refusal *refusal = crossing_refusal(crossing);
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
    route_answer(link, crossing, &frame, true);
    buffer_drop(buffer);
}

void going_answered(struct link *link, struct crossing *crossing, const struct hub_header *mark,
                    struct frame *frame) {
    bool is_hub = mark->given && mark->has_hub, refuses = is_hub && mark->refused;
    link->peer->annex->unsaid = is_hub && mark->unsaid;
    if (!refuses || !again_keep(link, crossing, mark, frame))
        route_answer(link, crossing, frame, refuses);
    else if (!again_next(link, crossing))
        end_refused(link, crossing);
    link->peer->annex->unsaid = false;
}

// Its name as the message had it.
static struct piece name_of(const struct crossing *crossing, char name[METHOD_BYTES_MAX + 1]) {
    size_t at = crossing->kind == SUBJECT_CAPABILITY;
    name[0] = '@';
    size_t bytes = subject_unescape(name + at, METHOD_BYTES_MAX, (const uint8_t *)crossing->token,
                                    crossing->token_bytes);
    return (struct piece){name, bytes == SIZE_MAX ? 0 : at + bytes};
}

// Of those of that name here, all of whom support less than is required, the one that comes nearest: that is what the message
// fails for. NULL: there is none.
static const struct agent *nearest_here(const struct link *link, const struct crossing *crossing,
                                        const struct piece *name) {
    static const enum group_kind kinds[] = {[SUBJECT_CAPABILITY] = GROUP_CAPABILITY,
                                            [SUBJECT_TOOL] = GROUP_TOOL,
                                            [SUBJECT_METHOD] = GROUP_METHOD};
    struct shard *shard = link->shard;
    struct wanted_member wanted = {.level = (enum governance)crossing->level};
    size_t skip = crossing->kind == SUBJECT_CAPABILITY;
    if (!crossing->level || crossing->kind < SUBJECT_CAPABILITY || crossing->kind > SUBJECT_METHOD)
        return NULL;
    if (name->count < skip)
        return NULL;
    const struct agent *agent =
        groups_choose(&shard->agents.groups, kinds[crossing->kind], (const char *)name->bytes + skip,
                      name->count - skip, &wanted, hub_owed, shard->hub);
    return agent && agent->governance < crossing->level ? agent : NULL;
}

// What nobody waits for any more.
static bool is_over(struct link *link, struct crossing *crossing) {
    if (!crossing->is_nobodys)
        return false;
    crossings_remove(&link->crossings, crossing);
    return true;
}

void going_nobody(struct link *link, struct crossing *crossing) {
    static const char command[] = "command/execute";
    char text[METHOD_BYTES_MAX + 1];
    struct piece name = name_of(crossing, text);
    bool by_method = crossing->kind == SUBJECT_METHOD || crossing->kind == SUBJECT_COMMAND;
    if (is_over(link, crossing))
        return;
    if (crossing_refusal(crossing)) {
        if (!again_next(link, crossing))
            end_refused(link, crossing);
        return;
    }
    if (crossing->returns) {
        returning_back(link, crossing, &(struct spill_reason){.nobody = true});
        return;
    }
    stats_count(&link->shard->stats, COUNT_CROSSED_NOBODY);
    const struct agent *nearest = nearest_here(link, crossing, &name);
    if (nearest) {
        struct text data;
        text_init(&data);
        reply_data_string(&data, "agent", nearest->id, nearest->id_bytes);
        reply_data_text(&data, "required", governance_text((enum governance)crossing->level));
        reply_data_text(&data, "supported", governance_text(nearest->governance));
        end_crossing_with(link, crossing, ERROR_GOVERNANCE_VIOLATION, &data);
        return;
    }
    if (crossing->kind == SUBJECT_COMMAND)
        name = (struct piece){command, sizeof command - 1};
    if (by_method)
        end_crossing(link, crossing, ERROR_METHOD_NOT_FOUND, "method", &name);
    else if (crossing->kind == SUBJECT_TOOL)
        end_crossing(link, crossing, ERROR_TOOL, "tool", &name);
    else
        end_crossing(link, crossing, ERROR_AGENT_NOT_FOUND, "agent", &name);
}

void going_lost(struct link *link, struct crossing *crossing) {
    struct text data;
    if (is_over(link, crossing))
        return;
    text_init(&data);
    error_target_put(&data, (enum subject_kind)crossing->kind, crossing->token, crossing->token_bytes);
    stats_count(&link->shard->stats, COUNT_TARGETS_LEFT);
    end_crossing_with(link, crossing, ERROR_TARGET_DISCONNECTED, &data);
}

// --- Going

// Where its bearing is read.
static const char *head_of(const struct parcel *parcel) {
    assert(parcel->has_head && !parcel->dressed);
    return parcel->has_heading ? parcel->heading->text
           : parcel->long_head ? parcel->head
                               : parcel->inline_text;
}

// NULL without memory.
static struct crossing *note_crossing(struct link *link, const struct parcel *parcel) {
    const struct bearing *bearing = &parcel->bearing;
    struct crossing *before = parcel->has_heading ? NULL : crossings_find(&link->crossings, parcel->hub_id);
    if (before) { // it goes to another hub
        before->is_bundled = false;
        before->bundle = link->bundling.serials;
        crossings_gone_again(&link->crossings, before, shard_now_ms(link->shard));
        stats_count(&link->shard->stats, COUNT_CROSSED_AGAIN);
        return before;
    }
    assert(bearing->kind <= SUBJECT_COMMAND);
    struct crossing *crossing =
        crossings_add(&link->crossings, parcel->hub_id, (enum subject_kind)bearing->kind,
                      head_of(parcel) + bearing->token_at, bearing->token_bytes);
    if (!crossing)
        return NULL;
    crossing->bundle = link->bundling.serials;
    crossing->level = bearing->level;
    crossing->offered = bearing->offered;
    crossing->returns = parcel->returns;
    crossing->kept = parcel->kept;
    crossing->probes = bearing->probes;
    crossing->fenced = bearing->fenced;
    assert(crossing->returns || !crossing->offered);
    stats_add(&link->shard->stats, COUNT_OFFERED, crossing->offered);
    crossing->sent_ms = shard_now_ms(link->shard);
    stats_count(&link->shard->stats, COUNT_CROSSED_OUT);
    return crossing;
}

static void begin_seeking(struct link *link, struct parcel *parcel) {
    char inbox[SUBJECT_INBOX_BYTES_MAX];
    assert(link->peer);
    size_t bytes = subject_write_inbox(inbox, link->shard->hub->settings.cluster->name, link->hub);
    seeking_begin(&link->seekings, parcel, (uint32_t)bytes);
}

// Without memory to remember it by, a request isn't sent.
static void give_up(struct link *link, struct parcel *parcel) {
    assert(parcel->hub_id);
    drop_one(link->shard, COUNT_DROP_NO_MEMORY, link->peer->name, parcel->bytes);
    send_release(link->shard, parcel);
    peer_close(link->shard, link->peer, COUNT_CLOSED_NO_MEMORY);
}

// What bears no head means nothing to a server: it is of the hub's own for a peer.
bool going_divert(struct shard *shard, struct peer *peer, struct parcel *parcel) {
    struct link *link = link_of(shard, peer);
    assert(link && link->peer == peer);
    if (parcel->has_heading && !parcel->dressed) {
        struct crossing *crossing = note_crossing(link, parcel);
        if (!crossing) {
            give_up(link, parcel);
            return true;
        }
        crossing->bundle = bundling_ask(&link->bundling, parcel);
        crossing->is_bundled = true;
        return true;
    }
    bundling_flush(&link->bundling); // what was said before goes before
    if (parcel->dressed)
        return false;
    if (!parcel->has_head)
        return recalling_divert(link, parcel);
    if (parcel->is_sought)
        begin_seeking(link, parcel);
    if (!parcel->hub_id || note_crossing(link, parcel))
        return false;
    give_up(link, parcel);
    return true;
}

struct peer *going_forget(struct shard *shard, struct peer *peer, uint64_t hub_id, bool lasts) {
    struct link *link = link_of(shard, peer);
    struct crossing *crossing = crossings_find(&link->crossings, hub_id);
    assert(link);
    if (!crossing)
        return NULL;
    bundling_flush(&link->bundling); // it may wait there
    if (crossing->recalled || outbox_has(&peer->connection.outbox, hub_id)) {
        bool waits = !crossing->recalled;
        crossing->recalled = true;
        if (!lasts)
            crossings_remove(&link->crossings, crossing);
        return waits ? peer : NULL;
    }
    bool in_its_words = lasts && !crossing->cancelled && send_has_room_for_urgent(shard, peer);
    if (in_its_words) { // they come next; where they would be dropped, the hub says so in its own
        crossing->cancelled = true;
        recalling_begin(link, crossing);
        return peer;
    }
    if (crossing->taker && (!crossing->cancelled || !lasts)) // else it is told when it says that it has it
        nats_say_cancel(link, crossing->taker->name, hub_id, !lasts);
    crossing->cancelled = true;
    if (!lasts && crossing_words(crossing) && !crossing->taker) // who takes it is told these first
        crossing->is_nobodys = true;
    else if (!lasts)
        crossings_remove(&link->crossings, crossing);
    return NULL;
}
