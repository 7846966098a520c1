// The judge of whole texts, at every level of vector code, against the judge that goes byte by byte and
// against simdjson. Texts are hand-picked ones at every place of a block, the documents' examples cut and
// changed at each byte, and random ones from small alphabets.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/json/json.h"
#include "core/json/simdjson.h"
#include "tests/core/base/placed.h"
#include "tests/core/json/levels.h"
#include "tests/core/lookup/lookup_examples.h"

static struct simdjson_parser *parser;

static void assert_same(const void *text, size_t bytes) {
    const uint8_t *lies = placed(text, bytes);
    bool found = json_valid(lies, (uint32_t)bytes);
    bool wanted = json_grammar_valid(lies, (uint32_t)bytes);
    if (found != wanted)
        print_error("%.*s: %d\n", (int)bytes, (const char *)text, found);
    assert_int_equal(found, wanted);
    if (!simdjson_utf8(lies, bytes))
        return;
    enum simdjson_verdict verdict = simdjson_validate(parser, lies, bytes);
    assert_true(verdict == SIMDJSON_TOO_DEEP || found == (verdict == SIMDJSON_VALID));
}

// The text alone, and as the last element of an array behind so many spaces, that a block begins at each of
// its places.
static void assert_judged(const char *text, bool valid) {
    assert_int_equal(json_valid(placed(text, strlen(text)), (uint32_t)strlen(text)), valid);
    assert_same(text, strlen(text));
    for (int spaces = 0; spaces <= 70; spaces++) {
        char shifted[400];
        int bytes = snprintf(shifted, sizeof shifted, "[%*s%s]", spaces, "", text);
        assert_same(shifted, (size_t)bytes);
    }
}

static const char *const good[] = {
    "{}",
    "[]",
    "[ ]",
    "{ \t\r\n}",
    "{\"a\":1}",
    "{\"\":\"\"}",
    " { \"a\" : [ 1 , 2 ] , \"b\" : { } } ",
    "[[],{},[{}],{\"a\":[]}]",
    "[\"a\",\"b\",{\"a\":\"b\",\"c\":\"d\"}]",
    "[0,-0,1.5,-1.5e+10,1E5,12345678,123456789012345678901234567890,1e400]",
    "[true,false,null]",
    "[true ,\nfalse\t,\rnull ]",
    "[\"\\\"\",\"\\\\\",\"\\\\\\\"\",\"\\/\\b\\f\\n\\r\\t\\u00e9\\uD800\"]",
    "[\"{}[],:\\\"\"]",
    "{\"a\":{\"a\":{\"a\":[{\"a\":null}]}}}",
    "{\"a\":\"\",\"a\":\"\"}",
    "[\"\x7f\xc3\xa9\"]",
};

static const char *const bad[] = {
    "{",
    "}",
    "[",
    "]",
    "[}",
    "{]",
    "[]]",
    "{}}",
    "[] []",
    "{} 1",
    "{},",
    "[],[]",
    "{}:",
    "[]\"\"",
    "{}\f",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{,}",
    "{\"a\" 1}",
    "{\"a\":1 \"b\":2}",
    "{\"a\"::1}",
    "{:1}",
    "{1:1}",
    "{1}",
    "{[]}",
    "{{}}",
    "{\"a\":1,2}",
    "{\"a\":1,[]}",
    "{\"a\":1,\"b\"}",
    "{\"a\":1,\"b\",\"c\":1}",
    "{\"a\":\"b\":1}",
    "{\"a\":1:2}",
    "{\"a\":[1}",
    "{\"a\":[1}]",
    "{[]:1}",
    "{true:1}",
    "{\"a\":\"b\" \"c\"}",
    "[,]",
    "[1,]",
    "[,1]",
    "[1 2]",
    "[1,,2]",
    "[\"a\" \"b\"]",
    "[\"a\"\"b\"]",
    "[\"a\":1]",
    "[\"a\",\"b\":1]",
    "[1:2]",
    "[:]",
    "[{}{}]",
    "[[][]]",
    "[1[]]",
    "[[]1]",
    "[\"a\"1]",
    "[1\"a\"]",
    "[true false]",
    "[{}:1]",
    "[01]",
    "[1.]",
    "[.5]",
    "[+1]",
    "[1e]",
    "[1e+]",
    "[--1]",
    "[-]",
    "[0x1]",
    "[1a]",
    "[12345678a]",
    "[1.5.2]",
    "[tru]",
    "[truex]",
    "[nul]",
    "[True]",
    "[fals]",
    "[trueFalse]",
    "[NaN]",
    "['a']",
    "[a]",
    "[\\]",
    "[\\\"]",
    "[1\\]",
    "[1\\\"]\"]",
    "[\"a]",
    "[\"a\\\"]",
    "[\"\\x\"]",
    "[\"\\u12\"]",
    "[\"\\u12g4\"]",
    "[\"\\U0041\"]",
    "[\"\\ \"]",
    "[\"\\\\\\\"]",
    "[\"\n\"]",
    "[\"\x1f\"]",
    "[\"\\\n\"]",
    "[\f1]",
    "[1\v]",
    "[\x0c]",
    "[\x1a]",
    "[1\x0c"
    "2]",
    "{\"a\"\x1a"
    "1}",
    "[\x7f]",
    "[\xc3\xa9]",
    "[\xef\xbb\xbf]",
    "[/**/]",
    "[1//\n]",
};

