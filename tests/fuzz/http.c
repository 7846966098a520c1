// Fuzzes the scanner of HTTP requests and the reader of their heads. The input's first three bytes choose the limits
// and how the rest is cut. The rest must be read alike whole, cut, and with the gaps of chunked bodies closed. A
// second, naive reader of the same rules must agree, by regular expressions. Every piece is handed over in memory of
// just its size, which is another each time.
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/wire/frame.h"
#include "core/wire/http.h"
#include "core/wire/http_block.h"
#include "core/wire/http_request.h"
#include "tests/fuzz/cutting.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds)
        abort();
}

static void *take(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    require(memory != NULL);
    return memory;
}

struct input {
    const uint8_t *text;
    size_t bytes;
    struct unit_limits limits;
    uint32_t seed;
};

// Results of the requests, one behind the other: pieces of text with a letter and their length before them;
// and the end.
enum ending { SHORT, REFUSED };
struct story {
    uint8_t *bytes;
    size_t count, room;
    enum ending ending;
    enum unit_fault fault;
    uint32_t fault_at;
};

static void tell(struct story *story, char kind, const void *bytes, size_t count) {
    size_t wanted = story->count + 1 + sizeof count + count;
    if (wanted > story->room) {
        story->room = 2 * wanted;
        story->bytes = realloc(story->bytes, story->room);
        require(story->bytes != NULL);
    }
    story->bytes[story->count++] = (uint8_t)kind;
    memcpy(story->bytes + story->count, &count, sizeof count);
    story->count += sizeof count;
    if (count)
        memcpy(story->bytes + story->count, bytes, count);
    story->count += count;
}

static void tell_text(struct story *story, char kind, const char *text) {
    tell(story, kind, text, strlen(text));
}

// --- The naive reader: nothing here is shared with the scanner.

#define NAME    "([A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f][0-9A-Fa-f])+"
#define ADDRESS "\\[[0-9A-Fa-f:.][0-9A-Fa-f:.]+\\]"

enum pattern { REQUEST_LINE, URI, AUTHORITY, FIELD, CHUNK, PATTERNS_COUNT };

// Matches, and leaves the groups in `groups`.
static bool matches(enum pattern which, const char *text, regmatch_t groups[8]) {
    static const char *const patterns[PATTERNS_COUNT] = {
        [REQUEST_LINE] = "^([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!$-;=?-~]+) HTTP/([0-9])\\.([0-9])$",
        [URI] = "^[hH][tT][tT][pP]://([^/?]+)([^?]*)(\\?(.*))?$",
        [AUTHORITY] = "^(" ADDRESS "|" NAME ")(:([0-9]{0,5}))?$",
        [FIELD] = "^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\x01-\x08\x0a-\x1f\x7f]*)$",
        [CHUNK] = "^([0-9A-Fa-f]+)(;[^\x01-\x08\x0a-\x1f\x7f]*)?$",
    };
    static regex_t compiled[PATTERNS_COUNT];
    static bool ready[PATTERNS_COUNT];
    if (!ready[which])
        require(regcomp(&compiled[which], patterns[which], REG_EXTENDED) == 0);
    ready[which] = true;
    return regexec(&compiled[which], text, 8, groups, 0) == 0;
}

static char *group_of(const char *text, regmatch_t group) {
    return group.rm_so < 0 ? strdup("") : strndup(text + group.rm_so, (size_t)(group.rm_eo - group.rm_so));
}

static char *trimmed(char *value) {
    value += strspn(value, " \t");
    for (size_t bytes = strlen(value); bytes > 0 && strchr(" \t", value[bytes - 1]); bytes--)
        value[bytes - 1] = '\0';
    return value;
}

struct naive {
    const uint8_t *at, *end;
    enum ending ending;
    char *method, *target, *authority, *host;
    char *fields; // those that pass, as lines
    int lengths, codings, hosts, types, expects, versions, levels, timeouts, minor;
    bool closes;
    unsigned long long length;
    uint8_t *body;
    size_t body_bytes;
};

