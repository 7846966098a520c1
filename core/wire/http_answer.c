#include "core/wire/http_answer.h"

#include <assert.h>
#include <string.h>

#include "core/base/list.h"
#include "core/base/text.h"
#include "core/wire/field.h"
#include "core/wire/http.h"

// The place of the next byte. A new scan is all zeros.
enum state {
    IN_STATUS,
    AT_LINE,                                  // from here on, FIELDS_AT_LINE and the states behind it
    IN_NEXT_STATUS = AT_LINE + FIELDS_STATES, // in the status line behind an interim answer
    HEAD_STATES_COUNT,
    TO_THE_END = HTTP_REFUSED + 1, // the body ends with the connection
};
static_assert((int)HEAD_STATES_COUNT <= (int)HTTP_CHUNKS,
              "the states of a head are below those of the chunks");

static const struct fields_wire answer_fields;

static void answer_refuse(struct unit *unit, enum unit_fault fault, uint32_t at) {
    fields_refuse(unit, &answer_fields, fault, at);
}

static struct http_answer *answer_of(struct unit *unit) {
    return list_entry(unit, struct http_answer, unit);
}

// --- Fields

static void take_length(struct http_answer *answer, const uint8_t *bytes, struct span value,
                        const struct unit_limits *limits) {
    uint64_t length;
    uint64_t most = UINT64_C(1) << 60;
    bool is_good = !answer->has_length && text_read_digits(bytes + value.at, value.bytes, most, &length);
    answer->has_length = true;
    if (!is_good) {
        answer_refuse(&answer->unit, UNIT_FAULT_LENGTH, value.at);
        return;
    }
    answer->is_too_long = length > limits->body_bytes_max;
    answer->unit.bytes = answer->is_too_long ? 0 : (uint32_t)length;
}

static void check_line(struct unit *unit, const uint8_t *bytes, uint32_t line_end,
                       const struct unit_limits *limits) {
    assert(unit->line_at < unit->colon_at && unit->colon_at + 2 < line_end);
    struct http_answer *answer = answer_of(unit);
    const uint8_t *name = bytes + unit->line_at;
    uint32_t name_bytes = unit->colon_at - unit->line_at;
    struct field_text text =
        field_text_trim((struct field_text){bytes + unit->colon_at + 1, bytes + line_end - 2});
    struct span value = {(uint32_t)(text.start - bytes), (uint32_t)(text.end - text.start)};
    if (field_is(name, name_bytes, "content-length", 14)) {
        take_length(answer, bytes, value, limits);
    } else if (field_is(name, name_bytes, "transfer-encoding", 17)) {
        answer->is_chunked = field_is(text.start, value.bytes, "chunked", 7);
        if (!answer->is_chunked)
            answer_refuse(unit, UNIT_FAULT_CODING, value.at);
    } else if (field_is(name, name_bytes, "retry-after", 11)) {
        answer->retry_after_at = value.at;
        answer->retry_after_bytes = value.bytes;
    }
}

static bool has_no_body(unsigned status) {
    return status == 204 || status == 304;
}

// Ends the head at `at`, behind its blank line.
static void end_head(struct unit *unit, const uint8_t *bytes, uint32_t at) {
    struct http_answer *answer = answer_of(unit);
    assert(answer->status >= 100 && answer->status <= 599);
    (void)bytes;
    if (answer->status < 200) { // an interim answer: the final answer follows
        *answer =
            (struct http_answer){.unit = {.state = IN_NEXT_STATUS, .line_at = at, .length_line_at = at}};
        return;
    }
    if (answer->is_chunked) {
        unit->bytes = 0;
        http_chunks_begin(unit, at);
        return;
    }
    bool ends = answer->has_length || has_no_body(answer->status);
    unit->body_at = at;
    unit->body_bytes = ends && !has_no_body(answer->status) ? unit->bytes : 0;
    unit->state = ends ? HTTP_SIZED : TO_THE_END;
    unit->length_known = ends;
    unit->bytes = at + unit->body_bytes;
}