static void texts_are_judged_at_each_place_of_a_block(void **state) {
    (void)state;
    for (size_t index = 0; index < sizeof good / sizeof *good; index++)
        assert_judged(good[index], true);
    for (size_t index = 0; index < sizeof bad / sizeof *bad; index++)
        assert_judged(bad[index], false);
}

// Objects and arrays of each length around a block's, with a fault at each place.
static void a_fault_is_found_wherever_it_stands(void **state) {
    (void)state;
    static const char *const units[] = {"\"a\":1,", "\"\":[],", "\"k\":{},", "\"a\" : \"b\" ,",
                                        "\"\\n\":\"\\\\\","};
    static const char faults[] = "\"\\{}[]:,01 \nx";
    for (size_t unit = 0; unit < sizeof units / sizeof *units; unit++) {
        char text[400] = "{";
        while (strlen(text) < 150)
            strcat(text, units[unit]);
        size_t bytes = strlen(text);
        text[bytes - 1] = '}';
        assert_true(json_valid(placed(text, bytes), (uint32_t)bytes));
        for (size_t at = 0; at < bytes; at++)
            for (const char *fault = faults; *fault; fault++) {
                char kept = text[at];
                text[at] = *fault;
                assert_same(text, bytes);
                text[at] = kept;
            }
    }
}

// Strings of each length up to three blocks, as key and as value, that begin at each place of a block.
static void long_strings_are_passed_wherever_they_lie(void **state) {
    (void)state;
    static const char *const frames[] = {
        "{%*s\"%s\":1}", "{%*s\"%s\" 1}",      "[1,%*s\"%s\"]", "[1 %*s\"%s\"]", "{\"a\":%*s\"%s\",\"b\":2}",
        "[%*s\"%s\":1]", "{\"a\":1,%*s\"%s\"}"};
    for (size_t frame = 0; frame < sizeof frames / sizeof *frames; frame++)
        for (int spaces = 0; spaces < 66; spaces++)
            for (size_t length = 0; length<200; length += length % 64> 2 && length % 64 < 60 ? 7 : 1) {
                char inside[201], text[400];
                memset(inside, 'x', length);
                inside[length] = '\0';
                assert_same(text, (size_t)snprintf(text, sizeof text, frames[frame], spaces, "", inside));
                if (length > 1) {
                    memcpy(inside + length - 2, "\\\\", 2);
                    assert_same(text, (size_t)snprintf(text, sizeof text, frames[frame], spaces, "", inside));
                }
            }
}

static void examples_are_judged_cut_and_changed(void **state) {
    (void)state;
    static const char changes[] = "\"\\{]:, 0\x01";
    for (size_t example = 0; example < EXAMPLES_COUNT; example++) {
        char text[1000];
        size_t bytes = strlen(examples[example].body);
        assert_true(bytes < sizeof text);
        memcpy(text, examples[example].body, bytes);
        assert_true(json_valid(placed(text, bytes), (uint32_t)bytes));
        for (size_t at = 0; at < bytes; at++) {
            assert_false(json_valid(placed(text, at), (uint32_t)at));
            for (const char *change = changes; *change; change++) {
                char kept = text[at];
                text[at] = *change;
                assert_same(text, bytes);
                text[at] = kept;
            }
        }
    }
}

