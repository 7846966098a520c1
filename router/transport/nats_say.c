#include "router/transport/nats_say.h"

#include <assert.h>
#include <string.h>

#include "core/cluster/mark.h"
#include "router/send/send.h"
#include "router/shard/drop.h"

// --- Lines

// Without memory the link is lost: what it doesn't say, others would rely on.
void nats_say(struct link *link, struct text *lines) {
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
    send_queue_owed(shard, peer, parcel);
}

void nats_say_text(struct link *link, const char *lines) {
    struct text text;
    assert(*lines);
    text_init(&text);
    text_put(&text, lines);
    nats_say(link, &text);
}

void nats_say_ping(struct link *link) {
    link->pings++;
    nats_say_text(link, "PING\r\n");
}

// --- Coming

static void put_member(struct text *out, const char *key, const char *value) {
    assert(*key);
    if (!*value)
        return;
    text_put(out, ",\"");
    text_put(out, key);
    text_put(out, "\":");
    text_string(out, value, strlen(value));
}

static void put_connect(struct text *out, const struct cluster_server *server) {
    text_put(out, "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true,"
                  "\"echo\":false,\"protocol\":1,\"lang\":\"c\",\"version\":\"" PATCHBAY_VERSION
                  "\",\"name\":\"patchbay\"");
    assert(server->bytes > 0);
    put_member(out, "user", server->user);
    put_member(out, "pass", server->password);
    put_member(out, "auth_token", server->token);
    text_put(out, "}\r\n");
}

static void put_subscription(struct text *out, const struct link *link, const char *behind, uint32_t sid) {
    char subject[SUBJECT_BYTES_MAX];
    const char *cluster = link->shard->hub->settings.cluster->name;
    assert(sid > 0);
    text_put(out, "SUB ");
    text_add(out, subject, subject_write(subject, cluster, SUBJECT_HUB, link->hub, HUB_NAME_BYTES));
    text_put(out, behind);
    text_put(out, " ");
    text_number(out, sid);
    text_put(out, "\r\n");
}

// Of all events one copy comes to this hub, whoever it is for here: who has subscribed to what changes too often, on all shards,
// to be told the server, and what one subscribes to counts at once.
static void put_events(struct text *out, const struct link *link, uint32_t sid) {
    char subject[SUBJECT_BYTES_MAX];
    const char *cluster = link->shard->hub->settings.cluster->name;
    assert(sid > 0);
    text_put(out, "SUB ");
    text_add(out, subject, subject_write(subject, cluster, SUBJECT_EVENT, "*", 1));
    text_put(out, " ");
    text_add(out, link->hub, HUB_NAME_BYTES);
    text_put(out, " ");
    text_number(out, sid);
    text_put(out, "\r\n");
}

static void put_presence(struct link *link, struct text *out) {
    presence_follow(&link->presence, &link->shard->agents, link->shard->hub->settings.cluster->name, out);
    assert(link->presence.changes == link->shard->agents.changes);
}

void nats_introduce(struct link *link) {
    struct text out;
    assert(link->state == LINK_JOINING);
    text_init(&out);
    put_connect(&out, &link->servers[link->server]);
    link->presence.sids = 3;
    put_subscription(&out, link, "", 1);
    put_subscription(&out, link, ".>", 2);
    put_events(&out, link, 3);
    put_presence(link, &out);
    text_put(&out, "PING\r\n");
    link->pings++;
    nats_say(link, &out);
}

void nats_follow_registry(struct link *link) {
    struct text out;
    assert(link->peer);
    text_init(&out);
    put_presence(link, &out);
    nats_say(link, &out);
}

// --- To hubs

// Ends the line that is begun in `mark`, and has it go to a hub; where there is a reply, what the server itself answers comes
// there.
static void say_to_hub(struct link *link, const char hub[HUB_NAME_BYTES], const char *reply,
                       size_t reply_bytes, struct text *mark) {
    char subject[SUBJECT_BYTES_MAX];
    const char *cluster = link->shard->hub->settings.cluster->name;
    struct text out;
    mark_end(mark);
    text_put(mark, "\r\n");
    text_init(&out);
    text_put(&out, "HPUB ");
    text_add(&out, subject, subject_write(subject, cluster, SUBJECT_HUB, hub, HUB_NAME_BYTES));
    text_put(&out, " ");
    if (reply_bytes) {
        text_add(&out, reply, reply_bytes);
        text_put(&out, " ");
    }
    text_number(&out, (int64_t)mark->length);
    text_put(&out, " ");
    text_number(&out, (int64_t)mark->length);
    text_put(&out, "\r\n");
    text_add(&out, mark->bytes, mark->length);
    text_put(&out, "\r\n");
    out.failed |= mark->failed;
    assert(mark->failed || mark->length > 0);
    text_deinit(mark);
    nats_say(link, &out);
}

void nats_put_number(struct text *list, uint64_t number) {
    char digits[16];
    assert(number);
    if (list->length)
        text_put(list, ",");
    text_add(list, digits, mark_digits(digits, number));
}

static void say_list(struct link *link, const char hub[HUB_NAME_BYTES], const char *key,
                     const struct text *list, const char *reply, size_t reply_bytes) {
    struct text mark;
    assert(list->failed || list->length <= MARK_NUMBERS_BYTES_MAX);
    text_init(&mark);
    mark_begin(&mark, link->hub);
    text_put(&mark, " ");
    text_put(&mark, key);
    text_put(&mark, "=");
    text_add(&mark, list->bytes, list->length);
    mark.failed |= list->failed;
    say_to_hub(link, hub, reply, reply_bytes, &mark);
}

