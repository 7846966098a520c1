// JSON's grammar as the hub reads it: tokens, decoded strings and numbers, walks, and the skippers. Every
// level of vector code is held against a byte-by-byte reading that shares nothing with it.
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

static struct span all(const char *text) {
    return (struct span){0, (uint32_t)strlen(text)};
}

static const uint8_t *put(const char *text) {
    return placed(text, strlen(text));
}

static void numbers_are_judged(void **state) {
    (void)state;
    static const char *const good[] = {"0",    "-0",  "7",    "10",   "-12",     "0.5",
                                       "1.25", "1e5", "1E+5", "0e-0", "-1.5e300"};
    static const char *const bad[] = {"",    "-",   "+1", "01",  "-01", ".5",  "1.",    "1.e5",  "1e",
                                      "1e+", "0x1", "1 ", "1-1", "NaN", "--1", "1.5.2", "1e5.0", "\xd9\xa1"};
    for (size_t index = 0; index < sizeof good / sizeof *good; index++)
        assert_true(json_number_valid(put(good[index]), all(good[index])));
    for (size_t index = 0; index < sizeof bad / sizeof *bad; index++)
        assert_false(json_number_valid(put(bad[index]), all(bad[index])));
}

// Plain digits of every length, with every byte that is no digit at every place.
static void plain_digits_mean_what_they_are(void **state) {
    (void)state;
    uint64_t random = 1;
    for (unsigned round = 0; round < 20000; round++) {
        char text[32];
        uint64_t value;
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        int bytes = snprintf(text, sizeof text, "%llu", (unsigned long long)(random >> (round % 63)));
        uint64_t number = strtoull(text, NULL, 10);
        bool whole = number < UINT64_C(1) << 53;
        assert_int_equal(json_number_whole(put(text), all(text), &value), whole);
        assert_true(!whole || value == number);
        text[round % (unsigned)bytes] = (char)(round / 7 % 256);
        char spoiled = text[round % (unsigned)bytes];
        if ((spoiled < '0' || spoiled > '9') && spoiled != '.' && spoiled != 'e' && spoiled != 'E' &&
            spoiled != '-')
            assert_false(json_number_whole(put(text), (struct span){0, (uint32_t)bytes}, &value));
    }
}

static void whole_numbers_mean_what_they_are(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"0", 0},
                {"-0", 0},
                {"0.000e99999999999999999999", 0},
                {"7", 7},
                {"7.0", 7},
                {"70e-1", 7},
                {"0.7e1", 7},
                {"0.0007E+4", 7},
                {"7000000000000000000000000000000e-30", 7},
                {"1e15", 1000000000000000},
                {"9007199254740991", 9007199254740991},
                {"9007199254740991.000", 9007199254740991},
                {"900719925474099100e-2", 9007199254740991},
                {"0.00000000000000000000012e+23", 12}};
    static const char *const bad[] = {"-1",
                                      "-7.0",
                                      "0.5",
                                      "7.5",
                                      "7e-1",
                                      "9007199254740992",
                                      "9007199254740991.5",
                                      "90071992547409910",
                                      "1e16",
                                      "1e99999999999999999999999999",
                                      "1e-99999999999999999999999999",
                                      "18446744073709551623",   // 7 + 2^64
                                      "7e18446744073709551616", // an exponent of 2^64
                                      "7e-18446744073709551616",
                                      "07",
                                      "7x",
                                      ""};
    uint64_t value;
    for (size_t index = 0; index < sizeof good / sizeof *good; index++) {
        assert_true(json_number_whole(put(good[index].text), all(good[index].text), &value));
        assert_int_equal(value, good[index].value);
    }
    for (size_t index = 0; index < sizeof bad / sizeof *bad; index++)
        assert_false(json_number_whole(put(bad[index]), all(bad[index]), &value));
}

