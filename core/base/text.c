#include "core/base/text.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

void text_deinit(struct text *text) {
    assert(text->bytes || text->capacity == 0);
    memory_give(text->bytes);
    text_init(text);
}

bool text_try_reserve(struct text *text, size_t count) {
    assert(text->length <= text->capacity);
    if (text->failed)
        return false;
    if (text->capacity - text->length >= count)
        return true;
    size_t capacity = text->capacity ? text->capacity * 2 : 256;
    if (capacity - text->length < count) // after a large addition, mostly nothing more is added
        capacity = text->length + count;
    char *bytes = memory_resize(text->bytes, capacity);
    if (!bytes)
        return false;
    text->bytes = bytes;
    text->capacity = capacity;
    assert(capacity - text->length >= count);
    return true;
}

bool text_reserve(struct text *text, size_t count) {
    if (!text_try_reserve(text, count))
        text->failed = true;
    return !text->failed;
}

void text_add(struct text *text, const void *bytes, size_t count) {
    assert(bytes || count == 0);
    if (count == 0 || !text_reserve(text, count))
        return;
    memcpy(text->bytes + text->length, bytes, count);
    text->length += count;
}

void text_put(struct text *text, const char *string) {
    text_add(text, string, strlen(string));
}

// Returns the digits of a word whose halves are numbers of four digits: eight bytes, the first digit in the lowest
// byte. First each half becomes two pairs, then each pair two digits. A division is a product and a shift, which is
// exact for numbers this small.
static inline uint64_t digits_of_fours(uint64_t fours) {
    assert((fours & UINT32_MAX) < 10000 && fours >> 32 < 10000);
    uint64_t hundreds = fours * 10486 >> 20 & UINT64_C(0x0000007f0000007f);
    uint64_t pairs = hundreds | (fours - hundreds * 100) << 16;
    uint64_t tens = pairs * 103 >> 10 & UINT64_C(0x000f000f000f000f);
    return tens | (pairs - tens * 10) << 8;
}

// Writes digits without leading zeros, but at least one digit. Always writes eight bytes. Returns the number of digits.
static inline size_t put_without_zeros(char *out, uint64_t digits) {
    unsigned zeros = (unsigned)__builtin_ctzll(digits | UINT64_C(1) << 56) / 8;
    uint64_t word = htole64((digits | UINT64_C(0x3030303030303030)) >> 8 * zeros);
    memcpy(out, &word, sizeof word);
    return 8 - zeros;
}

static inline void put_all_eight(char *out, uint64_t digits) {
    uint64_t word = htole64(digits | UINT64_C(0x3030303030303030));
    memcpy(out, &word, sizeof word);
}

#define EIGHT_DIGITS_END UINT64_C(100000000)

static inline uint64_t fours_of(uint64_t number) {
    assert(number < EIGHT_DIGITS_END);
    return number / 10000 | number % 10000 << 32;
}

// Writes the first nine to twelve digits of a number of seventeen to twenty digits. No hub id has as many.
static size_t put_long(char *out, uint64_t number) {
    size_t count = put_without_zeros(out, digits_of_fours(fours_of(number / EIGHT_DIGITS_END)));
    put_all_eight(out + count, digits_of_fours(fours_of(number % EIGHT_DIGITS_END)));
    return count + 8;
}

// Writes a number fast, since each forwarded message has a hub id and a length.
size_t text_digits(char *out, uint64_t number) {
    if (number < 10000)
        return put_without_zeros(out, digits_of_fours(number << 32));
    if (number < EIGHT_DIGITS_END)
        return put_without_zeros(out, digits_of_fours(fours_of(number)));
    uint64_t first = number / EIGHT_DIGITS_END;
    size_t count = first < EIGHT_DIGITS_END ? put_without_zeros(out, digits_of_fours(fours_of(first)))
                                            : put_long(out, first);
    put_all_eight(out + count, digits_of_fours(fours_of(number % EIGHT_DIGITS_END)));
    return count + 8;
}

void text_number(struct text *text, int64_t number) {
    char digits[20];
    if (number < 0)
        text_add(text, "-", 1);
    uint64_t magnitude = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    text_add(text, digits, text_digits(digits, magnitude));
}

size_t text_escape(char out[TEXT_ESCAPE_BYTES_MAX], unsigned char byte) {
    assert(byte < 0x20 || byte == '"' || byte == '\\');
    static const char hex[] = "0123456789abcdef";
    if (byte == '"' || byte == '\\') {
        out[0] = '\\';
        out[1] = (char)byte;
        return 2;
    }
    memcpy(out, "\\u00", 4);
    out[4] = hex[byte >> 4];
    out[5] = hex[byte & 15];
    return TEXT_ESCAPE_BYTES_MAX;
}

size_t text_string_bytes(const char *string, size_t bytes) {
    assert(string || bytes == 0);
    size_t count = bytes + 2;
    for (size_t at = 0; at < bytes; at++) {
        unsigned char byte = (unsigned char)string[at];
        count += byte < 0x20 ? 5 : byte == '"' || byte == '\\';
    }
    return count;
}

void text_string(struct text *text, const char *string, size_t bytes) {
    assert(string || bytes == 0);
    text_add(text, "\"", 1);
    size_t plain = 0;
    for (size_t at = 0; (at = text_find_escaped(string, plain, bytes)) < bytes; plain = at + 1) {
        char escape[TEXT_ESCAPE_BYTES_MAX];
        text_add(text, string + plain, at - plain);
        text_add(text, escape, text_escape(escape, (unsigned char)string[at]));
    }
    text_add(text, string + plain, bytes - plain);
    text_add(text, "\"", 1);
}

