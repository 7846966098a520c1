// Tokens and their digests.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/rights/digest.h"

// Of "abc": FIPS 180-2, appendix B.1.
static const char abc[] = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

static void as_the_standard_says(void **state) {
    (void)state;
    struct digest digest, parsed;
    char text[DIGEST_TEXT_BYTES];
    assert_true(digest_make("abc", 3, &digest));
    digest_text(&digest, text);
    assert_memory_equal(text, abc, sizeof text);
    assert_true(digest_parse(abc, strlen(abc), &parsed));
    assert_true(digest_same(&digest, &parsed));
    assert_true(digest_parse("sha256:BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD",
                             DIGEST_TEXT_BYTES, &parsed));
    assert_true(digest_same(&digest, &parsed));
    for (size_t bit = 0; bit < 8 * sizeof digest.bytes; bit++) {
        parsed = digest;
        parsed.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(digest_same(&digest, &parsed));
    }
}

static void what_is_no_digest(void **state) {
    (void)state;
    struct digest digest;
    char text[DIGEST_TEXT_BYTES + 1];
    assert_false(digest_parse(abc, strlen(abc) - 1, &digest));
    assert_false(digest_parse("", 0, &digest));
    for (size_t at = 0; at < DIGEST_TEXT_BYTES; at++) {
        memcpy(text, abc, sizeof text);
        text[at] = at < 7 ? '-' : 'g';
        assert_false(digest_parse(text, DIGEST_TEXT_BYTES, &digest));
        text[at] = '/';
        assert_false(digest_parse(text, DIGEST_TEXT_BYTES, &digest));
    }
}

static void tokens(void **state) {
    (void)state;
    uint8_t random[TOKEN_RANDOM_BYTES] = {0};
    char text[TOKEN_TEXT_BYTES + 1] = "";
    token_text(random, text);
    assert_string_equal(text, "pb_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    memset(random, 0xff, sizeof random);
    token_text(random, text);
    assert_string_equal(text, "pb___________________________________________8");
    for (size_t at = 0; at < sizeof random; at++)
        random[at] = (uint8_t)at;
    token_text(random, text); // as base64url(bytes(range(32)))
    assert_string_equal(text, "pb_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8");
}

static void wiped(void **state) {
    (void)state;
    char secret[] = "secret";
    digest_wipe(secret, sizeof secret);
    for (size_t at = 0; at < sizeof secret; at++)
        assert_int_equal(secret[at], 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_standard_says),
                                       cmocka_unit_test(what_is_no_digest), cmocka_unit_test(tokens),
                                       cmocka_unit_test(wiped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
