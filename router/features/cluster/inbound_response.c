#include "router/features/cluster/inbound_response.h"

#include <assert.h>
#include <string.h>

#include "router/engine/send/exchange.h"
#include "router/engine/send/reply.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/features/cluster/hub_message.h"
#include "router/features/cluster/nats_publish.h"
#include "router/forwarding/remote_target.h"

// What an answer of the hub's own that has no id begins with (engine/send/reply.c).
static const char without_id[] = "{\"jsonrpc\":\"2.0\",\"id\":null,";

// --- Coming

static struct span last_token(const uint8_t *subject, uint32_t bytes) {
    uint32_t at = bytes;
    assert(subject || !bytes);
    while (at > 0 && subject[at - 1] != '.')
        at--;
    return (struct span){at, bytes - at};
}

bool inbound_response_is_unanswered(const uint8_t *reply, uint32_t reply_bytes) {
    return reply_bytes > 1 && reply[reply_bytes - 1] == REMOTE_TARGET_UNANSWERED &&
           reply[reply_bytes - 2] == '.';
}

// Where a hub takes answers.
static void write_inbox(struct link *link, struct cluster_member *hub) {
    assert(link->shard->hub->settings.cluster);
    if (!hub->inbox_bytes)
        hub->inbox_bytes =
            (uint32_t)subject_write_inbox(hub->inbox, link->shard->hub->settings.cluster->name, hub->name);
}

// Whether it is answered there, by a number as hubs write it.
static bool is_in_inbox(const struct cluster_member *hub, const uint8_t *reply, struct span digits) {
    assert(digits.bytes > 0);
    return digits.at == hub->inbox_bytes && reply[digits.at] != '0' &&
           memcmp(reply, hub->inbox, hub->inbox_bytes) == 0;
}

struct inbound_request *inbound_response_enter(struct link *link, struct exchange *exchange,
                                               const struct hub_header *header,
                                               const struct inbound_address *inbound_address,
                                               enum error *error) {
    const uint8_t *reply = inbound_address->reply;
    struct inflight *inflight = &link->inflight;
    struct reply_address passage = {.reply = reply, .reply_bytes = inbound_address->reply_bytes};
    bool is_known = false;
    *error = ERROR_NONE;
    if (inbound_address->reply_bytes > SUBJECT_BYTES_MAX)
        return NULL;
    struct span digits = last_token(reply, inbound_address->reply_bytes);
    bool has_hub = header->given && header->has_hub &&
                   hub_header_read_digits(reply, digits, &passage.number) &&
                   passage.number != 0; // no hub's request has that one, but anybody can write it
    if (has_hub)
        passage.hub =
            cluster_members_hear(&inflight->cluster_members, header->hub, shard_now_ms(link->shard), true);
    else
        passage.number = 0;
    if (passage.hub) {
        write_inbox(link, passage.hub);
        if (is_in_inbox(passage.hub, reply, digits))
            passage.reply_bytes = 0;
    }
    passage.present = nats_subscriptions_find(&link->presence, (const char *)inbound_address->subject,
                                              inbound_address->subject_bytes);
    struct inbound_request *inbound =
        has_hub && !passage.hub ? NULL : inflight_enter(inflight, exchange, &passage, &is_known);
    if (!inbound && !is_known)
        *error = ERROR_OVERLOADED;
    return inbound;
}

// Sends an answer, which is taken over; ERROR_NONE, or why it wasn't, and then it is the caller's still (*bytes: how large one is that
// the server wouldn't let pass).
static enum error send_answer(struct link *link, struct parcel *parcel, const struct hub_envelope *letter,
                              uint64_t *bytes) {
    enum error error = remote_target_put_head(link->shard, link->peer->name, parcel, letter, bytes);
    assert(error != ERROR_NONE || parcel->has_head);
    if (!error)
        send_queue_owed(link->shard, link->peer, parcel);
    return error;
}

// `data` is an object that is still open, or NULL for an empty one.
static void send_error(struct link *link, uint64_t id, enum error error, const struct text *data,
                       const uint8_t *reply, uint32_t reply_bytes, bool bare, bool refused) {
    uint64_t bytes;
    struct shard *shard = link->shard;
    struct text text;
    char digits[24];
    struct reply_to to = {.id = digits, .id_bytes = id ? (uint32_t)text_digits(digits, id) : 0};
    reply_put_error(&text, to, error, data);
    struct parcel *parcel = text.failed ? NULL : parcel_own(&shard->parcels, text.bytes, text.length);
    if (!parcel)
        text_deinit(&text);
    struct hub_envelope letter = {.subject = (const char *)reply,
                                  .subject_bytes = reply_bytes,
                                  .flags = refused ? HUB_HEADER_REFUSED : 0,
                                  .bare = bare};
    if (parcel && !send_answer(link, parcel, &letter, &bytes))
        return;
    if (parcel)
        parcel_drop(parcel);
    drop_one(shard, COUNT_DROP_NO_MEMORY, link->peer->name, 0);
}

