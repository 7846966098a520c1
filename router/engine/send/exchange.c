#include "router/engine/send/exchange.h"

#include <assert.h>

#include "core/base/memory.h"
#include "core/send/envelope.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"

// Opens an exchange, past the quota if there is none left: an exchange ends with its last answer.
struct exchange *exchange_open(struct shard *shard, struct peer *peer) {
    assert(peer->state == PEER_OPEN); // from others nothing is read
    struct exchange *exchange = freelist_take(&shard->free_exchanges);
    if (!exchange)
        exchange = quota_take_anyway(&shard->quota, sizeof *exchange);
    if (!exchange)
        return NULL;
    *exchange = (struct exchange){
        .connection = peer->connection_id, .answers_due = 1, .opened_ms = shard_now_ms(shard)};
    list_append(&shard->exchanges, &exchange->link);
    list_init(&exchange->by_peer);
    parcel_list_init(&exchange->answers);
    peer->exchanges++;
    return exchange;
}

// Returns the bytes that the parcels hold, with the memory that they take besides.
static size_t footprint(const struct exchange *exchange) {
    return exchange->bytes + exchange->parcels * sizeof(struct parcel);
}

static void set_held(struct peer *peer, uint64_t bytes) {
    assert(bytes < UINT64_C(1) << 40);
    peer->exchange_bytes = bytes & ((UINT64_C(1) << 40) - 1);
}

void exchange_charge(struct shard *shard, struct peer *peer, struct exchange *exchange, size_t bytes) {
    exchange->bytes += bytes;
    exchange->parcels++;
    if (!peer)
        return;
    set_held(peer, peer->exchange_bytes + bytes + sizeof(struct parcel));
    queue_limit_close(shard, peer, footprint(exchange));
}

void exchange_let_go(struct peer *peer, struct exchange *exchange) {
    assert(peer->exchange_bytes >= footprint(exchange));
    set_held(peer, peer->exchange_bytes - footprint(exchange));
    exchange->bytes = 0;
    exchange->parcels = 0;
}

void exchange_free(struct shard *shard, struct exchange *exchange) {
    struct peer *peer = peer_find(shard, exchange->connection);
    assert(exchange->is_ended && !list_empty(&exchange->link));
    for (struct parcel *parcel; (parcel = parcel_list_take(&exchange->answers));)
        send_release(shard, parcel);
    memory_give(exchange->http.lines);
    exchange->http.lines = NULL;
    list_remove(&exchange->link);
    list_remove(&exchange->by_peer);
    if (peer) {
        assert(peer->exchanges > 0);
        peer->exchanges--;
        if (exchange->parcels)
            exchange_let_go(peer, exchange);
    }
    freelist_give(&shard->free_exchanges, &shard->quota, exchange);
    if (peer)
        peer_settle(shard, peer);
}

// --- The answers as one frame

size_t exchange_body_bytes(const struct exchange *exchange) {
    assert(exchange->is_array || exchange->count <= 1);
    bool has_brackets = exchange->is_array && exchange->count > 0;
    return exchange->bytes + (has_brackets ? exchange->count + sizeof "]" - 1 : 0);
}

// Joins the answers to one frame. In an array each answer has a bracket or a comma before it, and the last answer has a
// bracket behind it.
void exchange_encode(struct exchange *exchange, const struct wire *wire) {
    assert(exchange->count > 0 && exchange->bytes > 0 && exchange->answers.first);
    const char *before = "[";
    for (struct parcel *parcel = exchange->answers.first; parcel; parcel = parcel->next, before = ",") {
        parcel->unfinished = parcel->next != NULL;
        if (exchange->is_array)
            parcel_enclose(parcel, before);
    }
    size_t bytes = exchange->bytes + (exchange->is_array ? exchange->count : 0);
    parcel_encode_chain(exchange->answers.first, wire, bytes, exchange->is_array ? "]" : "");
}

static void send_encoded(struct shard *shard, struct peer *peer, struct exchange *exchange) {
    if (!exchange->count)
        return;
    exchange_encode(exchange, peer->transport->codec.wire);
    send_queue_chain(shard, peer, &exchange->answers);
    assert(!exchange->answers.first);
}

static void exchange_end(struct shard *shard, struct exchange *exchange) {
    struct peer *peer = peer_find(shard, exchange->connection);
    assert(exchange->answers_due == 0 && !exchange->is_ended);
    exchange->is_ended = true;
    if (peer && peer->transport->codec.respond) {
        peer->transport->codec.respond(shard, peer, exchange);
        return;
    }
    if (peer)
        send_encoded(shard, peer, exchange);
    exchange_free(shard, exchange);
}

// --- What is due

void exchange_expect(struct exchange *exchange) {
    assert(exchange->answers_due > 0); // still open
    exchange->answers_due++;
}

void exchange_miss(struct shard *shard, struct exchange *exchange) {
    assert(exchange->answers_due > 0);
    if (--exchange->answers_due == 0)
        exchange_end(shard, exchange);
}

void exchange_close(struct shard *shard, struct exchange *exchange) {
    exchange_miss(shard, exchange);
}

bool exchange_has_room(const struct shard *shard, const struct exchange *exchange, size_t bytes) {
    return bytes <= exchange_room(shard, exchange);
}

// Returns the bytes that the next answer may have. In an array there will be two brackets, and a comma less than there
// are answers.
size_t exchange_room(const struct shard *shard, const struct exchange *exchange) {
    size_t bytes_max = shard_limits(shard)->frame_bytes_max;
    size_t bytes = exchange->is_array ? exchange->bytes + exchange->count + 2 : exchange->bytes;
    return bytes < bytes_max ? bytes_max - bytes : 0;
}

// Returns whether header fields came with the answer that the peer will get. An array has no place for such fields.
static bool has_fields(const struct exchange *exchange, const struct parcel *parcel) {
    return !exchange->is_array && parcel->block &&
           parcel->block_bytes > parcel->line_bytes + sizeof "\r\n" - 1;
}

// Returns whether an answer must wait in the exchange for other answers. Such an answer must not hold a receive buffer.
static bool waits(const struct exchange *exchange) {
    return exchange->answers_due > 1 || !list_empty(&exchange->by_peer);
}

void exchange_answer(struct shard *shard, struct exchange *exchange, struct parcel *parcel) {
    exchange->is_error = parcel->mail.detail;
    assert(exchange->answers_due > 0);
    assert(!parcel->is_encoded && !parcel->unfinished && parcel->hole_count == 0 && !parcel->hub_id);
    if (waits(exchange) && !has_fields(exchange, parcel))
        parcel = send_detach(shard, parcel);
    exchange->count++;
    exchange_charge(shard, peer_find(shard, exchange->connection), exchange, parcel->bytes);
    parcel_list_append(&exchange->answers, parcel);
    exchange_miss(shard, exchange);
}

struct peer *exchange_holder(const struct shard *shard, uint64_t opened_ms, uint64_t bytes_min) {
    struct peer *holder = NULL;
    for (struct list *node = shard->exchanges.next; node != &shard->exchanges; node = node->next) {
        const struct exchange *exchange = list_entry(node, struct exchange, link);
        if (exchange->opened_ms > opened_ms)
            break;
        struct peer *peer = exchange->bytes ? peer_find(shard, exchange->connection) : NULL;
        if (peer && peer->exchange_bytes >= bytes_min &&
            (!holder || peer->exchange_bytes > holder->exchange_bytes))
            holder = peer;
    }
    return holder;
}