// The next line, without its end; NULL where it has none, or a zero byte is in it.
static char *naive_line(struct naive *naive) {
    size_t left = (size_t)(naive->end - naive->at);
    const uint8_t *stop = left ? memmem(naive->at, left, "\r\n", 2) : NULL;
    naive->ending = SHORT;
    if (!stop)
        return NULL;
    size_t bytes = (size_t)(stop - naive->at);
    char *line = take(bytes + 1);
    memcpy(line, naive->at, bytes);
    line[bytes] = '\0';
    naive->at = stop + 2;
    naive->ending = REFUSED;
    if (strlen(line) == bytes)
        return line;
    free(line);
    return NULL;
}

static bool naive_authority(const char *text) {
    regmatch_t groups[8];
    if (!matches(AUTHORITY, text, groups))
        return false;
    return groups[4].rm_so < 0 || strtoul(text + groups[4].rm_so, NULL, 10) <= 65535;
}

static bool naive_target(struct naive *naive, struct story *story) {
    regmatch_t groups[8];
    char *target = naive->target, *path, *query;
    if (target[0] == '/') {
        size_t bytes = strcspn(target, "?");
        path = strndup(target, bytes);
        query = strdup(target + bytes + (target[bytes] == '?'));
    } else if (strcmp(target, "*") == 0 && strcmp(naive->method, "OPTIONS") == 0) {
        path = strdup("*");
        query = strdup("");
    } else if (matches(URI, target, groups)) {
        naive->authority = group_of(target, groups[1]);
        path = group_of(target, groups[2]);
        query = group_of(target, groups[4]);
    } else {
        return false;
    }
    tell_text(story, 'M', naive->method);
    tell_text(story, 'P', path[0] ? path : "/");
    tell_text(story, 'Q', query);
    free(path);
    free(query);
    return !naive->authority || naive_authority(naive->authority);
}

static bool naive_request_line(struct naive *naive, struct story *story) {
    regmatch_t groups[8];
    char *line = naive_line(naive);
    bool good = line && matches(REQUEST_LINE, line, groups) && line[groups[3].rm_so] == '1';
    if (good) {
        naive->method = group_of(line, groups[1]);
        naive->target = group_of(line, groups[2]);
        naive->minor = line[groups[4].rm_so] - '0';
    }
    free(line);
    return good && naive_target(naive, story);
}

static bool lists_close(char *value) {
    for (char *item; (item = strsep(&value, ","));)
        if (strcasecmp(trimmed(item), "close") == 0)
            return true;
    return false;
}

static bool naive_field(struct naive *naive, const char *name, char *value) {
    if (strcasecmp(name, "host") == 0) {
        free(naive->host);
        naive->host = strdup(value);
        return ++naive->hosts == 1 && naive_authority(value);
    }
    if (strcasecmp(name, "content-length") == 0) {
        naive->length = strtoull(value, NULL, 10);
        return ++naive->lengths == 1 && value[0] && value[strspn(value, "0123456789")] == '\0';
    }
    if (strcasecmp(name, "transfer-encoding") == 0)
        return ++naive->codings == 1 && strcasecmp(value, "chunked") == 0 && naive->minor;
    if (strcasecmp(name, "expect") == 0)
        return ++naive->expects == 1 && strcasecmp(value, "100-continue") == 0;
    if (strcasecmp(name, "connection") == 0)
        naive->closes |= lists_close(value);
    return (strcasecmp(name, "content-type") != 0 || ++naive->types == 1) &&
           (strcasecmp(name, "hugai-version") != 0 || ++naive->versions == 1) &&
           (strcasecmp(name, "governance-level") != 0 || ++naive->levels == 1) &&
           (strcasecmp(name, "custom-timeout-ms") != 0 || ++naive->timeouts == 1);
}

