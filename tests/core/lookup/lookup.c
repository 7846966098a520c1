// The lookup of routing fields. There are tables of bodies with their kinds, and the example messages of the HugAI v2
// and Hermes documents. The examples come with their keys in other orders, and cut at every length. Each is read at
// every level of vector code.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/lookup/lookup.h"
#include "tests/core/base/placed.h"
#include "tests/core/json/levels.h"
#include "tests/core/lookup/lookup_examples.h"

enum { ID_BYTES_MAX = 16 };

static const uint8_t *look(struct lookup *lookup, const char *body) {
    const uint8_t *text = placed(body, strlen(body));
    memset(lookup, 0xa5, sizeof *lookup);
    lookup_body(lookup, text, (uint32_t)strlen(body), ID_BYTES_MAX);
    return text;
}

static void assert_value(const char *body, enum lookup_key key, enum json_type type, const char *value) {
    struct lookup lookup;
    const uint8_t *text = look(&lookup, body);
    assert_true(lookup_has(&lookup, key));
    assert_int_equal(lookup.type[key], type);
    assert_int_equal(lookup.value[key].bytes, strlen(value));
    assert_memory_equal(text + lookup.value[key].at, value, strlen(value));
}

static void assert_row(const char *body, enum lookup_verdict verdict, enum body_kind kind) {
    struct lookup lookup;
    look(&lookup, body);
    if (lookup.verdict != verdict || lookup.kind != kind)
        print_error("%s: verdict %d, kind %d, fault at %u\n", body, (int)lookup.verdict, (int)lookup.kind,
                    lookup.fault_at);
    assert_int_equal(lookup.verdict, verdict);
    assert_int_equal(lookup.kind, kind);
}

static void assert_rows(const struct row *rows, size_t count) {
    for (size_t index = 0; index < count; index++)
        assert_row(rows[index].body, rows[index].verdict, rows[index].kind);
}

// --- The documents' examples.

static void examples_are_good(void **state) {
    (void)state;
    assert_rows(examples, EXAMPLES_COUNT);
    assert_value(examples[0].body, KEY_AGENT_ID, JSON_STRING, "\"demo-agent-1\"");
    assert_value(examples[0].body, KEY_ID, JSON_NUMBER, "1");
    assert_value(examples[2].body, KEY_METHOD, JSON_STRING, "\"agent/request\"");
    assert_value(examples[2].body, KEY_JSONRPC, JSON_STRING, "\"2.0\"");
    assert_value(examples[2].body, KEY_SOURCE_AGENT, JSON_STRING, "\"demo-agent-1\"");
    assert_value(examples[2].body, KEY_TARGET_AGENT, JSON_STRING, "\"test-agent-2\"");
    assert_value(examples[2].body, KEY_PRIORITY, JSON_STRING, "\"high\"");
    assert_value(examples[2].body, KEY_ID, JSON_NUMBER, "3");
    assert_value(examples[3].body, KEY_EVENT, JSON_STRING, "\"task-progress\"");
    assert_value(examples[4].body, KEY_APPROVER, JSON_STRING, "\"user-123\"");
    assert_value(examples[5].body, KEY_TOOL, JSON_STRING, "\"ci-pipeline\"");
    assert_value(examples[7].body, KEY_PARAMS, JSON_OBJECT, "{}");
    assert_value(examples[8].body, KEY_PARAMS, JSON_OBJECT, "{\n    \"format\": \"json\"\n  }");
    assert_value(
        examples[10].body, KEY_ERROR, JSON_OBJECT,
        "{\n    \"code\": -32600,\n    \"message\": \"Invalid Request\",\n    \"data\": \"Missing required "
        "field: method\"\n  }");
}

static void assert_values_inside(const struct lookup *lookup, uint32_t bytes) {
    for (enum lookup_key key = 0; key < LOOKUP_KEYS_COUNT; key++)
        assert_true(!lookup_has(lookup, key) || lookup->value[key].at + lookup->value[key].bytes <= bytes);
}

