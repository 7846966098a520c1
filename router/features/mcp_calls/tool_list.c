#include "router/features/mcp_calls/tool_list.h"

#include <assert.h>
#include <string.h>

#include "core/child/child_settings.h"
#include "router/features/mcp_calls/mcp_body.h"
#include "router/rights/authz.h"

static const struct child_settings *settings_of(const struct shard *shard, const char *server, size_t bytes) {
    const struct child_settings *settings = shard->settings->children;
    assert(bytes > 0);
    while (settings && (strlen(settings->name) != bytes || memcmp(settings->name, server, bytes) != 0))
        settings = settings->next;
    return settings;
}

bool tool_list_may_hide(const struct shard *shard, const struct user *user, const char *server,
                        size_t bytes) {
    const struct child_settings *settings = settings_of(shard, server, bytes);
    return user || (settings && settings->tools.length > 0);
}

bool tool_list_shows(const struct shard *shard, const struct user *user, const char *server,
                     size_t server_bytes, const char *tool, size_t bytes) {
    const struct child_settings *settings = settings_of(shard, server, server_bytes);
    if (settings && !child_settings_has_tool(settings, tool, bytes))
        return false;
    return !user || authz_calls_tool(user, server, server_bytes, tool, bytes);
}

static bool item_shows(const struct shard *shard, const struct user *user, const char *server,
                       size_t server_bytes, const struct mcp_body *body, const struct json_item *item) {
    char name[METHOD_BYTES_MAX];
    struct json_item own = json_member(body->bytes, item->value, "name");
    size_t bytes =
        own.type == JSON_STRING ? json_string_decode(body->bytes, own.value, name, sizeof name) : SIZE_MAX;
    assert(server_bytes > 0);
    return bytes != SIZE_MAX && tool_list_shows(shard, user, server, server_bytes, name, bytes);
}

bool tool_list_filter(struct shard *shard, const struct user *user, const char *server, size_t server_bytes,
                      const struct parcel *answer, struct text *out) {
    struct mcp_body body;
    struct json_walk walk;
    struct json_item item;
    uint32_t hidden = 0;
    bool is_first = true;
    assert(out->length == 0);
    if (!mcp_body_read(shard, answer, &body))
        return false;
    struct json_item list = {0};
    if (lookup_has(&body.lookup, KEY_RESULT) && body.lookup.type[KEY_RESULT] == JSON_OBJECT)
        list = json_member(body.bytes, body.lookup.value[KEY_RESULT], "tools");
    if (list.type != JSON_ARRAY) {
        mcp_body_give(&body);
        return false;
    }
    uint32_t behind = list.value.at + list.value.bytes;
    text_add(out, body.bytes, list.value.at);
    text_put(out, "[");
    for (json_walk_begin(&walk, body.bytes, list.value); json_next(&walk, &item) == JSON_ITEM;) {
        if (!item_shows(shard, user, server, server_bytes, &body, &item)) {
            hidden++;
            continue;
        }
        text_put(out, is_first ? "" : ",");
        text_add(out, body.bytes + item.value.at, item.value.bytes);
        is_first = false;
    }
    text_put(out, "]");
    text_add(out, body.bytes + behind, body.count - behind);
    mcp_body_give(&body);
    if (!hidden)
        text_deinit(out);
    return hidden > 0;
}