uint64_t inbound_response_number(const uint8_t *reply, uint32_t reply_bytes) {
    uint64_t number = 0;
    return hub_header_read_digits(reply, last_token(reply, reply_bytes), &number) ? number : 0;
}

void inbound_response_refuse(struct link *link, const uint8_t *reply, uint32_t reply_bytes,
                             const struct hub_header *header, enum error error, bool by_head,
                             uint64_t bytes) {
    uint64_t number = header->given ? inbound_response_number(reply, reply_bytes) : 0;
    assert(error != ERROR_NONE);
    if (reply_bytes == 0 || reply_bytes > SUBJECT_BYTES_MAX)
        return;
    if (header->given && inbound_response_is_unanswered(reply, reply_bytes))
        return;
    if (header->has_hub && header->offered && number) {
        stats_count(&link->shard->stats, COUNT_OFFERS_DECLINED);
        nats_publish_back(link, header->hub, number, 0, false);
        return;
    }
    struct text data;
    text_init(&data);
    if (error == ERROR_FRAME_TOO_LARGE) {
        reply_data_text(&data, "fault", "the request is over the other hub's limit");
        hub_message_put_excess(link->shard, by_head, bytes, &data);
    }
    send_error(link, number, error, &data, reply, reply_bytes, !header->given, true);
    text_deinit(&data);
}

// Whether an answer bears no id, and the hub that asked would find nobody for it: so it gets its number.
static bool lacks_id(const struct inbound_request *inbound, const struct parcel *parcel) {
    const struct piece *first = &parcel->pieces[0];
    assert(parcel->piece_count > 0);
    return inbound->hub && first->count > sizeof without_id &&
           memcmp(first->bytes, without_id, sizeof without_id - 1) == 0;
}

static bool put_id(struct parcel *parcel, uint64_t number) {
    const struct piece *first = &parcel->pieces[0];
    struct text text;
    text_init(&text);
    text_put(&text, "{\"jsonrpc\":\"2.0\",\"id\":");
    text_number(&text, (int64_t)number);
    text_put(&text, ",");
    text_add(&text, (const char *)first->bytes + sizeof without_id - 1,
             first->count - (sizeof without_id - 1));
    char *own = text.failed ? NULL : parcel_text_take(parcel, text.length);
    if (own) {
        memcpy(own, text.bytes, text.length);
        parcel_retext(parcel, own, text.length);
    }
    text_deinit(&text);
    return own != NULL;
}

// Where it asked to be answered.
static size_t reply_of(const struct inbound_request *inbound, char out[SUBJECT_BYTES_MAX]) {
    const struct cluster_member *hub = inbound->hub;
    if (inbound->reply_bytes) {
        memcpy(out, inbound->reply, inbound->reply_bytes);
        return inbound->reply_bytes;
    }
    assert(hub && hub->inbox_bytes && inbound->number);
    memcpy(out, hub->inbox, hub->inbox_bytes);
    return hub->inbox_bytes + hub_header_digits(out + hub->inbox_bytes, inbound->number);
}

// A hub that takes all answers on one subject has said so. What it asked on another one than its own inbox is answered there.
static void address(const struct inbound_request *inbound, char subject[SUBJECT_BYTES_MAX],
                    struct hub_envelope *letter) {
    const struct cluster_member *hub = inbound->hub;
    *letter = (struct hub_envelope){.subject = subject, .bare = !hub};
    if (inbound->reply_bytes || !hub->is_joint) {
        letter->subject_bytes = reply_of(inbound, subject);
        return;
    }
    memcpy(subject, hub->inbox, hub->inbox_bytes);
    subject[hub->inbox_bytes] = REMOTE_TARGET_ANSWERS;
    letter->subject_bytes = hub->inbox_bytes + 1;
    letter->answered = inbound->number;
}

// What is said of an answer besides. An error for which nobody here was asked is a refusal.
static unsigned flags_of(const struct exchange *exchange) {
    if (!exchange->is_error)
        return 0;
    return !exchange->hub_id ? HUB_HEADER_REFUSED : exchange->is_unsaid ? HUB_HEADER_UNSAID : 0;
}

