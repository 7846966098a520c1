#include "router/features/cluster/nats_publish.h"

#include <assert.h>
#include <string.h>

#include "core/cluster/hub_header.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"

// --- Lines

// Without memory the link is lost: what it doesn't say, others would rely on.
static void say_in(struct link *link, struct text *lines, enum parcel_lane lane) {
    struct shard *shard = link->shard;
    struct peer *peer = link->peer;
    assert(peer);
    if (!lines->failed && lines->length == 0)
        return;
    struct parcel *parcel = lines->failed ? NULL : parcel_own(&shard->parcels, lines->bytes, lines->length);
    if (!parcel) {
        text_deinit(lines);
        drop_one(shard, COUNT_DROP_NO_MEMORY, peer->name, 0);
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    parcel->dressed = true;
    parcel->lane = (uint8_t)lane;
    send_queue_owed(shard, peer, parcel);
}

void nats_write(struct link *link, struct text *lines) {
    assert(link->peer);
    say_in(link, lines, LANE_NORMAL);
}

void nats_write_text(struct link *link, const char *lines) {
    struct text text;
    assert(*lines);
    text_init(&text);
    text_put(&text, lines);
    nats_write(link, &text);
}

void nats_write_ping(struct link *link) {
    link->pings++;
    nats_write_text(link, "PING\r\n");
}

// --- To hubs

// Who hears it: one hub, or all.
struct hearer {
    enum subject_kind kind;
    const char *hub;   // of SUBJECT_HUB; else NULL
    bool urgent;       // it goes ahead of what waits
    uint64_t number;   // of one of its requests, and then where that is answered; 0: none
    const char *token; // of SUBJECT_HOLDER
    size_t token_bytes;
    const char *reply; // where what the server itself answers comes
    size_t reply_bytes;
};

// Ends the line that is begun in `mark`, and has it go, with a body where there is one. Behind its farewell a hub says nothing more:
// who hears it would take it for there again, and one of whom it doesn't know what it heeds.
static void say_mark(struct link *link, const struct hearer *to, struct text *mark, const struct text *body) {
    char subject[SUBJECT_BYTES_MAX], digits[1 + 16] = ".";
    const char *cluster = link->shard->hub->settings.cluster->name;
    struct text out;
    const char *rest = to->hub ? to->hub : to->token;
    size_t rest_bytes = to->hub ? HUB_NAME_BYTES : to->token_bytes;
    assert((to->kind == SUBJECT_HUB) == (to->hub != NULL));
    if (link->has_left) {
        text_deinit(mark);
        return;
    }
    hub_header_end(mark);
    text_put(mark, "\r\n");
    text_init(&out);
    text_put(&out, "HPUB ");
    text_add(&out, subject, subject_write(subject, cluster, to->kind, rest, rest_bytes));
    text_add(&out, digits, to->number ? hub_header_digits(digits + 1, to->number) + 1 : 0);
    text_put(&out, " ");
    if (to->reply_bytes) {
        text_add(&out, to->reply, to->reply_bytes);
        text_put(&out, " ");
    }
    text_number(&out, (int64_t)mark->length);
    text_put(&out, " ");
    text_number(&out, (int64_t)(mark->length + (body ? body->length : 0)));
    text_put(&out, "\r\n");
    text_add(&out, mark->bytes, mark->length);
    if (body)
        text_add(&out, body->bytes, body->length);
    text_put(&out, "\r\n");
    out.failed |= mark->failed || (body && body->failed);
    text_deinit(mark);
    say_in(link, &out, to->urgent ? LANE_URGENT : LANE_NORMAL);
}

void nats_publish_put_number(struct text *list, uint64_t number) {
    char digits[16];
    assert(number);
    if (list->length)
        text_put(list, ",");
    text_add(list, digits, hub_header_digits(digits, number));
}

static void say_list(struct link *link, const struct hearer *to, const char *key, const struct text *list) {
    struct text mark;
    assert(list->failed || list->length <= HUB_HEADER_NUMBERS_BYTES_MAX);
    text_init(&mark);
    hub_header_begin(&mark, link->hub);
    text_put(&mark, " ");
    text_put(&mark, key);
    text_put(&mark, "=");
    text_add(&mark, list->bytes, list->length);
    mark.failed |= list->failed;
    say_mark(link, to, &mark, NULL);
}

void nats_publish_list(struct link *link, const char hub[HUB_NAME_BYTES], const char *key,
                       const struct text *list) {
    assert(list->failed || list->length > 0);
    say_list(link, &(struct hearer){.kind = SUBJECT_HUB, .hub = hub}, key, list);
}

void nats_publish_taken(struct link *link) {
    struct acks *acks = &link->acks;
    assert(acks->count == 0 || link->peer);
    for (uint32_t at = 0; at < acks->count; at++)
        nats_publish_list(link, acks->all[at].hub, "taken", &acks->all[at].numbers);
    acks_forget(acks);
}

void nats_publish_note_taken(struct link *link, const struct cluster_member *hub, uint64_t number) {
    struct ack_list *taking = acks_of(&link->acks, hub);
    assert(number);
    if (!taking) {
        nats_publish_taken(link);
        taking = acks_of(&link->acks, hub);
    }
    nats_publish_put_number(&taking->numbers, number);
}

// NULL: users aren't on.
static void put_user(struct text *mark, const struct user *user) {
    text_put(mark, user ? " user=" : "");
    text_put(mark, user ? user->name : "");
}

void nats_publish_cancel(struct link *link, const char hub[HUB_NAME_BYTES], uint64_t hub_id,
                         bool is_nobodys) {
    struct text mark;
    assert(hub_id);
    text_init(&mark);
    hub_header_begin(&mark, link->hub);
    hub_header_number(&mark, "cancel", hub_id);
    if (is_nobodys)
        hub_header_number(&mark, "nobodys", 1);
    say_mark(link, &(struct hearer){.kind = SUBJECT_HUB, .hub = hub, .urgent = true}, &mark, NULL);
}

void nats_publish_back(struct link *link, const char hub[HUB_NAME_BYTES], uint64_t number, uint32_t owed,
                       bool is_held) {
    struct text mark;
    assert(number);
    text_init(&mark);
    hub_header_begin(&mark, link->hub);
    hub_header_number(&mark, "back", owed);
    if (is_held)
        hub_header_number(&mark, "gate", 1);
    say_mark(link, &(struct hearer){.kind = SUBJECT_HUB, .hub = hub, .number = number}, &mark, NULL);
}

void nats_publish_beat(struct link *link) {
    struct text mark;
    assert(link->state == LINK_UP);
    text_init(&mark);
    hub_header_begin(&mark, link->hub);
    hub_header_number(&mark, "joint", 1);
    hub_header_number(&mark, "fences", 1);
    say_mark(link, &(struct hearer){.kind = SUBJECT_BEAT}, &mark, NULL);
}

void nats_publish_farewell(struct link *link) {
    struct text mark;
    assert(link->state == LINK_UP);
    text_init(&mark);
    hub_header_begin(&mark, link->hub);
    hub_header_number(&mark, "leaves", 1);
    say_mark(link, &(struct hearer){.kind = SUBJECT_BEAT}, &mark, NULL);
    link->has_left = true;
}

// Where what the server says of a message comes, to our inbox: behind a letter what it was about.
static size_t reply_to_own(const struct link *link, char letter, const char *about, size_t bytes,
                           char out[SUBJECT_BYTES_MAX]) {
    char rest[HUB_NAME_BYTES + 3 + HUB_NAME_BYTES];
    assert(bytes <= HUB_NAME_BYTES);
    memcpy(rest, link->hub, HUB_NAME_BYTES);
    memcpy(rest + HUB_NAME_BYTES, (char[3]){'.', letter, '.'}, 3);
    memcpy(rest + HUB_NAME_BYTES + 3, about, bytes);
    return subject_write(out, link->shard->hub->settings.cluster->name, SUBJECT_HUB, rest,
                         HUB_NAME_BYTES + 3 + bytes);
}

// What the server says, if that hub isn't there, comes to our inbox under its name.
void nats_publish_ask(struct link *link, const char hub[HUB_NAME_BYTES], struct text *list) {
    char reply[SUBJECT_BYTES_MAX];
    struct hearer to = {.kind = SUBJECT_HUB, .hub = hub, .reply = reply};
    to.reply_bytes = reply_to_own(link, 'a', hub, HUB_NAME_BYTES, reply);
    say_list(link, &to, "ask", list);
    text_deinit(list);
    text_init(list);
}

void nats_publish_holder(struct link *link, uint64_t number, const char *token, size_t bytes, bool takes_over,
                         const struct user *owner) {
    char reply[SUBJECT_BYTES_MAX], digits[16];
    struct hearer to = {.kind = SUBJECT_HOLDER, .token = token, .token_bytes = bytes, .reply = reply};
    struct text mark;
    assert(number && bytes > 0);
    to.reply_bytes = reply_to_own(link, 'h', digits, hub_header_digits(digits, number), reply);
    text_init(&mark);
    hub_header_begin(&mark, link->hub);
    hub_header_number(&mark, "holder", number);
    if (takes_over)
        hub_header_number(&mark, "over", 1);
    put_user(&mark, owner);
    say_mark(link, &to, &mark, NULL);
}

void nats_publish_numbers(struct link *link, const char hub[HUB_NAME_BYTES],
                          const struct said_number *numbers, const struct text *body) {
    struct text mark;
    assert(numbers->key);
    text_init(&mark);
    hub_header_begin(&mark, link->hub);
    for (; numbers->key; numbers++)
        hub_header_number(&mark, numbers->key, numbers->number);
    say_mark(link, &(struct hearer){.kind = SUBJECT_HUB, .hub = hub}, &mark, body);
}

void nats_publish_names(struct link *link, const char *hub, const struct text *body) {
    struct text mark;
    struct hearer to = {.kind = hub ? SUBJECT_HUB : SUBJECT_HUBS, .hub = hub};
    assert(link->state == LINK_UP);
    text_init(&mark);
    hub_header_begin(&mark, link->hub);
    hub_header_number(&mark, "names", 1);
    say_mark(link, &to, &mark, body);
}

void nats_publish_seek(struct link *link, struct text *list) {
    assert(list->failed || list->length > 0);
    say_list(link, &(struct hearer){.kind = SUBJECT_HUBS}, "seek", list);
    text_deinit(list);
    text_init(list);
}

void nats_publish_inquiry(struct link *link, const struct directory_query *inquiry, const char *capability,
                          size_t bytes) {
    struct text mark;
    assert(inquiry->number);
    text_init(&mark);
    hub_header_begin(&mark, link->hub);
    hub_header_number(&mark, "agents", inquiry->number);
    text_put(&mark, bytes ? " can=" : "");
    text_add(&mark, capability, bytes);
    put_user(&mark, inquiry->user);
    say_mark(link, &(struct hearer){.kind = SUBJECT_HUBS}, &mark, NULL);
}

void nats_publish_part(struct link *link, const char hub[HUB_NAME_BYTES], uint64_t number, bool more,
                       bool cut, const struct text *body) {
    struct text mark;
    assert(number && (body->failed || body->length >= 2));
    text_init(&mark);
    hub_header_begin(&mark, link->hub);
    hub_header_number(&mark, "part", number);
    if (more)
        hub_header_number(&mark, "more", 1);
    if (cut)
        hub_header_number(&mark, "cut", 1);
    say_mark(link, &(struct hearer){.kind = SUBJECT_HUB, .hub = hub}, &mark, body);
}