static void a_long_exponent_weighs_up_long_digits(void **state) {
    (void)state;
    enum { ZEROS = 1000 * 1000 };
    char *text = malloc(ZEROS + 32);
    assert_non_null(text);
    memset(text, '0', ZEROS + 2);
    memcpy(text, "0.", 2);
    strcpy(text + ZEROS + 2, "7e1000001");
    uint64_t value;
    assert_true(json_number_whole(put(text), all(text), &value));
    assert_int_equal(value, 7);
    free(text);
}

// What fits is whole characters, and the same as the begin of the whole.
static void a_string_is_cut_at_a_character(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t capacity, bytes;
    } rows[] = {
        {"\"abc\"", 3, 3},
        {"\"abc\"", 2, 2},
        {"\"abc\"", 0, 0},
        {"\"a\xc3\xa9\"", 3, 3},
        {"\"a\xc3\xa9\"", 2, 1},
        {"\"a\xc3\xa9z\"", 2, 1},
        {"\"a\xe2\x82\xacz\"", 3, 1},
        {"\"a\xe2\x82\xacz\"", 4, 4},
        {"\"a\xf0\x9f\x98\x80z\"", 4, 1},
        {"\"a\\u00e9z\"", 2, 1},
        {"\"a\\u00e9z\"", 3, 3},
        {"\"a\\ud83d\\ude00z\"", 4, 1},
        {"\"a\\ud83d\\ude00z\"", 5, 5},
        {"\"\\n\\n\\n\"", 2, 2},
        {"\"ab", 2, 0},
        {"7", 2, 0},
    };
    for (size_t index = 0; index < sizeof rows / sizeof *rows; index++) {
        char out[16], whole[16];
        const uint8_t *text = put(rows[index].text);
        assert_int_equal(json_string_decode_begin(text, all(rows[index].text), out, rows[index].capacity),
                         rows[index].bytes);
        if (rows[index].bytes > 0) {
            size_t bytes = json_string_decode(text, all(rows[index].text), whole, sizeof whole);
            assert_memory_equal(out, whole, rows[index].bytes);
            assert_int_equal(json_cut_at_character(whole, bytes, rows[index].capacity), rows[index].bytes);
        }
    }
}

static void strings_are_judged(void **state) {
    (void)state;
    static const char *const good[] = {"\"\"",
                                       "\"a\"",
                                       "\"\\\"\"",
                                       "\"\\\\\"",
                                       "\"\\u00e9\"",
                                       "\"\\uD800\"",
                                       "\"\\b\\f\\n\\r\\t\\/\"",
                                       "\"\x7f\xc3\xa9\""};
    static const char *const bad[] = {
        "",           "\"",      "\"a",    "a\"",      "\"a\"b\"",   "\"\\\"",      "\"\\x\"",  "\"\\u12g4\"",
        "\"\\u123\"", "\"\\u\"", "\"\n\"", "\"\x1f\"", "\"\\\\\\\"", "\"\\U0041\"", "\"a\\ \"", "'a'"};
    for (size_t index = 0; index < sizeof good / sizeof *good; index++)
        assert_true(json_string_valid(put(good[index]), all(good[index])));
    for (size_t index = 0; index < sizeof bad / sizeof *bad; index++)
        assert_false(json_string_valid(put(bad[index]), all(bad[index])));
}

// Faults at each place of strings of each length around the size of a block.
static void a_fault_is_found_wherever_it_lies(void **state) {
    (void)state;
    static const char *const faults[] = {"\n", "\"", "\\x", "\\u00x", "\\u0g00"};
    for (size_t bytes = 0; bytes < 140; bytes++)
        for (size_t fault = 0; fault < sizeof faults / sizeof *faults; fault++)
            for (size_t where = 0; where < bytes; where++) {
                char text[300];
                text[0] = '"';
                memset(text + 1, 'a', bytes);
                strcpy(text + 1 + bytes, "\"");
                assert_true(json_string_valid(put(text), all(text)));
                memcpy(text + 1 + where, faults[fault], strlen(faults[fault]));
                struct span whole = {0, (uint32_t)bytes + 2};
                assert_false(json_string_valid(placed(text, bytes + 2), whole));
            }
}

