#include "core/log/log_event.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/text.h"

static const struct log_kind kinds[LOG_EVENTS_COUNT] = {
    [LOG_LISTENING] = {"listening", LOG_LEVEL_INFO, .is_bare = true, .fields = {"uri"}},
    [LOG_READY] = {"ready", LOG_LEVEL_INFO, .is_silent = true},
    [LOG_RELOADING] = {"reloading", LOG_LEVEL_INFO, .is_silent = true},
    [LOG_RELOADED] = {"reloaded", .level = LOG_LEVEL_INFO},
    [LOG_RELOAD_FAILED] = {"reload_failed", .level = LOG_LEVEL_ERROR},
    [LOG_DRAINING] = {"draining", LOG_LEVEL_INFO, .is_silent = true},
    [LOG_STOPPED] = {"stopped", LOG_LEVEL_INFO, .is_silent = true},
    [LOG_FAILED] = {"stopped", .level = LOG_LEVEL_ERROR},
    [LOG_CONFIG_FAULT] = {"config_fault", LOG_LEVEL_ERROR, .is_bare = true,
                          .fields = {"file", "line", "key"}},
    [LOG_CONFIG_WARNING] = {"config_fault", LOG_LEVEL_WARNING, .fields = {"file", "line", "key"}},
    [LOG_IO_FALLBACK] = {"io_fallback", .level = LOG_LEVEL_WARNING},
    [LOG_WALL_MISSING] = {"wall_missing", .level = LOG_LEVEL_WARNING},
    [LOG_JOURNAL_FAILED] = {"journal_failed", LOG_LEVEL_ERROR, .per_second = 10},
    [LOG_JOURNAL_RESTORED] = {"journal_restored", LOG_LEVEL_INFO, .per_second = 10},
    [LOG_DESCRIPTORS_EXHAUSTED] = {"descriptors_exhausted", .level = LOG_LEVEL_ERROR},
    [LOG_CONNECTIONS_EXHAUSTED] = {"connections_exhausted", LOG_LEVEL_ERROR, .per_second = 1},
    [LOG_NOTICE] = {"notice", .level = LOG_LEVEL_WARNING},
    [LOG_CHILD_STARTED] = {"child_started", LOG_LEVEL_INFO, .is_silent = true, .fields = {"child"}},
    [LOG_CHILD_ENDED] = {"child_ended", LOG_LEVEL_INFO, .is_silent = true, .fields = {"child", "status"}},
    [LOG_CHILD_DOWN] = {"child_down", LOG_LEVEL_ERROR, .fields = {"child"}},
    [LOG_CHILD_FAULT] = {"child_fault", LOG_LEVEL_WARNING, .fields = {"child"}},
    [LOG_CHILD_SAID] = {"child_said", LOG_LEVEL_INFO, .is_bare = true, .fields = {"child", "line"}},
    [LOG_LINK_UP] = {"link_up", LOG_LEVEL_INFO, .fields = {"server"}},
    [LOG_LINK_DOWN] = {"link_down", LOG_LEVEL_WARNING, .fields = {"server"}},
    [LOG_LINK_FAULT] = {"link_fault", LOG_LEVEL_WARNING, .fields = {"server"}},
    [LOG_MEMBER] = {"cluster_member", LOG_LEVEL_INFO, .fields = {"hub", "state"}},
    [LOG_NAME_CONFLICT] = {"name_conflict", LOG_LEVEL_WARNING, .fields = {"agent"}},
    [LOG_CREDENTIAL_REFUSED] = {"credential_refused", LOG_LEVEL_WARNING, .per_second = 10, .is_silent = true,
                                .fields = {"address"}},
    [LOG_SLOW_REQUEST] = {"slow_request", LOG_LEVEL_WARNING, .per_second = 10,
                          .fields = {"source", "target", "method", "ms", "queue_ms", "outcome"}},
    [LOG_COLLECTOR_FAULT] = {"collector_fault", LOG_LEVEL_WARNING, .fields = {"collector"}},
    [LOG_SPANS_DROPPED] = {"spans_dropped", .level = LOG_LEVEL_WARNING},
    [LOG_TAP_STARTED] = {"tap_started", LOG_LEVEL_INFO, .fields = {"user"}},
    [LOG_TAP_ENDED] = {"tap_ended", LOG_LEVEL_INFO, .fields = {"user"}},
    [LOG_CONNECTION_OPENED] = {"connection_opened", LOG_LEVEL_DEBUG, .fields = {"connection", "transport"}},
    [LOG_CONNECTION_CLOSED] = {"connection_closed", LOG_LEVEL_DEBUG, .fields = {"reason", "connection"}},
};

