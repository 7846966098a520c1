#include "router/features/mcp_http/mcp_client.h"

#include <assert.h>
#include <string.h>

#include "router/engine/send/exchange.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/identity.h"
#include "router/engine/shard/peer_cold.h"
#include "router/features/mcp_http/mcp_all_answer.h"
#include "router/features/mcp_http/mcp_call.h"
#include "router/features/mcp_http/mcp_gather.h"
#include "router/features/mcp_http/mcp_stream.h"
#include "router/features/mcp_http/mcp_table.h"
#include "router/rights/authn.h"

// --- The seat

// Handles the end of an exchange: gives the call its answer. A call that was given up has no answer.
static void respond(struct shard *shard, struct peer *seat, struct exchange *exchange) {
    struct mcp_call *call = exchange->inbound;
    assert(exchange->is_ended && !exchange->is_array && mcp_client_of_seat(seat));
    struct parcel *answer = parcel_list_take(&exchange->answers);
    if (answer) // the exchange no longer holds the answer
        exchange_let_go(seat, exchange);
    if (call)
        call->answered(shard, call, answer);
    else if (answer)
        send_release(shard, answer);
    exchange->inbound = NULL;
    exchange_free(shard, exchange);
}

static void end_calls(struct shard *shard, struct mcp_client *client) {
    while (!list_empty(&client->calls)) {
        struct mcp_call *call = list_entry(client->calls.next, struct mcp_call, link);
        if (call->gather) {
            mcp_gather_free(shard, call->gather);
            mcp_call_settle(shard, call);
        } else {
            call->exchange->inbound = NULL;
            call->exchange = NULL;
        }
        if (call->is_question) { // requests wait for the end of the question
            call->answered(shard, call, NULL);
            continue;
        }
        mcp_stream_end(shard, call);
        mcp_call_free(shard, call);
    }
}

// Frees the client of a seat that has closed, with all that the client has.
static void free_client(struct shard *shard, struct peer *seat) {
    struct mcp_client *client = mcp_client_of_seat(seat);
    if (!client)
        return;
    peer_keep(seat, FEATURE_MCP_HTTP, NULL);
    client->is_closed = true;
    mcp_table_remove(shard, client);
    end_calls(shard, client);
    mcp_stream_close(shard, client);
    quota_give(&shard->quota, client);
}

static struct mcp_gather *first_gather(const struct mcp_client *client) {
    LIST_EACH (struct mcp_call, call, &client->calls, link)
        if (call->gather)
            return call->gather;
    return NULL;
}

// Closes a client whose user's credential is gone. Each request in progress is answered with an error; what was
// forwarded to a server goes on there.
static bool close_revoked(struct shard *shard, struct peer *seat, enum peer_end_reason why) {
    struct mcp_client *client = mcp_client_of_seat(seat);
    assert(seat->state == PEER_OPEN && shard->index == 0);
    if (why != PEER_END_REVOKED || !client || client->is_closed)
        return false;
    for (struct mcp_gather *gather; (gather = first_gather(client));)
        mcp_all_answer_revoke(shard, gather);
    LIST_EACH (struct mcp_call, call, &client->calls, link)
        if (!call->is_question) // the end of the client ends a question of the hub's own
            mcp_call_revoke(shard, call);
    mcp_table_close(shard, client);
    return true;
}

void mcp_client_cancel_calls(struct shard *shard, struct mcp_client *client) {
    assert(client->kind == MCP_CLIENT_SESSION && !client->is_closed);
    for (struct mcp_gather *gather; (gather = first_gather(client));)
        mcp_all_cancel_and_answer(shard, gather);
    LIST_EACH (struct mcp_call, call, &client->calls, link)
        if (call->http)
            mcp_call_cancel_and_answer(shard, call);
}

static bool divert(struct shard *shard, struct peer *seat, struct parcel *parcel) {
    struct mcp_client *client = mcp_client_of_seat(seat);
    if (client)
        mcp_stream_take(shard, client, parcel);
    else
        send_release(shard, parcel);
    return true;
}

// Sends progress of a call on the stream of the call.
static void report(struct shard *shard, struct peer *seat, const struct pending *pending,
                   struct parcel *parcel) {
    struct mcp_call *call = pending->exchange ? pending->exchange->inbound : NULL;
    assert(seat->transport->ops.report == report);
    mcp_stream_report(shard, call, seat, parcel);
}

// Forwards the server's cancel of a request to the client, unchanged.
static bool cancel(struct shard *shard, struct peer *seat, struct parcel *parcel, bool source_waits) {
    (void)source_waits;
    parcel->hub_id = 0;
    return divert(shard, seat, parcel) && false;
}

static void expire(struct shard *shard, struct peer *seat) {
    struct mcp_client *client = mcp_client_of_seat(seat);
    if (client && !client->is_closed && seat->state == PEER_OPEN)
        mcp_stream_expire(shard, client);
}

// Does nothing, because no message is ever queued for a seat.
static void wanted(struct shard *shard, struct peer *seat) {
    (void)shard;
    assert(outbox_empty(&seat->connection.outbox));
    (void)seat;
}

static const struct transport transport_seat = {
    .name = "mcp client",
    .codec.wire = &wire_lines,
    .filters_lists = true,
    .gauge = FEATURE_GAUGE(FEATURE_MCP_HTTP, MCP_HTTP_GAUGE_CLIENTS),
    .codec.respond = respond,
    .ops.end = close_revoked,
    .ops.leave = free_client,
    .ops.expire = expire,
    .ops.divert = divert,
    .ops.cancel = cancel,
    .ops.report = report,
    .ops.wanted = wanted,
    .end_is_leaving = true,
    .is_attached = true,
};

// --- Beginning and ending

// Gives the seat this user's identity, so that the user's rights apply to the seat's messages. Returns false without
// memory.
static bool identify(struct shard *shard, struct peer *seat, const struct user *user) {
    if (!shard->settings->users)
        return true;
    if (!identity_take(shard, seat->cold, -1))
        return false;
    authn_identify(identity_of(seat), user, CREDENTIAL_HUB);
    return true;
}

struct mcp_client *mcp_client_create(struct shard *shard, enum mcp_client_kind kind, const struct user *user,
                                     const char *name, size_t bytes) {
    assert(shard->index == 0 && !user == !shard->settings->users);
    struct mcp_client *client = quota_take_zeroed(&shard->quota, 1, sizeof *client + bytes);
    struct peer *seat = client ? peer_open_stub(shard, &transport_seat) : NULL;
    if (!seat) {
        quota_give(&shard->quota, client);
        return NULL;
    }
    struct peer_cold *cold = peer_take_cold(shard, seat);
    if (!cold || !identify(shard, seat, user) ||
        (bytes && !peer_cold_attach(&shard->quota, cold, name, bytes))) {
        quota_give(&shard->quota, client);
        peer_close(shard, seat, COUNT_CLOSED_NO_MEMORY);
        return NULL;
    }
    client->seat = seat;
    client->kind = kind;
    client->user = user;
    client->used_ms = shard_now_ms(shard);
    client->name_bytes = (uint32_t)bytes;
    memcpy(client->name, name, bytes);
    list_init(&client->calls);
    list_init(&client->link);
    list_init(&client->streams);
    list_init(&client->events);
    parcel_list_init(&client->waiting);
    peer_keep(seat, FEATURE_MCP_HTTP, client);
    cold->cancel_ends = true;
    return client;
}
