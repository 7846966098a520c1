// The lookup in its strict depth: guarded keys in every other case, at every level, spelled plainly and with
// escapes. Deeper levels must be JSON, too. At each level of vector code.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/lookup/lookup.h"
#include "tests/core/base/placed.h"
#include "tests/core/json/levels.h"
#include "tests/core/lookup/lookup_examples.h"

enum { ID_BYTES_MAX = 16, LEVELS = 3 };

// %s stands for a member: inside the top level, params and _meta.
static const char *const levels[LEVELS] = {"{\"method\":\"m\",%s}", "{\"method\":\"m\",\"params\":{%s}}",
                                           "{\"method\":\"m\",\"params\":{\"_meta\":{%s}}}"};

static const struct {
    unsigned level;
    const char *text;
} guarded[LOOKUP_KEYS_COUNT] = {
#define X(name, level, text) {level, text},
    LOOKUP_KEYS(X)
#undef X
};

static void assert_verdict(const char *body, enum lookup_verdict verdict) {
    struct lookup lookup;
    uint32_t bytes = (uint32_t)strlen(body);
    lookup_body_strict(&lookup, placed(body, bytes), bytes, ID_BYTES_MAX);
    if (lookup.verdict != verdict)
        fail_msg("%s: verdict %d at %u", body, (int)lookup.verdict, lookup.fault_at);
}

static void assert_row(const char *body, enum lookup_verdict verdict, enum body_kind kind) {
    struct lookup lookup;
    uint32_t bytes = (uint32_t)strlen(body);
    lookup_body_strict(&lookup, placed(body, bytes), bytes, ID_BYTES_MAX);
    if (lookup.verdict != verdict || lookup.kind != kind)
        fail_msg("%s: verdict %d, kind %d", body, (int)lookup.verdict, (int)lookup.kind);
}

// --- Case.

// The guarded key of the level that a name is but for its case, told without the table of the code under
// test.
static int key_but_case(unsigned level, const char *name) {
    for (int key = 0; key < LOOKUP_KEYS_COUNT; key++)
        if (guarded[key].level == level && strcasecmp(guarded[key].text, name) == 0)
            return key;
    return -1;
}

static void assert_key(unsigned level, const char *spelled, int key) {
    char member[300], body[400];
    struct lookup lookup;
    snprintf(member, sizeof member, "\"%s\":1", spelled);
    snprintf(body, sizeof body, levels[level], member);
    uint32_t bytes = (uint32_t)strlen(body);
    lookup_body_strict(&lookup, placed(body, bytes), bytes, ID_BYTES_MAX);
    if ((lookup.verdict == LOOKUP_AMBIGUOUS) != (key >= 0) || (key >= 0 && (int)lookup.fault_key != key))
        fail_msg("%s: verdict %d, key %d instead of %d", body, (int)lookup.verdict, (int)lookup.fault_key,
                 key);
    lookup_body(&lookup, placed(body, bytes), bytes, ID_BYTES_MAX);
    if (strchr(spelled, '\\') == NULL && lookup.verdict == LOOKUP_AMBIGUOUS)
        fail_msg("%s: the lazy lookup minds case", body);
}

// Every key in every set of letters in the other case, up to the twelfth letter; at all three levels.
static void every_other_case_is_ambiguous(void **state) {
    (void)state;
    for (unsigned key = 0; key < LOOKUP_KEYS_COUNT; key++) {
        size_t length = strlen(guarded[key].text);
        for (uint32_t set = 1; set < UINT32_C(1) << (length < 12 ? length : 12); set++) {
            char name[40];
            bool changed = false;
            strcpy(name, guarded[key].text);
            for (size_t at = 0; at < length; at++)
                if ((set >> at % 12 & 1) != 0 && name[at] != '_') {
                    name[at] ^= 0x20;
                    changed = true;
                }
            for (unsigned level = 0; changed && level < LEVELS; level++)
                if (level == guarded[key].level || set < 8)
                    assert_key(level, name, key_but_case(level, name));
        }
    }
}

static void one_letter_in_the_other_case_is_ambiguous(void **state) {
    (void)state;
    for (unsigned key = 0; key < LOOKUP_KEYS_COUNT; key++)
        for (size_t at = 0; at < strlen(guarded[key].text); at++) {
            char name[40], escaped[60];
            strcpy(name, guarded[key].text);
            if (name[at] == '_')
                continue;
            name[at] ^= 0x20;
            assert_key(guarded[key].level, name, (int)key);
            snprintf(escaped, sizeof escaped, "%.*s\\u00%02x%s", (int)at, name, (unsigned)name[at],
                     name + at + 1);
            assert_key(guarded[key].level, escaped, (int)key);
        }
}

// Unicode folds these two into ASCII letters: U+017F (long s) and U+212A (the Kelvin sign).
static void characters_that_fold_into_ascii_are_case(void **state) {
    (void)state;
    assert_key(0, "param\xc5\xbf", KEY_PARAMS);
    assert_key(0, "param\\u017f", KEY_PARAMS);
    assert_key(0, "J\xc5\xbfonrpc", KEY_JSONRPC);
    assert_key(1,
               "to\xe2\x84\xaa"
               "en",
               KEY_TOKEN);
    assert_key(1, "progressTo\\u212aen", KEY_PROGRESS_TOKEN);
    assert_key(2,
               "progre\xc5\xbf\xc5\xbfTo\xe2\x84\xaa"
               "en",
               KEY_META_PROGRESS_TOKEN);
    assert_key(0, "m\xc3\xa9thod", -1);
    assert_key(0, "metho\xe2\x84", -1); // and isn't UTF-8
    assert_key(0, "\xc5\xbf", -1);
}