const struct log_kind *log_kind_of(enum log_event event) {
    assert(event < LOG_EVENTS_COUNT && kinds[event].name);
    return &kinds[event];
}

// --- A line

// The bytes that must be left behind a text: for its end, and for the name and some bytes of each later field.
enum { TAIL_BYTES = 8, LATER_BYTES = 96 };

struct line {
    char *out;
    size_t used, capacity;
    enum log_format format;
    bool has_field;
};

static void put(struct line *line, const char *text) {
    size_t bytes = strlen(text);
    assert(line->used + bytes <= line->capacity);
    memcpy(line->out + line->used, text, bytes);
    line->used += bytes;
}

// Encodes one character of a text for the format: `length` bytes, or for length 0 one byte that must be escaped.
// Returns the number of bytes written.
static size_t encode(enum log_format format, const uint8_t *bytes, size_t length, char out[8]) {
    char plain[4];
    size_t count = length, used = 0;
    assert(length <= sizeof plain);
    if (length > 0)
        memcpy(plain, bytes, length);
    else
        count = log_escape(bytes, 1, plain);
    for (size_t at = 0; at < count; at++) {
        if (format != LOG_FORMAT_TEXT && (plain[at] == '"' || plain[at] == '\\'))
            out[used++] = '\\';
        out[used++] = plain[at];
    }
    return used;
}

// Adds as much of a text as leaves `later` bytes of room.
static void put_text(struct line *line, const char *text, size_t bytes, size_t later) {
    size_t end = line->capacity - later - TAIL_BYTES;
    assert(later + TAIL_BYTES < line->capacity);
    for (size_t at = 0, length; at < bytes; at += length ? length : 1) {
        char encoded[8];
        length = log_printable((const uint8_t *)text + at, bytes - at);
        size_t count = encode(line->format, (const uint8_t *)text + at, length, encoded);
        if (line->used + count > end) {
            put(line, "...");
            return;
        }
        memcpy(line->out + line->used, encoded, count);
        line->used += count;
    }
}

// Returns whether logfmt writes the value without quotes.
static bool is_plain(const char *text, size_t bytes) {
    assert(text || bytes == 0);
    for (size_t at = 0; at < bytes; at++)
        if ((unsigned char)text[at] <= ' ' || (unsigned char)text[at] >= 0x7f || text[at] == '"' ||
            text[at] == '=' || text[at] == '\\')
            return false;
    return bytes > 0;
}

static void begin_field(struct line *line, const char *name) {
    bool is_json = line->format == LOG_FORMAT_JSON;
    assert(line->format != LOG_FORMAT_TEXT && name && *name);
    if (line->has_field)
        put(line, is_json ? "," : " ");
    line->has_field = true;
    if (is_json)
        put(line, "\"");
    put(line, name);
    put(line, is_json ? "\":" : "=");
}

static void put_field(struct line *line, const char *name, const struct log_field *field, size_t later) {
    char digits[24];
    assert(!field->is_number || !field->text);
    if (!field->is_number && !field->text)
        return;
    begin_field(line, name);
    if (field->is_number) {
        snprintf(digits, sizeof digits, "%lld", (long long)field->number);
        put(line, digits);
        return;
    }
    bool is_quoted = line->format == LOG_FORMAT_JSON || !is_plain(field->text, field->bytes);
    put(line, is_quoted ? "\"" : "");
    put_text(line, field->text, field->bytes, later);
    put(line, is_quoted ? "\"" : "");
}

static struct log_field text_of(const char *text) {
    return (struct log_field){.text = text, .bytes = strlen(text)};
}

