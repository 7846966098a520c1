#include "router/features/mcp_http/mcp_history.h"

#include <assert.h>
#include <string.h>

#include "router/engine/shard/drop.h"
#include "router/features/mcp_http/mcp_table.h"

bool mcp_history_is_on(const struct shard *shard, const struct mcp_client *client) {
    return client->kind == MCP_CLIENT_SESSION && mcp_option(shard, MCP_OPTION_HISTORY) > 0;
}

// --- Streams

struct mcp_history_stream *mcp_history_begin(struct shard *shard, struct mcp_client *client) {
    assert(mcp_history_is_on(shard, client) && !client->is_closed);
    struct mcp_history_stream *stream = quota_take_zeroed(&shard->quota, 1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->number = ++client->streams_made;
    list_append(&client->streams, &stream->link);
    return stream;
}

static void give_if_over(struct shard *shard, struct mcp_history_stream *stream) {
    if (!stream->is_over || stream->count > 0)
        return;
    list_remove(&stream->link);
    quota_give(&shard->quota, stream);
}

void mcp_history_end(struct shard *shard, struct mcp_client *client, struct mcp_history_stream *stream) {
    (void)client;
    assert(!stream->is_over && client->listening != stream);
    stream->is_over = true;
    give_if_over(shard, stream);
}

// --- Events

static size_t footprint(const struct mcp_event *event) {
    return sizeof *event + event->bytes;
}

static void give(struct shard *shard, struct mcp_event *event) {
    struct mcp_http *table = mcp_http_of(shard);
    struct mcp_client *client = event->client;
    assert(event->stream->count > 0 && client->history_bytes >= event->bytes);
    list_remove(&event->by_session);
    list_remove(&event->by_age);
    client->history_bytes -= event->bytes;
    table->history_bytes -= footprint(event);
    event->stream->count--;
    quota_give(&shard->quota, event);
}

// Drops an event. An event that was never sent is counted as lost.
static void drop(struct shard *shard, struct mcp_event *event, enum counter counter) {
    struct mcp_history_stream *stream = event->stream;
    if (event->number > stream->sent)
        drop_one(shard, event->is_answer ? COUNT_DROP_ANSWER_SOURCE_GONE : counter,
                 event->client->seat->connection_id, event->bytes);
    if (event->number > stream->gone)
        stream->gone = event->number;
    give(shard, event);
    give_if_over(shard, stream);
}

static struct mcp_event *first_of(const struct mcp_client *client) {
    return list_entry(client->events.next, struct mcp_event, by_session);
}

void mcp_history_bound(struct shard *shard, const struct mcp_client *client) {
    const struct list *all = &mcp_http_of(shard)->events;
    while (client->history_bytes > mcp_option(shard, MCP_OPTION_HISTORY))
        drop(shard, first_of(client), COUNT_DROP_OVERLOADED);
    while (mcp_http_of(shard)->history_bytes > shard_limits(shard)->memory_bytes_max / 8)
        drop(shard, list_entry(all->next, struct mcp_event, by_age), COUNT_DROP_OVERLOADED);
}

uint64_t mcp_history_number(struct mcp_client *client) {
    return ++client->events_made;
}

bool mcp_history_add(struct shard *shard, struct mcp_client *client, struct mcp_history_stream *stream,
                     uint64_t number, const struct parcel *body, bool is_answer) {
    assert(!body->is_encoded && body->hole_count == 0 && !stream->is_over && number > stream->gone);
    bool fits = body->bytes <= mcp_option(shard, MCP_OPTION_HISTORY);
    struct mcp_event *event = fits ? quota_take(&shard->quota, sizeof *event + body->bytes) : NULL;
    if (!event) {
        stream->gone = number; // no client may continue before this event
        return false;
    }
    *event = (struct mcp_event){.client = client,
                                .stream = stream,
                                .number = number,
                                .bytes = (uint32_t)body->bytes,
                                .is_answer = is_answer};
    parcel_copy(body, (uint8_t *)event->body);
    list_append(&client->events, &event->by_session);
    list_append(&mcp_http_of(shard)->events, &event->by_age);
    client->history_bytes += event->bytes;
    mcp_http_of(shard)->history_bytes += footprint(event);
    stream->count++;
    return true;
}

void mcp_history_move(struct mcp_client *client, struct mcp_history_stream *from,
                      struct mcp_history_stream *to) {
    assert(from != to && !to->is_over);
    for (struct list *node = client->events.next; node != &client->events; node = node->next) {
        struct mcp_event *event = list_entry(node, struct mcp_event, by_session);
        if (event->stream != from || event->number <= from->sent)
            continue;
        event->stream = to;
        event->number = mcp_history_number(client);
        from->count--;
        to->count++;
    }
}

void mcp_history_free(struct shard *shard, struct mcp_client *client) {
    assert(client->is_closed);
    while (!list_empty(&client->events))
        drop(shard, first_of(client), COUNT_DROP_TARGET_GONE);
    client->listening = NULL;
    while (!list_empty(&client->streams))
        quota_give(&shard->quota, list_entry(list_take(&client->streams), struct mcp_history_stream, link));
}

bool mcp_history_relieve(struct shard *shard) {
    const struct mcp_http *table = mcp_http_of(shard);
    uint64_t bytes_max = table ? table->history_bytes / 2 : 0;
    if (!table || list_empty(&table->events))
        return false;
    while (!list_empty(&table->events) && table->history_bytes > bytes_max)
        drop(shard, list_entry(table->events.next, struct mcp_event, by_age), COUNT_DROP_OVERLOADED);
    return true;
}

// --- Event ids

void mcp_history_put_id(const struct mcp_history_stream *stream, uint64_t number,
                        char out[MCP_EVENT_ID_BYTES]) {
    char digits[2][24]; // text_digits may write 8 bytes
    size_t count = text_digits(digits[0], stream->number), more = text_digits(digits[1], number);
    assert(number > 0 && count + more + 2 <= MCP_EVENT_ID_BYTES);
    memcpy(out, digits[0], count);
    out[count] = '-';
    memcpy(out + count + 1, digits[1], more);
    out[count + 1 + more] = '\0';
}

static const uint64_t NUMBER_MAX = UINT64_C(1) << 53; // no stream or event has this number

static bool read_id(const uint8_t *id, size_t bytes, uint64_t *stream, uint64_t *number) {
    const uint8_t *dash = bytes ? memchr(id, '-', bytes) : NULL;
    if (!dash || dash == id || dash + 1 == id + bytes || id[0] == '0' || dash[1] == '0')
        return false; // one event has one id, without leading zeros
    return text_read_digits(id, (size_t)(dash - id), NUMBER_MAX, stream) &&
           text_read_digits(dash + 1, (size_t)(id + bytes - dash - 1), NUMBER_MAX, number);
}

static bool has_event(const struct mcp_client *client, const struct mcp_history_stream *stream,
                      uint64_t number) {
    if (number < stream->gone)
        return false;
    if (number == stream->gone || number == stream->opening)
        return true;
    for (const struct list *node = client->events.next; node != &client->events; node = node->next) {
        const struct mcp_event *event = list_entry(node, struct mcp_event, by_session);
        if (event->stream == stream && event->number == number)
            return true;
    }
    return false;
}

struct mcp_history_stream *mcp_history_find(const struct mcp_client *client, const uint8_t *id, size_t bytes,
                                            uint64_t *number) {
    uint64_t stream_number;
    if (!read_id(id, bytes, &stream_number, number))
        return NULL;
    for (struct list *node = client->streams.next; node != &client->streams; node = node->next) {
        struct mcp_history_stream *stream = list_entry(node, struct mcp_history_stream, link);
        if (stream->number == stream_number)
            return *number <= stream->sent && has_event(client, stream, *number) ? stream : NULL;
    }
    return NULL;
}

const struct mcp_event *mcp_history_next(const struct mcp_client *client,
                                         const struct mcp_history_stream *stream, uint64_t number) {
    for (const struct list *node = client->events.next; node != &client->events; node = node->next) {
        const struct mcp_event *event = list_entry(node, struct mcp_event, by_session);
        if (event->stream == stream && event->number > number)
            return event;
    }
    return NULL;
}

struct parcel *mcp_history_body(struct shard *shard, const struct mcp_event *event) {
    struct text text;
    text_init(&text);
    text_add(&text, event->body, event->bytes);
    struct parcel *body = text.failed ? NULL : parcel_from_text(&shard->parcels, text.bytes, text.length);
    if (!body)
        text_deinit(&text);
    return body;
}
