// Kinds of messages of the Model Context Protocol, by the two eras' own examples.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/mcp/mcp_message.h"
#include "tests/core/base/placed.h"

static const uint8_t *text;

static struct lookup look_up(const char *body) {
    struct lookup lookup;
    text = placed(body, strlen(body));
    lookup_body(&lookup, text, (uint32_t)strlen(body), 255);
    assert_int_equal(lookup.verdict, LOOKUP_GOOD);
    return lookup;
}

static void assert_era(const char *body, enum mcp_method method, enum mcp_era era) {
    struct lookup lookup = look_up(body);
    char name[100];
    size_t bytes = json_string_decode(text, lookup.value[KEY_METHOD], name, sizeof name);
    assert_int_equal(mcp_method(name, bytes), method);
    assert_int_equal(mcp_era(text, &lookup, method), era);
}

#define VERSION "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\""

static void eras_are_told_apart(void **state) {
    (void)state;
    assert_era("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
               "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}",
               MCP_INITIALIZE, MCP_LEGACY);
    assert_era("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", MCP_INITIALIZED, MCP_LEGACY);
    assert_era("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", MCP_OTHER, MCP_LEGACY);
    assert_era("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
               "\"progressToken\":1}}}",
               MCP_OTHER, MCP_LEGACY);
    assert_era("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{" VERSION
               "}}}",
               MCP_OTHER, MCP_MODERN);
    assert_era("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":7," VERSION
               "}}",
               MCP_OTHER, MCP_LEGACY);
    assert_era("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":[" // none of an object
               "{\"_meta\":{" VERSION "}}]}",
               MCP_OTHER, MCP_LEGACY);
    assert_era("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}", MCP_DISCOVER, MCP_MODERN);
    assert_era("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{\"_meta\":{"
               "\"\\u0069o.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}",
               MCP_LISTEN, MCP_MODERN);
}

static uint64_t id_of(const char *value) {
    struct json_item item = {.value = {0, (uint32_t)strlen(value)},
                             .type = *value == '"'   ? JSON_STRING
                                     : *value == '{' ? JSON_OBJECT
                                                     : JSON_NUMBER};
    return mcp_id(placed(value, strlen(value)), &item);
}

static void ids_are_numbers_or_their_digits(void **state) {
    (void)state;
    assert_int_equal(id_of("4503599627370498"), UINT64_C(4503599627370498));
    assert_int_equal(id_of("\"33554435\""), 33554435);
    static const char *const none[] = {"\"\"", "\"a\"", "\"1 \"", "-1", "1.5", "{}", "\"\\u0031\""};
    for (size_t index = 0; index < sizeof none / sizeof *none; index++)
        assert_int_equal(id_of(none[index]), 0);
}

static void assert_restored(const char *value, const char *own, const char *restored) {
    char body[100], expected[100];
    struct text out;
    int bytes = snprintf(body, sizeof body, "{\"a\":%s,\"b\":1}", value);
    snprintf(expected, sizeof expected, "{\"a\":%s,\"b\":1}", restored);
    struct json_item item = {.value = {5, (uint32_t)strlen(value)},
                             .type = *value == '"' ? JSON_STRING : JSON_NUMBER};
    text_init(&out);
    mcp_put_restored(&out, placed(body, (size_t)bytes), (size_t)bytes, &item, own, strlen(own));
    text_add(&out, "", 1);
    assert_string_equal(out.bytes, expected);
    text_deinit(&out);
}

static void a_subscription_is_named_as_its_user_names_it(void **state) {
    (void)state;
    assert_restored("77", "1", "1");
    assert_restored("77", "\"x\"", "\"x\"");
    assert_restored("\"77\"", "1", "\"1\"");
    assert_restored("\"77\"", "\"x\"", "\"x\"");
}

static void errors_of_the_modern_era(void **state) {
    (void)state;
    static const struct {
        const char *error;
        bool is_modern;
    } table[] = {{"{\"code\":-32022,\"message\":\"m\"}", true},
                 {"{\"code\":-32020}", true},
                 {"{\"code\":-32601}", false},
                 {"{\"code\":-32602}", false},
                 {"{\"code\":\"-32022\"}", false},
                 {"7", false}};
    for (size_t row = 0; row < sizeof table / sizeof *table; row++) {
        char body[100];
        snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":%s}", table[row].error);
        struct lookup lookup = look_up(body);
        assert_int_equal(mcp_error_is_modern(text, &lookup), table[row].is_modern);
    }
}

static void methods_are_whole_names(void **state) {
    (void)state;
    static const char *const others[] = {"", "pin", "pings", "Ping", "initialized", "resources/subscribed"};
    for (size_t index = 0; index < sizeof others / sizeof *others; index++)
        assert_int_equal(mcp_method(others[index], strlen(others[index])), MCP_OTHER);
    assert_int_equal(mcp_method("resources/unsubscribe", 21), MCP_UNSUBSCRIBE);
    assert_int_equal(mcp_method("notifications/message", 21), MCP_LOG);
}

static void assert_value(struct json_item item, const char *value) {
    if (!value) {
        assert_int_equal(item.type, JSON_NONE);
        return;
    }
    assert_int_not_equal(item.type, JSON_NONE);
    assert_int_equal(item.value.bytes, strlen(value));
    assert_memory_equal(text + item.value.at, value, item.value.bytes);
}