static void the_id_goes_with_one_comma(void **state) {
    (void)state;
    static const struct {
        const char *body, *left;
    } rows[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"event\"}", "{\"jsonrpc\":\"2.0\",\"method\":\"event\"}"},
        {"{\"id\":\"x\",\"method\":\"event\"}", "{\"method\":\"event\"}"},
        {"{\"method\":\"event\",\"id\":5}", "{\"method\":\"event\"}"},
        {"{ \"method\" : \"event\" ,\n\"id\"\t: 5.0 }", "{ \"method\" : \"event\"  }"},
        {"{\"params\":{\"id\":1},\"id\" : 5 , \"method\":\"m\"}",
         "{\"params\":{\"id\":1}, \"method\":\"m\"}"},
    };
    for (size_t index = 0; index < sizeof rows / sizeof *rows; index++) {
        struct lookup lookup;
        const uint8_t *text = look(&lookup, rows[index].body);
        char left[256];
        struct span cut = lookup_id_member(&lookup, text);
        snprintf(left, sizeof left, "%.*s%s", (int)cut.at, rows[index].body,
                 rows[index].body + cut.at + cut.bytes);
        assert_string_equal(left, rows[index].left);
    }
}

static void a_cut_body_is_never_good(void **state) {
    (void)state;
    static const char *const slacks[] = {" ", "\"}", "}", "]", "1", "1}", "\\", ",\"a\":1}"};
    for (size_t example = 0; example < EXAMPLES_COUNT; example++)
        for (uint32_t bytes = 1; bytes < strlen(examples[example].body); bytes++)
            for (size_t slack = 0; slack < sizeof slacks / sizeof *slacks; slack++) {
                struct lookup lookup;
                lookup_body(&lookup, placed_with(examples[example].body, bytes, slacks[slack]), bytes,
                            ID_BYTES_MAX);
                assert_int_equal(lookup.verdict, LOOKUP_NOT_JSON);
                assert_true(lookup.fault_at <= bytes);
                assert_values_inside(&lookup, bytes);
            }
}

static void a_cut_character_is_not_utf8(void **state) {
    (void)state;
    const char body[] = "{\"method\":\"x\",\"params\":{\"a\":\"\xe2\x82\xac\"}}";
    struct lookup lookup;
    for (uint32_t bytes = 1; bytes < sizeof body - 1; bytes++) {
        lookup_body(&lookup, placed_with(body, bytes, "\xac\"}}"), bytes, ID_BYTES_MAX);
        bool inside = ((uint8_t)body[bytes] & 0xc0) == 0x80;
        assert_int_equal(lookup.verdict, inside ? LOOKUP_NOT_UTF8 : LOOKUP_NOT_JSON);
    }
}

// All orders of five members.
static void keys_come_in_any_order(void **state) {
    (void)state;
    static const char *const members[5] = {
        "\"jsonrpc\":\"2.0\"", "\"id\":\"a\\\"b\"", "\"method\" : \"m\"",
        "\"params\":{\"x\":{\"targetAgent\":1},\"targetAgent\":\"t\",\"id\":9}",
        "\"extra\":[{\"id\":[]},\"]\"]"};
    for (unsigned order = 0; order < 5 * 5 * 5 * 5 * 5; order++) {
        char body[300] = "{";
        unsigned used = 0, rest = order;
        for (unsigned place = 0; place < 5; place++, rest /= 5) {
            used |= 1u << rest % 5;
            strcat(strcat(body, members[rest % 5]), place < 4 ? "," : "}");
        }
        if (used != 0x1f)
            continue;
        assert_row(body, LOOKUP_GOOD, BODY_REQUEST);
        assert_value(body, KEY_ID, JSON_STRING, "\"a\\\"b\"");
        assert_value(body, KEY_METHOD, JSON_STRING, "\"m\"");
        assert_value(body, KEY_TARGET_AGENT, JSON_STRING, "\"t\"");
        assert_value(body, KEY_PARAMS_ID, JSON_NUMBER, "9");
    }
}