static void other_keys_are_free(void **state) {
    (void)state;
    static const char *const names[] = {"",           "i",
                                        "idd",        "Type",
                                        "METHODS",    "meth_od",
                                        "\x7fmeta",   "J",
                                        "I d",        "targetAgents",
                                        "target",     "tools",
                                        "Tas\\u006b", "jsonrp",
                                        "`method",    "a-very-long-key-that-no-guarded-one-is-as-long-as"};
    for (size_t index = 0; index < sizeof names / sizeof *names; index++)
        for (unsigned level = 0; level < LEVELS; level++)
            assert_key(level, names[index], -1);
    assert_verdict("{\"method\":\"m\",\"other\":{\"Method\":1,\"ID\":2}}", LOOKUP_GOOD);
    assert_verdict("{\"method\":\"m\",\"params\":{\"context\":{\"TargetAgent\":1}}}", LOOKUP_GOOD);
    assert_verdict("{\"method\":\"m\",\"params\":[{\"TargetAgent\":1}]}", LOOKUP_GOOD);
}

static void a_broken_body_is_broken_first(void **state) {
    (void)state;
    assert_verdict("{\"Method\":1,\"method\":\"m\",\"a\":[1,]}", LOOKUP_NOT_JSON);
    assert_verdict("{\"Method\":1,\"method\":\"m\",\"a\":\"\xff\"}", LOOKUP_NOT_UTF8);
    assert_verdict("{\"Method\":1,\"a\":1}", LOOKUP_AMBIGUOUS);
}

// --- What lies deeper.

static void what_lies_deeper_is_judged(void **state) {
    (void)state;
    static const char *const bad[] = {"[1 2]",    "[1,]",    "{\"a\" 1}", "{\"a\":1,}",  "[\"\\x\"]",
                                      "[tru]",    "[01]",    "{1:2}",     "{\"a\":[}]}", "[{]}]",
                                      "[\"\n\"]", "\"\\x\"", "\"a\nb\"",  "\"\\u12\"",   "[[1][2]]"};
    for (unsigned level = 0; level < LEVELS; level++)
        for (size_t index = 0; index < sizeof bad / sizeof *bad; index++) {
            char member[100], body[200];
            snprintf(member, sizeof member, "\"x\":%s", bad[index]);
            snprintf(body, sizeof body, levels[level], member);
            assert_row(body, LOOKUP_NOT_JSON, BODY_NOTIFICATION);
        }
}

static void a_broken_response_keeps_its_kind_and_id(void **state) {
    (void)state;
    const char *body = "{\"result\":[1 2],\"id\":77}";
    assert_row(body, LOOKUP_NOT_JSON, BODY_RESPONSE);
    struct lookup lookup;
    const uint8_t *text = placed(body, strlen(body));
    lookup_body_strict(&lookup, text, (uint32_t)strlen(body), ID_BYTES_MAX);
    assert_int_equal(lookup.fault_at, 13);
    assert_true(lookup_has(&lookup, KEY_ID));
    assert_memory_equal(text + lookup.value[KEY_ID].at, "77", 2);
}

static void batches_are_judged_whole(void **state) {
    (void)state;
    assert_row("[{\"method\":\"m\"},{\"method\":\"n\",\"params\":[1,{}]}]", LOOKUP_GOOD, BODY_BATCH);
    assert_row("[{\"method\":\"m\"},{\"method\":\"n\",\"params\":[1,{]}]", LOOKUP_NOT_JSON, BODY_BATCH);
    assert_row("[{\"method\":\"m\"} {\"method\":\"n\"}]", LOOKUP_NOT_JSON, BODY_BATCH);
}

static void good_bodies_are_good(void **state) {
    (void)state;
    for (size_t index = 0; index < EXAMPLES_COUNT; index++)
        assert_row(examples[index].body, examples[index].verdict, examples[index].kind);
}

static void depth_is_bounded(void **state) {
    (void)state;
    for (uint32_t depth = JSON_GRAMMAR_DEPTH_MAX - 3; depth < JSON_GRAMMAR_DEPTH_MAX + 3; depth++) {
        char body[2 * JSON_GRAMMAR_DEPTH_MAX + 100];
        struct lookup lookup;
        size_t bytes = (size_t)sprintf(body, "{\"method\":\"m\",\"params\":");
        memset(body + bytes, '[', depth);
        memset(body + bytes + depth, ']', depth);
        bytes += 2 * depth;
        body[bytes++] = '}';
        lookup_body_strict(&lookup, placed(body, bytes), (uint32_t)bytes, ID_BYTES_MAX);
        assert_int_equal(lookup.verdict, depth < JSON_GRAMMAR_DEPTH_MAX ? LOOKUP_GOOD : LOOKUP_TOO_DEEP);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_other_case_is_ambiguous),
        cmocka_unit_test(one_letter_in_the_other_case_is_ambiguous),
        cmocka_unit_test(characters_that_fold_into_ascii_are_case),
        cmocka_unit_test(other_keys_are_free),
        cmocka_unit_test(a_broken_body_is_broken_first),
        cmocka_unit_test(what_lies_deeper_is_judged),
        cmocka_unit_test(a_broken_response_keeps_its_kind_and_id),
        cmocka_unit_test(batches_are_judged_whole),
        cmocka_unit_test(good_bodies_are_good),
        cmocka_unit_test(depth_is_bounded),
    };
    return levels_run_group_tests(tests, placed_map, placed_unmap);
}
