// Requirements of HugAI v2 methods. The documents' examples fit. Without one of their fields, or with another
// type or value of it, they don't.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/lookup/schema.h"
#include "tests/core/base/placed.h"
#include "tests/core/lookup/lookup_examples.h"

static struct schema_fault judge(const char *body) {
    struct lookup lookup;
    const uint8_t *text = placed(body, strlen(body));
    lookup_body_strict(&lookup, text, (uint32_t)strlen(body), 255);
    if (lookup.verdict != LOOKUP_GOOD)
        fail_msg("%s: verdict %d", body, (int)lookup.verdict);
    char method[100];
    size_t bytes = json_string_decode(text, lookup.value[KEY_METHOD], method, sizeof method);
    assert_true(bytes != SIZE_MAX);
    struct schema_fault fault = schema_check(text, &lookup, method, bytes);
    lookup_body(&lookup, text, (uint32_t)strlen(body), 255); // which notes no members
    struct schema_fault walked = schema_check(text, &lookup, method, bytes);
    assert_ptr_equal(fault.field, walked.field);
    assert_ptr_equal(fault.expected, walked.expected);
    return fault;
}

static void assert_fault(const char *body, const char *field, const char *expected) {
    struct schema_fault fault = judge(body);
    if (!field) {
        if (fault.field)
            fail_msg("%s: %s must be %s", body, fault.field, fault.expected);
        return;
    }
    if (!fault.field)
        fail_msg("%s: fits", body);
    assert_string_equal(fault.field, field);
    assert_string_equal(fault.expected, expected);
}

static void authz_call(const char *method, const char *params, const char *field, const char *expected) {
    char body[1200];
    snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":%s,\"id\":1}", method,
             params);
    assert_fault(body, field, expected);
}

static void examples_fit(void **state) {
    (void)state;
    for (size_t index = 0; index < 7; index++)
        assert_fault(examples[index].body, NULL, NULL);
    assert_fault("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"agent/register\",\"params\":{\"agentId\":"
                 "\"architecture-agent\",\"capabilities\":{\"tasks\":[\"design\",\"review\"],"
                 "\"governanceLevel\":\"supervised\"}}}",
                 NULL, NULL);
}

// --- Each field of each method.

#define LEVELS_TEXT    "autonomous, supervised, human-in-the-loop or manual"
#define DECISIONS_TEXT "approved, rejected or needs_revision"
#define PRIORITIES     "low, medium, high or critical"

enum { FIELDS_MAX = 4 };
static const struct method_row {
    const char *method;
    struct {
        const char *name, *good, *expected;
    } fields[FIELDS_MAX];
} methods[] = {
    {"initialize",
     {{"processId", "1", "number or null"},
      {"agentId", "\"a\"", "string"},
      {"capabilities", "{}", "object or array"},
      {"governanceLevel", "\"manual\"", LEVELS_TEXT}}},
    {"agent/register",
     {{"agentId", "\"a\"", "string"},
      {"capabilities", "[\"x\"]", "object or array"},
      {"governanceLevel", "\"human-in-the-loop\"", LEVELS_TEXT}}},
    {"agent/request",
     {{"sourceAgent", "\"a\"", "string"}, {"targetAgent", "\"b\"", "string"}, {"task", "\"t\"", "string"}}},
    {"event", {{"event", "\"e\"", "string"}}},
    {"governance/approval",
     {{"checkpoint", "\"c\"", "string"},
      {"artifact", "{}", "object"},
      {"approver", "\"a\"", "string"},
      {"decision", "\"needs_revision\"", DECISIONS_TEXT}}},
    {"tool/integration", {{"tool", "\"t\"", "string"}, {"action", "\"a\"", "string"}}},
    {"audit/log",
     {{"action", "\"a\"", "string"}, {"actor", "\"b\"", "string"}, {"timestamp", "\"t\"", "string"}}},
    {"hub/attach", {{"agent", "\"a\"", "string"}}},
};

// The params of a method, with `value` in place of the field `changed`; NULL: without it.
static void write_params(char *out, const struct method_row *row, unsigned changed, const char *value) {
    strcpy(out, "{\"more\":[1]");
    for (unsigned field = 0; field < FIELDS_MAX && row->fields[field].name; field++) {
        const char *written = field == changed ? value : row->fields[field].good;
        if (written)
            sprintf(out + strlen(out), ",\"%s\":%s", row->fields[field].name, written);
    }
    strcat(out, "}");
}