// Reads eight digits at once. Returns false if any of the bytes isn't a digit.
static inline bool read_eight(const uint8_t *text, uint64_t *number) {
    uint64_t word;
    memcpy(&word, text, sizeof word);
    word = le64toh(word) ^ UINT64_C(0x3030303030303030); // the first digit is in the lowest byte
    bool is_good = ((word | (word + UINT64_C(0x7676767676767676))) & UINT64_C(0x8080808080808080)) == 0;
    word = word * 10 + (word >> 8);
    uint64_t first = (word & UINT64_C(0x000000ff000000ff)) * (100 + (UINT64_C(1000000) << 32));
    uint64_t second = (word >> 16 & UINT64_C(0x000000ff000000ff)) * (1 + (UINT64_C(10000) << 32));
    *number = (first + second) >> 32;
    return is_good;
}

bool text_read_digits(const void *text, size_t bytes, uint64_t max, uint64_t *number) {
    const uint8_t *at = text;
    uint64_t value = 0, eight;
    bool is_good = bytes > 0;
    assert(max <= (UINT64_MAX - 9) / 10);
    // Two groups of eight digits are a number below 10^16
    for (size_t groups = bytes < 16 ? bytes / 8 : 2; is_good && groups > 0; groups--, at += 8) {
        is_good = read_eight(at, &eight);
        value = value * EIGHT_DIGITS_END + eight;
    }
    is_good = is_good && value <= max;
    for (const uint8_t *end = (const uint8_t *)text + bytes; is_good && at < end; at++) {
        value = value * 10 + (uint8_t)(*at - '0');
        is_good = (uint8_t)(*at - '0') <= 9 && value <= max;
    }
    *number = value;
    return is_good;
}

// --- Units

struct unit {
    const char *suffix;
    uint64_t factor;
};

static bool parse(const char *text, const struct unit *units, uint64_t *out) {
    assert(text && units->suffix);
    char *rest = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &rest, 10);
    uint64_t product;
    if (errno || rest == text || text[0] < '0' || text[0] > '9')
        return false;
    for (; units->suffix; units++) {
        if (strcmp(rest, units->suffix) != 0)
            continue;
        if (__builtin_mul_overflow((uint64_t)number, units->factor, &product))
            return false;
        *out = product;
        return true;
    }
    return false;
}

bool units_time(const char *text, uint64_t *out_ns) {
    static const struct unit times[] = {
        {"us", UINT64_C(1000)},       {"ms", UINT64_C(1000000)},      {"s", UINT64_C(1000000000)},
        {"m", UINT64_C(60000000000)}, {"h", UINT64_C(3600000000000)}, {NULL, 0},
    };
    return parse(text, times, out_ns);
}

bool units_size(const char *text, uint64_t *out_bytes) {
    static const struct unit sizes[] = {
        {"", 1}, {"K", 1u << 10}, {"M", 1u << 20}, {"G", 1u << 30}, {NULL, 0}};
    return parse(text, sizes, out_bytes);
}

bool units_count(const char *text, uint64_t *out) {
    static const struct unit counts[] = {{"", 1}, {NULL, 0}};
    return parse(text, counts, out);
}

bool units_fraction(const char *text, uint64_t *out_billionths) {
    enum { DIGITS = 9 };
    size_t whole = strspn(text, "0123456789"),
           behind = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
    uint64_t ones, parts = 0;
    bool is_whole = text[whole] == '\0', ends = is_whole || text[whole + 1 + behind] == '\0';
    if (!ends || (!is_whole && (behind == 0 || behind > DIGITS)) || !text_read_digits(text, whole, 1, &ones))
        return false;
    for (size_t at = 0; at < DIGITS; at++)
        parts = parts * 10 + (at < behind ? (uint64_t)(text[whole + 1 + at] - '0') : 0);
    if (ones * UNITS_WHOLE + parts > UNITS_WHOLE)
        return false;
    *out_billionths = ones * UNITS_WHOLE + parts;
    return true;
}

// --- Timestamps

#define DAY_MS UINT64_C(86400000)

// Days in 400 years, in 100 years without the leap day that the 400th year has, in 4 years and in a common year.
enum { DAYS_400 = 146097, DAYS_100 = 36524, DAYS_4 = 1461, DAYS_365 = 365 };
// Days from the first of March of the year 0 to 1970, and days from 1970 to the last day of the year 9999.
enum { DAYS_TO_1970 = 719468, DAYS_MAX = 2932896 };

static void put_padded(char *out, unsigned number, unsigned digits) {
    while (digits-- > 0) {
        out[digits] = (char)('0' + number % 10);
        number /= 10;
    }
    assert(number == 0);
}

// Writes a date. Years are counted from the first of March, so that the leap day is the last day of a year.
static void put_date(char *out, unsigned days) {
    assert(days <= DAYS_MAX);
    days += DAYS_TO_1970;
    unsigned era = days / DAYS_400, day = days % DAYS_400;
    unsigned year = (day - day / (DAYS_4 - 1) + day / DAYS_100 - day / (DAYS_400 - 1)) / DAYS_365;
    day -= DAYS_365 * year + year / 4 - year / 100;
    unsigned month = (5 * day + 2) / 153; // 0: March; months have 30.6 days on average, except the last one
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
