// Rows of members that the lookup has no interest in, which vector code steps over many at a time. Wherever in a block
// such a row lies, its keys are found, refused and located as by the portable walk. That walk takes one member after
// the other.
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
#include "tests/core/lookup/levels_agree.h"

enum { BODY_BYTES_MAX = 2048, PADS_COUNT = 70 };

// --- Rows with something in their midst.

// How tokens are set apart.
static const struct spacing {
    const char *comma, *colon;
} spacings[] = {{",", ":"}, {", ", ": "}, {"\n ,\t", " :\r\n"}};
enum { SPACINGS_COUNT = sizeof spacings / sizeof *spacings };

static void add_row(char *body, const struct spacing *spacing) {
    static const char *const members[][2] = {{"a", "1"},       {"context", "\"some text\""},
                                             {"flag", "true"}, {"x7", "null"},
                                             {"", "\"\""},     {"count", "98765"}};
    for (size_t index = 0; index < sizeof members / sizeof *members; index++) {
        char *end = body + strlen(body);
        sprintf(end, "\"%s\"%s%s%s", members[index][0], spacing->colon, members[index][1], spacing->comma);
    }
}

// A request with `inside` in a row of members of its level, `pad` bytes behind where the stepping over
// begins.
static void write_body(char *body, unsigned level, const struct spacing *spacing, unsigned pad,
                       const char *inside) {
    static const char *const heads[] = {"{", "{\"params\":{", "{\"params\":{\"_meta\":{"};
    static const char *const tails[] = {"", "},", "}},"};
    sprintf(body, "%s\"b\":1,\"c\":2,\"%.*s\":1,", heads[level], (int)pad,
            "paddingpaddingpaddingpaddingpaddingpaddingpaddingpaddingpaddingpaddingpadding");
    add_row(body, spacing);
    add_row(body, spacing);
    strcat(strcat(body, inside), spacing->comma);
    for (unsigned rows = 0; rows < 4; rows++)
        add_row(body, spacing);
    strcat(strcat(strcat(body, "\"last\":1"), tails[level]), level == 0 ? "," : "");
    strcat(body, "\"method\":\"m\",\"id\":7}");
}

// Members, and what is none.
static const char *const insides[] = {
    "\"a\":1",
    "\"a\":0",
    "\"a\":01",
    "\"a\":-0.5e+3",
    "\"a\":-",
    "\"a\":1.",
    "\"a\":1.5",
    "\"a\":1e",
    "\"a\":12x",
    "\"a\":1234567890123456789012345678901234567890123456789012345678901234567890",
    "\"a\":tru",
    "\"a\":truex",
    "\"a\":true1",
    "\"a\":false",
    "\"a\":fals3",
    "\"a\":nul\"\"",
    "\"a\":Infinity",
    "\"a\":{}",
    "\"a\":[\"}\",{\"id\":1}]",
    "\"a\":1}",
    "\"a\":\"\"}",
    "\"a\":1]",
    "\"a\":[1}",
    "\"a\" 1",
    "\"a\"",
    "\"a\":",
    ":1",
    "",
    " ",
    "\"a\"::1",
    "\"a\":1:2",
    "\"a\":1 2",
    "\"a\":\"b\"\"c\"",
    "\"a\"\"b\":1",
    "\"a\":\"b\"1",
    "\"a\":1\"b\"",
    "\"a\":\"b\":1",
    "\"a\":\"b",
    "a:1",
    "1:1",
    "null:1",
    "{}:1",
    "\"a\\\"b\":1",
    "\"a\\\\\":1",
    "\"a\\x\":1",
    "\"a\\u0041\":1",
    "\"a\x01\":1",
    "\"a\":\"\x01\"",
    "\"a\":\"\\\\\"",
    "\"a\":\"\\\\\\\",\\\"\"",
    "\"a\":\"\\\"",
    "\"a\":\"\\x\"",
    "\"a\":\\\"b\"",
    "\\\"a\":1",
    "\"\xc3\xa9\":\"\xc3\xa9\"",
    "\"a\":\xc3\xa9",
    "\"a\":1\t\r\n ",
    "\"a\":1\x0b",
    "\"a\"\x0b:1",
    "\"a\":\"a long string, longer than a block of sixty-four bytes, with \\\"quotes\\\", and one more\"",
    "\"a long key, longer than a block of sixty-four bytes, so that it is seen in two or more of them\":1",
    "\"a key that is so long that one block and more lies wholly within it, from the first to the last, \\x "
    "and"
    " in which an escape is none, which has to be seen although no quote is near, on either side of it\":1",
    "\"a\":                                                                        1",
    "\"t\":1",
    "\"ta\":1",
    "\"task\":1",
    "\"targetAgenT\":1",
    "\"progressToke\":1",
    "\"ids\":1",
};
enum { INSIDES_COUNT = sizeof insides / sizeof *insides };