// --- Kinds.

static void kinds_are_told(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"{\"method\":\"m\",\"id\":1}", LOOKUP_GOOD, BODY_REQUEST},
        {"{\"method\":\"m\"}", LOOKUP_GOOD, BODY_NOTIFICATION},
        {"{\"method\":\"m\",\"params\":{\"id\":1}}", LOOKUP_GOOD, BODY_NOTIFICATION},
        {"{\"method\":\"m\",\"type\":\"x\"}", LOOKUP_GOOD, BODY_NOTIFICATION},
        {"{\"result\":null,\"id\":1}", LOOKUP_GOOD, BODY_RESPONSE},
        {"{\"error\":{},\"id\":1}", LOOKUP_GOOD, BODY_RESPONSE},
        {"{\"result\":1,\"error\":2,\"id\":1}", LOOKUP_GOOD, BODY_RESPONSE},
        {"{\"result\":1}", LOOKUP_GOOD, BODY_RESPONSE},
        {"{\"result\":1,\"id\":null}", LOOKUP_GOOD, BODY_RESPONSE},
        {"{\"result\":1,\"id\":\"longer than the limit\"}", LOOKUP_GOOD, BODY_RESPONSE},
        {"{\"result\":1,\"type\":\"chunk\"}", LOOKUP_GOOD, BODY_RESPONSE},
        {"{\"type\":\"chunk\",\"seq\":1}", LOOKUP_GOOD, BODY_STREAM},
        {"{\"type\":\"chunk\",\"id\":null}", LOOKUP_GOOD, BODY_STREAM},
        {"{\"t\\u0079pe\":\"chunk\"}", LOOKUP_GOOD, BODY_STREAM},
        {"{\"type\":\"chunk\",\"jsonrpc\":\"2.0\"}", LOOKUP_NOT_MESSAGE, BODY_UNKNOWN},
        {"[]", LOOKUP_GOOD, BODY_BATCH},
        {" [ {\"method\":5} , 1 x ] ", LOOKUP_GOOD, BODY_BATCH},
        {"[", LOOKUP_NOT_JSON, BODY_BATCH},
        {"[}", LOOKUP_NOT_JSON, BODY_BATCH},
        {"[] 1", LOOKUP_NOT_JSON, BODY_BATCH},
        {"[\"\xff\"]", LOOKUP_NOT_UTF8, BODY_BATCH},
        {"{}", LOOKUP_NOT_MESSAGE, BODY_UNKNOWN},
        {"{\"id\":1}", LOOKUP_NOT_MESSAGE, BODY_UNKNOWN},
        {"{\"params\":{\"method\":\"m\",\"result\":1,\"type\":1}}", LOOKUP_NOT_MESSAGE, BODY_UNKNOWN},
        {"1", LOOKUP_NOT_MESSAGE, BODY_UNKNOWN},
        {" \"x\" ", LOOKUP_NOT_MESSAGE, BODY_UNKNOWN},
        {"null", LOOKUP_NOT_MESSAGE, BODY_UNKNOWN},
        {"{\"method\":\"m\",\"result\":1,\"id\":1}", LOOKUP_NOT_MESSAGE, BODY_REQUEST},
        {"{\"error\":1,\"method\":\"m\"}", LOOKUP_NOT_MESSAGE, BODY_NOTIFICATION},
        {"{\"method\":5,\"id\":1}", LOOKUP_NOT_MESSAGE, BODY_REQUEST},
        {"{\"method\":{\"a\":\"m\"}}", LOOKUP_NOT_MESSAGE, BODY_NOTIFICATION},
        {"{\"method\":null}", LOOKUP_NOT_MESSAGE, BODY_NOTIFICATION},
    };
    assert_rows(rows, sizeof rows / sizeof *rows);
}