static const struct fields_wire answer_fields = {
    .first = AT_LINE, .refused = HTTP_REFUSED, .check = check_line, .end = end_head};

// --- The status line

// Reads HTTP/1.X, a space and three digits, with an optional space and reason. Returns the status, or 0 if the line is
// malformed or the status is 101.
static unsigned read_status(const uint8_t *line, uint32_t bytes) {
    enum { STATUS_AT = 9, STATUS_END = 12 };
    if (bytes < STATUS_END || memcmp(line, "HTTP/1.", 7) != 0 || !field_is_digit(line[7]) || line[8] != ' ' ||
        (bytes > STATUS_END && line[STATUS_END] != ' '))
        return 0;
    unsigned status = 0;
    for (unsigned at = STATUS_AT; at < STATUS_END; at++) {
        if (!field_is_digit(line[at]))
            return 0;
        status = status * 10 + (unsigned)(line[at] - '0');
    }
    return status >= 100 && status <= 599 && status != 101 ? status : 0;
}

static void scan_status(struct http_answer *answer, const uint8_t *bytes, uint32_t count) {
    struct unit *unit = &answer->unit;
    uint32_t most = unit->line_at + HTTP_ANSWER_LINE_BYTES_MAX, end = count < most ? count : most;
    uint32_t stop = field_skip_value(bytes, unit->at, end);
    assert(unit->at >= unit->line_at);
    unit->at = stop;
    if (stop == most || (stop < end && bytes[stop] != '\r')) {
        answer_refuse(unit, UNIT_FAULT_REQUEST_LINE, stop);
        return;
    }
    if (count - stop < 2)
        return;
    answer->status = read_status(bytes + unit->line_at, stop - unit->line_at);
    if (answer->status == 0 || bytes[stop + 1] != '\n') {
        answer_refuse(unit, UNIT_FAULT_REQUEST_LINE, unit->line_at);
        return;
    }
    unit->state = AT_LINE;
    unit->at = unit->line_at = unit->length_line_at = stop + 2;
}

static bool is_in_status(const struct unit *unit) {
    return unit->state == IN_STATUS || unit->state == IN_NEXT_STATUS;
}

static bool is_in_fields(const struct unit *unit) {
    return unit->state >= AT_LINE && unit->state < IN_NEXT_STATUS;
}

static void scan_head(struct http_answer *answer, const uint8_t *bytes, uint32_t count,
                      const struct unit_limits *limits) {
    struct unit *unit = &answer->unit;
    uint32_t at;
    do { // once for each interim answer, and for the final answer
        at = unit->at;
        if (is_in_status(unit))
            scan_status(answer, bytes, count);
        uint32_t most = unit->length_line_at + limits->header_bytes_max;
        if (is_in_fields(unit))
            fields_scan(unit, &answer_fields, bytes, count < most ? count : most, limits);
        if (is_in_fields(unit) && unit->at >= most)
            answer_refuse(unit, UNIT_FAULT_HEADER_TOO_LARGE, most);
    } while (is_in_status(unit) && unit->at > at && unit->at < count);
}

enum http_answer_step http_answer_scan(struct http_answer *answer, uint8_t *bytes, uint32_t count,
                                       bool has_ended, const struct unit_limits *limits) {
    struct unit *unit = &answer->unit;
    assert(count >= unit->at);
    if (unit->state < HTTP_CHUNKS)
        scan_head(answer, bytes, count, limits);
    if (unit->state >= HTTP_CHUNKS && unit->state < HTTP_SIZED)
        http_chunks_scan(unit, bytes, count, limits);
    if (unit->state == TO_THE_END) {
        unit->body_bytes = count - unit->body_at;
        if (unit->body_bytes > limits->body_bytes_max)
            answer_refuse(unit, UNIT_FAULT_BODY_TOO_LARGE, unit->body_at);
        else if (has_ended)
            return HTTP_ANSWER_WHOLE;
    }
    if (unit->state == HTTP_REFUSED)
        return HTTP_ANSWER_BAD;
    if (unit->length_known && count >= unit->bytes)
        return HTTP_ANSWER_WHOLE;
    return has_ended ? HTTP_ANSWER_BAD : HTTP_ANSWER_OPEN;
}