static void meta_and_params_are_read(void **state) {
    (void)state;
    struct lookup lookup =
        look_up("{\"method\":\"notifications/message\",\"params\":{\"uri\":\"file:\\/\\/a\",\"_meta\":{"
                "\"io.modelcontextprotocol/subscriptionId\":12,"
                "\"io.modelcontextprotocol/logLevel\":\"info\"}}}");
    assert_value(mcp_meta(text, &lookup, MCP_META_SUBSCRIPTION), "12");
    assert_value(mcp_meta(text, &lookup, MCP_META_LOG_LEVEL), "\"info\"");
    assert_value(mcp_meta(text, &lookup, MCP_META_VERSION), NULL);
    assert_value(mcp_uri(text, &lookup), "\"file:\\/\\/a\"");
    lookup = look_up("{\"method\":\"m\",\"params\":{\"uri\":7}}");
    assert_value(mcp_uri(text, &lookup), NULL);
    assert_value(mcp_meta(text, &lookup, MCP_META_VERSION), NULL);
    lookup = look_up("{\"method\":\"m\"}");
    assert_value(mcp_uri(text, &lookup), NULL);
}

static void results_tell_their_subscription(void **state) {
    (void)state;
    struct lookup lookup = look_up("{\"id\":5,\"result\":{\"resultType\":\"complete\",\"_meta\":{"
                                   "\"io.modelcontextprotocol/subscriptionId\":5}}}");
    assert_value(mcp_result_subscription(text, &lookup), "5");
    static const char *const without[] = {"{\"id\":5,\"result\":{}}", "{\"id\":5,\"result\":[]}",
                                          "{\"id\":5,\"result\":{\"_meta\":[]}}",
                                          "{\"id\":5,\"error\":{\"code\":1,\"message\":\"\"}}"};
    for (size_t index = 0; index < sizeof without / sizeof *without; index++) {
        lookup = look_up(without[index]);
        assert_value(mcp_result_subscription(text, &lookup), NULL);
    }
}

static void versions_of_the_legacy_era(void **state) {
    (void)state;
    static const char *const all[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
    for (uint32_t at = 0; at < sizeof all / sizeof *all; at++) {
        uint32_t version = mcp_legacy_version(all[at], strlen(all[at]));
        const char *quoted = mcp_legacy_version_text(version);
        assert_int_equal(version, at + 1);
        assert_int_equal(strlen(quoted), strlen(all[at]) + 2);
        assert_memory_equal(quoted + 1, all[at], strlen(all[at]));
    }
    static const char *const none[] = {"", "2025-11-2", "2025-11-255", "2026-07-28", "2.0.0"};
    for (size_t at = 0; at < sizeof none / sizeof *none; at++)
        assert_int_equal(mcp_legacy_version(none[at], strlen(none[at])), 0);
}

static void what_the_hub_says_is_read_back(void **state) {
    (void)state;
    struct text out = {0};
    mcp_put_initialize(&out, 77, false);
    text_add(&out, "", 1);
    struct lookup lookup = look_up(out.bytes);
    assert_int_equal(lookup.kind, BODY_REQUEST);
    assert_true(json_valid(text, (uint32_t)strlen(out.bytes)));
    assert_value(json_member(text, lookup.value[KEY_PARAMS], "protocolVersion"), "\"2025-11-25\"");
    assert_value((struct json_item){.value = lookup.value[KEY_ID], .type = JSON_NUMBER}, "77");
    assert_value(json_member(text, lookup.value[KEY_PARAMS], "capabilities"), "{}");
    out.length = 0;
    mcp_put_initialize(&out, 77, true);
    text_add(&out, "", 1);
    lookup = look_up(out.bytes);
    assert_value(json_member(text, lookup.value[KEY_PARAMS], "capabilities"),
                 "{\"sampling\":{},\"elicitation\":{}}");
    out.length = 0;
    mcp_put_cancelled(&out, 78, "its source \"left\"");
    text_add(&out, "", 1);
    lookup = look_up(out.bytes);
    assert_int_equal(lookup.kind, BODY_NOTIFICATION);
    assert_value(json_member(text, lookup.value[KEY_PARAMS], "requestId"), "78");
    assert_value(json_member(text, lookup.value[KEY_PARAMS], "reason"), "\"its source \\\"left\\\"\"");
    out.length = 0;
    mcp_put_list_changed(&out, "tools");
    text_add(&out, "", 1);
    assert_string_equal(out.bytes, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    out.length = 0;
    mcp_put_initialized(&out);
    text_add(&out, "", 1);
    lookup = look_up(out.bytes);
    assert_int_equal(lookup.kind, BODY_NOTIFICATION);
    text_deinit(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eras_are_told_apart),
        cmocka_unit_test(methods_are_whole_names),
        cmocka_unit_test(ids_are_numbers_or_their_digits),
        cmocka_unit_test(a_subscription_is_named_as_its_user_names_it),
        cmocka_unit_test(errors_of_the_modern_era),
        cmocka_unit_test(meta_and_params_are_read),
        cmocka_unit_test(results_tell_their_subscription),
        cmocka_unit_test(versions_of_the_legacy_era),
        cmocka_unit_test(what_the_hub_says_is_read_back),
    };
    return cmocka_run_group_tests(tests, placed_map, placed_unmap);
}
