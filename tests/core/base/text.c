// The growing text: what it writes must be JSON whatever goes in, and a failure is said once, at the end.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>

#include "core/base/memory.h"
#include "core/base/text.h"

static void strings_are_escaped(void **state) {
    (void)state;
    static const struct {
        const char *in;
        size_t bytes;
        const char *out;
    } table[] = {
        {"", 0, "\"\""},
        {"plain", 5, "\"plain\""},
        {"\"\\/", 3, "\"\\\"\\\\/\""},
        {"a\nb", 3, "\"a\\u000ab\""},
        {"\0\x1f\x20\x7f", 4, "\"\\u0000\\u001f \x7f\""},
        {"\xc3\xa9", 2, "\"\xc3\xa9\""},
        {"end\t", 4, "\"end\\u0009\""},
    };
    for (size_t index = 0; index < sizeof table / sizeof *table; index++) {
        struct text text;
        text_init(&text);
        text_string(&text, table[index].in, table[index].bytes);
        assert_false(text.failed);
        assert_int_equal(text.length, strlen(table[index].out));
        assert_int_equal(text.length, text_string_bytes(table[index].in, table[index].bytes));
        assert_memory_equal(text.bytes, table[index].out, text.length);
        text_deinit(&text);
    }
}

static void expect_digits(uint64_t number) {
    char digits[20], expected[24];
    int count = snprintf(expected, sizeof expected, "%" PRIu64, number);
    assert_int_equal(text_digits(digits, number), count);
    assert_memory_equal(digits, expected, (size_t)count);
}

static void numbers_of_all_lengths(void **state) {
    (void)state;
    static const int64_t table[] = {0, 7, -7, 10, 99, 100, INT64_MAX, INT64_MIN, INT64_C(9007199254740991)};
    for (size_t index = 0; index < sizeof table / sizeof *table; index++) {
        char expected[32];
        struct text text;
        int count = snprintf(expected, sizeof expected, "%" PRId64, table[index]);
        text_init(&text);
        text_number(&text, table[index]);
        assert_int_equal(text.length, count);
        assert_memory_equal(text.bytes, expected, text.length);
        text_deinit(&text);
    }
    for (uint64_t number = 1; number; number = number > UINT64_MAX / 3 ? 0 : number * 3)
        expect_digits(number);
    for (uint64_t number = 0; number < 20000; number++) // all that two pairs can be, and beyond
        expect_digits(number);
    for (uint64_t ten = 1; ten <= UINT64_MAX / 10; ten *= 10)
        for (uint64_t number = ten - 1; number <= ten + 1; number++)
            expect_digits(number);
    expect_digits(UINT64_MAX);
}

static void digits_are_read_up_to_a_bound(void **state) {
    static const struct {
        const char *text;
        uint64_t max, number;
        bool good;
    } cases[] = {{"0", 0, 0, true},
                 {"007", 7, 7, true},
                 {"65535", 65535, 65535, true},
                 {"65536", 65535, 0, false},
                 {"", 9, 0, false},
                 {"1x", 99, 0, false},
                 {"-1", 99, 0, false},
                 {" 1", 99, 0, false},
                 {"99999999999999999999999", 1 << 20, 0, false},
                 {"9007199254740993", UINT64_C(1) << 54, UINT64_C(9007199254740993), true},
                 {"9007199254740993", UINT64_C(9007199254740993), UINT64_C(9007199254740993), true},
                 {"9007199254740993", UINT64_C(9007199254740992), 0, false},
                 {"00000000000000000000000000000007", 7, 7, true},
                 {"90071992547409930", UINT64_C(9007199254740993), 0, false}};
    (void)state;
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++) {
        uint64_t number = 0;
        bool good = text_read_digits(cases[at].text, strlen(cases[at].text), cases[at].max, &number);
        assert_int_equal(good, cases[at].good);
        if (good)
            assert_int_equal(number, cases[at].number);
    }
}

// Eight digits are read at once, twice: a byte that is none may stand in each place.
static void each_byte_is_judged_among_digits(void **state) {
    enum { DIGITS = 18 };
    (void)state;
    for (unsigned at = 0; at < DIGITS; at++)
        for (unsigned byte = 0; byte < 256; byte++) {
            char text[] = "123456789012345678";
            uint64_t number, expected = 0;
            text[at] = (char)byte;
            bool is_digit = byte >= '0' && byte <= '9';
            for (unsigned digit = 0; digit < DIGITS; digit++)
                expected = expected * 10 + (uint64_t)(text[digit] - '0');
            assert_int_equal(text_read_digits(text, DIGITS, UINT64_MAX / 16, &number), is_digit);
            if (is_digit)
                assert_int_equal(number, expected);
        }
}

static void the_first_of_a_byte_is_found(void **state) {
    static const uint8_t text[] = "0123456789 123456789 ";
    (void)state;
    for (uint32_t at = 0; at < 10; at++) {
        assert_int_equal(text_find(text, at, 21, ' '), 10);
        assert_int_equal(text_find(text, at, 10, ' '), 10);
        assert_int_equal(text_find(text, at, at, ' '), at);
    }
    assert_int_equal(text_find(text, 11, 21, ' '), 20);
    assert_int_equal(text_find(text, 11, 21, 'x'), 21);
}

static void it_grows(void **state) {
    (void)state;
    struct text text;
    text_init(&text);
    for (unsigned index = 0; index < 5000; index++)
        text_put(&text, "ab");
    assert_int_equal(text.length, 10000);
    for (size_t at = 0; at < text.length; at++)
        assert_int_equal(text.bytes[at], at % 2 ? 'b' : 'a');
    text_deinit(&text);
    assert_null(text.bytes);
}

static void a_failure_stays(void **state) {
    (void)state;
    struct text text;
    text_init(&text);
    text_put(&text, "before");
    memory_fail_after(0);
    for (unsigned index = 0; index < 100 && !text.failed; index++)
        text_string(&text, "more and more", 13);
    assert_true(text.failed);
    memory_fail_after(UINT64_MAX);
    size_t length = text.length;
    text_put(&text, "x");
    assert_int_equal(text.length, length);
    assert_memory_equal(text.bytes, "before", 6);
    text_deinit(&text);
}

// Each byte at each place of strings of several lengths: between plain bytes, and among those like it.
static void each_byte_is_judged_in_strings(void **state) {
    (void)state;
    char string[24];
    for (unsigned byte = 0; byte < 256; byte++) {
        bool is_escaped = byte < 0x20 || byte == '"' || byte == '\\';
        for (size_t bytes = 1; bytes <= sizeof string; bytes++)
            for (size_t at = 0; at < bytes; at++) {
                memset(string, 'a', sizeof string);
                string[at] = (char)byte;
                assert_int_equal(text_find_escaped(string, 0, bytes), is_escaped ? at : bytes);
                memset(string + at, (int)byte, bytes - at);
                assert_int_equal(text_find_escaped(string, 0, bytes), is_escaped ? at : bytes);
                assert_int_equal(text_find_escaped(string, bytes, bytes), bytes);
            }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(each_byte_is_judged_in_strings),
        cmocka_unit_test(numbers_of_all_lengths),
        cmocka_unit_test(digits_are_read_up_to_a_bound),
        cmocka_unit_test(each_byte_is_judged_among_digits),
        cmocka_unit_test(the_first_of_a_byte_is_found),
        cmocka_unit_test(it_grows),
        cmocka_unit_test(a_failure_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