static void request_ids_are_strings_or_numbers(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"{\"method\":\"m\",\"id\":0}", LOOKUP_GOOD, BODY_REQUEST},
        {"{\"method\":\"m\",\"id\":-1.5e3}", LOOKUP_GOOD, BODY_REQUEST},
        {"{\"method\":\"m\",\"id\":\"\"}", LOOKUP_GOOD, BODY_REQUEST},
        {"{\"method\":\"m\",\"id\":\"fourteen bytes\"}", LOOKUP_GOOD, BODY_REQUEST},
        {"{\"method\":\"m\",\"id\":\"fifteen bytes..\"}", LOOKUP_BAD_ID, BODY_REQUEST},
        {"{\"method\":\"m\",\"id\":1234567890123456}", LOOKUP_GOOD, BODY_REQUEST},
        {"{\"method\":\"m\",\"id\":12345678901234567}", LOOKUP_BAD_ID, BODY_REQUEST},
        {"{\"method\":\"m\",\"id\":null}", LOOKUP_BAD_ID, BODY_REQUEST},
        {"{\"method\":\"m\",\"id\":true}", LOOKUP_BAD_ID, BODY_REQUEST},
        {"{\"method\":\"m\",\"id\":false}", LOOKUP_BAD_ID, BODY_REQUEST},
        {"{\"method\":\"m\",\"id\":{}}", LOOKUP_BAD_ID, BODY_REQUEST},
        {"{\"method\":\"m\",\"id\":[1]}", LOOKUP_BAD_ID, BODY_REQUEST},
        {"{\"method\":\"m\",\"id\":01}", LOOKUP_NOT_JSON, BODY_REQUEST},
        {"{\"method\":\"m\",\"id\":\"\\x\"}", LOOKUP_NOT_JSON, BODY_REQUEST},
    };
    assert_rows(rows, sizeof rows / sizeof *rows);
}

// --- Grammar at the levels that are read, and what lies deeper.

// %s stands for what is tried: inside the top level, params and _meta.
static const char *const levels[] = {"{\"method\":\"m\",%s}", "{\"method\":\"m\",\"params\":{%s}}",
                                     "{\"method\":\"m\",\"params\":{\"_meta\":{%s}}}"};

static void assert_inside(const char *inside, enum lookup_verdict verdict) {
    for (size_t level = 0; level < sizeof levels / sizeof *levels; level++) {
        char body[400];
        snprintf(body, sizeof body, levels[level], inside);
        assert_row(body, verdict, BODY_NOTIFICATION);
    }
}

static const char *const good_members[] = {"\"a\":1",
                                           "\"a\" :\t1 ,\r\n\"b\":[ ]",
                                           "\"\":\"\"",
                                           "\"a\\u0062\":1",
                                           "\"a\":1,\"a\":2",
                                           "\"a\":123456789012345",
                                           "\"a\":-0.5e-7",
                                           "\"a\":true,\"b\":false,\"c\":null",
                                           "\"METHOD\":1,\"Id\":{}",
                                           "\"a\":12345678",
                                           "\"a\":1234567",
                                           "\"a\":1.5",
                                           "\"a\":0",
                                           "\"a\":1e5",
                                           "\"\xc3\xa9\":1"};