static void naive_pass(struct naive *naive, const char *name, const char *line) {
    if (strcasecmp(name, "hugai-version") != 0 && strcasecmp(name, "governance-level") != 0 &&
        strcasecmp(name, "request-id") != 0 && strncasecmp(name, "custom-", 7) != 0)
        return;
    size_t bytes = strlen(naive->fields), more = strlen(line);
    naive->fields = realloc(naive->fields, bytes + more + 3);
    require(naive->fields != NULL);
    sprintf(naive->fields + bytes, "%s\r\n", line);
}

// Fields up to an empty line; those of a trailer say nothing.
static bool naive_fields(struct naive *naive, const struct unit_limits *limits, bool trailer) {
    const uint8_t *from = naive->at;
    for (char *line; (line = naive_line(naive));) {
        regmatch_t groups[8];
        bool last = line[0] == '\0', good = last || matches(FIELD, line, groups);
        if (good && !last && !trailer) {
            char *name = group_of(line, groups[1]), *value = group_of(line, groups[2]);
            good = naive_field(naive, name, trimmed(value));
            naive_pass(naive, name, line);
            free(name);
            free(value);
        }
        free(line);
        good = good && (size_t)(naive->at - from) <= limits->header_bytes_max;
        if (!good || last)
            return good;
    }
    return false;
}

// Takes so many bytes, and CR LF behind them.
static bool naive_data(struct naive *naive, size_t bytes) {
    if ((size_t)(naive->end - naive->at) < bytes + 2) {
        naive->ending = SHORT;
        return false;
    }
    naive->body = realloc(naive->body, naive->body_bytes + bytes + 1);
    require(naive->body != NULL);
    memcpy(naive->body + naive->body_bytes, naive->at, bytes);
    naive->body_bytes += bytes;
    naive->at += bytes + 2;
    naive->ending = REFUSED;
    return memcmp(naive->at - 2, "\r\n", 2) == 0;
}

static bool naive_chunks(struct naive *naive, const struct unit_limits *limits) {
    for (;;) {
        regmatch_t groups[8];
        char *line = naive_line(naive);
        bool good = line && strlen(line) <= 1024 && matches(CHUNK, line, groups);
        unsigned long long size = good ? strtoull(line, NULL, 16) : 0;
        free(line);
        if (!good || size > limits->body_bytes_max || naive->body_bytes + size > limits->body_bytes_max)
            return false;
        if (size == 0)
            return naive_fields(naive, limits, true);
        if (!naive_data(naive, size))
            return false;
    }
}

static bool naive_body(struct naive *naive, const struct unit_limits *limits) {
    naive->ending = REFUSED;
    if (naive->hosts != 1 || (naive->codings && naive->lengths) || naive->length > limits->body_bytes_max ||
        (naive->authority && strcasecmp(naive->authority, naive->host) != 0))
        return false;
    if (naive->codings)
        return naive_chunks(naive, limits);
    if ((size_t)(naive->end - naive->at) < naive->length) {
        naive->ending = SHORT;
        return false;
    }
    naive->body_bytes = naive->length;
    naive->body = take(naive->body_bytes);
    memcpy(naive->body, naive->at, naive->body_bytes);
    naive->at += naive->body_bytes;
    return true;
}

static void naive_tell(const struct naive *naive, struct story *story) {
    char flags[] = {naive->minor ? '1' : '0', naive->minor && !naive->closes ? 'k' : 'c', '\0'};
    tell_text(story, 'K', flags);
    tell_text(story, 'H', naive->host);
    if (naive->body_bytes) {
        char *block = take(strlen(naive->fields) + 64);
        sprintf(block, "Content-Length: %zu\r\n%s\r\n", naive->body_bytes, naive->fields);
        tell_text(story, 'F', block);
        free(block);
    }
    tell(story, 'B', naive->body, naive->body_bytes);
}