// Texts from alphabets of tokens: many are valid or nearly so.
static void random_texts_are_judged_alike(void **state) {
    (void)state;
    static const char *const tokens[] = {
        "{",  "}",  "[",  "]",      ":",        ",",  "\"a\"", "1",    "true",  " ",        "\\",
        "\"", "{}", "[]", "\"a\":", "\"b\":1,", ",1", "\n ",   "null", "[1,2]", "\"\\\"\"", "\\u0041"};
    srand(1);
    for (unsigned round = 0; round < 60000; round++) {
        char text[300] = "";
        size_t count = 1 + (size_t)rand() % 24, from = round % 3 == 0 ? 0 : (size_t)rand() % 16;
        size_t among = sizeof tokens / sizeof *tokens - from;
        for (size_t token = 0; token < count; token++)
            strcat(text, tokens[from + (size_t)rand() % (1 + (size_t)rand() % among)]);
        assert_same(text, strlen(text));
    }
}

// A text that is written by the grammar is valid; then one byte is changed.
static size_t write_value(char *out, unsigned depth) {
    static const char *const scalars[] = {"0",    "-1.5e3",     "true",        "null",
                                          "\"\"", "\"a\\\"b\"", "\"\\u00e9\"", "1234567890"};
    unsigned kind = (unsigned)rand() % 4;
    if (depth == 0 || kind < 2)
        return (size_t)sprintf(out, "%s", scalars[rand() % 8]);
    size_t bytes = (size_t)sprintf(out, kind == 2 ? "{" : "[ ");
    for (unsigned count = (unsigned)rand() % 4, index = 0; index < count; index++) {
        bytes += (size_t)sprintf(out + bytes, "%s%s", index > 0 ? "," : "", kind == 2 ? "\"k\" :" : "");
        bytes += write_value(out + bytes, depth - 1);
    }
    return bytes + (size_t)sprintf(out + bytes, kind == 2 ? "}" : "\n]");
}

static void written_texts_are_judged_alike(void **state) {
    (void)state;
    static char text[200 * 1000];
    srand(2);
    for (unsigned round = 0; round < 20000; round++) {
        size_t bytes = write_value(text, 5);
        assert_true(json_valid(placed(text, bytes), (uint32_t)bytes));
        text[(size_t)rand() % bytes] = "\"\\{}[]:, 1a"[rand() % 11];
        assert_same(text, bytes);
    }
}

static void depth_has_the_same_bound(void **state) {
    (void)state;
    char text[2 * 1100];
    for (uint32_t depth = 1; depth <= 1100; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        assert_int_equal(json_valid(placed(text, 2 * depth), 2 * depth), depth <= JSON_GRAMMAR_DEPTH_MAX);
        assert_false(json_valid(placed(text, depth), depth));
        assert_false(json_valid(placed(text + depth, depth), depth));
    }
    // One bracket too many, closed again in the same block.
    char deep[2 * JSON_GRAMMAR_DEPTH_MAX + 2];
    memset(deep, '[', JSON_GRAMMAR_DEPTH_MAX + 1);
    memset(deep + JSON_GRAMMAR_DEPTH_MAX + 1, ']', JSON_GRAMMAR_DEPTH_MAX + 1);
    assert_false(json_valid(placed(deep, sizeof deep), sizeof deep));
}

static void a_fault_has_its_offset(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t at;
    } rows[] = {{"{\"a\" 1}", 5}, {"[1 2]", 3},      {"[1] x", 4},       {"[\"\\x\"]", 1},
                {"[tru]", 1},     {"{\"a\":[1}", 7}, {"[1,", 3},         {"{\"a", 1},
                {"[01]", 2},      {"{1:1}", 1},      {"[1]", UINT32_MAX}};
    for (size_t index = 0; index < sizeof rows / sizeof *rows; index++) {
        size_t bytes = strlen(rows[index].text);
        bool too_deep = true;
        assert_int_equal(json_grammar_fault(placed(rows[index].text, bytes), (uint32_t)bytes, &too_deep),
                         rows[index].at);
        assert_false(too_deep);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_judged_at_each_place_of_a_block),
        cmocka_unit_test(a_fault_is_found_wherever_it_stands),
        cmocka_unit_test(long_strings_are_passed_wherever_they_lie),
        cmocka_unit_test(examples_are_judged_cut_and_changed),
        cmocka_unit_test(random_texts_are_judged_alike),
        cmocka_unit_test(written_texts_are_judged_alike),
        cmocka_unit_test(depth_has_the_same_bound),
        cmocka_unit_test(a_fault_has_its_offset),
    };
    parser = simdjson_create();
    if (!parser)
        return 1;
    int failed = levels_run_group_tests(tests, placed_map, placed_unmap);
    simdjson_destroy(parser);
    return failed;
}
