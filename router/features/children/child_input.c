// The hub's own messages to a child.
#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/mcp/mcp_message.h"
#include "core/send/envelope.h"
#include "router/engine/send/send.h"
#include "router/features/children/child.h"

#include <sys/socket.h>

enum { HUB_OUTBOX_BYTES_MAX = 64 << 10 };

void child_withdraw(struct shard *shard, struct child *child) {
    for (struct parcel *parcel; (parcel = outbox_take(&child->hub_outbox));)
        send_release(shard, parcel);
}

// Parcels that wait for the child stay behind: only this one goes out.
void child_send_on(struct shard *shard, struct child *child) {
    struct connection *connection = &child->seat->connection;
    struct parcel_list done;
    if (connection->shipment || connection->ending || connection->out < 0)
        return;
    parcel_list_init(&done);
    enum sending sending =
        connection_send_from(connection, &child->hub_outbox, shard->io, &shard->sender, &done);
    for (struct parcel *parcel; (parcel = parcel_list_take(&done));)
        send_release(shard, parcel);
    if (sending == SENDING_FAILED) {
        child_fail(shard, child, CHILD_FAULT_INPUT, 0);
    } else if (sending == SENDING_IDLE && child->is_reading && !child->is_shut) {
        child->is_shut = true;
        io_shutdown(shard->io, connection->out, SHUT_WR);
    }
}

void child_send(struct shard *shard, struct child *child, struct text *body) {
    bool room = !body->failed && child->hub_outbox.bytes + body->length <= HUB_OUTBOX_BYTES_MAX;
    struct parcel *parcel = room ? parcel_own(&shard->parcels, body->bytes, body->length) : NULL;
    assert(child->seat->connection.held);
    if (!parcel) {
        text_deinit(body);
        child_fail(shard, child, room ? CHILD_FAULT_MEMORY : CHILD_FAULT_SLOW, 0);
        return;
    }
    parcel_dress(parcel, child->seat->transport->wire);
    outbox_add(&child->hub_outbox, parcel);
    child_touch(child);
    child_send_on(shard, child);
}

static void put_hermes_initialize(struct text *body, const struct child *child, uint64_t id) {
    char *data;
    (void)child_data_directory(child->settings, &data); // without it, it wouldn't have been started
    text_put(body, "{\"jsonrpc\":\"2.0\",\"id\":");
    text_number(body, (int64_t)id);
    text_put(body, ",\"method\":\"initialize\",\"params\":{\"hermesVersion\":\"" PATCHBAY_VERSION
                   "\",\"apiVersion\":\"1.0.0\",\"dataDirectory\":");
    text_string(body, data ? data : "", data ? strlen(data) : 0);
    text_put(body, "}}");
    memory_give(data);
}

// In the words of the user whose session it is.
static void put_reopening(struct text *body, const struct child *child, uint64_t id) {
    assert(child->of && child->opening);
    text_put(body, "{\"jsonrpc\":\"2.0\",\"id\":");
    text_number(body, (int64_t)id);
    text_put(body, ",\"method\":\"initialize\",\"params\":");
    text_add(body, child->opening->text, child->opening->bytes);
    text_put(body, "}");
}

void child_initialize(struct shard *shard, struct child *child) {
    assert(child->state == CHILD_STARTING);
    struct text body;
    uint64_t id = own_requests_begin(&child->own);
    text_init(&body);
    if (child->reopens)
        put_reopening(&body, child, id);
    else if (child->settings->protocol == CHILD_MCP)
        mcp_put_initialize(&body, id, child->settings->asks_clients);
    else
        put_hermes_initialize(&body, child, id);
    child_set_state(child, CHILD_GREETING);
    child_send(shard, child, &body);
}

void child_request_shutdown(struct shard *shard, struct child *child, const char *reason) {
    assert(child->state == CHILD_STOPPING);
    struct text body;
    text_init(&body);
    text_put(&body, "{\"jsonrpc\":\"2.0\",\"id\":");
    text_number(&body, (int64_t)own_requests_begin(&child->own));
    text_put(&body, ",\"method\":\"shutdown\",\"params\":{\"reason\":\"");
    text_put(&body, reason);
    text_put(&body, "\"}}");
    child->shutdown_requested = true;
    child_send(shard, child, &body);
}

bool child_answers_own(struct child *child, const struct lookup *lookup, const uint8_t *body) {
    uint64_t id = 0;
    bool is_number =
        lookup->kind == BODY_RESPONSE && lookup_has(lookup, KEY_ID) && lookup->type[KEY_ID] == JSON_NUMBER;
    assert(lookup->verdict == LOOKUP_GOOD);
    return is_number && json_number_whole(body, lookup->value[KEY_ID], &id) &&
           own_requests_end(&child->own, id);
}
