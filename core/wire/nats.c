// Finds the lines of a NATS server, and the payloads behind these lines, in place.
//
// Success: a line is read when its line feed has come, and has the payload's length. The payload ends with CR LF.
// Failure: a line that begins with no verb of a server, has unreadable sizes, or is too long. The fault is at the
// line's start, or at the limit. A payload without CR LF behind it is a failure, too.
#include "core/wire/nats.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"
#include "core/wire/field.h"

enum { SIZE_DIGITS_MAX = 9, WORDS_MAX = 5 };

static const struct verb {
    const char *name;
    uint32_t bytes;
    bool has_argument; // the rest of the line is one argument
} verbs[NATS_VERBS] = {
    [NATS_INFO] = {"info", 4, true},  [NATS_MSG] = {"msg", 3, false},   [NATS_HMSG] = {"hmsg", 4, false},
    [NATS_PING] = {"ping", 4, false}, [NATS_PONG] = {"pong", 4, false}, [NATS_OK] = {"+ok", 3, false},
    [NATS_ERR] = {"-err", 4, true}};

// The parts of a line without its CR LF.
struct line {
    enum nats_verb verb;
    struct span words[WORDS_MAX]; // the words behind the verb
    unsigned count;               // number of words, of which WORDS_MAX at most are in `words`
    struct span rest;             // all of the line behind the verb
};

// Returns the verb. HMSG is tested first, since nearly all lines are messages, and servers write the verb in upper
// case.
static enum nats_verb verb_of(const uint8_t *bytes, uint32_t count) {
    if (count == 4 && memcmp(bytes, "HMSG", 4) == 0)
        return NATS_HMSG;
    for (unsigned verb = 0; verb < NATS_VERBS; verb++)
        if (field_is(bytes, count, verbs[verb].name, verbs[verb].bytes))
            return (enum nats_verb)verb;
    return NATS_VERBS;
}

// Finds the words of a line, which single spaces separate.
static void take_words(const uint8_t *bytes, uint32_t at, uint32_t end, struct line *line) {
    assert(at <= end);
    for (uint32_t word = at; word < end; word = at + 1) {
        at = text_find(bytes, word, end, ' ');
        if (at > word && line->count++ < WORDS_MAX)
            line->words[line->count - 1] = (struct span){word, at - word};
    }
}

static void take_apart(const uint8_t *bytes, uint32_t end, struct line *line) {
    uint32_t at = 0;
    while (at < end && bytes[at] != ' ')
        at++;
    line->verb = verb_of(bytes, at);
    line->count = 0;
    while (at < end && bytes[at] == ' ')
        at++;
    line->rest = (struct span){at, end - at};
    if (line->verb != NATS_VERBS && !verbs[line->verb].has_argument)
        take_words(bytes, at, end, line);
}

static bool read_size(const uint8_t *bytes, struct span word, uint32_t *out) {
    uint64_t size;
    bool good =
        word.bytes <= SIZE_DIGITS_MAX && text_read_digits(bytes + word.at, word.bytes, UINT32_MAX, &size);
    *out = good ? (uint32_t)size : 0;
    return good;
}

// Reads the sizes of a line: MSG subject sid [reply] bytes, or HMSG subject sid [reply] bytes-of-headers bytes-of-all.
// Returns false if the line is malformed.
static bool read_sizes(const uint8_t *bytes, const struct line *line, uint32_t *headers, uint32_t *all) {
    unsigned sizes = line->verb == NATS_HMSG ? 2 : 1;
    assert(line->verb == NATS_HMSG || line->verb == NATS_MSG);
    if (line->count < 2 + sizes || line->count > 3 + sizes)
        return false;
    *headers = 0;
    if (sizes == 2 && !read_size(bytes, line->words[line->count - 2], headers))
        return false;
    return read_size(bytes, line->words[line->count - 1], all) && *headers <= *all;
}

static enum unit_result refuse_nats(struct unit *unit, enum unit_fault fault, uint32_t at) {
    assert(fault != UNIT_FAULT_NONE);
    unit->fault = fault;
    unit->fault_at = at;
    return UNIT_BAD;
}

static uint16_t of_line(uint32_t offset) {
    static_assert(NATS_LINE_BYTES_MAX - 1 <= UINT16_MAX, "all that stands in a line fits");
    assert(offset < NATS_LINE_BYTES_MAX);
    return (uint16_t)offset;
}