void nats_say_taken(struct link *link) {
    if (!link->taken.failed && link->taken.length == 0)
        return;
    assert(link->peer);
    say_list(link, link->taken_by, "taken", &link->taken, NULL, 0);
    text_deinit(&link->taken);
    text_init(&link->taken);
}

void nats_note_taken(struct link *link, const char hub[HUB_NAME_BYTES], uint64_t number) {
    bool other = memcmp(link->taken_by, hub, HUB_NAME_BYTES) != 0;
    assert(number);
    if (other || link->taken.length + 17 > MARK_NUMBERS_BYTES_MAX)
        nats_say_taken(link);
    memcpy(link->taken_by, hub, HUB_NAME_BYTES);
    nats_put_number(&link->taken, number);
}

void nats_say_gone(struct link *link, const char hub[HUB_NAME_BYTES], const struct text *list) {
    assert(list->failed || list->length > 0);
    say_list(link, hub, "gone", list, NULL, 0);
}

void nats_say_cancel(struct link *link, const char hub[HUB_NAME_BYTES], uint64_t hub_id) {
    struct text mark;
    assert(hub_id);
    text_init(&mark);
    mark_begin(&mark, link->hub);
    mark_number(&mark, "cancel", hub_id);
    say_to_hub(link, hub, NULL, 0, &mark);
}

// --- Asking

// Hubs that were asked in this round: a few; where there are more, these are asked in the next.
enum { ASKED_MAX = 64 };

struct round {
    char hubs[ASKED_MAX][HUB_NAME_BYTES];
    unsigned count;
};

static bool is_asked(const struct round *round, const char hub[HUB_NAME_BYTES]) {
    for (unsigned at = 0; at < round->count; at++)
        if (memcmp(round->hubs[at], hub, HUB_NAME_BYTES) == 0)
            return true;
    return round->count == ASKED_MAX;
}

// What the server says, if that hub isn't there, comes to our inbox under its name.
static void ask_hub(struct link *link, const char hub[HUB_NAME_BYTES], struct text *list) {
    char rest[HUB_NAME_BYTES + 3 + HUB_NAME_BYTES], reply[SUBJECT_BYTES_MAX];
    memcpy(rest, link->hub, HUB_NAME_BYTES);
    memcpy(rest + HUB_NAME_BYTES, ".a.", 3);
    memcpy(rest + HUB_NAME_BYTES + 3, hub, HUB_NAME_BYTES);
    size_t bytes =
        subject_write(reply, link->shard->hub->settings.cluster->name, SUBJECT_HUB, rest, sizeof rest);
    assert(bytes <= sizeof reply);
    say_list(link, hub, "ask", list, reply, bytes);
    text_deinit(list);
    text_init(list);
}

// About all that this hub has of ours.
static void ask_taker(struct link *link, const char hub[HUB_NAME_BYTES]) {
    struct text list;
    text_init(&list);
    for (struct list *node = link->crossings.out.next; node != &link->crossings.out; node = node->next) {
        const struct crossing *crossing = list_entry(node, struct crossing, link);
        if (!crossing->has_taker || memcmp(crossing->taker, hub, HUB_NAME_BYTES) != 0)
            continue;
        if (list.length + 17 > MARK_NUMBERS_BYTES_MAX)
            ask_hub(link, hub, &list);
        nats_put_number(&list, crossing->hub_id);
    }
    ask_hub(link, hub, &list);
    text_deinit(&list);
}

static void ask_once(struct link *link, struct round *round, const char hub[HUB_NAME_BYTES]) {
    if (is_asked(round, hub) || link->peer->state != PEER_OPEN)
        return;
    assert(round->count < ASKED_MAX);
    memcpy(round->hubs[round->count++], hub, HUB_NAME_BYTES);
    ask_taker(link, hub);
}

void nats_ask(struct link *link) {
    struct round round = {.count = 0};
    assert(link->state == LINK_UP);
    for (struct list *node = link->crossings.out.next; node != &link->crossings.out; node = node->next) {
        const struct crossing *crossing = list_entry(node, struct crossing, link);
        if (crossing->has_taker)
            ask_once(link, &round, crossing->taker);
    }
    for (struct list *node = link->crossings.in.next; node != &link->crossings.in; node = node->next) {
        const struct visitor *visitor = list_entry(node, struct visitor, link);
        if (visitor->has_hub)
            ask_once(link, &round, visitor->hub);
    }
}

// --- Errors of the hub's own

// `{"jsonrpc":"2.0","id":ID,"error":…}`; where the id lies is told. An id of 0 is null.
struct span nats_put_error(struct text *out, uint64_t id, enum error error, const struct text *data) {
    assert(error > ERROR_NONE && error < ERRORS_COUNT);
    text_init(out);
    text_put(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    struct span span = {(uint32_t)out->length, 0};
    if (id)
        text_number(out, (int64_t)id);
    else
        text_put(out, "null");
    span.bytes = (uint32_t)out->length - span.at;
    text_put(out, ",\"error\":{\"code\":");
    text_number(out, error_code(error));
    text_put(out, ",\"message\":\"");
    text_put(out, error_text(error));
    text_put(out, "\",\"data\":");
    if (data && data->length)
        text_add(out, data->bytes, data->length);
    else
        text_put(out, "{");
    out->failed |= data && data->failed;
    text_put(out, "}}}");
    return span;
}