static const char *const bad_members[] = {",",
                                          "\"a\"",
                                          "\"a\":",
                                          "\"a\":1,",
                                          ",\"a\":1",
                                          "\"a\" 1",
                                          "\"a\":1 \"b\":2",
                                          "\"a\":1;",
                                          "a:1",
                                          "'a':1",
                                          "\"a\":01",
                                          "\"a\":1.",
                                          "\"a\":.5",
                                          "\"a\":+1",
                                          "\"a\":tru",
                                          "\"a\":truex",
                                          "\"a\":nul",
                                          "\"a\":\"x",
                                          "\"a\":1]",
                                          "\"a\":(1)",
                                          "\"a\\x\":1",
                                          "\"a\nb\":1",
                                          "\"a\":1,,",
                                          "\"a\"::1",
                                          "1:1",
                                          "\"a\":1:2",
                                          "\"a\":[1,2",
                                          "\"a\":[}",
                                          "\"a\":{]",
                                          "\"a\":{[]]",
                                          "\"a\":\"b\"c\"",
                                          "\"a\":\f1",
                                          "\"a\":1\v",
                                          "\xef\xbb\xbf\"a\":1",
                                          "\"a\":--1",
                                          "\"\\ud8\":1",
                                          "\"a\":1e",
                                          "\"a\":00",
                                          "\"a\":1234567x",
                                          "\"a\":12345678x",
                                          "\"a\":0x10",
                                          "{}",
                                          "\"a\":1}}"};

static void read_levels_are_judged(void **state) {
    (void)state;
    for (size_t index = 0; index < sizeof good_members / sizeof *good_members; index++)
        assert_inside(good_members[index], LOOKUP_GOOD);
    for (size_t index = 0; index < sizeof bad_members / sizeof *bad_members; index++)
        assert_inside(bad_members[index], LOOKUP_NOT_JSON);
}

static void what_lies_deeper_is_not_judged(void **state) {
    (void)state;
    assert_inside("\"a\":[1 2,,\"\\x\", tru {:} \"]\" ]", LOOKUP_GOOD);
    assert_inside("\"a\":{\"method\":1,\"method\":2,\"targetAgent\" \"targetAgent\"}", LOOKUP_GOOD);
    assert_inside("\"a\":\"\\x \n is skipped too\"", LOOKUP_GOOD);
    assert_inside("\"a\":{\"quote\":\"\\\"}\",\"b\":\"\\\\\"}", LOOKUP_GOOD);
}

static void tokens_that_are_read_are_judged(void **state) {
    (void)state;
    static const char *const bad[] = {"{\"method\":\"\\x\"}", "{\"method\":\"a\nb\"}",
                                      "{\"method\":\"m\",\"result\":\"\\u12\"}",
                                      "{\"method\":\"m\",\"params\":\"\\x\"}"};
    for (size_t index = 0; index < sizeof bad / sizeof *bad; index++)
        assert_row(bad[index], LOOKUP_NOT_JSON, BODY_NOTIFICATION);
    for (enum lookup_key key = KEY_TARGET_AGENT; key < KEY_META_PROGRESS_TOKEN; key++) {
        char inside[100], body[200];
        snprintf(inside, sizeof inside, "\"%s\":\"\\q\"", lookup_key_text(key));
        snprintf(body, sizeof body, levels[1], inside);
        assert_row(body, LOOKUP_NOT_JSON, BODY_NOTIFICATION);
    }
    assert_row("{\"method\":\"m\",\"params\":{\"_meta\":{\"progressToken\":\"\\q\"}}}", LOOKUP_NOT_JSON,
               BODY_NOTIFICATION);
}

static void only_white_space_surrounds_a_body(void **state) {
    (void)state;
    assert_row(" \t\r\n{\"method\":\"m\"} \t\r\n", LOOKUP_GOOD, BODY_NOTIFICATION);
    assert_row("{\"method\":\"m\"}{}", LOOKUP_NOT_JSON, BODY_NOTIFICATION);
    assert_row("{\"method\":\"m\"},", LOOKUP_NOT_JSON, BODY_NOTIFICATION);
    assert_row("x{\"method\":\"m\"}", LOOKUP_NOT_JSON, BODY_UNKNOWN);
    assert_row("\xef\xbb\xbf{\"method\":\"m\"}", LOOKUP_NOT_JSON, BODY_UNKNOWN);
    assert_row("   ", LOOKUP_NOT_JSON, BODY_UNKNOWN);
    assert_row("nul", LOOKUP_NOT_JSON, BODY_UNKNOWN);
    assert_row("\"a", LOOKUP_NOT_JSON, BODY_UNKNOWN);
    assert_row("\"\\x\"", LOOKUP_NOT_JSON, BODY_UNKNOWN);
    struct lookup lookup;
    lookup_body(&lookup, placed_with("{\"method\":\"m\"}\0", 15, " "), 15, ID_BYTES_MAX);
    assert_int_equal(lookup.verdict, LOOKUP_NOT_JSON);
    assert_int_equal(lookup.fault_at, 14);
}