static bool type_fits(const char *expected, const char *value) {
    if (strcmp(expected, "number or null") == 0)
        return value[0] == '7' || value[0] == 'n';
    if (strcmp(expected, "object or array") == 0)
        return value[0] == '{' || value[0] == '[';
    if (strcmp(expected, "object") == 0)
        return value[0] == '{';
    return strcmp(expected, "string") == 0 && value[0] == '"';
}

static void each_field_is_required_and_typed(void **state) {
    (void)state;
    static const char *const values[] = {NULL, "\"some text\"", "7", "{}", "[]", "true", "false", "null"};
    for (size_t method = 0; method < sizeof methods / sizeof *methods; method++) {
        const struct method_row *row = &methods[method];
        for (unsigned field = 0; field < FIELDS_MAX && row->fields[field].name; field++)
            for (size_t index = 0; index < sizeof values / sizeof *values; index++) {
                char params[400], path[60];
                write_params(params, row, field, values[index]);
                snprintf(path, sizeof path, "params.%s", row->fields[field].name);
                bool fits = values[index] && type_fits(row->fields[field].expected, values[index]);
                authz_call(row->method, params, fits ? NULL : path, row->fields[field].expected);
            }
        char params[400];
        write_params(params, row, FIELDS_MAX, NULL);
        authz_call(row->method, params, NULL, NULL);
    }
}

static void allowed_values_are_those_of_the_table(void **state) {
    (void)state;
    static const struct {
        const char *format, *method, *field, *expected, *values[5];
    } rows[] = {
        {"{\"sourceAgent\":\"a\",\"targetAgent\":\"b\",\"task\":\"t\",\"priority\":\"%s\"}",
         "agent/request",
         "params.priority",
         PRIORITIES,
         {"low", "medium", "high", "critical"}},
        {"{\"checkpoint\":\"a\",\"artifact\":{},\"approver\":\"b\",\"decision\":\"%s\"}",
         "governance/approval",
         "params.decision",
         DECISIONS_TEXT,
         {"approved", "rejected", "needs_revision"}},
        {"{\"agentId\":\"a\",\"capabilities\":{},\"governanceLevel\":\"%s\"}",
         "agent/register",
         "params.governanceLevel",
         LEVELS_TEXT,
         {"autonomous", "supervised", "human-in-the-loop", "manual"}},
        {"{\"agentId\":\"a\",\"capabilities\":{\"governanceLevel\":\"%s\"}}",
         "agent/register",
         "params.governanceLevel",
         LEVELS_TEXT,
         {"autonomous", "supervised", "human-in-the-loop", "manual"}},
        {"{\"processId\":1,\"agentId\":\"a\",\"capabilities\":{},\"governanceLevel\":\"%s\"}",
         "initialize",
         "params.governanceLevel",
         LEVELS_TEXT,
         {"autonomous", "supervised", "human-in-the-loop", "manual"}},
    };
    static const char *const never[] = {"",        "High",           "LOW",   "urgent",
                                        "approve", "needs-revision", "human", "highx"};
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        char params[200];
        for (const char *const *value = rows[row].values; *value; value++) {
            sprintf(params, rows[row].format, *value);
            authz_call(rows[row].method, params, NULL, NULL);
        }
        for (size_t index = 0; index < sizeof never / sizeof *never; index++) {
            sprintf(params, rows[row].format, never[index]);
            authz_call(rows[row].method, params, rows[row].field, rows[row].expected);
        }
    }
    authz_call("agent/request", "{\"sourceAgent\":\"a\",\"targetAgent\":\"b\",\"task\":\"t\",\"priority\":1}",
               "params.priority", PRIORITIES);
    authz_call("agent/request",
               "{\"sourceAgent\":\"a\",\"targetAgent\":\"b\",\"task\":\"t\",\"priority\":\"h\\u0069gh\"}",
               NULL, NULL);
}

// A level in the capabilities serves a registration alone, and only where none stands beside them.
static void where_a_level_may_stand(void **state) {
    (void)state;
    authz_call("agent/register", "{\"agentId\":\"a\",\"capabilities\":{\"governanceLevel\":1}}",
               "params.governanceLevel", LEVELS_TEXT);
    authz_call(
        "agent/register",
        "{\"agentId\":\"a\",\"governanceLevel\":\"x\",\"capabilities\":{\"governanceLevel\":\"manual\"}}",
        "params.governanceLevel", LEVELS_TEXT);
    authz_call("agent/register", "{\"agentId\":\"a\",\"capabilities\":[\"governanceLevel\",\"manual\"]}",
               "params.governanceLevel", LEVELS_TEXT);
    authz_call("initialize",
               "{\"processId\":null,\"agentId\":\"a\",\"capabilities\":{\"governanceLevel\":\"manual\"}}",
               "params.governanceLevel", LEVELS_TEXT);
}

