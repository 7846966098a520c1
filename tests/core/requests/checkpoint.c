// The names of what is held, and the part of a body that is shown.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/requests/checkpoint.h"

static const char name[] = "gate:000102030405060708090a0b0c0d0eff";

static bool reads(const char *text) {
    struct checkpoint checkpoint;
    return checkpoint_read(text, strlen(text), &checkpoint);
}

static void names_read_as_they_are_written(void **state) {
    (void)state;
    struct checkpoint checkpoint;
    char written[CHECKPOINT_BYTES];
    assert_true(checkpoint_read(name, sizeof name - 1, &checkpoint));
    for (uint8_t at = 0; at < CHECKPOINT_BITS_BYTES - 1; at++)
        assert_int_equal(checkpoint.bits[at], at);
    assert_int_equal(checkpoint.bits[CHECKPOINT_BITS_BYTES - 1], 0xff);
    checkpoint_write(&checkpoint, written);
    assert_int_equal(sizeof written, sizeof name - 1);
    assert_memory_equal(written, name, sizeof written);
}

static void nothing_else_is_a_name(void **state) {
    (void)state;
    char changed[sizeof name];
    assert_true(reads(name));
    assert_false(reads(""));
    assert_false(reads("gate:"));
    assert_false(reads("gate:000102030405060708090a0b0c0d0ef"));
    assert_false(reads("gate:000102030405060708090a0b0c0d0efff"));
    for (size_t at = 0; at < sizeof name - 1; at++) {
        static const char others[] = "Gg F/:\x7f";
        for (size_t other = 0; other < sizeof others; other++) { // with the zero byte at the end
            memcpy(changed, name, sizeof name);
            if (changed[at] == others[other])
                continue;
            changed[at] = others[other];
            struct checkpoint checkpoint;
            assert_false(checkpoint_read(changed, sizeof name - 1, &checkpoint));
        }
    }
}

static size_t preview_of(size_t before, const char *character) {
    static uint8_t body[4096];
    memset(body, 'x', sizeof body);
    memcpy(body + before, character, strlen(character));
    return checkpoint_preview(body, sizeof body);
}

static void a_preview_ends_with_a_whole_character(void **state) {
    (void)state;
    static const char *const characters[] = {"a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (size_t which = 0; which < sizeof characters / sizeof *characters; which++) {
        size_t bytes = strlen(characters[which]);
        for (size_t before = CHECKPOINT_PREVIEW_BYTES - 5; before <= CHECKPOINT_PREVIEW_BYTES; before++) {
            bool fits = before + bytes <= CHECKPOINT_PREVIEW_BYTES;
            size_t expected = fits ? CHECKPOINT_PREVIEW_BYTES : before;
            assert_int_equal(preview_of(before, characters[which]), expected);
        }
    }
}

static void a_short_body_is_shown_whole(void **state) {
    (void)state;
    static const uint8_t body[CHECKPOINT_PREVIEW_BYTES] = {'{'};
    assert_int_equal(checkpoint_preview(body, 1), 1);
    assert_int_equal(checkpoint_preview(body, sizeof body), sizeof body);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_read_as_they_are_written),
        cmocka_unit_test(nothing_else_is_a_name),
        cmocka_unit_test(a_preview_ends_with_a_whole_character),
        cmocka_unit_test(a_short_body_is_shown_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