static void put_fields(struct line *line, const struct log_record *record) {
    static const char *const levels[] = {"error", "warning", "info", "debug"};
    const struct log_kind *kind = log_kind_of(record->event);
    char time[TIMESTAMP_BYTES];
    timestamp_write(time, record->unix_ms);
    const struct log_field head[] = {
        {.text = time, .bytes = sizeof time}, text_of(levels[kind->level]), text_of(kind->name)};
    const struct log_field message = {.text = record->message, .bytes = record->message_bytes};
    const struct log_field suppressed = {.number = (int64_t)record->suppressed,
                                         .is_number = record->suppressed > 0};
    size_t later = LATER_BYTES * (record->field_count + 1);
    put_field(line, "time", &head[0], later);
    put_field(line, "level", &head[1], later);
    put_field(line, "event", &head[2], later);
    for (uint32_t at = 0; at < record->field_count; at++, later -= LATER_BYTES) {
        assert(kind->fields[at]);
        put_field(line, kind->fields[at], &record->fields[at], later);
    }
    put_field(line, "suppressed", &suppressed, later);
    put_field(line, "message", &message, 0);
}

size_t log_event_format(const struct log_record *record, enum log_format format, bool is_journal, char *out,
                        size_t capacity) {
    static const char *const priorities[] = {"<3>", "<4>", "<6>", "<7>"};
    const struct log_kind *kind = log_kind_of(record->event);
    struct line line = {.out = out, .capacity = capacity, .format = format};
    assert(capacity >= 1024 && capacity <= LOG_EVENT_BYTES && record->field_count <= LOG_FIELDS_MAX);
    assert(!kind->fields[record->field_count]);
    if (format == LOG_FORMAT_TEXT && kind->is_silent)
        return 0;
    if (is_journal)
        put(&line, priorities[kind->level]);
    if (format == LOG_FORMAT_TEXT) {
        put(&line, kind->is_bare ? "" : "patchbayd: ");
        put_text(&line, record->message, record->message_bytes, 0);
    } else {
        put(&line, format == LOG_FORMAT_JSON ? "{" : "");
        put_fields(&line, record);
        put(&line, format == LOG_FORMAT_JSON ? "}" : "");
    }
    put(&line, "\n");
    return line.used;
}

// --- Escapes

bool log_is_hidden(uint32_t point) {
    static const struct range {
        uint32_t first, last;
    } ranges[] = {
        {0xad, 0xad},     {0x61c, 0x61c},   {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},
        {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},   {0x3164, 0x3164},   {0xfeff, 0xfeff},
        {0xffa0, 0xffa0}, {0xfff9, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
    };
    assert(point <= 0x10ffff);
    for (size_t at = 0; at < sizeof ranges / sizeof *ranges && point >= ranges[at].first; at++)
        if (point <= ranges[at].last)
            return true;
    return false;
}

size_t log_printable(const uint8_t *bytes, size_t count) {
    uint8_t first = bytes[0];
    assert(count > 0);
    if (first < 0x80)
        return first >= 0x20 && first != 0x7f;
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    // Up to 0x9f: more control characters
    uint32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0xa0;
    uint32_t point = first & (0x7fu >> length);
    if (first < 0xc2 || first > 0xf4 || length > count)
        return 0;
    for (size_t at = 1; at < length; at++) {
        if ((bytes[at] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (bytes[at] & 0x3f);
    }
    bool is_character = point >= least && point <= 0x10ffff && (point < 0xd800 || point >= 0xe000);
    return is_character && !log_is_hidden(point) ? length : 0;
}

size_t log_escape(const uint8_t *bytes, size_t count, char *out) {
    static const char digits[] = "0123456789abcdef";
    size_t used = 0;
    for (size_t at = 0; at < count;) {
        size_t length = log_printable(bytes + at, count - at);
        if (length > 0) {
            memcpy(out + used, bytes + at, length);
            used += length;
            at += length;
            continue;
        }
        out[used++] = '\\';
        out[used++] = 'x';
        out[used++] = digits[bytes[at] >> 4];
        out[used++] = digits[bytes[at] & 15];
        at++;
    }
    assert(used <= 4 * count);
    return used;
}
