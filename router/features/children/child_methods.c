#include "router/features/children/child_methods.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/child/log_line.h"
#include "io/keeper.h"
#include "router/engine/request/refuse.h"
#include "router/features/children/child_record.h"
#include "router/rights/authz.h"

void child_methods_list(struct shard *shard, const struct message *message) {
    const struct hub *hub = shard->hub;
    struct text result;
    const char *between = "";
    if (!authz_admin(shard, message))
        return;
    text_init(&result);
    text_put(&result, "{\"children\":[");
    uint32_t count = child_record_count(hub);
    for (uint32_t index = 0; index < count; index++) {
        const struct child_record *record = child_record_at(hub, index);
        if (!child_record_is_there(record))
            continue;
        text_put(&result, between);
        text_put(&result, "{\"name\":");
        text_string(&result, record->name, strlen(record->name));
        text_put(&result, ",");
        child_record_put(&result, hub, record);
        text_put(&result, "}");
        between = ",";
    }
    text_put(&result, "]}");
    message_reply(shard, message, &result);
}

// Returns the record of the child that a message names. Returns NULL if the message was refused.
static struct child_record *read_name(struct shard *shard, const struct message *message) {
    struct json_item item = message_param(message, "name");
    char name[AGENT_ID_BYTES_MAX];
    if (!authz_admin(shard, message))
        return NULL;
    if (item.type != JSON_STRING) {
        refuse_field(shard, message, "params.name", "string");
        return NULL;
    }
    size_t bytes = json_string_decode(message->body, item.value, name, sizeof name);
    struct child_record *record = bytes == SIZE_MAX ? NULL : child_record_find(shard->hub, name, bytes);
    if (record)
        return record;
    struct text data;
    text_init(&data);
    if (bytes != SIZE_MAX)
        reply_data_string(&data, "agent", name, bytes);
    refuse(shard, message, ERROR_AGENT_NOT_FOUND, &data);
    return NULL;
}

static void answer_name(struct shard *shard, const struct message *message,
                        const struct child_record *record) {
    assert(child_record_is_there(record) || record->name[0]);
    struct text result;
    text_init(&result);
    text_put(&result, "{\"name\":");
    text_string(&result, record->name, strlen(record->name));
    text_put(&result, "}");
    message_reply(shard, message, &result);
}

// Notes an order to a child and its instances, which shard 0 carries out.
static void order(struct shard *shard, const struct message *message, uint32_t kind) {
    assert(kind == CHILD_ORDER_RESTART || kind == CHILD_ORDER_STOP);
    struct child_record *record = read_name(shard, message);
    if (!record)
        return;
    size_t bytes = strlen(record->name);
    uint32_t count = child_record_count(shard->hub);
    for (uint32_t index = 0; index < count; index++) { // also for its other instances
        struct child_record *other = child_record_at(shard->hub, index);
        bool is_there = child_record_is_there(other);
        if (other == record ||
            (is_there && strncmp(other->name, record->name, bytes) == 0 && other->name[bytes] == '#'))
            atomic_fetch_or(&other->orders, kind);
    }
    atomic_store(&child_records_of(shard->hub)->has_orders, true);
    if (shard->index != 0)
        shard_wake(shard, 0);
    answer_name(shard, message, record);
}

void child_methods_restart(struct shard *shard, const struct message *message) {
    order(shard, message, CHILD_ORDER_RESTART);
}

void child_methods_stop(struct shard *shard, const struct message *message) {
    order(shard, message, CHILD_ORDER_STOP);
}

// The room for a line of a log: the instance's name, and the line, escaped.
enum { LINE_ROOM_BYTES = AGENT_ID_BYTES_MAX + 2 + 4 * KEEPER_LOG_BYTES, LOGS_MAX = 64 };

// Writes the lines of a child's log, each behind `name` unless that is NULL. The keeper may overwrite lines meanwhile,
// so each line is escaped again.
static void put_log(struct text *result, const struct shard *shard, const struct child_record *record,
                    const char *name, char *room) {
    struct keeper *keeper = shard->hub->start_settings.keeper;
    char *line = room + KEEPER_LOG_BYTES;
    size_t own = name ? (size_t)snprintf(line, LINE_ROOM_BYTES, "%s: ", name) : 0;
    assert(keeper && own <= AGENT_ID_BYTES_MAX + 2);
    size_t bytes = keeper_read_log(&keeper->shared->places[record->place], record->log_since, room);
    for (size_t at = 0, length; at < bytes; at += length + 1) {
        const char *end = memchr(room + at, '\n', bytes - at);
        length = end ? (size_t)(end - room) - at : bytes - at;
        text_put(result, result->length && result->bytes[result->length - 1] == '[' ? "" : ",");
        text_string(result, line, own + log_escape((const uint8_t *)room + at, length, line + own));
    }
}

// Writes the logs of a stand-in's instances. The stand-in has no log.
static void put_logs(struct text *result, const struct shard *shard, const struct child_record *first,
                     char *room) {
    const struct hub *hub = shard->hub;
    size_t bytes = strlen(first->name);
    unsigned shown = 0;
    uint32_t count = child_record_count(hub);
    for (uint32_t index = 0; index < count && shown < LOGS_MAX; index++) {
        const struct child_record *record = child_record_at(hub, index);
        if (!child_record_is_there(record) || strncmp(record->name, first->name, bytes) != 0 ||
            record->name[bytes] != '#')
            continue;
        put_log(result, shard, record, record->name, room);
        shown++;
    }
}

void child_methods_log(struct shard *shard, const struct message *message) {
    const struct child_record *record = read_name(shard, message);
    char *room = record ? memory_take(KEEPER_LOG_BYTES + LINE_ROOM_BYTES) : NULL;
    struct text result;
    if (!record)
        return;
    text_init(&result);
    text_put(&result, "{\"lines\":[");
    if (room && child_record_is_each(record))
        put_logs(&result, shard, record, room);
    else if (room)
        put_log(&result, shard, record, NULL, room);
    text_put(&result, "]}");
    memory_give(room);
    message_reply(shard, message, &result);
}