static void faults_are_located(void **state) {
    (void)state;
    static const struct {
        const char *body;
        uint32_t at;
    } rows[] = {{"x", 0},
                {"{\"a\" 1}", 5},
                {"{\"a\":1 2}", 7},
                {"{\"a\":[1}", 5},
                {"{\"a\":tru}", 5},
                {"{\"a\":1} x", 8},
                {"{\"a\":1", 6},
                {"{\"a", 1},
                {"{,}", 1},
                {"{\"a\":1,}", 7},
                {"{\"method\":\"\\x\"}", 10}};
    struct lookup lookup;
    for (size_t index = 0; index < sizeof rows / sizeof *rows; index++) {
        look(&lookup, rows[index].body);
        assert_int_equal(lookup.verdict, LOOKUP_NOT_JSON);
        assert_int_equal(lookup.fault_at, rows[index].at);
    }
}

static void all_utf8_is_judged(void **state) {
    (void)state;
    assert_row("{\"method\":\"m\",\"params\":{\"a\":{\"b\":\"\xc3\xa9\xf0\x9f\x98\x80\"}}}", LOOKUP_GOOD,
               BODY_NOTIFICATION);
    assert_row("{\"method\":\"m\",\"params\":{\"a\":{\"b\":\"\xed\xa0\x80\"}}}", LOOKUP_NOT_UTF8,
               BODY_NOTIFICATION);
    assert_row("{\"result\":\"\xff\",\"id\":7}", LOOKUP_NOT_UTF8, BODY_RESPONSE);
    assert_value("{\"result\":\"\xff\",\"id\":7}", KEY_ID, JSON_NUMBER, "7");
    assert_row("{\"id\":7,\"result\":\"\xff\"", LOOKUP_NOT_UTF8, BODY_RESPONSE);
}

// --- Ambiguity.

// A member of the key, at its level, whose name has its first character spelled as an escape if `escaped`.
static void write_member(char *out, enum lookup_key key, bool escaped) {
    const char *text = lookup_key_text(key);
    if (escaped)
        sprintf(out, "\"\\u%04x%s\":\"v\"", (unsigned)text[0], text + 1);
    else
        sprintf(out, "\"%s\":\"v\"", text);
}

static unsigned level_of(enum lookup_key key) {
    return key < KEY_TARGET_AGENT ? 0 : key < KEY_META_PROGRESS_TOKEN ? 1 : 2;
}

static void assert_ambiguous(const char *inside, enum lookup_key key) {
    char body[500];
    struct lookup lookup;
    snprintf(body, sizeof body, levels[level_of(key)], inside);
    look(&lookup, body);
    assert_int_equal(lookup.verdict, LOOKUP_AMBIGUOUS);
    assert_int_equal(lookup.fault_key, key);
}

static void a_guarded_key_occurs_once(void **state) {
    (void)state;
    for (enum lookup_key key = 0; key < LOOKUP_KEYS_COUNT; key++) {
        char member[60], inside[200];
        write_member(member, key, false);
        snprintf(inside, sizeof inside, "%s,\"x\":{},%s", member, member);
        assert_ambiguous(inside, key);
    }
}

