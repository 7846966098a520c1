// Times as text, against the C library's calendar.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include <time.h>

#include "core/base/text.h"

#define DAY_MS UINT64_C(86400000)

static void is(uint64_t unix_ms, const char *expected) {
    char text[TIMESTAMP_BYTES + 1];
    memset(text, '#', sizeof text);
    timestamp_write(text, unix_ms);
    assert_int_equal(text[TIMESTAMP_BYTES], '#');
    text[TIMESTAMP_BYTES] = '\0';
    assert_string_equal(text, expected);
}

static void known_times(void **state) {
    (void)state;
    is(0, "1970-01-01T00:00:00.000Z");
    is(999, "1970-01-01T00:00:00.999Z");
    is(UINT64_C(951782400000), "2000-02-29T00:00:00.000Z");
    is(UINT64_C(951868800000) - 1, "2000-02-29T23:59:59.999Z");
    is(UINT64_C(4107542400000), "2100-03-01T00:00:00.000Z");
    is(UINT64_C(4107542400000) - 1, "2100-02-28T23:59:59.999Z");
    is(UINT64_C(253402300799999), "9999-12-31T23:59:59.999Z");
    is(UINT64_C(253402300800000), "9999-12-31T23:59:59.999Z");
    is(UINT64_MAX, "9999-12-31T23:59:59.999Z");
}

static void every_day_of_eight_thousand_years(void **state) {
    (void)state;
    for (uint64_t day = 0; day <= 2932896; day++) {
        uint64_t ms = day * DAY_MS + day * 7919 % DAY_MS;
        time_t seconds = (time_t)(ms / 1000);
        struct tm tm;
        char expected[40];
        assert_non_null(gmtime_r(&seconds, &tm));
        size_t length = strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(expected + length, sizeof expected - length, ".%03uZ", (unsigned)(ms % 1000));
        is(ms, expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_times),
        cmocka_unit_test(every_day_of_eight_thousand_years),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