static void strings_mean_what_they_spell(void **state) {
    (void)state;
    static const struct {
        const char *text, *means;
    } rows[] = {{"\"\"", ""},
                {"\"plain\"", "plain"},
                {"\"test\\u002dagent\"", "test-agent"},
                {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
                {"\"\\u00e9\\u20AC\"", "\xc3\xa9\xe2\x82\xac"},
                {"\"\\ud83d\\ude00!\"", "\xf0\x9f\x98\x80!"},
                {"\"\\ud83d\"", "\xef\xbf\xbd"},
                {"\"\\ude00x\"", "\xef\xbf\xbdx"},
                {"\"\\ude00\\ude00\"", "\xef\xbf\xbd\xef\xbf\xbd"},
                {"\"\\ud83d\\u0041\"", "\xef\xbf\xbd\x41"},
                {"\"\\ud83d\\ud83d\\ude00\"", "\xef\xbf\xbd\xf0\x9f\x98\x80"},
                {"\"\\ud83d\\n\"", "\xef\xbf\xbd\n"},
                {"\"\xc3\xa9\"", "\xc3\xa9"}};
    char out[64];
    for (size_t index = 0; index < sizeof rows / sizeof *rows; index++) {
        const uint8_t *text = put(rows[index].text);
        size_t bytes = strlen(rows[index].means);
        assert_int_equal(json_string_decode(text, all(rows[index].text), out, bytes), bytes);
        assert_memory_equal(out, rows[index].means, bytes);
        assert_true(json_string_is(text, all(rows[index].text), rows[index].means));
        if (bytes > 0)
            assert_int_equal(json_string_decode(text, all(rows[index].text), out, bytes - 1), SIZE_MAX);
    }
    static const char *const bad[] = {"\"",     "\"\\\"",   "\"\\x\"", "\"\\u12\"", "\"\\ud83d\\u\"",
                                      "\"\n\"", "\"a\"b\"", "1"};
    for (size_t index = 0; index < sizeof bad / sizeof *bad; index++)
        assert_int_equal(json_string_decode(put(bad[index]), all(bad[index]), out, sizeof out), SIZE_MAX);
}

static void a_string_is_only_its_meaning(void **state) {
    (void)state;
    const char *id = "\"\\u0069\\u0064\"";
    assert_true(json_string_is(put(id), all(id), "id"));
    assert_false(json_string_is(put(id), all(id), "i"));
    assert_false(json_string_is(put(id), all(id), "idx"));
    assert_false(json_string_is(put(id), all(id), "ID"));
    const char *zero = "\"id\\u0000\"";
    assert_false(json_string_is(put(zero), all(zero), "id"));
    assert_false(json_string_is(put("id"), all("id"), "id"));
}

static void ids_are_the_same_by_meaning(void **state) {
    (void)state;
    static const struct {
        const char *one, *other;
        bool same;
    } table[] = {
        {"1", "1", true},
        {"1", "1.0", true},
        {"100", "1e2", true},
        {"1", "2", false},
        {"1", "\"1\"", false},
        {"\"a\"", "\"a\"", true},
        {"\"a\"", "\"\\u0061\"", true},
        {"\"a\"", "\"ab\"", false},
        {"\"ab\"", "\"a\"", false},
        {"-1", "-1", true},
        {"-1", "1", false},
        {"-1", "-1.0", true},
        {"-10e-1", "-1", true},
        {"-0", "0.0", true},
        {"-0.0e-5", "0", true},
        {"1.5", "1.50", true},
        {"1.5", "-1.5", false},
        {"0.0015", "15E-4", true},
        {"0.0015", "0.015", false},
        {"100200e300", "1.002e+305", true},
        {"100200e300", "1.002e+304", false},
        {"10203", "1.0203", false},
        {"123456789012345678901234567890", "123456789012345678901234567890.0", true},
        {"123456789012345678901234567890", "123456789012345678901234567891.0", false},
        {"1e10995116277761", "1e10995116277761", true},
        {"1e10995116277761", "1e10995116277762", false},
        {"1e10995116277761", "10e10995116277760", false},
        {"1e-10995116277761", "1e-10995116277762", false},
        {"0e10995116277761", "0e-10995116277762", true},
        {"-", "-0", false},
        {"\"\"", "\"\"", true},
        {"\"\\u00e9x\"", "\"\xc3\xa9x\"", true},
        {"\"\xf0\x9f\x98\x80\"", "\"\\ud83d\\ude00\"", true},
        {"\"\xc3\xa9\"", "\"\\u00e8\"", false},
        {"\"\xc3\"", "\"\\u00e9\"", false},
        {"\"\\u00e9\"", "\"\xc3\"", false},
    };
    for (size_t index = 0; index < sizeof table / sizeof *table; index++) {
        uint8_t other[128] = {0};
        memcpy(other, table[index].other, strlen(table[index].other));
        assert_int_equal(
            json_same(put(table[index].one), all(table[index].one), other, all(table[index].other)),
            table[index].same);
    }
}

static void a_walk_gives_each_item(void **state) {
    (void)state;
    const char *text =
        " {\"a\" : 1 ,\n\"b\":[1,{\"x\":\"]\"}], \"c\":\"\\\"\",\"d\":{},\"e\":true,\"f\":null}";
    static const struct {
        const char *key, *value;
        enum json_type type;
    } rows[] = {{"\"a\"", "1", JSON_NUMBER},        {"\"b\"", "[1,{\"x\":\"]\"}]", JSON_ARRAY},
                {"\"c\"", "\"\\\"\"", JSON_STRING}, {"\"d\"", "{}", JSON_OBJECT},
                {"\"e\"", "true", JSON_TRUE},       {"\"f\"", "null", JSON_NULL}};
    const uint8_t *at = put(text);
    struct json_walk walk;
    struct json_item item;
    json_walk_begin(&walk, at, (struct span){1, (uint32_t)strlen(text) - 1});
    for (size_t index = 0; index < sizeof rows / sizeof *rows; index++) {
        assert_int_equal(json_next(&walk, &item), JSON_ITEM);
        assert_int_equal(item.type, rows[index].type);
        assert_int_equal(item.key.bytes, strlen(rows[index].key));
        assert_memory_equal(at + item.key.at, rows[index].key, item.key.bytes);
        assert_int_equal(item.value.bytes, strlen(rows[index].value));
        assert_memory_equal(at + item.value.at, rows[index].value, item.value.bytes);
    }
    assert_int_equal(json_next(&walk, &item), JSON_END);
}

// How a walk of the whole text ends, and after how many items.
static enum json_step walk_all(const char *text, unsigned *items) {
    struct json_walk walk;
    struct json_item item;
    enum json_step step;
    json_walk_begin(&walk, put(text), all(text));
    for (*items = 0; (step = json_next(&walk, &item)) == JSON_ITEM;)
        ++*items;
    return step;
}

static void a_walk_ends_at_the_first_fault(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum json_step end;
        unsigned items;
    } rows[] = {{"[]", JSON_END, 0},           {"{ }", JSON_END, 0},
                {"[1, 2 ,3]", JSON_END, 3},    {"[1,]", JSON_BAD, 1},
                {"[,1]", JSON_BAD, 0},         {"[1 2]", JSON_BAD, 1},
                {"[01]", JSON_BAD, 1},         {"[tru]", JSON_BAD, 0},
                {"[truely]", JSON_BAD, 1},     {"{\"a\":1,}", JSON_BAD, 1},
                {"{\"a\"}", JSON_BAD, 0},      {"{\"a\":}", JSON_BAD, 0},
                {"{\"a\" 1}", JSON_BAD, 0},    {"{a:1}", JSON_BAD, 0},
                {"{\"a\\x\":1}", JSON_BAD, 0}, {"[\"\\x\"]", JSON_BAD, 0},
                {"[\"a]", JSON_BAD, 0},        {"[{]", JSON_BAD, 0},
                {"[[}]", JSON_BAD, 0},         {"{\"a\":1 \"b\":2}", JSON_BAD, 1},
                {"[1,\"\n\"]", JSON_BAD, 1}};
    unsigned items;
    for (size_t index = 0; index < sizeof rows / sizeof *rows; index++) {
        assert_int_equal(walk_all(rows[index].text, &items), rows[index].end);
        assert_int_equal(items, rows[index].items);
    }
}