static void levels_agree_wherever_it_lies(void **state) {
    (void)state;
    char body[BODY_BYTES_MAX];
    for (size_t index = 0; index < INSIDES_COUNT; index++)
        for (unsigned level = 0; level < 3; level++)
            for (unsigned spacing = 0; spacing < SPACINGS_COUNT; spacing++)
                for (unsigned pad = 0; pad < PADS_COUNT; pad++) {
                    write_body(body, level, &spacings[spacing], pad, insides[index]);
                    assert_levels_agree(body, (uint32_t)strlen(body));
                }
}

static void levels_agree_wherever_it_is_cut(void **state) {
    (void)state;
    char body[BODY_BYTES_MAX];
    for (size_t index = 0; index < INSIDES_COUNT; index++) {
        write_body(body, 1, &spacings[index % SPACINGS_COUNT], (unsigned)index, insides[index]);
        for (uint32_t bytes = 1; bytes < strlen(body); bytes++)
            assert_levels_agree(body, bytes);
    }
}

// Each byte of a row replaced by each that means something.
static void levels_agree_whatever_is_changed(void **state) {
    (void)state;
    char body[BODY_BYTES_MAX];
    for (unsigned spacing = 0; spacing < SPACINGS_COUNT; spacing++) {
        write_body(body, 1, &spacings[spacing], 5, "\"a\\n\":\"b\\\\\"");
        uint32_t bytes = (uint32_t)strlen(body);
        for (uint32_t at = 0; at < bytes; at++)
            for (const char *byte = "\"\\:,{}[] \n01-.etn\x01\x7f"; *byte != '\0'; byte++) {
                char was = body[at];
                body[at] = *byte;
                assert_levels_agree(body, bytes);
                body[at] = was;
            }
    }
}

// --- Guarded keys within rows, at the level in use.

static unsigned level_of(enum lookup_key key) {
    return key < KEY_TARGET_AGENT ? 0 : key < KEY_META_PROGRESS_TOKEN ? 1 : 2;
}

static void look(struct lookup *lookup, const char *body) {
    uint32_t bytes = (uint32_t)strlen(body);
    lookup_body(lookup, placed(body, bytes), bytes, ID_BYTES_MAX);
}

static void a_guarded_key_is_found_in_a_row(void **state) {
    (void)state;
    char body[BODY_BYTES_MAX], inside[80];
    struct lookup lookup;
    for (enum lookup_key key = KEY_TARGET_AGENT; key < LOOKUP_KEYS_COUNT; key++)
        for (unsigned pad = 0; pad < PADS_COUNT; pad++) {
            if (key == KEY_META)
                continue;
            snprintf(inside, sizeof inside, "\"%s\":\"v%u\"", lookup_key_text(key), pad);
            write_body(body, level_of(key), &spacings[pad % SPACINGS_COUNT], pad, inside);
            look(&lookup, body);
            assert_int_equal(lookup.verdict, LOOKUP_GOOD);
            assert_int_equal(lookup.kind, BODY_REQUEST);
            assert_true(lookup_has(&lookup, key));
            snprintf(inside, sizeof inside, "\"v%u\"", pad);
            assert_int_equal(lookup.value[key].bytes, strlen(inside));
            assert_memory_equal(body + lookup.value[key].at, inside, strlen(inside));
        }
}

// Twice in a row, and once with an escape.
static void a_guarded_key_in_a_row_occurs_once(void **state) {
    (void)state;
    char body[BODY_BYTES_MAX], inside[400];
    struct lookup lookup;
    for (enum lookup_key key = 0; key < LOOKUP_KEYS_COUNT; key++)
        for (unsigned pad = 0; pad < 2 * PADS_COUNT; pad++) {
            const char *text = lookup_key_text(key);
            if (pad < PADS_COUNT)
                snprintf(inside, sizeof inside,
                         "\"%s\":1,\"p\":2,\"q\":3,\"r\":\"s\",\"u\":null,\"v\":0,\"w\":\"some more "
                         "text\",\"%s\":1",
                         text, text);
            else
                snprintf(inside, sizeof inside, "\"\\u%04x%s\":1", (unsigned)text[0], text + 1);
            write_body(body, level_of(key), &spacings[0], pad % PADS_COUNT, inside);
            look(&lookup, body);
            assert_int_equal(lookup.verdict, LOOKUP_AMBIGUOUS);
            assert_int_equal(lookup.fault_key, key);
        }
}

int main(void) {
    const struct CMUnitTest at_each_level[] = {
        cmocka_unit_test(a_guarded_key_is_found_in_a_row),
        cmocka_unit_test(a_guarded_key_in_a_row_occurs_once),
    };
    const struct CMUnitTest between_levels[] = {
        cmocka_unit_test(levels_agree_wherever_it_lies),
        cmocka_unit_test(levels_agree_wherever_it_is_cut),
        cmocka_unit_test(levels_agree_whatever_is_changed),
    };
    return levels_run_group_tests(at_each_level, placed_map, placed_unmap) +
           cmocka_run_group_tests(between_levels, placed_map, placed_unmap);
}