static void a_guarded_key_is_spelled_plainly(void **state) {
    (void)state;
    for (enum lookup_key key = 0; key < LOOKUP_KEYS_COUNT; key++) {
        char inside[60], body[200];
        write_member(inside, key, true);
        assert_ambiguous(inside, key);
        for (unsigned level = 0; level < 3; level++) // elsewhere it means nothing
            if (level != level_of(key) && !(level + level_of(key) == 1 && key == KEY_PARAMS_ID) &&
                key != KEY_ID && key != KEY_PROGRESS_TOKEN && key != KEY_META_PROGRESS_TOKEN) {
                snprintf(body, sizeof body, levels[level], inside);
                assert_row(body, LOOKUP_GOOD, BODY_NOTIFICATION);
            }
    }
    assert_ambiguous("\"i\\u0064\":1", KEY_ID);
    assert_ambiguous("\"task\":1,\"targetAgen\\u0074\":\"x\"", KEY_TARGET_AGENT);
}

static void the_same_key_at_two_levels_is_no_ambiguity(void **state) {
    (void)state;
    const char *body = "{\"id\":1,\"method\":\"m\",\"params\":{\"id\":2,\"method\":3,\"progressToken\":4,\"_"
                       "meta\":{\"id\":5,"
                       "\"progressToken\":6,\"id\":7,\"params\":{}},\"params\":{\"id\":8}}}";
    assert_row(body, LOOKUP_GOOD, BODY_REQUEST);
    assert_value(body, KEY_ID, JSON_NUMBER, "1");
    assert_value(body, KEY_PARAMS_ID, JSON_NUMBER, "2");
    assert_value(body, KEY_PROGRESS_TOKEN, JSON_NUMBER, "4");
    assert_value(body, KEY_META_PROGRESS_TOKEN, JSON_NUMBER, "6");
}

static void the_first_of_two_is_kept(void **state) {
    (void)state;
    const char *body = "{\"result\":1,\"id\":7,\"id\":8}";
    assert_row(body, LOOKUP_AMBIGUOUS, BODY_RESPONSE);
    assert_value(body, KEY_ID, JSON_NUMBER, "7");
    assert_row("{\"id\":7,\"id\":8,\"result\":1", LOOKUP_NOT_JSON, BODY_RESPONSE);
    assert_row("{\"params\":{\"tool\":1},\"method\":\"m\",\"params\":{\"tool\":2}}", LOOKUP_AMBIGUOUS,
               BODY_NOTIFICATION);
}

static void only_objects_are_levels(void **state) {
    (void)state;
    struct lookup lookup;
    static const char *const bodies[] = {
        "{\"method\":\"m\",\"params\":[\"id\",{\"id\":1,\"id\":2}]}", "{\"method\":\"m\",\"params\":\"x\"}",
        "{\"method\":\"m\",\"params\":null}", "{\"method\":\"m\",\"params\":{\"_meta\":[1]}}",
        "{\"method\":\"m\",\"_meta\":{\"progressToken\":1}}"};
    for (size_t index = 0; index < sizeof bodies / sizeof *bodies; index++) {
        assert_row(bodies[index], LOOKUP_GOOD, BODY_NOTIFICATION);
        look(&lookup, bodies[index]);
        assert_false(lookup_has(&lookup, KEY_PARAMS_ID));
        assert_false(lookup_has(&lookup, KEY_META_PROGRESS_TOKEN));
    }
    assert_value(bodies[1], KEY_PARAMS, JSON_STRING, "\"x\"");
    assert_value(bodies[3], KEY_META, JSON_ARRAY, "[1]");
}

// --- Broken bodies, as far as they were read.

static void a_broken_body_is_known_as_far_as_read(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"{\"id\":7,\"result\":{", LOOKUP_NOT_JSON, BODY_RESPONSE},
        {"{\"id\":7,\"error\" 1}", LOOKUP_NOT_JSON, BODY_RESPONSE},
        {"{\"result\":1,\"id\":7,}", LOOKUP_NOT_JSON, BODY_RESPONSE},
        {"{\"id\":7,\"method\":\"m\",", LOOKUP_NOT_JSON, BODY_REQUEST},
        {"{\"method\":\"m\",\"params\":{", LOOKUP_NOT_JSON, BODY_NOTIFICATION},
        {"{\"id\":7,", LOOKUP_NOT_JSON, BODY_UNKNOWN},
        {"{\"type\":\"chunk\",", LOOKUP_NOT_JSON, BODY_UNKNOWN},
    };
    assert_rows(rows, sizeof rows / sizeof *rows);
    assert_value(rows[0].body, KEY_ID, JSON_NUMBER, "7");
    assert_value(rows[2].body, KEY_ID, JSON_NUMBER, "7");
}

