#include "core/mcp/mcp_message.h"

#include <assert.h>
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} methods[MCP_OTHER] = {
#define X(method, name) [method] = {name, sizeof name - 1},
    MCP_METHODS(X)
#undef X
};

// The legacy versions, the oldest first. The texts are dates, so they sort in the same order.
static const char *const legacy_versions[] = {"\"2024-11-05\"", "\"2025-03-26\"", "\"2025-06-18\"",
                                              "\"" MCP_LEGACY_VERSION "\""};

enum { LEGACY_VERSIONS = sizeof legacy_versions / sizeof *legacy_versions };

static const char *const meta_keys[] = {
    [MCP_META_VERSION] = "io.modelcontextprotocol/protocolVersion",
    [MCP_META_LOG_LEVEL] = "io.modelcontextprotocol/logLevel",
    [MCP_META_SUBSCRIPTION] = "io.modelcontextprotocol/subscriptionId",
};

uint32_t mcp_legacy_version(const char *text, size_t bytes) {
    uint32_t version = LEGACY_VERSIONS;
    assert(text || bytes == 0);
    while (version > 0 && (strlen(legacy_versions[version - 1]) != bytes + 2 ||
                           memcmp(legacy_versions[version - 1] + 1, text, bytes) != 0))
        version--;
    return version;
}

const char *mcp_legacy_version_text(uint32_t version) {
    assert(version > 0 && version <= LEGACY_VERSIONS);
    return legacy_versions[version - 1];
}

enum mcp_method mcp_method(const char *name, size_t bytes) {
    enum mcp_method method = 0;
    assert(name);
    while (method < MCP_OTHER &&
           (methods[method].bytes != bytes || memcmp(methods[method].name, name, bytes) != 0))
        method++;
    return method;
}

struct json_item mcp_meta(const uint8_t *body, const struct lookup *lookup, enum mcp_meta kind) {
    assert(kind < sizeof meta_keys / sizeof *meta_keys && meta_keys[kind]);
    if (!lookup_has(lookup, KEY_META) || lookup->type[KEY_META] != JSON_OBJECT)
        return (struct json_item){0};
    return json_member(body, lookup->value[KEY_META], meta_keys[kind]);
}

enum mcp_era mcp_era(const uint8_t *body, const struct lookup *lookup, enum mcp_method method) {
    assert(method <= MCP_OTHER);
    bool is_stated = mcp_meta(body, lookup, MCP_META_VERSION).type != JSON_NONE;
    return is_stated || method == MCP_DISCOVER ? MCP_MODERN : MCP_LEGACY;
}

struct json_item mcp_result_subscription(const uint8_t *body, const struct lookup *lookup) {
    assert(lookup->kind == BODY_RESPONSE);
    if (!lookup_has(lookup, KEY_RESULT) || lookup->type[KEY_RESULT] != JSON_OBJECT)
        return (struct json_item){0};
    struct json_item meta = json_member(body, lookup->value[KEY_RESULT], "_meta");
    if (meta.type != JSON_OBJECT)
        return (struct json_item){0};
    return json_member(body, meta.value, meta_keys[MCP_META_SUBSCRIPTION]);
}

struct json_item mcp_text(const uint8_t *body, const struct lookup *lookup, const char *key) {
    if (!lookup_has(lookup, KEY_PARAMS) || lookup->type[KEY_PARAMS] != JSON_OBJECT)
        return (struct json_item){0};
    struct json_item text = json_member(body, lookup->value[KEY_PARAMS], key);
    return text.type == JSON_STRING ? text : (struct json_item){0};
}

struct json_item mcp_uri(const uint8_t *body, const struct lookup *lookup) {
    return mcp_text(body, lookup, "uri");
}

uint64_t mcp_id(const uint8_t *body, const struct json_item *item) {
    uint64_t id = 0;
    struct span digits = item->value;
    if (item->type == JSON_STRING && digits.bytes > 2)
        digits = (struct span){digits.at + 1, digits.bytes - 2};
    else if (item->type != JSON_NUMBER)
        return 0;
    return json_number_valid(body, digits) && json_number_whole(body, digits, &id) ? id : 0;
}

// Compares the error's code with the codes that only 2026-07-28 has.
bool mcp_error_is_modern(const uint8_t *body, const struct lookup *lookup) {
    static const char *const codes[] = {"-32020", "-32021", "-32022"};
    if (!lookup_has(lookup, KEY_ERROR) || lookup->type[KEY_ERROR] != JSON_OBJECT)
        return false;
    struct json_item code = json_member(body, lookup->value[KEY_ERROR], "code");
    for (size_t index = 0; code.type == JSON_NUMBER && index < sizeof codes / sizeof *codes; index++)
        if (code.value.bytes == strlen(codes[index]) &&
            memcmp(body + code.value.at, codes[index], code.value.bytes) == 0)
            return true;
    return false;
}

void mcp_put_initialize(struct text *out, uint64_t id, bool has_requests) {
    assert(id < UINT64_C(1) << 53);
    text_put(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    text_number(out, (int64_t)id);
    text_put(out, ",\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"" MCP_LEGACY_VERSION
                  "\",\"capabilities\":{");
    text_put(out, has_requests ? "\"sampling\":{},\"elicitation\":{}" : "");
    text_put(out, "},\"clientInfo\":{\"name\":\"patchbay\",\"version\":\"" PATCHBAY_VERSION "\"}}}");
}

void mcp_put_initialized(struct text *out) {
    text_put(out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

void mcp_put_list_changed(struct text *out, const char *list) {
    assert(list && *list);
    text_put(out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/");
    text_put(out, list);
    text_put(out, "/list_changed\"}");
}

void mcp_put_restored(struct text *out, const uint8_t *body, size_t bytes, const struct json_item *item,
                      const char *own, size_t own_bytes) {
    assert(own_bytes > 0 && item->value.at + item->value.bytes <= bytes);
    bool quoted = item->type == JSON_STRING && *own != '"';
    size_t behind = item->value.at + item->value.bytes;
    text_add(out, body, item->value.at);
    text_put(out, quoted ? "\"" : "");
    text_add(out, own, own_bytes);
    text_put(out, quoted ? "\"" : "");
    text_add(out, body + behind, bytes - behind);
}

void mcp_put_cancelled(struct text *out, uint64_t id, const char *reason) {
    assert(reason && id < UINT64_C(1) << 53);
    text_put(out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":");
    text_number(out, (int64_t)id);
    text_put(out, ",\"reason\":");
    text_string(out, reason, strlen(reason));
    text_put(out, "}}");
}