static void a_member_is_found_by_its_meaning(void **state) {
    (void)state;
    const char *text = "{\"x\":{\"b\":1},\"b\\u0062\":[2],\"b\":3,\"b\":4}";
    struct json_item item = json_member(put(text), all(text), "bb");
    assert_int_equal(item.type, JSON_ARRAY);
    item = json_member(put(text), all(text), "b");
    assert_int_equal(item.type, JSON_NUMBER);
    assert_memory_equal(put(text) + item.value.at, "3", 1);
    assert_int_equal(json_member(put(text), all(text), "c").type, JSON_NONE);
    assert_int_equal(json_member(put("[1]"), all("[1]"), "c").type, JSON_NONE);
    assert_int_equal(json_member(put("{\"c\" 1}"), all("{\"c\" 1}"), "c").type, JSON_NONE);
}

// --- The skippers against a naive reading.

static uint32_t naive_string(const uint8_t *text, uint32_t at, uint32_t end) {
    for (at++; at < end; at++) {
        if (text[at] == '"')
            return at + 1;
        if (text[at] == '\\')
            at++;
    }
    return UINT32_MAX;
}

static bool naive_valid(const uint8_t *text, uint32_t at, uint32_t behind) {
    for (at++; at < behind - 1; at++) {
        if (text[at] < 0x20 || (text[at] == '\\' && !memchr("\"\\/bfnrt", text[at + 1], 8)))
            return false; // no alphabet below has a u
        at += text[at] == '\\';
    }
    return true;
}

