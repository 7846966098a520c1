#include "router/features/mcp_http/mcp_table.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/text.h"
#include "router/features/children/child_record.h"

static uint64_t hash_of(const struct mcp_http *table, const void *id) {
    return siphash_table(&table->names, id, MCP_SESSION_ID_BYTES);
}

static uint64_t hash_of_client(const struct hash_table *by_id, const struct hash_node *node) {
    return hash_of(hash_table_entry(by_id, const struct mcp_http, by_id),
                   hash_table_entry(node, struct mcp_client, by_id)->id);
}

bool mcp_table_open(struct shard *shard) {
    assert(shard->index == 0 && !mcp_http_of(shard));
    struct mcp_http *table = memory_take_zeroed(1, sizeof *table);
    if (!table)
        return false;
    uint8_t words[SIPHASH_BYTES];
    siphash_name(&shard->hub->start_settings.secrets.sessions, "mcp over http", 13, words);
    memcpy(table->names.words, words, sizeof words);
    list_init(&table->clients);
    list_init(&table->servers);
    list_init(&table->events);
    hash_table_init(&table->by_id, hash_of_client, &shard->quota);
    mcp_http_shard(shard)->table = table;
    return true;
}

void mcp_table_free(struct shard *shard) {
    struct mcp_http *table = mcp_http_of(shard);
    if (!table)
        return;
    assert(list_empty(&table->clients) && list_empty(&table->servers));
    assert(list_empty(&table->events) && table->history_bytes == 0);
    hash_table_deinit(&table->by_id);
    memory_give(table);
    mcp_http_shard(shard)->table = NULL;
}

bool mcp_table_has_room(const struct shard *shard, const struct user *user) {
    assert(shard->index == 0);
    uint32_t max = (uint32_t)mcp_option(shard, MCP_OPTION_SESSIONS_MAX), own = 0;
    const struct mcp_http *table = mcp_http_of(shard);
    if (table->count >= max)
        return false;
    for (const struct list *node = table->clients.next; user && node != &table->clients; node = node->next)
        own += list_entry(node, struct mcp_client, link)->user == user;
    return own < (max + 3) / 4 || !user;
}

static bool name(struct shard *shard, struct mcp_client *client) {
    static const char digits[] = "0123456789abcdef";
    struct mcp_http *table = mcp_http_of(shard);
    uint64_t named[2] = {client->seat->connection_id, ++table->made};
    uint8_t bytes[SIPHASH_BYTES];
    assert(client->kind == MCP_CLIENT_SESSION && !client->is_named);
    siphash_name(&table->names, named, sizeof named, bytes);
    for (size_t index = 0; index < sizeof bytes; index++) {
        client->id[2 * index] = digits[bytes[index] >> 4];
        client->id[2 * index + 1] = digits[bytes[index] & 15];
    }
    client->is_named = hash_table_add(&table->by_id, &client->by_id);
    return client->is_named;
}

// --- Figures

// Counts a session at its server and in all.
static void count_in(struct shard *shard, struct mcp_client *client) {
    if (client->kind != MCP_CLIENT_SESSION)
        return;
    stats_move_gauge(&shard->stats, FEATURE_GAUGE(FEATURE_MCP_HTTP, MCP_HTTP_GAUGE_SESSIONS), 1);
    client->record =
        client->name_bytes ? child_record_find(shard->hub, client->name, client->name_bytes) : NULL;
    if (client->record)
        atomic_fetch_add_explicit(&client->record->web_sessions, 1, memory_order_relaxed);
}

// Counts a session off. The record may have become another server's, and its count has begun anew: then the count may
// be left as it is.
static void count_out(struct shard *shard, struct mcp_client *client) {
    struct child_record *record = client->record;
    if (client->kind != MCP_CLIENT_SESSION)
        return;
    stats_move_gauge(&shard->stats, FEATURE_GAUGE(FEATURE_MCP_HTTP, MCP_HTTP_GAUGE_SESSIONS), -1);
    client->record = NULL;
    if (record && strlen(record->name) == client->name_bytes &&
        memcmp(record->name, client->name, client->name_bytes) == 0 &&
        atomic_load_explicit(&record->web_sessions, memory_order_relaxed) > 0)
        atomic_fetch_sub_explicit(&record->web_sessions, 1, memory_order_relaxed);
}

// --- Adding and removing

bool mcp_table_add(struct shard *shard, struct mcp_client *client) {
    assert(list_empty(&client->link) && client->kind != MCP_CLIENT_REQUEST);
    if (client->kind == MCP_CLIENT_SESSION && !name(shard, client))
        return false;
    list_append(&mcp_http_of(shard)->clients, &client->link);
    mcp_http_of(shard)->count++;
    count_in(shard, client);
    return true;
}

void mcp_table_remove(struct shard *shard, struct mcp_client *client) {
    assert(shard->index == 0);
    if (client->is_named)
        hash_table_remove(&mcp_http_of(shard)->by_id, &client->by_id);
    client->is_named = false;
    if (list_empty(&client->link))
        return;
    list_remove(&client->link);
    mcp_http_of(shard)->count--;
    count_out(shard, client);
}

struct mcp_client *mcp_table_find(const struct shard *shard, const uint8_t *id, size_t bytes) {
    assert(shard->index == 0);
    if (bytes != MCP_SESSION_ID_BYTES)
        return NULL;
    struct hash_node *node = hash_table_find(&mcp_http_of(shard)->by_id, hash_of(mcp_http_of(shard), id));
    for (; node; node = node->next) {
        struct mcp_client *client = hash_table_entry(node, struct mcp_client, by_id);
        if (memcmp(client->id, id, bytes) == 0)
            return client;
    }
    return NULL;
}

struct mcp_client *mcp_table_find_user(const struct shard *shard, const struct user *user, const char *name,
                                       size_t bytes) {
    assert(shard->index == 0);
    const struct list *all = &mcp_http_of(shard)->clients;
    for (struct list *node = all->next; node != all; node = node->next) {
        struct mcp_client *client = list_entry(node, struct mcp_client, link);
        if (client->kind == MCP_CLIENT_USER && client->user == user && client->name_bytes == bytes &&
            memcmp(client->name, name, bytes) == 0)
            return client;
    }
    return NULL;
}

void mcp_table_close(struct shard *shard, struct mcp_client *client) {
    assert(mcp_client_of_seat(client->seat) == client);
    if (client->is_closed)
        return;
    client->is_closed = true;
    mcp_table_remove(shard, client);
    peer_close(shard, client->seat, COUNTER_NONE);
}

char *mcp_table_line(const struct mcp_client *session) {
    struct text line;
    text_init(&line);
    text_put(&line, "Mcp-Session-Id: ");
    text_add(&line, session->id, sizeof session->id);
    text_add(&line, "\r\n", sizeof "\r\n");
    if (!line.failed)
        return line.bytes;
    text_deinit(&line);
    return NULL;
}