static void a_field_that_comes_twice_is_judged_twice(void **state) {
    (void)state;
    authz_call("governance/approval",
               "{\"decision\":\"approved\",\"checkpoint\":\"a\",\"artifact\":{},\"approver\":\"b\","
               "\"artifact\":1}",
               "params.artifact", "object");
    authz_call("tool/integration", "{\"tool\":\"t\",\"action\":\"a\",\"\\u0061ction\":1}", "params.action",
               "string");
    authz_call("tool/integration", "{\"tool\":\"t\",\"\\u0061ction\":\"a\"}", NULL, NULL);
}

// More of them than the lookup notes, before the fields and behind them.
static void any_number_of_other_members_may_stand_around(void **state) {
    (void)state;
    for (unsigned count = 0; count < 3 * LOOKUP_OTHERS_MAX; count++)
        for (unsigned behind = 0; behind < 2; behind++) {
            char params[1000] = "{", others[700] = "";
            for (unsigned index = 0; index < count; index++)
                sprintf(others + strlen(others), "%s\"x%u\":[]", index > 0 ? "," : "", index);
            const char *comma = count > 0 ? "," : "";
            for (unsigned good = 0; good < 2; good++) {
                snprintf(params, sizeof params,
                         behind ? "{%1$s%2$s\"tool\":\"t\",\"action\":%3$s}"
                                : "{\"tool\":\"t\",\"action\":%3$s%2$s%1$s}",
                         others, comma, good ? "\"a\"" : "1");
                authz_call("tool/integration", params, good ? NULL : "params.action", "string");
            }
            snprintf(params, sizeof params, "{\"tool\":\"t\"%s%s}", comma, others);
            authz_call("tool/integration", params, "params.action", "string");
        }
}

static void params_must_be_an_object(void **state) {
    (void)state;
    authz_call("event", "[\"e\"]", "params", "object");
    authz_call("event", "\"e\"", "params", "object");
    authz_call("event", "{}", "params.event", "string");
    assert_fault("{\"jsonrpc\":\"2.0\",\"method\":\"event\"}", "params", "object");
}

static void other_methods_require_nothing(void **state) {
    (void)state;
    static const char *const names[] = {"event2",   "even",        "Event", "agent/requests",
                                        "hub/ping", "initialized", ""};
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
        authz_call(names[index], "[]", NULL, NULL);
        authz_call(names[index], "{\"event\":1,\"priority\":\"soon\",\"decision\":0}", NULL, NULL);
    }
}

static void the_version_is_required_of_all(void **state) {
    (void)state;
    static const char *const versions[] = {"",
                                           "\"jsonrpc\":2.0,",
                                           "\"jsonrpc\":\"2\",",
                                           "\"jsonrpc\":\"1.0\",",
                                           "\"jsonrpc\":null,",
                                           "\"jsonrpc\":\"2.0 \",",
                                           "\"jsonrpc\":{\"2.0\":1},"};
    char body[200];
    for (size_t index = 0; index < sizeof versions / sizeof *versions; index++) {
        snprintf(body, sizeof body, "{%s\"method\":\"hub/ping\",\"id\":1}", versions[index]);
        assert_fault(body, "jsonrpc", "2.0");
        snprintf(body, sizeof body, "{%s\"method\":\"event\"}", versions[index]);
        assert_fault(body, "jsonrpc", "2.0");
    }
    assert_fault("{\"jsonrpc\":\"\\u0032.0\",\"method\":\"m\"}", NULL, NULL);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_fit),
        cmocka_unit_test(each_field_is_required_and_typed),
        cmocka_unit_test(allowed_values_are_those_of_the_table),
        cmocka_unit_test(where_a_level_may_stand),
        cmocka_unit_test(a_field_that_comes_twice_is_judged_twice),
        cmocka_unit_test(any_number_of_other_members_may_stand_around),
        cmocka_unit_test(params_must_be_an_object),
        cmocka_unit_test(other_methods_require_nothing),
        cmocka_unit_test(the_version_is_required_of_all),
    };
    return cmocka_run_group_tests(tests, placed_map, placed_unmap);
}