static uint32_t naive_container(const uint8_t *text, uint32_t begin, uint32_t end) {
    uint32_t depth = 0;
    bool inside = false;
    for (uint32_t at = begin; at < end; at++) {
        if (text[at] == '\\')
            at += text[at + 1] == '"' || text[at + 1] == '\\'; // brackets are not what an escape hides
        else if (text[at] == '"')
            inside = !inside;
        else if (!inside && (text[at] == '{' || text[at] == '['))
            depth++;
        else if (!inside && (text[at] == '}' || text[at] == ']') && --depth == 0)
            return text[at] == (text[begin] == '{' ? '}' : ']') ? at + 1 : UINT32_MAX;
    }
    return UINT32_MAX;
}

static void compare_skippers(const uint8_t *text, uint32_t bytes) {
    for (uint32_t at = 0; at < bytes; at++) {
        if (text[at] == '"') {
            uint32_t behind = naive_string(text, at, bytes);
            assert_int_equal(json_skip_string(text, at, bytes), behind);
            if (behind != UINT32_MAX && !naive_valid(text, at, behind))
                behind = UINT32_MAX;
            assert_int_equal(json_skip_valid_string(text, at, bytes), behind);
        }
        if (text[at] == '{' || text[at] == '[')
            assert_int_equal(json_skip_container(text, at, bytes), naive_container(text, at, bytes));
    }
}

static void members_have_one_type_each(void **state) {
    static const char text[] = "{\"t\":true,\"f\":false,\"n\":70e-1,\"h\":1.5,\"s\":\"a\\u0062\"}";
    char out[2];
    (void)state;
    assert_true(json_member_true(put(text), all(text), "t"));
    assert_false(json_member_true(put(text), all(text), "f"));
    assert_false(json_member_true(put(text), all(text), "x"));
    assert_int_equal(json_member_whole(put(text), all(text), "n"), 7);
    assert_int_equal(json_member_whole(put(text), all(text), "h"), 0);
    assert_int_equal(json_member_whole(put(text), all(text), "s"), 0);
    assert_int_equal(json_member_text(put(text), all(text), "s", out, sizeof out), 2);
    assert_memory_equal(out, "ab", 2);
    assert_true(json_member_text(put(text), all(text), "s", out, 1) == SIZE_MAX);
    assert_true(json_member_text(put(text), all(text), "n", out, sizeof out) == SIZE_MAX);
}

