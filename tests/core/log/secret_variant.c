// Secrets as encoders write them: each spelling is found, and nothing else is.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/log/secret_variant.h"

static size_t spelled(const char *text, const char *secret) {
    return secret_variant_bytes(text, strlen(text), secret, strlen(secret));
}

static void byte_by_byte(void **state) {
    (void)state;
    static const struct {
        const char *secret, *text;
    } table[] = {
        {"k\"y", "k\\\"y"},
        {"k\\y/z", "k\\\\y\\/z"},
        {"a\nb\tc", "a\\nb\\tc"},
        {"\xc3\xa9!", "\\u00e9!"},
        {"\xc3\xa9!", "\\xc3\\xa9!"},
        {"\xc3\xa9!", "%C3%a9%21"},
        {"\xf0\x9f\x98\x80", "\\ud83d\\ude00"},
        {"%a b", "%25a+b"},
        {"a b", "a%20b"},
        {"plain", "plain"},
        {"plain", "\\u0070l\\x61i\\u006E"},
        {"\xff\xfe", "\\xff%FE"},
    };
    for (size_t at = 0; at < sizeof table / sizeof *table; at++) {
        assert_int_equal(spelled(table[at].text, table[at].secret), strlen(table[at].text));
        for (size_t bytes = 0; bytes < strlen(table[at].text); bytes++) {
            char *text = malloc(bytes + 1); // so that a sanitizer sees what is read behind it
            assert_non_null(text);
            memcpy(text, table[at].text, bytes);
            assert_int_equal(secret_variant_bytes(text, bytes, table[at].secret, strlen(table[at].secret)),
                             0);
            free(text);
        }
    }
    assert_int_equal(spelled("plane", "plain"), 0);
    assert_int_equal(spelled("\\u00e8", "\xc3\xa9"), 0);
    assert_int_equal(spelled("%zz", "\xc3\xa9"), 0);
    assert_int_equal(spelled("a\\b", "a\\b"), 0);
}

struct search {
    const char *text;
    unsigned found, all;
};

static void look(void *context, const char *text, size_t bytes) {
    struct search *search = context;
    assert_true(bytes >= 4);
    search->all++;
    search->found += memmem(search->text, strlen(search->text), text, bytes) != NULL;
}

static void as_a_whole(void **state) {
    (void)state;
    static const struct {
        const char *secret, *text;
    } table[] = {
        {"s3cret", "key=733363726574;"},    {"s3cr\xc3\xa9t", "73336372C3A974"},
        {"s3cret", "x czNjcmV0 y"},         // alone
        {"s3cret", "dTpzM2NyZXQ="},         // u:s3cret
        {"s3cret", "dXM6czNjcmV0OnJlc3Q="}, // us:s3cret:rest
        {"s3cret", "dXNlOnMzY3JldA=="},     // use:s3cret
        {"\xfb\xff\xbe\xff?>", "-_--_z8-"}, // of URLs
        {"\xfb\xff\xbe\xff?>", "+/++/z8+"},
    };
    for (size_t at = 0; at < sizeof table / sizeof *table; at++) {
        struct search search = {.text = table[at].text};
        secret_variants(table[at].secret, strlen(table[at].secret), look, &search);
        assert_true(search.all >= 5);
        assert_true(search.found >= 1);
    }
}

static void bounds(void **state) {
    (void)state;
    char secret[SECRET_VARIANT_BYTES_MAX + 1];
    struct search search = {.text = ""};
    memset(secret, '\xff', sizeof secret);
    secret_variants(secret, sizeof secret, look, &search);
    secret_variants(secret, 0, look, &search);
    assert_int_equal(search.all, 0);
    secret_variants(secret, SECRET_VARIANT_BYTES_MAX, look, &search);
    assert_int_equal(search.all, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(byte_by_byte),
        cmocka_unit_test(as_a_whole),
        cmocka_unit_test(bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