static bool naive_next(struct naive *naive, struct story *story, const struct unit_limits *limits) {
    size_t before = story->count;
    naive->fields = strdup("");
    if (naive->end - naive->at >= 2 && memcmp(naive->at, "\r\n", 2) == 0)
        naive->at += 2;
    bool good =
        naive_request_line(naive, story) && naive_fields(naive, limits, false) && naive_body(naive, limits);
    if (good)
        naive_tell(naive, story);
    else
        story->count = before;
    story->ending = naive->ending;
    free(naive->method);
    free(naive->target);
    free(naive->authority);
    free(naive->host);
    free(naive->fields);
    free(naive->body);
    *naive = (struct naive){.at = naive->at, .end = naive->end};
    return good;
}

static struct story naive_story(const struct input *input) {
    struct story story = {0};
    struct naive naive = {.at = input->text, .end = input->text + input->bytes};
    while (naive.at < naive.end && naive_next(&naive, &story, &input->limits))
        story.ending = SHORT;
    return story;
}

// --- The scanner

struct reader {
    struct unit unit;
    uint8_t *bytes; // the unit's, as the scanner left them, in memory of just their size
    size_t count;
};

static void place(struct reader *reader, const uint8_t *more, size_t count, size_t without) {
    uint8_t *fresh = take(reader->count - without + count);
    if (reader->count > without)
        memcpy(fresh, reader->bytes + without, reader->count - without);
    if (count)
        memcpy(fresh + reader->count - without, more, count);
    free(reader->bytes);
    reader->bytes = fresh;
    reader->count += count - without;
}

static void close_gap(struct reader *reader) {
    uint32_t gap = unit_gap(&reader->unit), behind = reader->unit.at;
    memmove(reader->bytes + behind - gap, reader->bytes + behind, reader->count - behind);
    reader->count -= gap;
    unit_close_gap(&reader->unit);
    place(reader, NULL, 0, 0);
    require(unit_gap(&reader->unit) == 0);
}

// All parameters can be walked, in just the memory that they need at most.
static void walk_query(const uint8_t *head, struct span query) {
    struct http_parameter parameter;
    char *out = take(query.bytes);
    uint32_t at = 0, before = 0;
    for (enum http_parameter_step step;; before = at) {
        step = http_parameter_next(head, query, &at, out, query.bytes, &parameter);
        if (step == HTTP_PARAMETERS_END)
            break;
        require(step != HTTP_PARAMETER_TOO_LONG && at > before && at <= query.bytes);
        require(step != HTTP_PARAMETER || (!memchr(parameter.name, '\0', parameter.name_bytes) &&
                                           !memchr(parameter.value, '\0', parameter.value_bytes) &&
                                           parameter.value + parameter.value_bytes <= out + query.bytes));
    }
    require(at == query.bytes);
    free(out);
}

static void tell_head(struct story *story, const uint8_t *head, const struct unit *unit) {
    struct http_request request;
    http_read(head, unit, &request);
    const struct span *line[] = {&request.line.method, &request.line.path, &request.line.query};
    for (unsigned index = 0; index < 3; index++)
        tell(story, "MPQ"[index], head + line[index]->at, line[index]->bytes);
    char flags[] = {request.is_1_0 ? '0' : '1', request.keep_alive ? 'k' : 'c', '\0'};
    tell_text(story, 'K', flags);
    tell(story, 'H', head + request.fields[HTTP_HOST].at, request.fields[HTTP_HOST].bytes);
    walk_query(head, request.line.query);
    for (unsigned field = 0; field < HTTP_FIELDS_COUNT; field++) {
        struct span value = request.fields[field];
        require(value.at + value.bytes <= unit->body_at);
        require(http_has_field(&request, field) || (!http_repeated(&request, field) && value.bytes == 0));
    }
}