// Stores the parts of a line for nats_read.
static void note_line(struct unit *unit, const struct line *line, uint32_t count) {
    bool has_reply = line->count == (line->verb == NATS_HMSG ? 5 : 4);
    unit->verb = (uint8_t)line->verb;
    unit->line_bytes = of_line(count);
    if (line->verb != NATS_MSG && line->verb != NATS_HMSG)
        return;
    unit->subject_at = of_line(line->words[0].at);
    unit->subject_bytes = of_line(line->words[0].bytes);
    unit->sid_at = of_line(line->words[1].at);
    unit->sid_bytes = of_line(line->words[1].bytes);
    unit->reply_at = has_reply ? of_line(line->words[2].at) : 0;
    unit->reply_bytes = has_reply ? of_line(line->words[2].bytes) : 0;
}

// Judges a line that has `count` bytes before its CR LF.
static enum unit_result check_nats_line(struct unit *unit, const uint8_t *bytes, uint32_t count) {
    struct line line;
    uint32_t headers = 0, all = 0;
    assert(!unit->length_known && count < NATS_LINE_BYTES_MAX);
    take_apart(bytes, count, &line);
    if (line.verb == NATS_VERBS)
        return refuse_nats(unit, UNIT_FAULT_NATS, 0);
    bool has_payload = line.verb == NATS_MSG || line.verb == NATS_HMSG;
    if (has_payload && !read_sizes(bytes, &line, &headers, &all))
        return refuse_nats(unit, UNIT_FAULT_NATS, 0);
    if (all > NATS_PAYLOAD_BYTES_MAX)
        return refuse_nats(unit, UNIT_FAULT_BODY_TOO_LARGE, 0);
    unit->length_known = unit->counts_without_body = true;
    unit->body_at = count + 2 + headers;
    unit->body_bytes = all - headers;
    unit->bytes = count + 2 + (has_payload ? all + 2 : 0);
    note_line(unit, &line, count);
    return UNIT_PARTIAL;
}

enum unit_result nats_scan(struct unit *unit, const uint8_t *bytes, size_t count,
                           const struct unit_limits *limits) {
    (void)limits;
    assert(count >= unit->at || unit->length_known);
    if (unit->fault)
        return UNIT_BAD;
    if (!unit->length_known) {
        uint32_t end = count < NATS_LINE_BYTES_MAX ? (uint32_t)count : NATS_LINE_BYTES_MAX;
        const uint8_t *feed = memchr(bytes + unit->at, '\n', end - unit->at);
        unit->at = end;
        if (!feed)
            return end < NATS_LINE_BYTES_MAX ? UNIT_OPEN
                                             : refuse_nats(unit, UNIT_FAULT_HEADER_TOO_LARGE, end);
        uint32_t line = (uint32_t)(feed - bytes);
        if (line == 0 || bytes[line - 1] != '\r')
            return refuse_nats(unit, UNIT_FAULT_LINE_END, line);
        if (check_nats_line(unit, bytes, line - 1) == UNIT_BAD)
            return UNIT_BAD;
    }
    if (count < unit->bytes)
        return UNIT_PARTIAL;
    unit->at = unit->bytes;
    if (memcmp(bytes + unit->bytes - 2, "\r\n", 2) != 0)
        return refuse_nats(unit, UNIT_FAULT_LINE_END, unit->bytes - 2);
    return UNIT_WHOLE;
}

uint32_t nats_open_max(const struct unit_limits *limits) {
    (void)limits;
    return NATS_LINE_BYTES_MAX;
}

void nats_read(const uint8_t *bytes, const struct unit *unit, struct nats_message *out) {
    uint32_t end = unit->line_bytes;
    assert(unit->length_known && unit->verb < NATS_VERBS && bytes[end] == '\r');
    *out = (struct nats_message){.verb = (enum nats_verb)unit->verb};
    if (verbs[out->verb].has_argument) {
        struct line line;
        take_apart(bytes, end, &line);
        out->argument = line.rest;
    } else if (out->verb == NATS_MSG || out->verb == NATS_HMSG) {
        out->subject = (struct span){unit->subject_at, unit->subject_bytes};
        out->sid = (struct span){unit->sid_at, unit->sid_bytes};
        out->reply = (struct span){unit->reply_at, unit->reply_bytes};
        out->headers = (struct span){end + 2, unit->body_at - (end + 2)};
    }
}

uint32_t nats_status(const uint8_t *bytes, struct span headers) {
    static const char version[] = "NATS/1.0 ";
    uint32_t at = headers.at + (uint32_t)sizeof version - 1, end = headers.at + headers.bytes, status = 0;
    if (headers.bytes < sizeof version - 1 + 3 ||
        memcmp(bytes + headers.at, version, sizeof version - 1) != 0)
        return 0;
    struct span digits = {at, 3};
    return at + 3 < end && !field_is_digit(bytes[at + 3]) && read_size(bytes, digits, &status) ? status : 0;
}