static void skippers_agree_on_random_bytes(void **state) {
    (void)state;
    static const char *const alphabets[] = {"\"\\{}[]a",
                                            "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\\[]",
                                            "{}[]{[",
                                            "\\\\\\\"",
                                            "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\x1f\\",
                                            "{{{{{{}}}}}\"\"  ,:1\xc3\xa9"};
    srand(1);
    for (unsigned round = 0; round < 3000; round++) {
        const char *alphabet = alphabets[round % (sizeof alphabets / sizeof *alphabets)];
        char text[400];
        uint32_t bytes = 1 + (uint32_t)rand() % sizeof text;
        for (uint32_t at = 0; at < bytes; at++)
            text[at] = alphabet[(size_t)rand() % strlen(alphabet)];
        compare_skippers(placed_with(text, bytes, round % 2 ? "\"]" : "}\\"), bytes);
    }
}

static void any_depth_is_skipped(void **state) {
    (void)state;
    enum { DEPTH = 500 * 1000 };
    char *text = malloc(2 * DEPTH);
    assert_non_null(text);
    for (unsigned at = 0; at < DEPTH; at++) {
        text[at] = at % 3 ? '[' : '{';
        text[2 * DEPTH - 1 - at] = at % 3 ? ']' : '}';
    }
    assert_int_equal(json_skip_container(placed(text, 2 * DEPTH), 0, 2 * DEPTH), 2 * DEPTH);
    assert_int_equal(json_skip_container(placed(text, 2 * DEPTH - 1), 0, 2 * DEPTH - 1), UINT32_MAX);
    text[2 * DEPTH - 1] = ']';
    assert_int_equal(json_skip_container(placed(text, 2 * DEPTH), 0, 2 * DEPTH), UINT32_MAX);
    free(text);
}

static void ascii_is_told_wherever_it_ends(void **state) {
    (void)state;
    char text[600];
    for (uint32_t bytes = 0; bytes < sizeof text; bytes += bytes < 300 ? 1 : 37) {
        memset(text, 'a', sizeof text);
        assert_true(json_ascii(placed_with(text, bytes, "\xff"), bytes));
        for (uint32_t at = 0; at < bytes; at++) {
            text[at] = (char)0x80;
            assert_false(json_ascii(placed(text, bytes), bytes));
            text[at] = 'a';
        }
    }
}

// --- Whole texts.

static const struct {
    const char *text;
    enum simdjson_verdict verdict;
} whole_texts[] = {{"{}", SIMDJSON_VALID},
                   {" [1, {\"a\": [true, false, null]}, \"\\u00e9\"]\n", SIMDJSON_VALID},
                   {"\"x\"", SIMDJSON_VALID},
                   {"[1e400, -1e999, 123456789012345678901234567890]", SIMDJSON_VALID},
                   {"{\"a\":[[], {}], \"big\":1e400}", SIMDJSON_VALID},
                   {"[\"\\ud800\"]", SIMDJSON_VALID},
                   {"[1e400", SIMDJSON_INVALID},
                   {"[1e400}", SIMDJSON_INVALID},
                   {"[1e400,]", SIMDJSON_INVALID},
                   {"[1e400] 1", SIMDJSON_INVALID},
                   {"[1e400, 01]", SIMDJSON_INVALID},
                   {"{\"a\":1e400,}", SIMDJSON_INVALID},
                   {"{\"a\":1e400,2}", SIMDJSON_INVALID},
                   {"{\"a\":1e400 \"b\":2}", SIMDJSON_INVALID},
                   {"[\"\\ud800\\x\"]", SIMDJSON_INVALID},
                   {"[1e400,\"\xff\"]", SIMDJSON_INVALID},
                   {"", SIMDJSON_INVALID},
                   {"{\"a\":1,}", SIMDJSON_INVALID},
                   {"{\"a\":tru}", SIMDJSON_INVALID},
                   {"{\"a\":[}]}", SIMDJSON_INVALID},
                   {"[1] [2]", SIMDJSON_INVALID},
                   {"[\"\xc0\x80\"]", SIMDJSON_INVALID},
                   {"[\"\n\"]", SIMDJSON_INVALID},
                   {"[.5]", SIMDJSON_INVALID}};