// --- Sizes and places.

// Each length of key, value and white space, so that every token comes to lie on a block's edge.
static void every_token_may_lie_on_an_edge(void **state) {
    (void)state;
    for (unsigned pad = 0; pad < 200; pad++) {
        char filler[256], body[2048];
        memset(filler, 'x', sizeof filler);
        filler[pad] = '\0';
        snprintf(body, sizeof body,
                 "{\"%s\":1,\"params\":{\"targetAgent\":\"test\\u002dagent\",\"%s\":\"%s\\\"\",\"id\":\"%s\"}"
                 ",\"method\":\"m\","
                 "\"id\":123456789012,\"e\":{\"%s\":\"}\"}}",
                 filler, filler, filler, filler, filler);
        assert_row(body, LOOKUP_GOOD, BODY_REQUEST);
        assert_value(body, KEY_TARGET_AGENT, JSON_STRING, "\"test\\u002dagent\"");
        assert_value(body, KEY_ID, JSON_NUMBER, "123456789012");
        memset(filler, ' ', pad);
        snprintf(body, sizeof body, "%s{%s\"method\"%s:%s\"m\"%s,%s\"id\":1}%s", filler, filler, filler,
                 filler, filler, filler, filler);
        assert_row(body, LOOKUP_GOOD, BODY_REQUEST);
    }
}

static void deep_and_large_bodies_are_stepped_over(void **state) {
    (void)state;
    enum { DEPTH = 500 * 1000 };
    char *body = malloc(2 * DEPTH + 100);
    assert_non_null(body);
    int head = sprintf(body, "{\"params\":{\"context\":");
    memset(body + head, '[', DEPTH);
    memset(body + head + DEPTH, ']', DEPTH);
    strcpy(body + head + 2 * DEPTH, "},\"method\":\"m\",\"id\":1}");
    assert_row(body, LOOKUP_GOOD, BODY_REQUEST);
    body[head + DEPTH] = '[';
    assert_row(body, LOOKUP_NOT_JSON, BODY_UNKNOWN);
    free(body);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_are_good),
        cmocka_unit_test(the_id_goes_with_one_comma),
        cmocka_unit_test(a_cut_body_is_never_good),
        cmocka_unit_test(a_cut_character_is_not_utf8),
        cmocka_unit_test(keys_come_in_any_order),
        cmocka_unit_test(kinds_are_told),
        cmocka_unit_test(request_ids_are_strings_or_numbers),
        cmocka_unit_test(read_levels_are_judged),
        cmocka_unit_test(what_lies_deeper_is_not_judged),
        cmocka_unit_test(tokens_that_are_read_are_judged),
        cmocka_unit_test(only_white_space_surrounds_a_body),
        cmocka_unit_test(faults_are_located),
        cmocka_unit_test(all_utf8_is_judged),
        cmocka_unit_test(a_guarded_key_occurs_once),
        cmocka_unit_test(a_guarded_key_is_spelled_plainly),
        cmocka_unit_test(the_same_key_at_two_levels_is_no_ambiguity),
        cmocka_unit_test(the_first_of_two_is_kept),
        cmocka_unit_test(only_objects_are_levels),
        cmocka_unit_test(a_broken_body_is_known_as_far_as_read),
        cmocka_unit_test(every_token_may_lie_on_an_edge),
        cmocka_unit_test(deep_and_large_bodies_are_stepped_over),
    };
    return levels_run_group_tests(tests, placed_map, placed_unmap);
}
