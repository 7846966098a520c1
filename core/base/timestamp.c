#include "core/base/timestamp.h"

#include <assert.h>
#include <string.h>

#define DAY_MS UINT64_C(86400000)

// Days in 400 years, in 100 years without the leap day that the 400th has, and in 4 years.
enum { DAYS_400 = 146097, DAYS_100 = 36524, DAYS_4 = 1461, DAYS_365 = 365 };
// From the first of March of the year 0 to 1970.
enum { DAYS_TO_1970 = 719468, DAYS_MAX = 2932896 };

static void put_padded(char *out, unsigned number, unsigned digits) {
    while (digits-- > 0) {
        out[digits] = (char)('0' + number % 10);
        number /= 10;
    }
    assert(number == 0);
}

// Years are counted from the first of March, so that the leap day is a year's last one.
static void put_date(char *out, unsigned days) {
    assert(days <= DAYS_MAX);
    days += DAYS_TO_1970;
    unsigned era = days / DAYS_400, day = days % DAYS_400;
    unsigned year = (day - day / (DAYS_4 - 1) + day / DAYS_100 - day / (DAYS_400 - 1)) / DAYS_365;
    day -= DAYS_365 * year + year / 4 - year / 100;
    unsigned month = (5 * day + 2) / 153; // 0: March; months have 30.6 days but for the last one
    day -= (153 * month + 2) / 5;
    assert(month < 12 && day < 31);
    year += 400 * era + (month >= 10);
    put_padded(out, year, 4);
    put_padded(out + 5, month >= 10 ? month - 9 : month + 3, 2);
    put_padded(out + 8, day + 1, 2);
}

void timestamp_write(char *out, uint64_t unix_ms) {
    uint64_t last_ms = (DAYS_MAX + UINT64_C(1)) * DAY_MS - 1;
    if (unix_ms > last_ms)
        unix_ms = last_ms;
    unsigned ms = (unsigned)(unix_ms % DAY_MS);
    memcpy(out, "0000-00-00T00:00:00.000Z", TIMESTAMP_BYTES);
    put_date(out, (unsigned)(unix_ms / DAY_MS));
    put_padded(out + 11, ms / 3600000, 2);
    put_padded(out + 14, ms / 60000 % 60, 2);
    put_padded(out + 17, ms / 1000 % 60, 2);
    put_padded(out + 20, ms % 1000, 3);
}

void timestamp_write_http(char *out, uint64_t unix_s) {
    static const char days[] = "ThuFriSatSunMonTueWed", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char iso[TIMESTAMP_BYTES];
    timestamp_write(iso, unix_s < UINT64_MAX / 1000 ? unix_s * 1000 : UINT64_MAX);
    unsigned month = (unsigned)(iso[5] - '0') * 10 + (unsigned)(iso[6] - '0');
    assert(month >= 1 && month <= 12);
    memcpy(out, "Thu, 00 Jan 0000 00:00:00 GMT", TIMESTAMP_HTTP_BYTES);
    memcpy(out, days + unix_s / (DAY_MS / 1000) % 7 * 3, 3); // 1970 began on a Thursday
    memcpy(out + 5, iso + 8, 2);
    memcpy(out + 8, months + (month - 1) * 3, 3);
    memcpy(out + 12, iso, 4);
    memcpy(out + 17, iso + 11, 8);
}