// --- The body

struct span http_answer_body(const struct http_answer *answer, uint32_t count) {
    const struct unit *unit = &answer->unit;
    uint32_t came = count - unit->body_at;
    assert(!unit->body_at || count >= unit->body_at);
    if (!unit->body_at)
        return (struct span){0};
    return (struct span){unit->body_at, unit->body_bytes < came ? unit->body_bytes : came};
}

// Discards the body that has come. In a chunked body, the dead bytes up to unit->at are discarded, too.
uint32_t http_answer_discard(struct http_answer *answer, uint8_t *bytes, uint32_t count) {
    struct unit *unit = &answer->unit;
    struct span body = http_answer_body(answer, count);
    bool is_in_chunks = unit->state >= HTTP_CHUNKS && unit->state < HTTP_SIZED;
    uint32_t from = is_in_chunks ? unit->at : body.at + body.bytes, gap = from - body.at;
    assert(from >= body.at && from <= count);
    if (gap == 0)
        return count;
    memmove(bytes + body.at, bytes + from, count - from);
    unit->body_bytes -= body.bytes;
    if (unit->length_known)
        unit->bytes -= gap;
    if (unit->at > body.at)
        unit->at = unit->at >= from ? unit->at - gap : body.at;
    return count - gap;
}

// --- When to come again

// Reads `count` digits. Returns -1 if there are other characters.
static int digits_at(const uint8_t *text, unsigned count) {
    int number = 0;
    assert(count >= 1 && count <= 4);
    for (unsigned at = 0; at < count; at++) {
        if (!field_is_digit(text[at]))
            return -1;
        number = number * 10 + (text[at] - '0');
    }
    return number;
}

// Returns whether the text has the form: A in the form is any letter, 0 is any digit, and each other byte is itself.
static bool looks_like(const uint8_t *text, uint32_t bytes, const char *form) {
    if (bytes != strlen(form))
        return false;
    for (uint32_t at = 0; at < bytes; at++) {
        uint8_t letter = text[at] | 0x20;
        bool fits = form[at] == 'A'   ? letter >= 'a' && letter <= 'z'
                    : form[at] == '0' ? field_is_digit(text[at])
                                      : text[at] == (uint8_t)form[at];
        if (!fits)
            return false;
    }
    return true;
}

// Returns the month, 1 to 12, or 0 if the text names none.
static int month_at(const uint8_t *text) {
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int month = 0;
    while (month < 12 && memcmp(months + (ptrdiff_t)3 * month, text, 3) != 0)
        month++;
    return month < 12 ? month + 1 : 0;
}

static const char days[7][10] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                 "Friday", "Saturday", "Sunday"};

// Returns whether the text is the name of a day: the whole name, or its first three letters.
static bool is_day(const uint8_t *text, size_t bytes, bool is_whole) {
    assert(is_whole || bytes == 3);
    for (size_t at = 0; at < sizeof days / sizeof *days; at++)
        if ((!is_whole || strlen(days[at]) == bytes) && memcmp(days[at], text, bytes) == 0)
            return true;
    return false;
}