// As the framed wire reads it, too.
static void tell_framed(struct story *story, struct reader *reader, const struct input *input) {
    struct unit *unit = &reader->unit, framed;
    uint32_t from = http_make_framed(reader->bytes, unit);
    const uint8_t *start = reader->bytes + from;
    struct unit_limits limits = {UINT32_MAX / 4, input->limits.body_bytes_max};
    unit_begin(&framed);
    require(from > 0 && frame_scan(&framed, start, unit->bytes, &limits) == UNIT_WHOLE);
    require(framed.bytes == unit->bytes && framed.body_at == unit->body_at && framed.canonical);
    require(framed.length_line_at == unit->length_line_at);
    require(framed.length_line_bytes == unit->length_line_bytes);
    require(memcmp(&framed.directives, &unit->directives, sizeof framed.directives) == 0);
    tell(story, 'F', start, unit->body_at);
    tell(story, 'B', start + unit->body_at, unit->body_bytes);
}

static enum unit_result scan(struct reader *reader, struct story *story, const struct input *input) {
    struct unit *unit = &reader->unit;
    enum unit_result result = http_scan(unit, reader->bytes, reader->count, &input->limits);
    require(result != UNIT_OPEN || (!unit->length_known && unit->at == reader->count));
    require(result != UNIT_PARTIAL || (unit->length_known && unit->bytes > reader->count));
    require(result != UNIT_CONTROL || (unit->body_at == reader->count && unit->control_bytes == 0));
    if (result != UNIT_WHOLE)
        return result;
    uint32_t bytes = unit->bytes;
    require(unit->length_known && unit->counts_without_body && bytes <= reader->count && !unit->fault);
    require(unit->body_at + unit->body_bytes <= bytes && !unit->length_line_bytes);
    tell_head(story, reader->bytes, unit);
    if (unit->body_bytes)
        tell_framed(story, reader, input);
    else
        tell(story, 'B', NULL, 0);
    place(reader, NULL, 0, bytes);
    unit_begin(unit);
    return result;
}

static struct story read_all(struct input *input, bool cut, bool close) {
    struct story story = {0};
    struct reader reader = {0};
    enum unit_result result = UNIT_OPEN;
    unit_begin(&reader.unit);
    for (size_t at = 0; at < input->bytes && result != UNIT_BAD;) {
        size_t count = cutting_next(&input->seed, input->bytes - at, cut);
        place(&reader, input->text + at, count, 0);
        at += count;
        do {
            result = scan(&reader, &story, input);
        } while (result == UNIT_CONTROL || (result == UNIT_WHOLE && reader.count));
        if (result == UNIT_OPEN && close) {
            close_gap(&reader);
            require(reader.count < http_open_max(&input->limits));
        }
    }
    if (result == UNIT_BAD) {
        require(http_scan(&reader.unit, reader.bytes, reader.count, &input->limits) == UNIT_BAD);
        require(http_status_of(reader.unit.fault) >= 400 && reader.unit.fault_at <= reader.count);
        story.ending = REFUSED;
        story.fault = reader.unit.fault;
        story.fault_at = reader.unit.fault_at;
    }
    free(reader.bytes);
    return story;
}

// A request that the naive reader refuses must be refused. The naive reader may find too little where the
// scanner knows already that it is bad.
static void compare(const struct story *naive, const struct story *whole, const struct story *story) {
    require(story->count == naive->count &&
            (!story->count || !memcmp(story->bytes, naive->bytes, story->count)));
    require(naive->ending == SHORT || story->ending == REFUSED);
    require(story->fault == whole->fault && story->fault_at == whole->fault_at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint32_t header_limits[] = {24, 64, 200, 1000}, body_limits[] = {1, 16, 200, 1u << 30};
    if (size < 3)
        return 0;
    struct input input = {.text = data + 3,
                          .bytes = size - 3,
                          .limits = {.header_bytes_max = header_limits[data[0] & 3],
                                     .body_bytes_max = body_limits[data[0] >> 2 & 3]},
                          .seed = (uint32_t)data[1] << 8 | data[2]};
    struct story naive = naive_story(&input), whole = read_all(&input, false, false);
    compare(&naive, &whole, &whole);
    for (int close = 0; close < 2; close++) {
        struct story cut = read_all(&input, true, close);
        compare(&naive, &whole, &cut);
        free(cut.bytes);
    }
    free(naive.bytes);
    free(whole.bytes);
    return 0;
}