static void whole_texts_are_judged(void **state) {
    (void)state;
    struct simdjson_parser *parser = simdjson_create();
    assert_non_null(parser);
    for (size_t index = 0; index < sizeof whole_texts / sizeof *whole_texts; index++) {
        const char *text = whole_texts[index].text;
        assert_int_equal(simdjson_validate(parser, put(text), strlen(text)), whole_texts[index].verdict);
        bool utf8 = simdjson_utf8(put(text), strlen(text));
        bool valid = whole_texts[index].verdict == SIMDJSON_VALID;
        assert_int_equal(utf8 && json_grammar_valid(put(text), (uint32_t)strlen(text)), valid);
    }
    simdjson_destroy(parser);
}

static void depth_has_a_bound_in_the_strict_judge(void **state) {
    (void)state;
    char text[2 * 1100];
    struct simdjson_parser *parser = simdjson_create();
    assert_non_null(parser);
    for (uint32_t depth = 1; depth <= 1100; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        enum simdjson_verdict verdict = simdjson_validate(parser, placed(text, 2 * depth), 2 * depth);
        bool grammar = json_grammar_valid(placed(text, 2 * depth), 2 * depth);
        assert_int_equal(grammar, depth <= JSON_GRAMMAR_DEPTH_MAX);
        if (depth <= 1000)
            assert_int_equal(verdict, SIMDJSON_VALID);
        if (depth > 1024)
            assert_int_equal(verdict, SIMDJSON_TOO_DEEP);
    }
    simdjson_destroy(parser);
}

static void utf8_is_judged(void **state) {
    (void)state;
    static const char *const bad[] = {
        "\x80", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"};
    assert_true(simdjson_utf8(put("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), 10));
    for (size_t index = 0; index < sizeof bad / sizeof *bad; index++)
        assert_false(simdjson_utf8(put(bad[index]), strlen(bad[index])));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_judged),
        cmocka_unit_test(whole_numbers_mean_what_they_are),
        cmocka_unit_test(plain_digits_mean_what_they_are),
        cmocka_unit_test(a_long_exponent_weighs_up_long_digits),
        cmocka_unit_test(strings_are_judged),
        cmocka_unit_test(a_string_is_cut_at_a_character),
        cmocka_unit_test(a_fault_is_found_wherever_it_lies),
        cmocka_unit_test(strings_mean_what_they_spell),
        cmocka_unit_test(a_string_is_only_its_meaning),
        cmocka_unit_test(ids_are_the_same_by_meaning),
        cmocka_unit_test(a_walk_gives_each_item),
        cmocka_unit_test(a_walk_ends_at_the_first_fault),
        cmocka_unit_test(a_member_is_found_by_its_meaning),
        cmocka_unit_test(members_have_one_type_each),
        cmocka_unit_test(skippers_agree_on_random_bytes),
        cmocka_unit_test(any_depth_is_skipped),
        cmocka_unit_test(ascii_is_told_wherever_it_ends),
        cmocka_unit_test(whole_texts_are_judged),
        cmocka_unit_test(depth_has_a_bound_in_the_strict_judge),
        cmocka_unit_test(utf8_is_judged),
    };
    return levels_run_group_tests(tests, placed_map, placed_unmap);
}