static void answer_visitor(struct link *link, const struct inbound_request *inbound, struct parcel *parcel,
                           unsigned flags) {
    struct shard *shard = link->shard;
    uint64_t bytes = 0;
    struct text data;
    enum error error = ERROR_NONE;
    char subject[SUBJECT_BYTES_MAX];
    struct hub_envelope letter;
    address(inbound, subject, &letter);
    letter.flags = flags;
    if (lacks_id(inbound, parcel) && !put_id(parcel, inbound->number))
        error = ERROR_OVERLOADED;
    if (!error)
        error = send_answer(link, parcel, &letter, &bytes);
    if (!error)
        return;
    assert(!parcel->has_head);
    drop_one(shard, error == ERROR_FRAME_TOO_LARGE ? COUNT_DROP_RESPONSE_OVER_PAYLOAD : COUNT_DROP_NO_MEMORY,
             link->peer->name, parcel->bytes);
    send_release(shard, parcel);
    text_init(&data);
    if (error == ERROR_FRAME_TOO_LARGE)
        remote_target_put_sizes(shard, &data, bytes);
    size_t reply_bytes = reply_of(inbound, subject);
    send_error(link, inbound->number, error, &data, (const uint8_t *)subject, (uint32_t)reply_bytes,
               letter.bare, flags & HUB_HEADER_REFUSED);
    text_deinit(&data);
}

// What its name has been asked for so far, and how that went.
static void note_answer(struct link *link, const struct inbound_request *inbound, bool is_error) {
    struct nats_subscription *present = inbound->present;
    uint64_t now_ms = shard_now_ms(link->shard), began_ms = inbound->exchange->opened_ms;
    assert(began_ms <= now_ms);
    if (!present)
        return;
    present->requests++;
    present->errors += is_error;
    present->took_ms += now_ms - began_ms;
}

// What another hub has offered goes back to it unless somebody here has it now, whatever keeps it from here: there is somebody
// there.
static bool is_declined(const struct exchange *exchange, const struct parcel *parcel) {
    return exchange->offered && !exchange->hub_id && (!parcel || exchange->is_error);
}

static void decline(struct link *link, const struct inbound_request *inbound, uint32_t owed) {
    assert(inbound->hub && inbound->number);
    stats_count(&link->shard->stats, COUNT_OFFERS_DECLINED);
    nats_publish_back(link, inbound->hub->name, inbound->number, owed, false);
}

// What somebody would get, or must approve first, has no answer.
static void say_instead(struct link *link, const struct inbound_request *inbound,
                        const struct exchange *exchange) {
    const uint8_t *reply = (const uint8_t *)inbound->reply;
    assert(exchange->count == 0 && !(exchange->is_found && exchange->is_held));
    if (exchange->probed && inbound->hub)
        nats_publish_back(link, inbound->hub->name, inbound->number, exchange->is_found, false);
    else if (exchange->is_held && inbound->hub)
        nats_publish_back(link, inbound->hub->name, inbound->number, 0, true);
    else if (exchange->is_held)
        send_error(link, 0, ERROR_APPROVAL_REQUIRED, NULL, reply, inbound->reply_bytes, true, true);
}

void inbound_response_respond(struct shard *shard, struct peer *peer, struct exchange *exchange) {
    struct link *link = link_of(shard, peer);
    struct inbound_request *inbound = exchange->inbound;
    struct parcel *parcel = parcel_list_take(&exchange->answers);
    assert(link && !exchange->is_array);
    bool is_declined_offer = inbound && is_declined(exchange, parcel);
    if (is_declined_offer)
        decline(link, inbound, exchange->owed);
    else if (inbound && !parcel && (exchange->probed || exchange->is_held))
        say_instead(link, inbound, exchange);
    else if (inbound)
        note_answer(link, inbound, !parcel || exchange->is_error);
    if (parcel && inbound && !is_declined_offer)
        answer_visitor(link, inbound, parcel, flags_of(exchange));
    else if (parcel)
        send_release(shard, parcel);
    if (inbound)
        inflight_leave(&link->inflight, inbound);
    exchange_free(shard, exchange);
}

// A report goes to the hub that asked, to nobody else.
void inbound_response_report(struct shard *shard, struct peer *peer, const struct pending *pending,
                             struct parcel *parcel) {
    const struct inbound_request *inbound = pending->exchange ? pending->exchange->inbound : NULL;
    char subject[SUBJECT_BYTES_MAX];
    struct hub_envelope letter = {.subject = subject};
    uint64_t bytes;
    enum counter reason = COUNT_DROP_PROGRESS_UNKNOWN;
    assert(link_of(shard, peer) && !parcel->hub_id);
    if (inbound && inbound->hub) {
        letter.subject_bytes = subject_write(subject, shard->hub->settings.cluster->name, SUBJECT_HUB,
                                             inbound->hub->name, HUB_NAME_BYTES);
        enum error error = remote_target_put_head(shard, peer->name, parcel, &letter, &bytes);
        if (!error) {
            send_queue_bound(shard, peer, parcel);
            return;
        }
        reason = error == ERROR_FRAME_TOO_LARGE ? COUNT_DROP_PROGRESS_OVER_PAYLOAD : COUNT_DROP_NO_MEMORY;
    }
    drop_one(shard, reason, peer->name, parcel->bytes);
    send_release(shard, parcel);
}