// Returns the days from the beginning of 1970 to a day of the Gregorian calendar.
static int64_t days_of(int year, int month, int day) {
    int64_t years = year - (month <= 2), era = years / 400, of_era = years - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    assert(month >= 1 && month <= 12);
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

struct date {
    int year, month, day;
    const uint8_t *time; // such as 08:49:37
};

// Computes the milliseconds since 1970. Returns false if there is no such day or time, or the date is before 1970.
static bool date_ms(const struct date *date, uint64_t *unix_ms) {
    int hour = digits_at(date->time, 2), minute = digits_at(date->time + 3, 2),
        second = digits_at(date->time + 6, 2);
    int next_year = date->year + (date->month == 12), next_month = date->month % 12 + 1;
    assert(date->year >= 0 && hour >= 0 && minute >= 0 && second >= 0);
    if (date->month == 0 || date->day < 1 || date->year < 1970 || hour > 23 || minute > 59 || second > 60 ||
        date->day > days_of(next_year, next_month, 1) - days_of(date->year, date->month, 1))
        return false;
    int64_t seconds =
        days_of(date->year, date->month, date->day) * 86400 + hour * 3600 + minute * 60 + second;
    *unix_ms = (uint64_t)seconds * 1000;
    return true;
}

// Reads such as Sunday, 06-Nov-94 08:49:37 GMT. A two-digit year that would be more than 50 years ahead is in the past.
static bool read_rfc850(const uint8_t *text, uint32_t bytes, uint64_t unix_ms, struct date *date) {
    const uint8_t *comma = memchr(text, ',', bytes);
    uint32_t name = comma ? (uint32_t)(comma - text) : 0;
    if (!comma || !is_day(text, name, true) || !looks_like(comma, bytes - name, ", 00-AAA-00 00:00:00 GMT"))
        return false;
    int this_year = 1970 + (int)(unix_ms / 1000 / 31556952); // of 365.2425 days
    int year = this_year / 100 * 100 + digits_at(comma + 9, 2);
    year += year > this_year + 50 ? -100 : year <= this_year - 50 ? 100 : 0;
    *date = (struct date){year, month_at(comma + 5), digits_at(comma + 2, 2), comma + 12};
    return true;
}

// Reads such as Sun Nov 6 08:49:37 1994, with two spaces before a day of one digit.
static bool read_asctime(const uint8_t *text, uint32_t bytes, struct date *date) {
    bool is_short = looks_like(text, bytes, "AAA AAA  0 00:00:00 0000");
    if ((!is_short && !looks_like(text, bytes, "AAA AAA 00 00:00:00 0000")) || !is_day(text, 3, false))
        return false;
    *date = (struct date){digits_at(text + 20, 4), month_at(text + 4),
                          is_short ? digits_at(text + 9, 1) : digits_at(text + 8, 2), text + 11};
    return true;
}

// Reads a date in any of the three forms (RFC 9110 section 5.6.7). New senders must use the first form.
static bool read_date(const uint8_t *text, uint32_t bytes, uint64_t now_ms, uint64_t *unix_ms) {
    struct date date;
    if (looks_like(text, bytes, "AAA, 00 AAA 0000 00:00:00 GMT") && is_day(text, 3, false))
        date = (struct date){digits_at(text + 12, 4), month_at(text + 8), digits_at(text + 5, 2), text + 17};
    else if (!read_rfc850(text, bytes, now_ms, &date) && !read_asctime(text, bytes, &date))
        return false;
    return date_ms(&date, unix_ms);
}

bool http_answer_retry_ms(const struct http_answer *answer, const uint8_t *bytes, uint64_t unix_ms,
                          uint64_t *wait_ms) {
    const uint8_t *text = bytes + answer->retry_after_at;
    uint64_t seconds, until_ms;
    if (answer->retry_after_bytes == 0)
        return false;
    if (text_read_digits(text, answer->retry_after_bytes, UINT32_MAX, &seconds)) {
        *wait_ms = seconds * 1000;
        return true;
    }
    if (!read_date(text, answer->retry_after_bytes, unix_ms, &until_ms))
        return false;
    *wait_ms = until_ms > unix_ms ? until_ms - unix_ms : 0;
    return true;
}
