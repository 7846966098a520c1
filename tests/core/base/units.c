// Times, sizes and counts as people write them.
// Success: every suffix with its factor. Failure: a text that isn't all number and suffix, and what
// doesn't fit, leave the result as it was.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/text.h"

typedef bool reader(const char *text, uint64_t *out);

static void check(reader *read, const char *text, uint64_t expected) {
    uint64_t found = 1;
    assert_true(read(text, &found));
    assert_int_equal(found, expected);
}

static void check_refused(reader *read, const char *text) {
    uint64_t found = 12345;
    assert_false(read(text, &found));
    assert_int_equal(found, 12345);
}

static void every_unit_has_its_factor(void **state) {
    (void)state;
    check(units_time, "0ms", 0);
    check(units_time, "50us", 50000);
    check(units_time, "250ms", 250000000);
    check(units_time, "5s", UINT64_C(5000000000));
    check(units_time, "10m", UINT64_C(600000000000));
    check(units_time, "1h", UINT64_C(3600000000000));
    check(units_size, "7", 7);
    check(units_size, "64K", 65536);
    check(units_size, "016M", 16777216);
    check(units_size, "1G", 1073741824);
    check(units_count, "18446744073709551615", UINT64_MAX);
}

static void a_fraction_is_of_one(void **state) {
    (void)state;
    check(units_fraction, "0", 0);
    check(units_fraction, "1", UNITS_WHOLE);
    check(units_fraction, "1.0", UNITS_WHOLE);
    check(units_fraction, "0.01", UNITS_WHOLE / 100);
    check(units_fraction, "0.000000001", 1);
    check(units_fraction, "000.5", UNITS_WHOLE / 2);
    static const char *const bad[] = {"",   ".5",   "1.",   "0.0000000001", "1.000000001", "2",     "-0",
                                      "+1", "0.5 ", " 0.5", "0,5",          "1e-3",        "0.5.5", "1%"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        check_refused(units_fraction, bad[i]);
}

static void all_else_is_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"",    " 1s", "+1s",  "-1s",  "1 s", "s",
                                      "1ss", "1s ", "0x1s", "1.5s", "1S"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        check_refused(units_time, bad[i]);
    }
    check_refused(units_time, "5");
    check_refused(units_size, "5k");
    check_refused(units_size, "5s");
    check_refused(units_count, "5K");
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    check_refused(units_count, "18446744073709551616");
    check_refused(units_size, "17179869184G");
    check(units_size, "17179869183G", UINT64_C(17179869183) << 30);
    check_refused(units_time, "5124096h");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_unit_has_its_factor),
        cmocka_unit_test(a_fraction_is_of_one),
        cmocka_unit_test(all_else_is_refused),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
